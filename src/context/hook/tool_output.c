/* SPDX-License-Identifier: MIT */
#include "context/hook/tool_output.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "context/json/member.h"

void ofs_tool_output_finish(struct ofs_tool_output *o)
{
	ofs_buf_finish(&o->text);
	*o = (struct ofs_tool_output){ 0 };
}

/* ---- reading */

/* What is added begins on a line of its own. */
static void end_line(struct ofs_buf *text)
{
	if (!text->len || text->data[text->len - 1] == '\n')
		return;
	ofs_buf_append(text, "\n", 1);
}

static void add_string(struct ofs_span string, struct ofs_buf *text)
{
	if (string.len <= strlen("\"\""))
		return;
	end_line(text);
	ofs_span_decode(string, text);
}

static void add_json(struct ofs_span value, struct ofs_buf *text)
{
	end_line(text);
	ofs_buf_append(text, value.p, value.len);
}

/* The same on one line, however the program that wrote it spread it. */
static void add_json_line(struct ofs_span value, struct ofs_buf *text)
{
	const char *p = value.p, *end = value.p + value.len;

	end_line(text);
	while (p < end) {
		const char *start = p;

		if (*p == '"') {
			for (p++; *p != '"'; p++)
				p += *p == '\\';
			p++;
		} else {
			while (p < end && !strchr("\" \t\r\n", *p))
				p++;
		}
		ofs_buf_append(text, start, (size_t)(p - start));
		while (p < end && strchr(" \t\r\n", *p))
			p++;
	}
}

/* A string as its text, what else there is as JSON, each on its own line. */
static void add_each(struct ofs_span array, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span item;

	while (ofs_span_next(&c, &item))
		if (ofs_span_is_string(item))
			add_string(item, text);
		else
			add_json_line(item, text);
}

/* Hits of a search: those within an object come one a line, so that grep finds them. */
static void add_results(struct ofs_span array, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span item;

	while (ofs_span_next(&c, &item)) {
		struct ofs_span hits = ofs_span_member(item, "content");

		if (ofs_span_is_array(hits))
			add_each(hits, text);
		else if (ofs_span_is_string(item))
			add_string(item, text);
		else
			add_json_line(item, text);
	}
}

/* Blocks that are all texts. -ENODATA: one of them is not. */
static int add_blocks(struct ofs_span array, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span block;

	while (ofs_span_next(&c, &block)) {
		struct ofs_span string = ofs_span_member(block, "text");

		if (!ofs_span_is(ofs_span_member(block, "type"), "text") ||
		    !ofs_span_is_string(string))
			return -ENODATA;
		add_string(string, text);
	}
	return 0;
}

static bool is_true(struct ofs_span s)
{
	return s.len && *s.p == 't';
}

/* What an object may have that tells its shape. */
enum part {
	TYPE,
	FILE_,
	STDOUT,
	STDERR,
	IMAGE,
	PERSISTED,
	CONTENT,
	BESIDE,
	NAMES,
	RESULT,
	RESULTS,
	N_PARTS
};

static const char *const part_names[N_PARTS] = {
	[TYPE] = "type",       [FILE_] = "file",
	[STDOUT] = "stdout",   [STDERR] = "stderr",
	[IMAGE] = "isImage",   [PERSISTED] = "persistedOutputPath",
	[CONTENT] = "content", [BESIDE] = "structuredContent",
	[NAMES] = "filenames", [RESULT] = "result",
	[RESULTS] = "results",
};

/* {"type": "text", "file": {...}}; other types are images, notebooks and documents. */
static int read_file(const struct ofs_span parts[], struct ofs_tool_output *o)
{
	struct ofs_span content = ofs_span_member(parts[FILE_], "content");

	if (!ofs_span_is(parts[TYPE], "text") || !ofs_span_is_string(content))
		return -ENODATA;
	o->shape = OFS_TOOL_FILE;
	add_string(content, &o->text);
	return 0;
}

static int read_streams(const struct ofs_span parts[], struct ofs_tool_output *o)
{
	if (is_true(parts[IMAGE]))
		return -ENODATA;
	o->shape = OFS_TOOL_STREAMS;
	if (ofs_span_is_string(parts[PERSISTED]))
		o->persisted = parts[PERSISTED];
	add_string(parts[STDOUT], &o->text);
	o->beside = o->text.len;
	if (ofs_span_is_string(parts[STDERR]))
		add_string(parts[STDERR], &o->text);
	return 0;
}

/* {"content": [...]}; what is said in another way beside it would be lost, so the whole is the text then. */
static int read_message(const struct ofs_span parts[], struct ofs_tool_output *o)
{
	int r = add_blocks(parts[CONTENT], &o->text);

	o->shape = OFS_TOOL_MESSAGE;
	if (r < 0 || !parts[BESIDE].len || ofs_span_is_null(parts[BESIDE]))
		return r;
	o->text.len = 0;
	add_json(o->response, &o->text);
	return 0;
}

