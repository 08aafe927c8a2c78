/* SPDX-License-Identifier: MIT */
#include "context/steps/observe.h"

#include "context/json/args.h"
#include "context/steps/line.h"

/* In characters. */
#define OTHER_TEXT_MAX 200

/* The most arguments kept in a step. */
#define ARGS_MAX 32

static void observe_other(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;

	ofs_line_append(&o->observation, r->text, r->text_len, OTHER_TEXT_MAX);
	if (!o->observation.len && r->images)
		ofs_observe_say(o, "%s", ofs_counted(r->images, "image").text);
	else if (!o->observation.len)
		ofs_observe_say(o, "no output");
}

static const struct {
	const char *category;
	void (*observe)(struct ofs_observing *o);
	const char *kept; /* names of arguments to keep; NULL: all */
	bool says_failure; /* the observation reports failures itself */
} rules[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = { "general", observe_other, NULL, true },
	[OFS_TOOL_READ] = { "file_read", ofs_observe_file,
			    "offset limit startline endline line linenumber viewrange pages start "
			    "end from to startlineoneindexed endlineoneindexed "
			    "endlineoneindexedinclusive head tail",
			    false },
	[OFS_TOOL_WRITE] = { "file_write", ofs_observe_write,
			     "mode insertline startline endline editmode cellid", false },
	[OFS_TOOL_LIST] = { "file_read", ofs_observe_list, "recursive depth maxdepth ignore",
			    false },
	[OFS_TOOL_GREP] = { "search", ofs_observe_grep,
			    "include glob filepattern includepattern outputmode type", false },
	[OFS_TOOL_SEARCH] = { "search", ofs_observe_search,
			      "num numresults maxresults count limit page site domain", false },
	[OFS_TOOL_VISIT] = { "web", ofs_observe_visit, "", false },
	[OFS_TOOL_SHELL] = { "shell", ofs_observe_shell,
			     "cwd workdir workingdirectory sessionid bashid shellid", true },
};

/* ---- the call */

static void keep_args(struct ofs_observing *o, const char *names)
{
	struct ofs_span_cursor c = ofs_span_enter(o->call->args);
	struct ofs_span name, value;

	while (ofs_span_next_member(&c, &name, &value) && json_object_size(o->args) < ARGS_MAX) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf key = OFS_BUF_INIT, line = OFS_BUF_INIT;

		if (names && (!ofs_args_index(name, names) || ofs_span_is_null(value)))
			continue;
		ofs_span_decode(name, &key);
		ofs_line_append(&line, (char *)key.data, key.len, OFS_OBSERVATION_ARG_MAX);
		json_object_set_new(o->args, ofs_buf_str(&line), ofs_observe_scalar(value));
	}
}

static bool is_patch(struct ofs_span command)
{
	struct ofs_span_cursor c = ofs_span_elements(command);
	struct ofs_span word;

	return ofs_span_next(&c, &word) && ofs_span_is(word, "apply_patch");
}

/* Adjusts the rule by the arguments, for tools that do several things. */
static enum ofs_tool_rule refine(enum ofs_tool_rule rule, struct ofs_span args)
{
	struct ofs_span command = ofs_args_find(args, "command");

	if (rule == OFS_TOOL_WRITE &&
	    (ofs_span_is(command, "view") || ofs_span_is(command, "read")))
		return OFS_TOOL_READ;
	/* codex passes patches to its shell as a command. */
	if (rule == OFS_TOOL_SHELL && is_patch(command))
		return OFS_TOOL_WRITE;
	/* "open" may open a file or a page. */
	if (rule == OFS_TOOL_READ && !ofs_args_find(args, OFS_OBSERVE_PATH_NAMES).p &&
	    ofs_args_find(args, "url").p)
		return OFS_TOOL_VISIT;
	/* "search" may search the web or a folder. */
	if (rule == OFS_TOOL_SEARCH && ofs_args_find(args, "pattern regex directory include").p)
		return OFS_TOOL_GREP;
	return rule;
}

void ofs_observe_finish(struct ofs_observing *o)
{
	ofs_buf_finish(&o->observation);
	ofs_buf_finish(&o->error);
	json_decref(o->args);
	json_decref(o->metadata);
	ofs_spool_finish(&o->spool);
	ofs_tool_result_finish(&o->result);
}

int ofs_observe(struct ofs_observing *o, const struct ofs_tool_call *call, enum ofs_tool_rule rule,
		const struct ofs_settings *settings)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;
	int r;

	rule = refine(rule, call->args);
	*o = (struct ofs_observing){
		.call = call,
		.settings = settings,
		.rule = rule,
		.category = rules[rule].category,
		.spool = OFS_SPOOL_INIT,
		.args = json_object(),
		.metadata = json_object(),
	};
	ofs_tool_result_open(call->result, rule, &o->result);
	ofs_spool_wrap(&o->spool, o->result.content, o->result.content_len);
	r = ofs_content_scan(&o->spool, &o->content);
	if (r < 0)
		return r;
	if (rule != OFS_TOOL_SHELL) /* for a shell it depends on the exit code */
		ofs_failure_find(o, true);
	o->offload = ofs_observe_is_large(o);
	rules[rule].observe(o);
	keep_args(o, rules[rule].kept);
	if (o->failed && !rules[rule].says_failure) {
		ofs_observe_say(o, o->error.len ? ": failed: " : ": failed");
		ofs_buf_append(&o->observation, o->error.data, o->error.len);
	}
	if (o->failed && !o->error.len)
		ofs_buf_append_str(&o->error, "failed");
	/* The parts are clean and short, but there may be many. */
	whole = ofs_buf_steal(&o->observation);
	ofs_line_append(&o->observation, (char *)whole.data, whole.len, OFS_OBSERVATION_MAX);
	return 0;
}
