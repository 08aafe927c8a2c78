/* SPDX-License-Identifier: MIT */
#include "context/steps/summary.h"

#include <string.h>

#include "base/util.h"
#include "context/steps/line.h"
#include "context/tool.h"

/* In characters. */
#define SUMMARY_VALUE_MAX 120
#define SUMMARY_ARGS_MAX 100
#define SUMMARY_ARG_MAX 40
#define SUMMARY_ERROR_MAX 160
#define SUMMARY_REF_MAX 1000 /* it may be a path, too */
#define SUMMARY_ALTERNATIVES 5

/* Of a step in full; OUTPUT_MAX in bytes. */
#define NAME_CHARS 64
#define ARGS_CHARS 1024
#define OBSERVATION_CHARS 4096
#define ERROR_CHARS 1024
#define OUTPUT_MAX 8192

#define DEL 0x7f

/* The first of a rule's templates that lacks no value is used. */
static const char *const templates[OFS_TOOL_COUNT][SUMMARY_ALTERNATIVES] = {
	[OFS_TOOL_OTHER] = { "{tool}({args}) -> {observation}", "{tool}({args})" },
	[OFS_TOOL_READ] = { "Read {path} ({size})", "Read {path}" },
	[OFS_TOOL_WRITE] = { "Wrote {path} ({written})", "Edited {path}" },
	[OFS_TOOL_LIST] = { "Listed {pattern} in {path} -> {count} items",
			    "Listed {pattern} -> {count} items", "Listed {path} -> {count} items",
			    "Listed {path}", "Listed {pattern}" },
	[OFS_TOOL_GREP] = { "Searched files for '{pattern}' -> {count} matches",
			    "Searched files for '{pattern}'" },
	[OFS_TOOL_SEARCH] = { "Searched '{query}' -> {count} results", "Searched '{query}'" },
	[OFS_TOOL_VISIT] = { "Visited {url} ({size})", "Visited {url}" },
	[OFS_TOOL_SHELL] = { "Ran `{command}` (exit {code})", "Ran `{command}`" },
};

/* For steps that failed, whose sizes and counts mean nothing. */
static const char *const failed[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = "{tool}({args})",
	[OFS_TOOL_READ] = "Read {path}",
	[OFS_TOOL_WRITE] = "Wrote {path}",
	[OFS_TOOL_LIST] = "Listed {path}",
	[OFS_TOOL_GREP] = "Searched files for '{pattern}'",
	[OFS_TOOL_SEARCH] = "Searched '{query}'",
	[OFS_TOOL_VISIT] = "Visited {url}",
};

static bool is_name(const char *name, size_t len, const char *what)
{
	return strlen(what) == len && memcmp(name, what, len) == 0;
}

/* "path=a.c, limit=20" */
static bool append_args(const struct ofs_step *step, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT;
	const char *name;
	json_t *value;

	json_object_foreach(step->minimal_args, name, value)
	{
		ofs_buf_printf(&all, "%s%s=", all.len ? ", " : "", name);
		ofs_template_scalar(&all, value, SUMMARY_ARG_MAX);
	}
	ofs_line_append(out, (char *)all.data, all.len, SUMMARY_ARGS_MAX);
	return true;
}

static bool append_count(const struct ofs_step *step, struct ofs_buf *out)
{
	static const char *const names[] = { "results", "items", "matches" };
	uint64_t n;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		if (ofs_step_number(step, names[i], &n))
			return ofs_template_scalar(out, json_object_get(step->metadata, names[i]),
						   SUMMARY_VALUE_MAX);
	}
	return false;
}

static bool append_text(struct ofs_buf *out, const char *text)
{
	if (!text || !*text)
		return false;
	ofs_line_append_str(out, text, SUMMARY_VALUE_MAX);
	return true;
}

static bool append_size(const struct ofs_step *step, const char *name, struct ofs_buf *out)
{
	uint64_t n;

	if (!ofs_step_number(step, name, &n))
		return false;
	ofs_template_size(out, n);
	return true;
}

/* Appends the value of the name in minimal_args, or else in metadata. */
static bool append_value(const struct ofs_step *step, const char *name, size_t len,
			 struct ofs_buf *out)
{
	bool args_alone = len > 5 && memcmp(name, "args.", 5) == 0;
	const json_t *value;
	char key[64];

	if (args_alone) {
		name += 5;
		len -= 5;
	}
	if (len >= sizeof(key))
		return false;
	memcpy(key, name, len);
	key[len] = '\0';
	value = json_object_get(step->minimal_args, key);
	if (!value && !args_alone)
		value = json_object_get(step->metadata, key);
	return ofs_template_scalar(out, value, SUMMARY_VALUE_MAX);
}

