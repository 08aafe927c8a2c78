/* SPDX-License-Identifier: MIT */
#include "context/steps/summary.h"

#include "base/redact.h"
#include "base/text.h"
#include "context/json/args.h"
#include "context/steps/line.h"
#include "context/steps/observation.h"

/* In characters. */
#define SUMMARY_VALUE_MAX 120
#define SUMMARY_ARGS_MAX 100
#define SUMMARY_ARG_MAX 40
#define SUMMARY_ERROR_MAX 160
#define SUMMARY_ANSWER_MAX 80
#define SUMMARY_ALTERNATIVES 5

/* Limits of a step in full, in characters; OUTPUT_MAX in bytes. */
#define NAME_CHARS 64
#define ARGS_CHARS 1024
#define OBSERVATION_CHARS 4096
#define ERROR_CHARS 1024
#define OUTPUT_MAX 8192

/* Templates of each rule; the first whose values are all known is used. */
static const char *const templates[OFS_TOOL_COUNT][SUMMARY_ALTERNATIVES] = {
	[OFS_TOOL_OTHER] = { "{tool}({args}) -> {observation}", "{tool}({args})" },
	[OFS_TOOL_READ] = { "Read {path} ({size})", "Read {path}" },
	[OFS_TOOL_WRITE] = { "Wrote {path} ({written})", "Wrote {path}{whole}", "Edited {path}" },
	[OFS_TOOL_LIST] = { "Listed {pattern} in {path} -> {count} items",
			    "Listed {pattern} -> {count} items", "Listed {path} -> {count} items",
			    "Listed {path}", "Listed {pattern}" },
	[OFS_TOOL_GREP] = { "Searched files for '{pattern}' -> {count} matches",
			    "Searched files for '{pattern}'" },
	[OFS_TOOL_SEARCH] = { "Searched '{query}' -> {count} results", "Searched '{query}'" },
	[OFS_TOOL_VISIT] = { "Visited {url} ({size})", "Visited {url}" },
	[OFS_TOOL_SHELL] = { "Ran `{command}` (exit {code})", "Ran `{command}`" },
};

/* Values that mean nothing in these templates if the step failed. */
static const char *const lost[] = { "size", "count", "written", "observation" };

struct filling {
	const struct ofs_step *step;
	bool by_rule;
};

enum ofs_tool_rule ofs_summary_rule(const struct ofs_step *step, const struct ofs_settings *s)
{
	const char *noted = json_string_value(json_object_get(step->metadata, "rule"));
	enum ofs_tool_rule rule = ofs_tool_by_name(noted);

	if (!noted)
		ofs_tool_setting(s, step->tool_name, &rule);
	return rule;
}

/* Appends "path=a.c, limit=20". */
static void append_args(const struct ofs_step *step, struct ofs_buf *out)
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
}

static bool append_text(struct ofs_buf *out, const char *text)
{
	if (!text || !*text)
		return false;
	ofs_line_append_str(out, text, SUMMARY_VALUE_MAX);
	return true;
}

/* Appends the first number in the metadata that `key` may mean. */
static bool append_number(const struct ofs_step *step, const char *key, struct ofs_buf *out)
{
	static const struct {
		const char *key, *member;
		bool is_size;
	} numbers[] = {
		{ "count", "results", false }, { "count", "items", false },
		{ "count", "matches", false }, { "size", "text_bytes", true },
		{ "size", "bytes", true },     { "written", "written", true },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++) {
		const json_t *value = json_object_get(step->metadata, numbers[i].member);
		json_int_t n = json_integer_value(value);

		if (strcmp(key, numbers[i].key) != 0 || !json_is_integer(value) || n < 0)
			continue;
		if (numbers[i].is_size)
			ofs_template_size(out, (uint64_t)n);
		else
			ofs_buf_printf(out, "%lld", (long long)n);
		return true;
	}
	return false;
}

