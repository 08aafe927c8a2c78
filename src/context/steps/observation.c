/* SPDX-License-Identifier: MIT */
#include "context/steps/observation.h"

#include "context/json/args.h"
#include "context/steps/line.h"

/* In characters. */
#define ERROR_MAX 300
#define ANSWER_MAX 160
#define ANSWER_LINES 3

/* ---- the line, and metadata */

void ofs_observe_say_size(struct ofs_observing *o, uint64_t bytes)
{
	const char *unit = "KMGTPE";
	double value = (double)bytes / 1000;

	if (bytes < 1000) {
		ofs_observe_say(o, "%s", ofs_counted(bytes, "byte").text);
		return;
	}
	/* 999.5 and more rounds to 1 of the next unit. */
	for (; value >= 999.5 && unit[1]; unit++)
		value /= 1000;
	ofs_observe_say(o, "%.*f%cB", value < 9.95 ? 1 : 0, value, *unit);
}

void ofs_observe_say_answer(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	size_t len = ofs_scan_trim(r->text, r->text_len);

	if (!len || len > ANSWER_MAX || ofs_scan_lines(r->text, len) > ANSWER_LINES)
		return;
	ofs_observe_say(o, ": ");
	ofs_line_append(&o->observation, r->text, len, ANSWER_MAX);
}

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n)
{
	json_object_set_new(o->metadata, name, json_integer((json_int_t)n));
}

void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len)
{
	o->failed = true;
	if (!o->error.len)
		ofs_line_append(&o->error, reason, len, ERROR_MAX);
}

bool ofs_observe_is_large(const struct ofs_observing *o)
{
	return o->content.size > o->settings->max_bytes ||
	       o->content.lines > o->settings->max_lines;
}

/* ---- arguments */

json_t *ofs_observe_scalar(struct ofs_span value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	bool is_object = ofs_span_is_object(value);
	json_t *json = NULL;

	if (is_object || ofs_span_is_array(value)) {
		size_t n = ofs_args_count(value);

		return json_sprintf("[%s: %zu %s%s]", is_object ? "object" : "array", n,
				    is_object ? "key" : "item", n == 1 ? "" : "s");
	}
	if (!ofs_span_is_string(value))
		json = ofs_span_json(value);
	if (json)
		return json;
	/* Numbers that jansson cannot represent are kept as text. */
	ofs_args_text(value, &text);
	return ofs_line_json((char *)text.data, text.len, OFS_OBSERVATION_ARG_MAX);
}

const char *ofs_observe_set_arg(struct ofs_observing *o, const char *as, const char *text,
				size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;

	if (strcmp(as, "path") == 0) /* the end of a path tells most */
		ofs_line_append_end(&line, text, len, OFS_OBSERVATION_ARG_MAX);
	else
		ofs_line_append(&line, text, len, OFS_OBSERVATION_ARG_MAX);
	json_object_set_new(o->args, as, json_string(ofs_buf_str(&line)));
	return json_string_value(json_object_get(o->args, as));
}

const char *ofs_observe_take(struct ofs_observing *o, struct ofs_span from, const char *names,
			     const char *as)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span value = ofs_args_find(from, names);
	struct ofs_span_cursor c = ofs_span_enter(value);

	/* The first of several values counts: {"paths": ["a.c", "b.c"]}. */
	if (ofs_span_is_array(value) && !ofs_span_next(&c, &value))
		return NULL;
	if (!ofs_span_is_string(value) || value.len == 2)
		return NULL;
	ofs_span_decode(value, &text);
	return ofs_observe_set_arg(o, as, (char *)text.data, text.len);
}
