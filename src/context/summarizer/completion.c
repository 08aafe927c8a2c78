/* SPDX-License-Identifier: MIT */
#include "context/summarizer/completion.h"

#include <jansson.h>

#include "base/text.h"

void ofs_completion_write(const struct ofs_completion *c, struct ofs_buf *out)
{
	json_t *json = json_pack("{s:s, s:[{s:s, s:s}, {s:s, s:s%}]}", "model", c->model,
				 "messages", "role", "system", "content", c->instruction, "role",
				 "user", "content", (const char *)c->text, c->len);

	if (!c->any_temperature)
		json_object_set_new(json, "temperature", json_integer(0));
	if (c->max_tokens)
		json_object_set_new(json,
				    c->max_by_new_name ? "max_completion_tokens" : "max_tokens",
				    json_integer((json_int_t)c->max_tokens));
	ofs_json_append(json, JSON_COMPACT, out);
}

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

#define CLEANUP_JSON OFS_CLEANUP(cleanup_json)

static void append_json(struct ofs_buf *out, const json_t *string)
{
	ofs_buf_append(out, json_string_value(string), json_string_length(string));
}

int ofs_completion_read(const struct ofs_buf *body, struct ofs_error *err, struct ofs_buf *ret_text)
{
	json_error_t error;
	/* NUL is accepted here, and refused where summaries are checked. */
	CLEANUP_JSON json_t *answer =
		json_loadb((const char *)body->data, body->len, JSON_ALLOW_NUL, &error);
	const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);
	const json_t *message = json_object_get(choice, "message");
	const json_t *content = json_object_get(message, "content");
	const char *reason = json_string_value(json_object_get(choice, "finish_reason"));
	const json_t *part;
	size_t i;

	if (!answer)
		return ofs_error_set(err, EBADMSG, "does not answer in JSON (%s)", error.text);
	if (!json_is_object(message))
		return ofs_error_set(err, EBADMSG,
				     "does not answer with a completion: no choices[0].message");
	if (!json_is_string(content) && !json_is_array(content))
		return ofs_error_set(err, EBADMSG, "answers without a text");
	/* The missing end would have the last sections, including the references. */
	if (reason && strcmp(reason, "length") == 0)
		return ofs_error_set(err, EBADMSG,
				     "answers with a text that was cut off at the limit");
	/* The content is a text, or parts, some of which are texts. */
	append_json(ret_text, content);
	json_array_foreach(content, i, part) append_json(ret_text, json_object_get(part, "text"));
	return 0;
}

bool ofs_completion_adapt(struct ofs_completion *c, const struct ofs_buf *refusal)
{
	CLEANUP_JSON json_t *answer =
		json_loadb((const char *)refusal->data, refusal->len, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const char *what = json_string_value(json_object_get(error, "param"));
	bool *form = NULL;

	if (what && strcmp(what, "max_tokens") == 0 && c->max_tokens)
		form = &c->max_by_new_name;
	else if (what && strcmp(what, "temperature") == 0)
		form = &c->any_temperature;
	if (!form || *form)
		return false;
	*form = true;
	return true;
}

int ofs_completion_ask(struct ofs_endpoint *e, struct ofs_completion *c, struct ofs_error *err,
		       struct ofs_buf *ret_text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT, answer = OFS_BUF_INIT;
	struct ofs_error said = { "" };
	int r;

	do {
		body.len = 0;
		ofs_completion_write(c, &body);
		r = ofs_endpoint_post(e, "/chat/completions", &body, err, &answer);
	} while (r == -EREMOTEIO && ofs_completion_adapt(c, &answer));
	if (r < 0)
		return r;
	r = ofs_completion_read(&answer, &said, ret_text);
	return r < 0 ? ofs_endpoint_fail(e, -r, said.text, NULL, err) : 0;
}
