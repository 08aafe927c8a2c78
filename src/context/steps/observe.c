/* SPDX-License-Identifier: MIT */
#include "context/steps/observe.h"

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/line.h"

/* In characters. */
#define OTHER_TEXT_MAX 200

static void observe_other(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;

	ofs_observe_keep(o, NULL);
	ofs_observe_say_text(o, r->text, r->text_len, OTHER_TEXT_MAX);
	if (!o->observation.len && r->images)
		ofs_observe_say(o, "%zu image%s", r->images, r->images == 1 ? "" : "s");
	else if (!o->observation.len)
		ofs_observe_say(o, "no output");
	o->offload = ofs_observe_is_large(o);
}

struct rule {
	const char *category;
	void (*observe)(struct ofs_observing *o);
};

static const struct rule rules[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = { "general", observe_other },
	[OFS_TOOL_READ] = { "file_read", ofs_observe_file },
	[OFS_TOOL_WRITE] = { "file_write", ofs_observe_write },
	[OFS_TOOL_LIST] = { "file_read", ofs_observe_list },
	[OFS_TOOL_GREP] = { "search", ofs_observe_grep },
	[OFS_TOOL_SEARCH] = { "search", ofs_observe_search },
	[OFS_TOOL_VISIT] = { "web", ofs_observe_visit },
	[OFS_TOOL_SHELL] = { "shell", ofs_observe_shell },
};

const char *ofs_observe_category(enum ofs_tool_rule rule)
{
	return rules[rule].category;
}

static bool is_patch(struct ofs_span command)
{
	struct ofs_span_cursor c = ofs_span_enter(command);
	struct ofs_span word;

	return ofs_span_is_array(command) && ofs_span_next(&c, &word) &&
	       ofs_span_is(word, "apply_patch");
}

/* The rule for a tool that does several things, by its arguments. */
static enum ofs_tool_rule refine(enum ofs_tool_rule rule, struct ofs_span args)
{
	struct ofs_span command = ofs_args_find(args, "command");

	if (rule == OFS_TOOL_WRITE &&
	    (ofs_span_is(command, "view") || ofs_span_is(command, "read")))
		return OFS_TOOL_READ;
	/* codex gives its shell a patch as a command. */
	if (rule == OFS_TOOL_SHELL && is_patch(command))
		return OFS_TOOL_WRITE;
	/* "open" is a file's, or a page's. */
	if (rule == OFS_TOOL_READ && !ofs_args_find(args, OFS_OBSERVE_PATH_NAMES).p &&
	    ofs_args_find(args, "url").p)
		return OFS_TOOL_VISIT;
	/* "search" is the web's, or a folder's. */
	if (rule == OFS_TOOL_SEARCH && ofs_args_find(args, "pattern regex directory include").p)
		return OFS_TOOL_GREP;
	return rule;
}

void ofs_observe_init(struct ofs_observing *o, enum ofs_tool_rule rule,
		      const struct ofs_tool_call *call)
{
	*o = (struct ofs_observing){
		.call = call,
		.rule = refine(rule, call->args),
		.args = json_object(),
		.metadata = json_object(),
	};
}

void ofs_observe_finish(struct ofs_observing *o)
{
	ofs_buf_finish(&o->observation);
	ofs_buf_finish(&o->error);
	json_decref(o->args);
	json_decref(o->metadata);
	*o = (struct ofs_observing){ 0 };
}

void ofs_observe(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT;

	if (o->rule != OFS_TOOL_SHELL)
		ofs_failure_find(o, true);
	rules[o->rule].observe(o);
	if (o->failed && !o->error.len)
		ofs_buf_append_str(&o->error, "failed");
	/* The parts were cleaned and shortened, but there may be many. */
	whole = o->observation;
	o->observation = (struct ofs_buf)OFS_BUF_INIT;
	ofs_line_append(&o->observation, (char *)whole.data, whole.len, OFS_OBSERVATION_MAX);
}
