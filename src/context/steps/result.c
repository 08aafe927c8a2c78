/* SPDX-License-Identifier: MIT */
#include "context/steps/result.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/line.h"

/* Bytes of JSON of a member beside the text; with a longer one the whole object is stored. */
#define REST_MAX 256
/* The same for all members together. */
#define REST_TOTAL 1024

/* The members that hold the text that a tool of each kind gives. */
static const char *const text_names[OFS_TOOL_COUNT] = {
	[OFS_TOOL_OTHER] = "text content output result message",
	[OFS_TOOL_READ] = "content text filecontent contents data output result",
	[OFS_TOOL_WRITE] = "message output result content text",
	[OFS_TOOL_LIST] = "output text content result",
	[OFS_TOOL_GREP] = "content output text result",
	[OFS_TOOL_SEARCH] = "output text content result",
	[OFS_TOOL_VISIT] = "content text markdown body html rawcontent output result data",
	[OFS_TOOL_SHELL] = "stdout output aggregatedoutput formattedoutput out result content text",
};
/* Members that the step has in its own form. */
#define TOLD_NAMES "iserror success ok"
#define ERROR_OUTPUT_NAMES "stderr err erroroutput"
/* Where the members may be instead, one level down. */
#define INNER_NAMES "file data result output response toolresult"

void ofs_tool_result_finish(struct ofs_tool_result *r)
{
	json_decref(r->rest);
	ofs_buf_finish(&r->decoded);
	ofs_buf_finish(&r->unwrapped);
	*r = (struct ofs_tool_result){ 0 };
}

size_t ofs_tool_result_lines(const char *text, size_t len)
{
	const char *p = text, *end = text + len;
	size_t n = len && end[-1] != '\n';

	while (len && (p = memchr(p, '\n', (size_t)(end - p)))) {
		n++;
		p++;
	}
	return n;
}

static void set_text(struct ofs_tool_result *r, const char *text, size_t len)
{
	r->text = text;
	r->text_len = len;
	r->errors = len;
}

/* ---- blocks: [{"type": "text", "text": ...}, {"type": "image", ...}] */

static bool is_block_array(struct ofs_span array)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span block;
	size_t n = 0;

	if (!ofs_span_is_array(array))
		return false;
	while (ofs_span_next(&c, &block)) {
		struct ofs_span type = ofs_span_member(block, "type");

		n++;
		if (ofs_span_is(type, "text")
			    ? !ofs_span_is_string(ofs_span_member(block, "text"))
			    : !ofs_span_is(type, "image") && !ofs_span_is(type, "audio") &&
				      !ofs_span_is(type, "image_url") &&
				      !ofs_span_is(type, "resource") &&
				      !ofs_span_is(type, "resource_link"))
			return false;
	}
	return n > 0;
}

/* Appends the texts, separated by newlines. */
static void append_blocks(struct ofs_tool_result *r, struct ofs_span array)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_buf *out = &r->unwrapped;
	struct ofs_span block;

	while (ofs_span_next(&c, &block)) {
		struct ofs_span text = ofs_span_member(block, "text");

		if (!ofs_span_is(ofs_span_member(block, "type"), "text")) {
			r->images++;
			continue;
		}
		if (out->len && out->data[out->len - 1] != '\n')
			ofs_buf_append_str(out, "\n");
		ofs_span_decode(text, out);
	}
}

/* ---- objects */

static bool says_nothing(struct ofs_span value)
{
	return *value.p == 'f' || *value.p == 'n' ||
	       (value.len == 2 && (*value.p == '"' || *value.p == '{' || *value.p == '['));
}

/* The value without secrets; it is short, and so not deep. NULL if jansson cannot represent it. */
static json_t *shown_value(struct ofs_span value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span_cursor c = ofs_span_enter(value);
	struct ofs_span name, element;
	json_t *json;
	int failed = 0;

	if (ofs_span_is_string(value)) {
		ofs_span_decode(value, &text);
		return ofs_line_json_whole((char *)text.data, text.len);
	}
	if (ofs_span_is_array(value)) {
		json = json_array();
		while (!failed && ofs_span_next(&c, &element))
			failed = json_array_append_new(json, shown_value(element));
	} else if (ofs_span_is_object(value)) {
		json = json_object();
		while (!failed && ofs_span_next_member(&c, &name, &element)) {
			OFS_FREE char *key = ofs_span_text(name);

			failed = json_object_set_new(json, key, shown_value(element));
		}
	} else {
		return ofs_span_json(value);
	}
	if (failed)
		json_decref(json);
	return failed ? NULL : json;
}

/*
 * Puts the members beside `taken` and `other` into `rest`. False if they are not all short: then
 * the object has to be stored.
 */
static bool take_rest(json_t *rest, struct ofs_span object, struct ofs_span taken,
		      struct ofs_span other)
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span name, value;
	size_t total = 0;

	while (ofs_span_next_member(&c, &name, &value)) {
		OFS_FREE char *key = NULL;

		if (value.p == taken.p || value.p == other.p)
			continue;
		total += name.len + value.len;
		if (value.len > REST_MAX || total > REST_TOTAL)
			return false;
		if (says_nothing(value) || ofs_args_index(name, TOLD_NAMES))
			continue;
		key = ofs_span_text(name);
		if (json_object_set_new(rest, key, shown_value(value)) < 0)
			return false;
	}
	return true;
}

