/* SPDX-License-Identifier: MIT */
#include "context/steps/observation.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/line.h"

/* In characters. */
#define ERROR_MAX 300

/* Arguments kept in one step. */
#define ARGS_MAX 32

/* ---- the line, and metadata */

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
	ofs_line_append(&o->observation, text, len, max);
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
	/* A value that rounds to 1000 is 1 of the next unit. */
	for (; value >= 999.5 && units[i + 1]; i++)
		value /= 1000;
	if (value < 9.95)
		ofs_observe_say(o, "%.1f%cB", value, units[i]);
	else
		ofs_observe_say(o, "%.0f%cB", value, units[i]);
}

void ofs_observe_note_number(struct ofs_observing *o, const char *name, uint64_t n)
{
	json_object_set_new(o->metadata, name, json_integer((json_int_t)n));
}

void ofs_observe_note_text(struct ofs_observing *o, const char *name, const char *text, size_t len)
{
	json_object_set_new(o->metadata, name, ofs_line_json(text, len, OFS_OBSERVATION_ARG_MAX));
}

void ofs_observe_fail(struct ofs_observing *o, const char *reason, size_t len)
{
	if (!o->failed || !o->error.len)
		ofs_line_append(&o->error, reason, len, ERROR_MAX);
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

	/* The stored content is then JSON that holds the text. */
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
	/* A number that jansson cannot represent is kept as its text. */
	ofs_args_head(value, &text);
	return ofs_line_json((char *)text.data, text.len, OFS_OBSERVATION_ARG_MAX);
}

static void set_arg(struct ofs_observing *o, const char *name, struct ofs_span value)
{
	json_object_set_new(o->args, name, ofs_observe_scalar(value));
}

const char *ofs_observe_take(struct ofs_observing *o, const char *names, const char *as)
{
	struct ofs_span value = ofs_args_find(o->call->args, names), element;
	struct ofs_span_cursor c;

	/* Of several values the first is taken: {"paths": ["a.c", "b.c"]}. */
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
	ofs_line_append(&shown, (char *)key.data, key.len, OFS_OBSERVATION_ARG_MAX);
	set_arg(o, ofs_buf_str(&shown), value);
}

void ofs_observe_keep(struct ofs_observing *o, const char *names)
{
	struct ofs_span_cursor c = ofs_span_enter(o->call->args);
	struct ofs_span name, value;

	while (ofs_span_next_member(&c, &name, &value) && json_object_size(o->args) < ARGS_MAX) {
		if (!names || (ofs_args_index(name, names) && !ofs_span_is_null(value)))
			set_own_name(o, name, value);
	}
}
