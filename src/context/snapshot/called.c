/* SPDX-License-Identifier: MIT */
#include "context/snapshot/called.h"

#include "context/snapshot/prose.h"
#include "context/json/args.h"

#define TITLE_CHARS 200
#define COMMAND_CHARS 100
#define NAME_CHARS 60
#define VALUE_CHARS 60
#define PATH_CHARS 100
#define PATH_NAMES "path filepath file filename absolutepath targetfile notebookpath"
#define ARGS_CHARS 200
/* Bytes of an argument as written; longer ones are not decoded. */
#define VALUE_BYTES 4096
#define ANSWER_CHARS 80

struct ofs_span ofs_called_args(const struct ofs_chat_call *c, struct ofs_buf *buf)
{
	struct ofs_span object = { 0 };

	if (ofs_span_is_object(c->args))
		return c->args;
	if (ofs_span_is_string(c->args)) {
		ofs_span_decode(c->args, buf);
		ofs_span_parse((const char *)buf->data, buf->len, NULL, &object);
	}
	return ofs_span_is_object(object) ? object : (struct ofs_span){ 0 };
}

static void append_line(const void *text, size_t len, size_t max, struct ofs_buf *out)
{
	const char *p = text, *end = p + len, *eol;

	while (p < end && ofs_prose_is_blank(*p))
		p++;
	eol = memchr(p, '\n', (size_t)(end - p));
	ofs_prose_argument(p, (size_t)((eol ? eol : end) - p), max, out);
}

static void append_string(struct ofs_span string, size_t max, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_span_decode(string, &text);
	ofs_prose_argument((const char *)text.data, text.len, max, out);
}

/* Finds the command line of a shell call: a string, or the last of ["bash", "-lc", "make"]. */
static bool find_command(struct ofs_span args, struct ofs_buf *ret)
{
	struct ofs_span command = ofs_args_find(args, "command cmd"), element;
	struct ofs_span_cursor cursor = ofs_span_enter(command);

	if (ofs_span_is_array(command)) {
		while (ofs_span_next(&cursor, &element))
			command = element;
	}
	if (!ofs_span_is_string(command))
		return false;
	ofs_span_decode(command, ret);
	/* An editor's "command" is an operation on a path. */
	return ret->len &&
	       (memchr(ret->data, ' ', ret->len) || !ofs_args_find(args, "path filepath").p);
}

/* Appends a value; a long string becomes "...", an array its length, an object "{...}". */
static void append_value(struct ofs_span value, struct ofs_buf *out)
{
	struct ofs_span_cursor cursor = ofs_span_enter(value);
	struct ofs_span element;
	size_t n = 0;

	if (ofs_span_is_string(value)) {
		if (value.len <= VALUE_BYTES) {
			append_string(value, VALUE_CHARS, out);
			return;
		}
		ofs_buf_append_str(out, "...");
		return;
	}
	if (!ofs_span_is_array(value)) {
		if (ofs_span_is_object(value))
			ofs_buf_append_str(out, "{...}");
		else
			ofs_buf_append(out, value.p, value.len);
		return;
	}
	while (ofs_span_next(&cursor, &element))
		n++;
	ofs_buf_printf(out, "[%zu]", n);
}

static void append_args(struct ofs_span args, struct ofs_buf *out)
{
	struct ofs_span_cursor cursor = ofs_span_enter(args);
	struct ofs_span key, value, path = { 0 };
	size_t start = out->len;
	const char *before = " ";

	if (ofs_span_is_object(args))
		path = ofs_args_find(args, PATH_NAMES);

	while (ofs_span_is_object(args) && ofs_span_next_member(&cursor, &key, &value)) {
		if (out->len - start > ARGS_CHARS) {
			ofs_buf_append_str(out, ", ...");
			return;
		}
		if (ofs_span_is_null(value))
			continue;
		ofs_buf_append_str(out, before);
		before = ", ";
		if (value.p == path.p && ofs_span_is_string(value)) { /* a path needs no name */
			append_string(value, PATH_CHARS, out);
			continue;
		}
		append_string(key, VALUE_CHARS, out);
		ofs_buf_append_str(out, "=");
		append_value(value, out);
	}
}

static void append_call(const struct ofs_chat_call *c, bool quoted, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, command = OFS_BUF_INIT;
	struct ofs_span args = ofs_called_args(c, &text);

	if (find_command(args, &command)) {
		ofs_buf_append_str(out, quoted ? "`" : "");
		append_line(command.data, command.len, quoted ? COMMAND_CHARS : TITLE_CHARS, out);
		ofs_buf_append_str(out, quoted ? "`" : "");
		return;
	}
	if (!ofs_span_is_string(c->name))
		return;
	append_string(c->name, NAME_CHARS, out);
	append_args(args, out);
}

void ofs_called_whole(const struct ofs_chat_call *c, struct ofs_buf *out)
{
	append_call(c, true, out);
}

void ofs_called_title(const struct ofs_chat_call *c, struct ofs_buf *out)
{
	append_call(c, false, out);
}

void ofs_called_answer(const char *text, size_t len, struct ofs_buf *out)
{
	while (len && ofs_prose_is_blank(text[len - 1]))
		len--;
	/* A single word says only that the call succeeded. */
	if (!len || len > ANSWER_CHARS || *text == '{' || memchr(text, '\n', len) ||
	    (!memchr(text, ' ', len) && !ofs_prose_is_digit(text[len - 1])))
		return;
	ofs_buf_append_str(out, " -> ");
	ofs_prose_line(text, len, ANSWER_CHARS, out);
}
