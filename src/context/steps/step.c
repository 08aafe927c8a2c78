/* SPDX-License-Identifier: MIT */
#include "context/steps/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/steps/line.h"

/* Enough for numbers as people write them to be printed unchanged. */
#define REAL_DIGITS 15
#define NAME_CHARS 64
#define REASON_CHARS 160
#define MEMBER "steps"

void ofs_step_finish(struct ofs_step *step)
{
	free(step->id);
	free(step->tool_name);
	json_decref(step->minimal_args);
	free(step->observation);
	free(step->outcome_ref);
	free(step->error);
	json_decref(step->metadata);
	*step = (struct ofs_step){ 0 };
}

/* ---- reading */

/* The member as an allocated text; NULL if it is no string. */
static char *take_text(const json_t *json, const char *name)
{
	const char *text = json_string_value(json_object_get(json, name));

	return text ? ofs_strdup(text) : NULL;
}

static char *take_text_or_empty(const json_t *json, const char *name)
{
	char *text = take_text(json, name);

	return text ? text : ofs_strdup("");
}

static json_t *take_object(const json_t *json, const char *name)
{
	json_t *object = json_object_get(json, name);

	return json_is_object(object) ? json_incref(object) : json_object();
}

/* A ref, or what else harnesses write there: an object that has it. */
static char *take_ref(const json_t *json)
{
	const json_t *ref = json_object_get(json, "outcome_ref");

	if (json_is_object(ref))
		return json_object_get(ref, "ref") ? take_text(ref, "ref") : take_text(ref, "path");
	return take_text(json, "outcome_ref");
}

static void read_step(const json_t *json, struct ofs_step *s)
{
	const json_t *time = json_object_get(json, "timestamp_ms");
	const json_t *success = json_object_get(json, "success");

	s->id = take_text_or_empty(json, "id");
	s->tool_name = take_text_or_empty(json, "tool_name");
	s->minimal_args = take_object(json, "minimal_args");
	s->observation = take_text_or_empty(json, "observation");
	s->outcome_ref = take_ref(json);
	s->error = take_text(json, "error");
	s->success = json_is_boolean(success) ? json_is_true(success) : !s->error;
	s->has_timestamp = json_is_integer(time);
	s->timestamp_ms = json_integer_value(time);
	s->metadata = take_object(json, "metadata");
}

int ofs_step_parse(struct ofs_span object, struct ofs_error *err, struct ofs_step *ret)
{
	json_t *json;

	if (!ofs_span_is_object(object))
		return ofs_error_set(
			err, EINVAL,
			"a step is a JSON object with \"tool_name\" and \"observation\"");
	json = json_loadb(object.p, object.len, JSON_ALLOW_NUL, NULL);
	if (!json)
		return ofs_error_set(
			err, EINVAL,
			"a step has a number that is too large, or text that is no UTF-8");
	if (!json_is_string(json_object_get(json, "tool_name")) &&
	    !json_is_string(json_object_get(json, "observation"))) {
		json_decref(json);
		return ofs_error_set(err, EINVAL,
				     "a step has neither \"tool_name\" nor \"observation\"");
	}
	read_step(json, ret);
	json_decref(json);
	return 0;
}

/* ---- writing */

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static int append_json(const char *data, size_t len, void *out)
{
	ofs_buf_append(out, data, len);
	return 0;
}

void ofs_step_print(const struct ofs_step *step, struct ofs_buf *out)
{
	json_t *json = json_object(), *time;

	time = step->has_timestamp ? json_integer(step->timestamp_ms) : json_null();
	json_object_set_new(json, "id", json_string(step->id));
	json_object_set_new(json, "tool_name", json_string(step->tool_name));
	json_object_set(json, "minimal_args", step->minimal_args);
	json_object_set_new(json, "observation", json_string(step->observation));
	json_object_set_new(json, "outcome_ref", text_or_null(step->outcome_ref));
	json_object_set_new(json, "success", json_boolean(step->success));
	json_object_set_new(json, "error", text_or_null(step->error));
	json_object_set_new(json, "timestamp_ms", time);
	json_object_set(json, "metadata", step->metadata);
	json_dump_callback(json, append_json, out, JSON_REAL_PRECISION(REAL_DIGITS));
	json_decref(json);
}

/* ---- asking */

bool ofs_step_number(const struct ofs_step *step, const char *name, uint64_t *ret)
{
	const json_t *value = json_object_get(step->metadata, name);

	if (!json_is_integer(value) || json_integer_value(value) < 0)
		return false;
	*ret = (uint64_t)json_integer_value(value);
	return true;
}

