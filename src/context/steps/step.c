/* SPDX-License-Identifier: MIT */
#include "context/steps/step.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"

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

/* A number as people write it comes back as it was. */
#define REAL_DIGITS 15

/* ---- reading */

/* The member as an allocated text; NULL: it is no string. What jansson reads has no NUL within. */
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

/* 0 or -ENOMEM; takes `value`, which is NULL when it could not be made. */
static int set(json_t *object, const char *name, json_t *value)
{
	return json_object_set_new(object, name, value) < 0 ? -ENOMEM : 0;
}

static json_t *text_or_null(const char *text)
{
	return text ? json_string(text) : json_null();
}

static int append_json(const char *data, size_t len, void *out)
{
	ofs_buf_append(out, data, len);
	return 0;
}

int ofs_step_print(const struct ofs_step *step, struct ofs_buf *out)
{
	json_t *json = json_object();
	size_t before = out->len;
	int r = 0;

	r |= set(json, "id", json_string(step->id));
	r |= set(json, "tool_name", json_string(step->tool_name));
	r |= set(json, "minimal_args", json_incref(step->minimal_args));
	r |= set(json, "observation", json_string(step->observation));
	r |= set(json, "outcome_ref", text_or_null(step->outcome_ref));
	r |= set(json, "success", json_boolean(step->success));
	r |= set(json, "error", text_or_null(step->error));
	r |= set(json, "timestamp_ms",
		 step->has_timestamp ? json_integer(step->timestamp_ms) : json_null());
	r |= set(json, "metadata", json_incref(step->metadata));
	if (r == 0 &&
	    json_dump_callback(json, append_json, out, JSON_REAL_PRECISION(REAL_DIGITS)) < 0)
		r = -ENOMEM;
	json_decref(json);
	if (r < 0)
		out->len = before;
	return r < 0 ? -ENOMEM : 0;
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
