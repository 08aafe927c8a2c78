/* SPDX-License-Identifier: MIT */
#include "agent/claude_output.h"

#include "context/json/edit.h"
#include "context/json/literal.h"

void ofs_claude_output_finish(struct ofs_claude_output *o)
{
	ofs_buf_finish(&o->text);
	*o = (struct ofs_claude_output){ 0 };
}

/* ---- reading */

/* Makes sure that what is appended next starts on a new line. */
static void end_line(struct ofs_buf *text)
{
	if (text->len && text->data[text->len - 1] != '\n')
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

/* Appends a value on one line, however it was formatted. */
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

/*
 * Appends each item on its own line: a string as its text, other values as JSON. With `nested`, the
 * same for each item of an array `content` in an item, so that grep finds the hits of a search.
 */
static void add_each(struct ofs_span array, bool nested, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span item;

	while (ofs_span_next(&c, &item)) {
		struct ofs_span hits = { 0 };

		if (nested)
			hits = ofs_span_member(item, "content");
		if (ofs_span_is_array(hits))
			add_each(hits, false, text);
		else if (ofs_span_is_string(item))
			add_string(item, text);
		else
			add_json_line(item, text);
	}
}

/* Returns the text of a block, or no value if it is of another kind, such as an image. */
static struct ofs_span block_text(struct ofs_span block)
{
	struct ofs_span text = ofs_span_member(block, "text");

	if (!ofs_span_is(ofs_span_member(block, "type"), "text") || !ofs_span_is_string(text))
		return (struct ofs_span){ 0 };
	return text;
}

/* Returns whether all blocks are texts. */
static bool add_blocks(struct ofs_span array, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span block;
	bool all = true;

	while (ofs_span_next(&c, &block)) {
		all &= block_text(block).len > 0;
		add_string(block_text(block), text);
	}
	return all;
}

/*
 * Appends cells in the form <cell id="x">source</cell id="x">, with the text of their outputs, as
 * Claude Code shows them. Returns whether there are images.
 */
static bool add_cells(struct ofs_span array, struct ofs_buf *text)
{
	struct ofs_span_cursor c = ofs_span_elements(array), outputs;
	struct ofs_span cell, output;
	bool images = false;

	while (ofs_span_next(&c, &cell)) {
		OFS_FREE char *id = ofs_span_text(ofs_span_member(cell, "cell_id"));
		struct ofs_span source = ofs_span_member(cell, "source");

		end_line(text);
		ofs_buf_printf(text, "<cell id=\"%s\">", id ? id : "");
		if (ofs_span_is_string(source))
			ofs_span_decode(source, text);
		ofs_buf_printf(text, "</cell id=\"%s\">", id ? id : "");
		outputs = ofs_span_elements(ofs_span_member(cell, "outputs"));
		while (ofs_span_next(&outputs, &output)) {
			struct ofs_span said = ofs_span_member(output, "text");

			if (ofs_span_is_string(said))
				add_string(said, text);
			images |= ofs_span_is_object(ofs_span_member(output, "image"));
		}
	}
	return images;
}

static bool read_streams(struct ofs_span response, struct ofs_claude_output *o)
{
	struct ofs_span image = ofs_span_member(response, "isImage");
	struct ofs_span persisted = ofs_span_member(response, "persistedOutputPath");

	if (image.len && *image.p == 't')
		return false;
	if (ofs_span_is_string(persisted))
		o->persisted = persisted;
	add_string(ofs_span_member(response, "stdout"), &o->text);
	o->beside = o->text.len;
	persisted = ofs_span_member(response, "stderr");
	if (ofs_span_is_string(persisted))
		add_string(persisted, &o->text);
	return true;
}

/* A second form of the content would be lost, so then the whole response is the text. */
static bool read_message(struct ofs_span response, struct ofs_claude_output *o)
{
	struct ofs_span beside = ofs_span_member(response, "structuredContent");

	o->images = !add_blocks(ofs_span_member(response, "content"), &o->text);

	if (beside.len && !ofs_span_is_null(beside)) {
		if (o->images)
			return false;
		o->text.len = 0;
		add_json(response, &o->text);
	}
	return true;
}

static enum ofs_claude_shape object_shape(struct ofs_span object)
{
	struct ofs_span content = ofs_span_member(object, "content");
	struct ofs_span file = ofs_span_member(object, "file");

	if (ofs_span_is_object(file))
		return ofs_span_is_array(ofs_span_member(file, "cells")) ? OFS_CLAUDE_NOTEBOOK
									 : OFS_CLAUDE_FILE;
	if (ofs_span_is_string(ofs_span_member(object, "stdout")))
		return OFS_CLAUDE_STREAMS;
	if (ofs_span_is_string(ofs_span_member(ofs_span_member(object, "task"), "output")))
		return OFS_CLAUDE_TASK;
	if (ofs_span_is_array(content))
		return OFS_CLAUDE_MESSAGE;
	/* A search that lists files has `filenames` as well, and empty content. */
	if (ofs_span_is_string(content) && content.len > strlen("\"\""))
		return OFS_CLAUDE_CONTENT;
	if (ofs_span_is_array(ofs_span_member(object, "filenames")))
		return OFS_CLAUDE_NAMES;
	if (ofs_span_is_string(ofs_span_member(object, "result")))
		return OFS_CLAUDE_RESULT;
	if (ofs_span_is_array(ofs_span_member(object, "results")))
		return OFS_CLAUDE_RESULTS;
	return OFS_CLAUDE_OTHER;
}

static enum ofs_claude_shape array_shape(struct ofs_span array)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span first;

	return ofs_span_next(&c, &first) && ofs_span_member(first, "type").len ? OFS_CLAUDE_BLOCKS
									       : OFS_CLAUDE_OTHER;
}