static int read_object(struct ofs_tool_output *o)
{
	struct ofs_span parts[N_PARTS];

	ofs_span_members(o->response, part_names, N_PARTS, parts);
	if (ofs_span_is_object(parts[FILE_]))
		return read_file(parts, o);
	if (ofs_span_is_string(parts[STDOUT]))
		return read_streams(parts, o);
	if (ofs_span_is_array(parts[CONTENT]))
		return read_message(parts, o);
	/* A search that lists files has both, and then the content is empty. */
	if (parts[CONTENT].len > strlen("\"\"") && ofs_span_is_string(parts[CONTENT])) {
		o->shape = OFS_TOOL_CONTENT;
		add_string(parts[CONTENT], &o->text);
		return 0;
	}
	if (ofs_span_is_array(parts[NAMES])) {
		o->shape = OFS_TOOL_NAMES;
		add_each(parts[NAMES], &o->text);
		return 0;
	}
	if (ofs_span_is_string(parts[RESULT])) {
		o->shape = OFS_TOOL_RESULT;
		add_string(parts[RESULT], &o->text);
		return 0;
	}
	if (ofs_span_is_array(parts[RESULTS])) {
		o->shape = OFS_TOOL_RESULTS;
		add_results(parts[RESULTS], &o->text);
		return 0;
	}
	o->shape = OFS_TOOL_OTHER;
	add_json(o->response, &o->text);
	return 0;
}

static int read_array(struct ofs_tool_output *o)
{
	struct ofs_span_cursor c = ofs_span_enter(o->response);
	struct ofs_span first;

	if (!ofs_span_next(&c, &first))
		return -ENODATA;
	if (ofs_span_member(first, "type").len) {
		o->shape = OFS_TOOL_BLOCKS;
		return add_blocks(o->response, &o->text);
	}
	o->shape = OFS_TOOL_OTHER;
	add_json(o->response, &o->text);
	return 0;
}

int ofs_tool_output_read(struct ofs_span response, struct ofs_tool_output *ret)
{
	OFS_CLEANUP(ofs_tool_output_finish) struct ofs_tool_output o = { .response = response };
	int r = -ENODATA;

	if (ofs_span_is_string(response)) {
		o.shape = OFS_TOOL_STRING;
		add_string(response, &o.text);
		r = 0;
	} else if (ofs_span_is_object(response)) {
		r = read_object(&o);
	} else if (ofs_span_is_array(response)) {
		r = read_array(&o);
	}
	if (r == 0 && !o.text.len && !o.persisted.len)
		r = -ENODATA;
	if (r < 0)
		return r;
	*ret = o;
	o = (struct ofs_tool_output){ 0 };
	return 0;
}

/* ---- writing */

/* `before`, the text as a string, and `after`, ended by a NUL. */
static void make_value(const char *before, const char *text, const char *after, struct ofs_buf *ret)
{
	ofs_buf_append_str(ret, before);
	ofs_member_string(text, ret);
	ofs_buf_append(ret, after, strlen(after) + 1);
}

/* The object with the value in one place. */
static int write_member(struct ofs_span object, const char *name, const char *json,
			struct ofs_buf *out)
{
	const struct ofs_member_edit edit = { name, json };

	return ofs_member_replace(object, &edit, 1, out);
}

static int write_file(struct ofs_span response, const char *json, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf file = OFS_BUF_INIT;
	int r = write_member(ofs_span_member(response, "file"), "content", json, &file);

	if (r == 0)
		ofs_buf_append(&file, "", 1);
	return r == 0 ? write_member(response, "file", (const char *)file.data, out) : r;
}

/* A path to all of the output would be shown in place of the text. */
static int write_streams(struct ofs_span response, const char *json, struct ofs_buf *out)
{
	const struct ofs_member_edit edits[] = {
		{ "stdout", json },
		{ "stderr", "\"\"" },
		{ "persistedOutputPath", NULL },
		{ "persistedOutputSize", NULL },
	};

	return ofs_member_replace(response, edits, OFS_ARRAY_SIZE(edits), out);
}

static int write_message(struct ofs_span response, const char *json, struct ofs_buf *out)
{
	const struct ofs_member_edit edits[] = {
		{ "content", json },
		{ "structuredContent", NULL },
	};

	return ofs_member_replace(response, edits, OFS_ARRAY_SIZE(edits), out);
}

int ofs_tool_output_write(const struct ofs_tool_output *o, const char *text, struct ofs_buf *out)
{
	bool blocks = o->shape == OFS_TOOL_BLOCKS || o->shape == OFS_TOOL_MESSAGE;
	bool list = o->shape == OFS_TOOL_NAMES || o->shape == OFS_TOOL_RESULTS;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT;
	const char *json;

	make_value(blocks ? "[{\"type\":\"text\",\"text\":"
		   : list ? "["
			  : "",
		   text,
		   blocks ? "}]"
		   : list ? "]"
			  : "",
		   &value);
	json = (const char *)value.data;
	switch (o->shape) {
	case OFS_TOOL_STRING:
	case OFS_TOOL_BLOCKS:
		ofs_buf_append_str(out, json);
		return 0;
	case OFS_TOOL_STREAMS:
		return write_streams(o->response, json, out);
	case OFS_TOOL_FILE:
		return write_file(o->response, json, out);
	case OFS_TOOL_MESSAGE:
		return write_message(o->response, json, out);
	case OFS_TOOL_CONTENT:
		return write_member(o->response, "content", json, out);
	case OFS_TOOL_RESULT:
		return write_member(o->response, "result", json, out);
	case OFS_TOOL_NAMES:
		return write_member(o->response, "filenames", json, out);
	case OFS_TOOL_RESULTS:
		return write_member(o->response, "results", json, out);
	case OFS_TOOL_OTHER:
		break;
	}
	return -ENOTSUP;
}
