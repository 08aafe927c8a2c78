/* SPDX-License-Identifier: MIT */
#include "context/steps/observe.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/failure.h"
#include "context/steps/line.h"

/* In characters. */
#define OTHER_TEXT_MAX 200
#define ERROR_MAX 300

/* Members of arguments in one step; more are only counted. */
#define ARGS_MAX 32

struct rule {
	const char *category;
	void (*observe)(struct ofs_observing *o);
};

static void observe_other(struct ofs_observing *o);

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

/* ---- what rules say */

/* Keeps in mind that something failed. */
static void check(struct ofs_observing *o, int r)
{
	o->no_memory = o->no_memory || r < 0;
}

void ofs_observe_say(struct ofs_observing *o, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ofs_buf_append_str(&o->observation, text);
}

void ofs_observe_say_text(struct ofs_observing *o, const char *text, size_t len, size_t max)
{
	check(o, ofs_line_append(&o->observation, text, len, max));
}

void ofs_observe_say_size(struct ofs_observing *o, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double value = (double)bytes / 1000;
	size_t i = 0;

	if (bytes < 1000) {
		ofs_observe_say(o, "%llu byte%s", (unsigned long long)bytes, bytes == 1 ? "" : "s");
		return;
	}
	/* What would be printed as 1000 is one of the next unit. */
	for (; value >= 999.5 && units[i + 1]; i++)
		value /= 1000;
	if (value < 9.95)
		ofs_observe_say(o, "%.1f%cB", value, units[i]);
	else
		ofs_observe_say(o, "%.0f%cB", value, units[i]);
}

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n)
{
	check(o, json_object_set_new(o->metadata, name, json_integer((json_int_t)n)));
}

void ofs_observe_note_text(struct ofs_observing *o, const char *name, const char *text, size_t len)
{
	check(o, json_object_set_new(o->metadata, name,
				     ofs_line_json(text, len, OFS_OBSERVATION_ARG_MAX)));
}

void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len)
{
	if (!o->failed || !o->error.len)
		check(o, ofs_line_append(&o->error, reason, len, ERROR_MAX));
	o->failed = true;
}

bool ofs_observe_say_failure(struct ofs_observing *o)
{
	if (!o->failed)
		return false;
	ofs_observe_say(o, o->error.len ? ": failed: " : ": failed");
	ofs_observe_say_text(o, (char *)o->error.data, o->error.len, OFS_OBSERVATION_MAX);
	return true;
}

struct ofs_filetype ofs_observe_filetype(const struct ofs_observing *o, const char *path)
{
	struct ofs_content content = *o->content;

	/* What is stored is then JSON that holds the text. */
	if (o->result->text != o->result->content) {
		content.ext = "txt";
		content.binary = false;
	}
	return ofs_filetype_find(path, &content, o->result->text, o->result->text_len);
}

bool ofs_observe_is_large(const struct ofs_observing *o)
{
	return o->content->size > o->settings->max_bytes ||
	       o->content->lines > o->settings->max_lines;
}

/* ---- arguments */

json_t *ofs_observe_scalar(struct ofs_span value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	json_t *json = NULL;
	char count[48];
	size_t n;

	if (ofs_span_is_object(value) || ofs_span_is_array(value)) {
		n = ofs_args_count(value);
		snprintf(count, sizeof(count), "[%s: %zu %s%s]",
			 ofs_span_is_object(value) ? "object" : "array", n,
			 ofs_span_is_object(value) ? "key" : "item", n == 1 ? "" : "s");
		return json_string(count);
	}
	if (!ofs_span_is_string(value))
		json = ofs_span_json(value);
	if (json)
		return json;
	/* A number that jansson has no form for stays what was written. */
	ofs_args_head(value, &text);
	return ofs_line_json((char *)text.data, text.len, OFS_OBSERVATION_ARG_MAX);
}

static void set_arg(struct ofs_observing *o, const char *name, struct ofs_span value)
{
	check(o, json_object_set_new(o->args, name, ofs_observe_scalar(value)));
}

const char *ofs_observe_take(struct ofs_observing *o, const char *names, const char *as)
{
	struct ofs_span value = ofs_args_find(o->call->args, names), element;
	struct ofs_span_cursor c;

	/* Of several the first says most: {"paths": ["a.c", "b.c"]}. */
	if (ofs_span_is_array(value)) {
		c = ofs_span_enter(value);
		if (!ofs_span_next(&c, &element) || !ofs_span_is_string(element))
			return NULL;
		value = element;
	}
	if (!ofs_span_is_string(value) || value.len == 2)
		return NULL;
	set_arg(o, as, value);
	return json_string_value(json_object_get(o->args, as));
}

static void set_own_name(struct ofs_observing *o, struct ofs_span name, struct ofs_span value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf key = OFS_BUF_INIT, shown = OFS_BUF_INIT;

	ofs_args_head(name, &key);
	check(o, ofs_line_append(&shown, (char *)key.data, key.len, OFS_OBSERVATION_ARG_MAX));
	ofs_buf_append(&shown, "", 1);
	if (!o->no_memory)
		set_arg(o, (char *)shown.data, value);
}

void ofs_observe_keep(struct ofs_observing *o, const char *names)
{
	struct ofs_span_cursor c = ofs_span_enter(o->call->args);
	struct ofs_span name, value;

	while (ofs_span_next_member(&c, &name, &value)) {
		if (ofs_args_index(name, names) && !ofs_span_is_null(value))
			set_own_name(o, name, value);
	}
}

static void keep_all(struct ofs_observing *o)
{
	struct ofs_span_cursor c = ofs_span_enter(o->call->args);
	struct ofs_span name, value;

	while (ofs_span_next_member(&c, &name, &value) && json_object_size(o->args) < ARGS_MAX)
		set_own_name(o, name, value);
}

/* ---- any other tool */

static void observe_other(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;

	keep_all(o);
	ofs_observe_say_text(o, r->text, r->text_len, OTHER_TEXT_MAX);
	if (!o->observation.len && r->images)
		ofs_observe_say(o, "%zu image%s", r->images, r->images == 1 ? "" : "s");
	else if (!o->observation.len)
		ofs_observe_say(o, "no output");
	o->offload = ofs_observe_is_large(o);
}

/* ---- all */

static bool is_patch(struct ofs_span command)
{
	struct ofs_span_cursor c = ofs_span_enter(command);
	struct ofs_span word;

	return ofs_span_is_array(command) && ofs_span_next(&c, &word) &&
	       ofs_span_is(word, "apply_patch");
}

/* One tool that does several things says which in its "command". */
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
	/* "search" is the web's, or a folder's; "find" a name's. */
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

int ofs_observe(struct ofs_observing *o)
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
	check(o,
	      ofs_line_append(&o->observation, (char *)whole.data, whole.len, OFS_OBSERVATION_MAX));
	return o->no_memory ? -ENOMEM : 0;
}