static bool fill_in(const void *arg, const char *name, size_t len, struct ofs_buf *out)
{
	const struct ofs_step *step = arg;

	if (is_name(name, len, "tool"))
		return append_text(out, step->tool_name);
	if (is_name(name, len, "observation"))
		return append_text(out, step->observation);
	if (is_name(name, len, "error"))
		return append_text(out, step->error);
	if (is_name(name, len, "count"))
		return append_count(step, out);
	if (is_name(name, len, "code"))
		return append_value(step, "exit_code", strlen("exit_code"), out);
	if (is_name(name, len, "args"))
		return append_args(step, out);
	if (is_name(name, len, "size") &&
	    (append_size(step, "text_bytes", out) || append_size(step, "bytes", out)))
		return true;
	if (is_name(name, len, "written") && append_size(step, "written", out))
		return true;
	return append_value(step, name, len, out);
}

/* Appends a template, unless a value is missing for it. */
static bool try_template(const char *tpl, const struct ofs_step *step, struct ofs_buf *out)
{
	size_t before = out->len;

	if (tpl && ofs_template_expand(tpl, fill_in, step, out) == 0)
		return true;
	out->len = before;
	return false;
}

static enum ofs_tool_rule rule_of(const struct ofs_step *step, enum ofs_tool_rule by_name)
{
	const char *rule = json_string_value(json_object_get(step->metadata, "rule"));

	return rule ? ofs_tool_by_name(rule) : by_name;
}

/* Appends what was done, by the rule's templates. */
static void append_by_rule(const struct ofs_step *step, enum ofs_tool_rule rule,
			   struct ofs_buf *out)
{
	if (!step->success && try_template(failed[rule], step, out))
		return;
	for (size_t i = 0; i < SUMMARY_ALTERNATIVES; i++) {
		if (try_template(templates[rule][i], step, out))
			return;
	}
	/* Not even the path, the query, ... is known. */
	if (!append_text(out, step->observation))
		append_text(out, step->tool_name);
}

static void append_end(const struct ofs_step *step, struct ofs_buf *out)
{
	if (!step->success)
		ofs_buf_append_str(out, step->error && *step->error ? ": failed: " : ": failed");
	if (!step->success && step->error)
		ofs_line_append_str(out, step->error, SUMMARY_ERROR_MAX);
	if (!step->outcome_ref)
		return;
	/* A step of another program may have anything there. */
	ofs_buf_append_str(out, " [ref ");
	ofs_line_append_str(out, step->outcome_ref, SUMMARY_REF_MAX);
	ofs_buf_append_str(out, "]");
}

void ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	enum ofs_tool_rule rule;
	const struct ofs_tool_setting *t = ofs_tool_setting(s, step->tool_name, &rule);

	if (t && t->summary) {
		ofs_template_expand(t->summary, fill_in, step, &text);
		/* The template may have lines. */
		ofs_line_append(out, (char *)text.data, text.len, 4 * SUMMARY_VALUE_MAX);
	} else {
		append_by_rule(step, rule_of(step, rule), out);
	}
	append_end(step, out);
}

/* ---- in full */

void ofs_summary_ref(const char *ref, struct ofs_buf *out)
{
	size_t before = out->len;

	ofs_buf_append_str(out, ref);
	for (size_t i = before; i < out->len; i++)
		if (out->data[i] < ' ' || out->data[i] == DEL)
			out->data[i] = '?';
}

/* Appends the output of a step that was not offloaded: it is nowhere else. */
static void append_output(const struct ofs_step *step, struct ofs_buf *out)
{
	const char *text = json_string_value(json_object_get(step->metadata, "output"));
	json_t *whole;

	if (!text || !*text)
		return;
	whole = ofs_line_json_whole(text, OFS_MIN(strlen(text), OUTPUT_MAX));
	text = json_string_value(whole);
	while (text && *text) {
		size_t len = strcspn(text, "\n");

		ofs_buf_append_str(out, "  | ");
		ofs_buf_append(out, text, len);
		ofs_buf_append_str(out, "\n");
		text += len + (text[len] == '\n');
	}
	json_decref(whole);
}

void ofs_summary_full(const struct ofs_step *step, struct ofs_buf *out)
{
	OFS_FREE char *args = json_object_size(step->minimal_args)
				      ? json_dumps(step->minimal_args, JSON_COMPACT)
				      : NULL;

	ofs_buf_append_str(out, *step->id ? "- " : "-");
	ofs_line_append_str(out, step->id, NAME_CHARS);
	ofs_buf_append_str(out, *step->tool_name ? " " : "");
	ofs_line_append_str(out, step->tool_name, NAME_CHARS);
	if (args) {
		ofs_buf_append_str(out, " ");
		ofs_line_append_str(out, args, ARGS_CHARS);
	}
	ofs_buf_append_str(out, ": ");
	ofs_line_append_str(out, step->observation, OBSERVATION_CHARS);
	if (step->outcome_ref) {
		ofs_buf_append_str(out, " [ref ");
		ofs_summary_ref(step->outcome_ref, out);
		ofs_buf_append_str(out, "]");
	}
	ofs_buf_append_str(out, "\n");
	if (!step->success) {
		ofs_buf_append_str(out, "  failed");
		if (step->error && *step->error) {
			ofs_buf_append_str(out, ": ");
			ofs_line_append_str(out, step->error, ERROR_CHARS);
		}
		ofs_buf_append_str(out, "\n");
	}
	append_output(step, out);
}