static bool fill_in(const void *arg, const char *key, struct ofs_buf *out)
{
	const struct filling *f = arg;
	const struct ofs_step *step = f->step;
	const json_t *value;
	bool is_arg = strncmp(key, "args.", strlen("args.")) == 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(lost) && f->by_rule && !step->success; i++) {
		if (strcmp(key, lost[i]) == 0)
			return false;
	}
	if (strcmp(key, "tool") == 0)
		return append_text(out, step->tool_name);
	if (strcmp(key, "observation") == 0)
		return append_text(out, step->observation);
	if (strcmp(key, "error") == 0)
		return append_text(out, step->error);
	if (strcmp(key, "args") == 0) {
		append_args(step, out);
		return true;
	}
	if (append_number(step, key, out))
		return true;
	if (strcmp(key, "whole") == 0 && f->by_rule) /* a condition that adds no text */
		return json_is_true(json_object_get(step->metadata, key));
	if (strcmp(key, "count") == 0)
		return false;
	value = json_object_get(step->minimal_args, is_arg ? key + strlen("args.") : key);
	/* metadata.path tells where the output was stored, not what the step was about. */
	if (!value && !is_arg && (!f->by_rule || strcmp(key, "path") != 0))
		value = json_object_get(step->metadata,
					strcmp(key, "code") == 0 ? "exit_code" : key);
	if (strcmp(key, "path") == 0 && json_is_string(value)) { /* the end tells most */
		ofs_line_append_end(out, json_string_value(value), json_string_length(value),
				    SUMMARY_VALUE_MAX);
		return true;
	}
	return ofs_template_scalar(out, value, SUMMARY_VALUE_MAX);
}

/* Appends what the step did, by the rule's templates. */
static void append_by_rule(const struct ofs_step *step, enum ofs_tool_rule rule,
			   struct ofs_buf *out)
{
	const struct filling f = { step, true };
	size_t before = out->len;

	for (size_t i = 0; i < SUMMARY_ALTERNATIVES && templates[rule][i]; i++) {
		if (ofs_template_expand(templates[rule][i], fill_in, &f, out) == 0)
			return;
		out->len = before;
	}
	/* Not even the path, query or command is known. */
	if (!step->success || !append_text(out, step->observation))
		append_text(out, step->tool_name);
}

/* Appends the short output of a command or search, which would otherwise be lost. */
static void append_answer(const struct ofs_step *step, const struct ofs_settings *s,
			  struct ofs_buf *out)
{
	const char *text = json_string_value(json_object_get(step->metadata, "output"));
	enum ofs_tool_rule rule = ofs_summary_rule(step, s);
	size_t len = text ? ofs_scan_trim(text, strlen(text)) : 0;

	if (!len || len > SUMMARY_ANSWER_MAX || memchr(text, '\n', len) ||
	    (rule != OFS_TOOL_SHELL && rule != OFS_TOOL_GREP && rule != OFS_TOOL_LIST))
		return;
	ofs_buf_append_str(out, ": ");
	ofs_line_append(out, text, len, SUMMARY_ANSWER_MAX);
}

void ofs_summary_text(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct filling f = { step, false };
	enum ofs_tool_rule rule;
	const struct ofs_tool_setting *t = ofs_tool_setting(s, step->tool_name, &rule);

	if (t && t->summary) {
		ofs_template_expand(t->summary, fill_in, &f, &text);
		/* The template may contain newlines. */
		ofs_line_append(out, (char *)text.data, text.len, 4 * SUMMARY_VALUE_MAX);
	} else {
		append_by_rule(step, ofs_summary_rule(step, s), out);
	}
	if (step->success) {
		append_answer(step, s, out);
		return;
	}
	ofs_buf_append_str(out, step->error && *step->error ? ": failed: " : ": failed");
	if (step->error)
		ofs_line_append_str(out, step->error, SUMMARY_ERROR_MAX);
}

/* ---- refs */

void ofs_summary_ref(const char *ref, struct ofs_buf *out)
{
	OFS_FREE char *shown = ofs_text_shown(ref);

	ofs_buf_append_str(out, shown);
}