/* The same for an object and the one around it, which may be the same. */
static bool take_rests(struct ofs_tool_result *r, struct ofs_span outer, struct ofs_span object,
		       struct ofs_span text, struct ofs_span errors)
{
	json_t *rest = json_object();
	const struct ofs_span none = { 0 };

	if (!take_rest(rest, object, text, errors) ||
	    (outer.p != object.p && !take_rest(rest, outer, object, none))) {
		json_decref(rest);
		return false;
	}
	if (json_object_size(rest))
		r->rest = rest;
	else
		json_decref(rest);
	return true;
}

/* Takes the text of the object, and the members beside it. False if it has no text. */
static bool unwrap_object(struct ofs_tool_result *r, struct ofs_span outer, struct ofs_span object,
			  enum ofs_tool_rule rule)
{
	struct ofs_span text = ofs_args_find(object, text_names[rule]), errors = { 0 };
	struct ofs_buf *out = &r->unwrapped;
	size_t at;

	if (rule == OFS_TOOL_SHELL)
		errors = ofs_args_find(object, ERROR_OUTPUT_NAMES);
	if (!ofs_span_is_string(errors))
		errors = (struct ofs_span){ 0 };
	if (is_block_array(text)) {
		append_blocks(r, text);
	} else {
		if (!ofs_span_is_string(text))
			text = (struct ofs_span){ 0 };
		if (!text.p && !errors.p)
			return false;
		if (text.p)
			ofs_span_decode(text, out);
	}
	if (out->len && errors.len > 2 && out->data[out->len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	at = out->len;
	if (errors.p)
		ofs_span_decode(errors, out);
	set_text(r, out->len ? (char *)out->data : "", out->len);
	r->errors = at;
	if (!r->images && take_rests(r, outer, object, text, errors)) {
		r->content = r->text;
		r->content_len = r->text_len;
	}
	return true;
}

/* An object in a string may be a container of output, or output that is JSON. */
static bool is_wrapping(struct ofs_span object, enum ofs_tool_rule rule)
{
	if (is_block_array(ofs_span_member(object, "content")))
		return true;
	if (rule == OFS_TOOL_SHELL)
		return ofs_args_find(object, "exitcode returncode stderr metadata").p &&
		       ofs_args_find(object, "stdout output aggregatedoutput stderr").p;
	return rule == OFS_TOOL_VISIT && ofs_args_find(object, "url status statuscode title").p;
}

static void unwrap(struct ofs_tool_result *r, bool in_string, enum ofs_tool_rule rule)
{
	struct ofs_span inner;

	if (is_block_array(r->json)) {
		append_blocks(r, r->json);
		set_text(r, r->unwrapped.len ? (char *)r->unwrapped.data : "", r->unwrapped.len);
		if (!r->images) {
			r->content = r->text;
			r->content_len = r->text_len;
		}
		return;
	}
	if (!ofs_span_is_object(r->json) || (in_string && !is_wrapping(r->json, rule)) ||
	    unwrap_object(r, r->json, r->json, rule))
		return;
	inner = ofs_args_find(r->json, INNER_NAMES);
	if (ofs_span_is_object(inner))
		unwrap_object(r, r->json, inner, rule);
}

/* The object or array that the text is, or nothing. */
static struct ofs_span look_for_json(const struct ofs_tool_result *r)
{
	struct ofs_span json = { 0 };
	size_t i = 0;

	while (i < r->text_len && isspace((unsigned char)r->text[i]))
		i++;
	if (i < r->text_len && (r->text[i] == '{' || r->text[i] == '['))
		ofs_span_parse(r->text, r->text_len, NULL, &json);
	return json;
}

void ofs_tool_result_open(struct ofs_span value, enum ofs_tool_rule rule,
			  struct ofs_tool_result *ret)
{
	struct ofs_tool_result r = { .content = "", .text = "" };
	bool is_string = ofs_span_is_string(value);

	if (is_string && !memchr(value.p, '\\', value.len)) {
		set_text(&r, value.p + 1, value.len - 2);
	} else if (is_string) {
		ofs_span_decode(value, &r.decoded);
		set_text(&r, (char *)r.decoded.data, r.decoded.len);
	} else if (value.p && !ofs_span_is_null(value)) {
		set_text(&r, value.p, value.len);
	}
	r.content = r.text;
	r.content_len = r.text_len;
	if (ofs_span_is_object(value) || ofs_span_is_array(value))
		r.json = value;
	else if (is_string && rule != OFS_TOOL_READ)
		r.json = look_for_json(&r);
	if (r.json.p)
		unwrap(&r, is_string, rule);
	if (r.unwrapped.data)
		r.text_json = rule == OFS_TOOL_READ ? (struct ofs_span){ 0 } : look_for_json(&r);
	else
		r.text_json = r.json;
	*ret = r;
}