static bool read_shape(struct ofs_span response, struct ofs_claude_output *o)
{
	struct ofs_span file;

	switch (o->shape) {
	case OFS_CLAUDE_STRING:
		add_string(response, &o->text);
		return true;
	case OFS_CLAUDE_BLOCKS:
		o->images = !add_blocks(response, &o->text);
		return true;
	case OFS_CLAUDE_STREAMS:
		return read_streams(response, o);
	case OFS_CLAUDE_TASK:
		add_string(ofs_span_member(ofs_span_member(response, "task"), "output"), &o->text);
		return true;
	case OFS_CLAUDE_NOTEBOOK:
		file = ofs_span_member(response, "file");
		o->images = add_cells(ofs_span_member(file, "cells"), &o->text);
		return true;
	case OFS_CLAUDE_FILE: /* other types are images and documents */
		file = ofs_span_member(ofs_span_member(response, "file"), "content");
		add_string(file, &o->text);
		return ofs_span_is_string(file) &&
		       ofs_span_is(ofs_span_member(response, "type"), "text");
	case OFS_CLAUDE_MESSAGE:
		return read_message(response, o);
	case OFS_CLAUDE_CONTENT:
		add_string(ofs_span_member(response, "content"), &o->text);
		return true;
	case OFS_CLAUDE_NAMES:
		add_each(ofs_span_member(response, "filenames"), false, &o->text);
		return true;
	case OFS_CLAUDE_RESULT:
		add_string(ofs_span_member(response, "result"), &o->text);
		return true;
	case OFS_CLAUDE_RESULTS:
		add_each(ofs_span_member(response, "results"), true, &o->text);
		return true;
	case OFS_CLAUDE_OTHER:
		add_json(response, &o->text);
		return response.len > strlen("[]");
	}
	return false;
}

bool ofs_claude_output_read(struct ofs_span response, struct ofs_claude_output *ret)
{
	OFS_CLEANUP(ofs_claude_output_finish) struct ofs_claude_output o = { 0 };

	if (ofs_span_is_object(response))
		o.shape = object_shape(response);
	else if (ofs_span_is_array(response))
		o.shape = array_shape(response);
	else if (!ofs_span_is_string(response))
		return false;
	if (!read_shape(response, &o) || (!o.text.len && !o.persisted.len))
		return false;
	*ret = ofs_steal(o);
	return true;
}

/* ---- writing */

static void add_encoded(const char *text, struct ofs_buf *out)
{
	ofs_literal_encode(NULL, text, strlen(text), out);
}

static void add_span(struct ofs_span s, struct ofs_buf *out)
{
	ofs_buf_append(out, s.p, s.len);
}

/* Writes the text, and all blocks that are not texts. */
static void write_blocks(struct ofs_span array, const char *text, struct ofs_buf *out)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span block;

	ofs_buf_append_str(out, "[{\"type\":\"text\",\"text\":");
	add_encoded(text, out);
	ofs_buf_append_str(out, "}");
	while (ofs_span_next(&c, &block)) {
		if (block_text(block).len)
			continue;
		ofs_buf_append_str(out, ",");
		add_span(block, out);
	}
	ofs_buf_append_str(out, "]");
}

