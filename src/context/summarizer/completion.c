/* SPDX-License-Identifier: MIT */
#include "context/summarizer/completion.h"

#include <jansson.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/json/literal.h"

/* ---- asking */

static void append_string(struct ofs_buf *out, const char *before, const void *text, size_t len)
{
	static const struct ofs_literal_style style;

	ofs_buf_append_str(out, before);
	ofs_literal_encode(&style, text, len, out);
}

void ofs_completion_write(const struct ofs_completion *c, struct ofs_buf *out)
{
	const char *max = c->max_by_new_name ? "max_completion_tokens" : "max_tokens";

	append_string(out, "{\"model\":", c->model, strlen(c->model));
	append_string(out, ",\"messages\":[{\"role\":\"system\",\"content\":", c->instruction,
		      strlen(c->instruction));
	append_string(out, "},{\"role\":\"user\",\"content\":", c->text, c->len);
	ofs_buf_append_str(out, "}]");
	if (!c->any_temperature)
		ofs_buf_append_str(out, ",\"temperature\":0");
	if (c->max_tokens)
		ofs_buf_printf(out, ",\"%s\":%llu", max, (unsigned long long)c->max_tokens);
	ofs_buf_append_str(out, "}");
}

/* ---- what comes back */

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

#define CLEANUP_JSON OFS_CLEANUP(cleanup_json)

static void append_json(struct ofs_buf *out, const json_t *string)
{
	ofs_buf_append(out, json_string_value(string), json_string_length(string));
}

/* A content is a text, or parts of which some are. */
static int append_content(struct ofs_buf *out, const json_t *content)
{
	const json_t *part;
	size_t i;

	if (json_is_string(content)) {
		append_json(out, content);
		return 0;
	}
	json_array_foreach(content, i, part)
	{
		const json_t *text = json_object_get(part, "text");

		if (json_is_string(text))
			append_json(out, text);
	}
	return 0;
}

int ofs_completion_read(const void *body, size_t len, struct ofs_error *err,
			struct ofs_buf *ret_text)
{
	json_error_t error;
	/* A NUL is let through: that it has no place in a text is said where texts are checked. */
	CLEANUP_JSON json_t *answer = json_loadb(body, len, JSON_ALLOW_NUL, &error);
	const json_t *choice = json_array_get(json_object_get(answer, "choices"), 0);
	const json_t *message = json_object_get(choice, "message");
	const json_t *content = json_object_get(message, "content");
	const char *reason = json_string_value(json_object_get(choice, "finish_reason"));

	if (!answer)
		return ofs_error_set(err, EBADMSG, "does not answer in JSON (%s)", error.text);
	if (!json_is_object(message))
		return ofs_error_set(err, EBADMSG,
				     "does not answer with a completion: no choices[0].message");
	if (!json_is_string(content) && !json_is_array(content))
		return ofs_error_set(err, EBADMSG, "answers without a text");
	/* What is missing are the last sections, and with them the references. */
	if (reason && strcmp(reason, "length") == 0)
		return ofs_error_set(err, EBADMSG, "answers with a text that its limit cut off");
	return append_content(ret_text, content);
}

/* ---- refusals */

/* Allocated. NULL: there is none but empty ones. */
static char *first_line(const char *text, size_t len)
{
	size_t start = 0, n = 0;
	char *line;

	while (start < len && strchr(" \t\r\n", text[start]))
		start++;
	while (start + n < len && text[start + n] && text[start + n] != '\n')
		n++;
	if (n == 0)
		return NULL;
	line = ofs_alloc(n + 1);
	memcpy(line, text + start, n);
	return line;
}

char *ofs_completion_refusal(const void *body, size_t len)
{
	CLEANUP_JSON json_t *answer = json_loadb(body, len, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const json_t *said[] = { json_object_get(error, "message"), error,
				 json_object_get(answer, "message"),
				 json_object_get(answer, "detail") };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(said); i++) {
		if (json_string_length(said[i]))
			return ofs_strdup(json_string_value(said[i]));
	}
	return first_line(body, len);
}

bool ofs_completion_adapt(struct ofs_completion *c, const void *body, size_t len)
{
	CLEANUP_JSON json_t *answer = json_loadb(body, len, 0, NULL);
	const json_t *error = json_object_get(answer, "error");
	const char *what = json_string_value(json_object_get(error, "param"));

	if (!what)
		return false;
	if (strcmp(what, "max_tokens") == 0 && c->max_tokens && !c->max_by_new_name) {
		c->max_by_new_name = true;
		return true;
	}
	if (strcmp(what, "temperature") == 0 && !c->any_temperature) {
		c->any_temperature = true;
		return true;
	}
	return false;
}