static void append_ref(const struct ofs_step *step, struct ofs_buf *out)
{
	if (!step->outcome_ref)
		return;
	ofs_buf_append_str(out, " [ref ");
	ofs_summary_ref(step->outcome_ref, out);
	ofs_buf_append_str(out, "]");
}

void ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s,
		      struct ofs_buf *out)
{
	ofs_summary_text(step, s, out);
	append_ref(step, out);
}

/* ---- in full */

/* Returns whether the observation contains a short text. */
static bool is_said(const struct ofs_step *step, const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	ofs_line_append_str(&line, text, OBSERVATION_CHARS);
	return line.len && strstr(step->observation, ofs_buf_str(&line));
}

/* Returns the arguments that the observation lacks, as a new object. */
static json_t *unsaid_args(const struct ofs_step *step)
{
	json_t *left = json_object(), *value;
	const char *name;

	json_object_foreach(step->minimal_args, name, value)
	{
		if (!json_is_string(value) || !is_said(step, json_string_value(value)))
			json_object_set(left, name, value);
	}
	return left;
}

/* Returns the observation without a command at its start that is among the arguments. */
static const char *behind_command(const struct ofs_step *step, const json_t *args)
{
	const char *command = json_string_value(json_object_get(args, "command"));
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	if (!command)
		return step->observation;
	ofs_line_append_str(&line, command, OFS_OBSERVATION_COMMAND_MAX);
	ofs_buf_append_str(&line, ": ");
	return strncmp(step->observation, ofs_buf_str(&line), line.len) == 0
		       ? step->observation + line.len
		       : step->observation;
}

/* Appends output that was not offloaded and exists nowhere else. */
static void append_output(const struct ofs_step *step, struct ofs_buf *out)
{
	const char *text = json_string_value(json_object_get(step->metadata, "output")), *end;
	json_t *whole;

	if (!text || !*text)
		return;
	if (!memchr(text, '\n', ofs_scan_trim(text, strlen(text))) && is_said(step, text))
		return;
	whole = ofs_line_json_whole(text, strlen(text));
	text = json_string_value(whole);
	end = text + ofs_redact_cut(text, strlen(text), OUTPUT_MAX);
	while (text < end) {
		size_t len = OFS_MIN(strcspn(text, "\n"), (size_t)(end - text)), used;
		size_t cr = len && text[len - 1] == '\r';
		struct ofs_text_stream s;
		OFS_FREE char *shown = NULL;

		ofs_text_printable(ofs_text_open(&s), text, len - cr, false, SIZE_MAX, &used);
		shown = ofs_text_close(&s);
		ofs_buf_printf(out, "  | %s\n", shown);
		text += len + (text[len] == '\n');
	}
	if (*end)
		ofs_buf_append_str(out, "  ...\n");
	json_decref(whole);
}

void ofs_summary_full(const struct ofs_step *step, struct ofs_buf *out)
{
	json_t *left = unsaid_args(step);
	const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(OFS_LINE_REAL_DIGITS);
	OFS_FREE char *args = json_object_size(left) ? json_dumps(left, flags) : NULL;

	ofs_buf_append_str(out, *step->id ? "- " : "-");
	ofs_line_append_str(out, step->id, NAME_CHARS);
	ofs_buf_append_str(out, *step->tool_name ? " " : "");
	ofs_line_append_str(out, step->tool_name, NAME_CHARS);
	if (args) {
		ofs_buf_append_str(out, " ");
		ofs_line_append_str(out, args, ARGS_CHARS);
	}
	ofs_buf_append_str(out, ": ");
	ofs_line_append_str(out, behind_command(step, left), OBSERVATION_CHARS);
	json_decref(left);
	append_ref(step, out);
	ofs_buf_append_str(out, "\n");
	if (!step->success && !(step->error && is_said(step, step->error))) {
		ofs_buf_append_str(out, step->error && *step->error ? "  failed: " : "  failed");
		ofs_line_append_str(out, step->error ? step->error : "", ERROR_CHARS);
		ofs_buf_append_str(out, "\n");
	}
	append_output(step, out);
}
