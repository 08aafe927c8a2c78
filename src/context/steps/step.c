/* SPDX-License-Identifier: MIT */
#include "context/steps/step.h"

#include "base/text.h"
#include "context/steps/line.h"

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

/* Returns the member as an allocated text, or else a copy of `otherwise`, which may be NULL. */
static char *take_text(const json_t *json, const char *name, const char *otherwise)
{
	const char *text = json_string_value(json_object_get(json, name));

	text = text ? text : otherwise;
	return text ? ofs_strdup(text) : NULL;
}

static json_t *take_object(const json_t *json, const char *name)
{
	json_t *object = json_object_get(json, name);

	return json_is_object(object) ? json_incref(object) : json_object();
}

/* Returns the ref. Some harnesses write an object that contains it. */
static char *take_ref(const json_t *json)
{
	const json_t *ref = json_object_get(json, "outcome_ref");

	if (!json_is_object(ref))
		return take_text(json, "outcome_ref", NULL);
	return take_text(ref, json_object_get(ref, "ref") ? "ref" : "path", NULL);
}

static void read_step(const json_t *json, struct ofs_step *ret)
{
	const json_t *time = json_object_get(json, "timestamp_ms");
	const json_t *success = json_object_get(json, "success");

	*ret = (struct ofs_step){
		.id = take_text(json, "id", ""),
		.tool_name = take_text(json, "tool_name", ""),
		.minimal_args = take_object(json, "minimal_args"),
		.observation = take_text(json, "observation", ""),
		.outcome_ref = take_ref(json),
		.error = take_text(json, "error", NULL),
		.has_timestamp = json_is_integer(time),
		.timestamp_ms = json_integer_value(time),
		.metadata = take_object(json, "metadata"),
	};
	ret->success = json_is_boolean(success) ? json_is_true(success) : !ret->error;
}

int ofs_step_parse(struct ofs_span object, struct ofs_error *err, struct ofs_step *ret)
{
	const char *wrong = NULL;
	json_t *json = NULL;

	if (!ofs_span_is_object(object))
		wrong = "a step is a JSON object with \"tool_name\" and \"observation\"";
	else if (!(json = ofs_span_json(object)))
		wrong = "a step has a number that is too large, or text that is not UTF-8";
	else if (!json_is_string(json_object_get(json, "tool_name")) &&
		 !json_is_string(json_object_get(json, "observation")))
		wrong = "a step has neither \"tool_name\" nor \"observation\"";
	else
		read_step(json, ret);
	json_decref(json);
	return wrong ? ofs_error_set(err, EINVAL, "%s", wrong) : 0;
}

/* ---- writing */

void ofs_step_print(const struct ofs_step *step, struct ofs_buf *out)
{
	json_t *json, *time;

	time = step->has_timestamp ? json_integer(step->timestamp_ms) : json_null();
	json = json_pack("{s:s, s:s, s:O, s:s, s:s?, s:b, s:s?, s:o, s:O}", "id", step->id,
			 "tool_name", step->tool_name, "minimal_args", step->minimal_args,
			 "observation", step->observation, "outcome_ref", step->outcome_ref,
			 "success", step->success, "error", step->error, "timestamp_ms", time,
			 "metadata", step->metadata);
	ofs_json_append(json, JSON_REAL_PRECISION(OFS_LINE_REAL_DIGITS), out);
}

/* ---- lists */

/* Removes the steps after the first `n`. */
static void cut(struct ofs_step_list *l, size_t n)
{
	while (l->n > n)
		ofs_step_finish(&l->steps[--l->n]);
}

void ofs_step_list_finish(struct ofs_step_list *l)
{
	cut(l, 0);
	free(l->steps);
	ofs_buf_finish(&l->skipped);
	*l = (struct ofs_step_list){ 0 };
}

static int add(struct ofs_step_list *l, struct ofs_span object, struct ofs_error *err)
{
	int r;

	l->steps = ofs_grow(l->steps, &l->cap, l->n + 1, sizeof(*l->steps));
	r = ofs_step_parse(object, err, &l->steps[l->n]);
	l->n += r == 0;
	return r;
}

/* Adds one step, or all steps of a list. */
static int add_value(struct ofs_step_list *l, struct ofs_span value, struct ofs_error *err)
{
	struct ofs_span list = ofs_span_is_object(value) ? ofs_span_member(value, MEMBER) : value;
	struct ofs_span_cursor c = ofs_span_enter(list);
	int r = 0;

	if (!ofs_span_is_array(list))
		return add(l, value, err);
	while (r == 0 && ofs_span_next(&c, &value))
		r = add(l, value, err);
	return r;
}

int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err)
{
	struct ofs_error why = { "" };
	size_t before = l->n, at = 0, line = 1;
	struct ofs_span value;
	int r;

	while ((r = ofs_span_parse_at(text, len, at, err, &value, &at)) == 0) {
		r = add_value(l, value, &why);
		if (r == 0)
			continue;
		for (const char *p = text; (p = memchr(p, '\n', (size_t)(value.p - p))); p++)
			line++;
		ofs_error_set(err, -r, "line %zu: step %zu: %s", line, l->n - before + 1, why.text);
		break;
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

void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file)
{
	struct ofs_error why = { "" };
	struct ofs_span object;
	int r = file->error;

	if (r < 0)
		ofs_error_set(&why, -r, "%s", strerror(-r));
	else
		r = ofs_span_parse(file->text, file->len, &why, &object);
	if (r == 0)
		r = add(l, object, &why);
	if (r == 0 || l->n_skipped++ >= OFS_STEP_LIST_NAMED)
		return;
	ofs_buf_append_str(&l->skipped, l->skipped.len ? ", " : "");
	ofs_line_append_str(&l->skipped, file->name, NAME_CHARS);
	ofs_buf_append_str(&l->skipped, " (");
	ofs_line_append_str(&l->skipped, why.text, REASON_CHARS);
	ofs_buf_append_str(&l->skipped, ")");
}
