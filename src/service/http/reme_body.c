/* SPDX-License-Identifier: MIT */
#include "service/http/reme_body.h"

#include <math.h>

static void refuse(struct ofs_http_reply *ret, json_t *where, const char *type, const char *message)
{
	ofs_http_reply_finish(ret);
	ofs_http_reply_json(ret, 422,
			    json_pack("{s:[{s:s, s:o, s:s}]}", "detail", "type", type, "loc", where,
				      "msg", message));
}

void ofs_reme_refuse(struct ofs_http_reply *ret, const char *member, const char *type,
		     const char *message)
{
	refuse(ret, json_pack("[s,s]", "body", member), type, message);
}

bool ofs_reme_body(struct ofs_http_exchange *x, struct ofs_http_reply *ret, json_t **ret_body)
{
	json_auto_t *said = NULL;
	const char *message;

	if (ofs_http_read_json(x, ret, ret_body) == 0)
		return true;
	said = json_loadb((char *)ret->body.data, ret->body.len, 0, NULL);
	message = json_string_value(json_object_get(json_object_get(said, "error"), "message"));
	refuse(ret, json_pack("[s]", "body"), "json_invalid", message);
	return false;
}

bool ofs_reme_text(const json_t *body, const char *name, struct ofs_http_reply *reply,
		   const char **ret)
{
	const json_t *value = json_object_get(body, name);

	if (value && !json_is_string(value) && !json_is_null(value)) {
		ofs_reme_refuse(reply, name, "string_type", "Input should be a valid string");
		return false;
	}
	if (json_is_string(value))
		*ret = json_string_value(value);
	return true;
}

/* Reads a number, or one in a string, which pydantic accepts, too. */
static bool is_number(const json_t *value, double *ret)
{
	const char *text = json_string_value(value);
	char *end;

	*ret = json_number_value(value);
	if (!text)
		return json_is_number(value);
	*ret = strtod(text, &end);
	return end > text && !*end && isfinite(*ret);
}

bool ofs_reme_real(const json_t *body, const char *name, struct ofs_http_reply *reply, double *ret)
{
	const json_t *value = json_object_get(body, name);

	if (!value || json_is_null(value) || is_number(value, ret))
		return true;
	ofs_reme_refuse(reply, name, "float_type", "Input should be a valid number");
	return false;
}

bool ofs_reme_number(const json_t *body, const char *name, struct ofs_http_reply *reply,
		     int64_t *ret)
{
	const json_t *value = json_object_get(body, name);
	double real;

	if (!value || json_is_null(value))
		return true;
	if (!is_number(value, &real) || real != trunc(real) || fabs(real) > 1e15) {
		ofs_reme_refuse(reply, name, "int_type", "Input should be a valid integer");
		return false;
	}
	*ret = (int64_t)real;
	return true;
}

void ofs_reme_answer(struct ofs_http_reply *ret, bool success, json_t *answer, json_t *messages,
		     json_t *metadata)
{
	ofs_http_reply_json(ret, 200,
			    json_pack("{s:b, s:o, s:o, s:o}", "success", success, "answer", answer,
				      "messages", messages, "metadata", metadata));
}