const char *ofs_step_text(const struct ofs_step *step, const char *name)
{
	const char *text = json_string_value(json_object_get(step->minimal_args, name));

	return text ? text : json_string_value(json_object_get(step->metadata, name));
}

/* ---- lists */

void ofs_step_list_finish(struct ofs_step_list *l)
{
	while (l->n)
		ofs_step_finish(&l->steps[--l->n]);
	free(l->steps);
	free(l->skipped);
	*l = (struct ofs_step_list)OFS_STEP_LIST_INIT;
}

/* Takes the step. */
static void append(struct ofs_step_list *l, const struct ofs_step *step)
{
	l->steps = ofs_grow(l->steps, &l->cap, l->n + 1, sizeof(*l->steps));
	l->steps[l->n++] = *step;
}

/* Removes the steps after the first `n`. */
static void cut(struct ofs_step_list *l, size_t n)
{
	while (l->n > n)
		ofs_step_finish(&l->steps[--l->n]);
}

static int add(struct ofs_step_list *l, struct ofs_span object, size_t number,
	       struct ofs_error *err)
{
	struct ofs_error what = { "" };
	struct ofs_step step;
	int r = ofs_step_parse(object, &what, &step);

	if (r < 0)
		return ofs_error_set(err, -r, "step %zu: %s", number, what.text);
	append(l, &step);
	return 0;
}

/* `first`: the number of steps before this text. */
static int add_value(struct ofs_step_list *l, struct ofs_span value, size_t first,
		     struct ofs_error *err)
{
	struct ofs_span list = value, element;
	struct ofs_span_cursor c;
	int r = 0;

	if (ofs_span_is_object(value))
		list = ofs_span_member(value, MEMBER);
	if (!ofs_span_is_array(list))
		return add(l, value, l->n - first + 1, err);
	for (c = ofs_span_enter(list); r == 0 && ofs_span_next(&c, &element);)
		r = add(l, element, l->n - first + 1, err);
	return r;
}

/* Adds the number of the line on which the value starts. */
static int value_error(const char *text, struct ofs_span value, const struct ofs_error *what,
		       struct ofs_error *err)
{
	size_t line = 1;

	for (const char *p = text; (p = memchr(p, '\n', (size_t)(value.p - p))); p++)
		line++;
	return ofs_error_set(err, EINVAL, "line %zu: %s", line, what->text);
}

int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err)
{
	struct ofs_error what = { "" };
	size_t before = l->n, at = 0;
	struct ofs_span value;
	int r;

	while ((r = ofs_span_parse_at(text, len, at, err, &value, &at)) == 0) {
		r = add_value(l, value, before, &what);
		if (r < 0) {
			value_error(text, value, &what, err);
			break;
		}
	}
	if (r == -ENODATA && l->n > before)
		return 0;
	cut(l, before);
	if (r != -ENODATA)
		return r;
	return ofs_error_set(err, EINVAL,
			     "there are no steps: give them as JSON lines, as an array, or as "
			     "{\"steps\": [...]}");
}

/* ---- files */

static int parse_file(const struct ofs_task_step *file, struct ofs_error *err, struct ofs_step *ret)
{
	struct ofs_span object;
	int r;

	if (file->error)
		return ofs_error_set(err, -file->error, "%s", strerror(-file->error));
	r = ofs_span_parse(file->text, file->len, err, &object);
	return r < 0 ? r : ofs_step_parse(object, err, ret);
}

/* "step_004.json (the input is empty), step_007.json (Permission denied)". */
static void note_skipped(struct ofs_step_list *l, const char *name, const char *reason)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (l->n_skipped++ >= OFS_STEP_LIST_NAMED)
		return;
	if (l->skipped)
		ofs_buf_printf(&text, "%s, ", l->skipped);
	ofs_line_append_str(&text, name, NAME_CHARS);
	ofs_buf_append_str(&text, " (");
	ofs_line_append_str(&text, reason, REASON_CHARS);
	ofs_buf_append_str(&text, ")");
	free(l->skipped);
	l->skipped = ofs_buf_steal_str(&text);
}

void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file)
{
	struct ofs_error what = { "" };
	struct ofs_step step;

	if (parse_file(file, &what, &step) < 0) {
		note_skipped(l, file->name, what.text);
		return;
	}
	append(l, &step);
}