/* Writes the images of all cells, as outputs of one cell. */
static void write_images(struct ofs_span cells, struct ofs_buf *out)
{
	struct ofs_span_cursor c = ofs_span_elements(cells), outputs;
	struct ofs_span cell, output;
	const char *comma = "";

	while (ofs_span_next(&c, &cell)) {
		outputs = ofs_span_elements(ofs_span_member(cell, "outputs"));
		while (ofs_span_next(&outputs, &output)) {
			struct ofs_span image = ofs_span_member(output, "image");

			if (!ofs_span_is_object(image))
				continue;
			ofs_buf_printf(out,
				       "%s{\"output_type\":\"display_data\",\"image\":", comma);
			add_span(image, out);
			ofs_buf_append_str(out, "}");
			comma = ",";
		}
	}
}

/* Writes a notebook of one cell, whose type and language Claude Code does not show. */
static void write_cell(struct ofs_span file, const char *text, struct ofs_buf *out)
{
	struct ofs_span path = ofs_span_member(file, "filePath");

	ofs_buf_append_str(out, "{\"type\":\"notebook\",\"file\":{\"filePath\":");
	if (path.len)
		add_span(path, out);
	else
		ofs_buf_append_str(out, "\"\"");
	ofs_buf_append_str(out, ",\"cells\":[{\"cellType\":\"code\",\"language\":\"python\","
				"\"cell_id\":\"offloaded\",\"source\":");
	add_encoded(text, out);
	ofs_buf_append_str(out, ",\"outputs\":[");
	write_images(ofs_span_member(file, "cells"), out);
	ofs_buf_append_str(out, "]}]}}");
}

/* The member for the text, and what encloses the text in it. */
static const struct {
	const char *member;
	const char *before, *after;
} places[] = {
	[OFS_CLAUDE_STREAMS] = { "stdout", "", "" },
	[OFS_CLAUDE_TASK] = { "output", "", "" },
	[OFS_CLAUDE_CONTENT] = { "content", "", "" },
	[OFS_CLAUDE_NAMES] = { "filenames", "[", "]" },
	[OFS_CLAUDE_RESULT] = { "result", "", "" },
	[OFS_CLAUDE_RESULTS] = { "results", "[", "]" },
};

static void write_member(struct ofs_span response, enum ofs_claude_shape shape, const char *text,
			 struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf value = OFS_BUF_INIT, task = OFS_BUF_INIT;
	struct ofs_member_edit edits[] = {
		{ "content", NULL },
		/* These would be shown instead of the text, or in addition to it. */
		{ "stderr", "\"\"" },
		{ "persistedOutputPath", NULL },
		{ "persistedOutputSize", NULL },
		{ "structuredContent", NULL },
	};
	bool several = shape == OFS_CLAUDE_STREAMS || shape == OFS_CLAUDE_MESSAGE;

	if (shape == OFS_CLAUDE_MESSAGE) {
		write_blocks(ofs_span_member(response, "content"), text, &value);
	} else {
		edits[0].name = places[shape].member;
		ofs_buf_append_str(&value, places[shape].before);
		add_encoded(text, &value);
		ofs_buf_append_str(&value, places[shape].after);
	}
	edits[0].json = ofs_buf_str(&value);
	if (shape == OFS_CLAUDE_TASK) {
		ofs_member_replace(ofs_span_member(response, "task"), edits, 1, &task);
		edits[0] = (struct ofs_member_edit){ "task", ofs_buf_str(&task) };
	}
	ofs_member_replace(response, edits, several ? OFS_ARRAY_SIZE(edits) : 1, out);
}

void ofs_claude_output_write(struct ofs_span response, enum ofs_claude_shape shape,
			     const char *text, struct ofs_buf *out)
{
	switch (shape) {
	case OFS_CLAUDE_STRING:
		add_encoded(text, out);
		break;
	case OFS_CLAUDE_BLOCKS:
		write_blocks(response, text, out);
		break;
	case OFS_CLAUDE_FILE:
	case OFS_CLAUDE_NOTEBOOK:
		write_cell(ofs_span_member(response, "file"), text, out);
		break;
	default:
		write_member(response, shape, text, out);
	}
}
