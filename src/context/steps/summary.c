/* SPDX-License-Identifier: MIT */
#include "context/steps/summary.h"

#include <string.h>

#include "base/util.h"
#include "context/steps/line.h"
#include "context/steps/template.h"
#include "context/tool.h"

/* In characters. */
#define SUMMARY_VALUE_MAX 120
#define SUMMARY_ARGS_MAX 100
#define SUMMARY_ARG_MAX 40
#define SUMMARY_ERROR_MAX 160
#define SUMMARY_REF_MAX 1000 /* it may be a path, too */
#define SUMMARY_ALTERNATIVES 5

/* Of each rule's templates the first for which nothing is missing. */
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

/* The same for steps that failed, whose sizes and counts tell nothing. */
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
static int append_args(const struct ofs_step *step, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT;
	const char *name;
	json_t *value;
	int r = 0;

	json_object_foreach(step->minimal_args, name, value)
	{
		ofs_buf_printf(&all, "%s%s=", all.len ? ", " : "", name);
		r = ofs_template_scalar(&all, value, SUMMARY_ARG_MAX);
		if (r < 0)
			return r;
	}
	return ofs_line_append(out, (char *)all.data, all.len, SUMMARY_ARGS_MAX);
}

static int append_count(const struct ofs_step *step, struct ofs_buf *out)
{
	static const char *const names[] = { "results", "items", "matches" };
	uint64_t n;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		if (ofs_step_number(step, names[i], &n))
			return ofs_template_scalar(out, json_object_get(step->metadata, names[i]),
						   SUMMARY_VALUE_MAX);
	}
	return 0;
}

static int append_text(struct ofs_buf *out, const char *text)
{
	int r;

	if (!*text)
		return 0;
	r = ofs_line_append(out, text, strlen(text), SUMMARY_VALUE_MAX);
	return r < 0 ? r : 1;
}

/* What minimal_args, or else metadata, has under the name. */
static int append_value(const struct ofs_step *step, const char *name, size_t len,
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
		return 0;
	memcpy(key, name, len);
	key[len] = '\0';
	value = json_object_get(step->minimal_args, key);
	if (!value && !args_alone)
		value = json_object_get(step->metadata, key);
	return ofs_template_scalar(out, value, SUMMARY_VALUE_MAX);
}

static int fill_in(void *arg, const char *name, size_t len, struct ofs_buf *out)
{
	const struct ofs_step *step = arg;
	uint64_t n;
	int r = 0;

	if (is_name(name, len, "tool"))
		return append_text(out, step->tool_name);
	if (is_name(name, len, "observation"))
		return append_text(out, step->observation);
	if (is_name(name, len, "error"))
		return append_text(out, step->error ? step->error : "");
	if (is_name(name, len, "count"))
		return append_count(step, out);
	if (is_name(name, len, "code"))
		return append_value(step, "exit_code", strlen("exit_code"), out);
	if (is_name(name, len, "args"))
		r = append_args(step, out);
	else if (is_name(name, len, "size") &&
		 (ofs_step_number(step, "text_bytes", &n) || ofs_step_number(step, "bytes", &n)))
		ofs_template_size(out, n);
	else if (is_name(name, len, "written") && ofs_step_number(step, "written", &n))
		ofs_template_size(out, n);
	else
		return append_value(step, name, len, out);
	return r < 0 ? r : 1;
}

/* Appends a template if nothing is missing for it. 1, 0 or -errno. */
static int try_template(const char *tpl, const struct ofs_step *step, struct ofs_buf *out)
{
	size_t before = out->len;
	int r;

	if (!tpl)
		return 0;
	r = ofs_template_expand(tpl, fill_in, (void *)(uintptr_t)step, out);
	if (r == 0)
		return 1;
	out->len = before;
	return r < 0 ? r : 0;
}

static enum ofs_tool_rule rule_of(const struct ofs_step *step, enum ofs_tool_rule by_name)
{
	const char *rule = json_string_value(json_object_get(step->metadata, "rule"));

	return rule ? ofs_tool_by_name(rule) : by_name;
}

/* What was done, by the rule's templates. */
static int append_by_rule(const struct ofs_step *step, enum ofs_tool_rule rule, struct ofs_buf *out)
{
	int r = step->success ? 0 : try_template(failed[rule], step, out);

	for (size_t i = 0; i < SUMMARY_ALTERNATIVES && r == 0; i++)
		r = try_template(templates[rule][i], step, out);
	if (r != 0)
		return OFS_MIN(r, 0);
	/* Not even the path, the query, ... is known. */
	r = append_text(out, step->observation);
	if (r == 0)
		r = append_text(out, step->tool_name);
	return OFS_MIN(r, 0);
}

static int append_end(const struct ofs_step *step, struct ofs_buf *out)
{
	int r = 0;

	if (!step->success)
		ofs_buf_append_str(out, step->error && *step->error ? ": failed: " : ": failed");
	if (!step->success && step->error)
		r = ofs_line_append(out, step->error, strlen(step->error), SUMMARY_ERROR_MAX);
	if (r < 0 || !step->outcome_ref)
		return r;
	/* A step of another program may have anything there. */
	ofs_buf_append_str(out, " [ref ");
	r = ofs_line_append(out, step->outcome_ref, strlen(step->outcome_ref), SUMMARY_REF_MAX);
	if (r == 0)
		ofs_buf_append_str(out, "]");
	return r;
}

int ofs_summary_line(const struct ofs_step *step, const struct ofs_settings *s, struct ofs_buf *out)
{
	enum ofs_tool_rule rule;
	const struct ofs_tool_setting *t = ofs_tool_setting(s, step->tool_name, &rule);
	int r;

	if (t && t->summary) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		r = ofs_template_expand(t->summary, fill_in, (void *)(uintptr_t)step, &text);
		if (r >= 0) /* the template may have lines */
			r = ofs_line_append(out, (char *)text.data, text.len,
					    4 * SUMMARY_VALUE_MAX);
	} else {
		r = append_by_rule(step, rule_of(step, rule), out);
	}
	return r < 0 ? r : append_end(step, out);
}
