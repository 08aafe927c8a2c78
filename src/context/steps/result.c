/* SPDX-License-Identifier: MIT */
#include "context/steps/result.h"

#include "base/redact.h"
#include "context/json/args.h"

/*
 * The longest member, in bytes of JSON, that may stand in `rest`; with a longer one the whole
 * object is stored.
 */
#define REST_MAX 256
/* The same limit for all members together. */
#define REST_TOTAL 1024

/* Names of members that hold the text of a result, for each kind of tool. */
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
/* Members that are part of the step in another form. */
#define TOLD_NAMES "iserror success ok"
#define ERROR_OUTPUT_NAMES "stderr err erroroutput"
/* Members that may contain the others, one level down. */
#define INNER_NAMES "file data result output response toolresult"

void ofs_tool_result_finish(struct ofs_tool_result *r)
{
	json_decref(r->rest);
	ofs_buf_finish(&r->decoded);
	ofs_buf_finish(&r->unwrapped);
	*r = (struct ofs_tool_result){ 0 };
}

/* Makes the unwrapped text the result's text; standard error starts at `errors`. */
static void take_unwrapped(struct ofs_tool_result *r, size_t errors)
{
	r->text = ofs_buf_str(&r->unwrapped);
	r->text_len = r->unwrapped.len;
	r->errors = errors;
}

/* Stores the text alone. */
static void store_text(struct ofs_tool_result *r)
{
	r->content = r->text;
	r->content_len = r->text_len;
}

static void end_line(struct ofs_buf *out)
{
	if (out->len && out->data[out->len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
}

/* ---- blocks: [{"type": "text", "text": ...}, {"type": "image", ...}] */

static bool is_block_array(struct ofs_span array)
{
	static const char *const others[] = { "image", "audio", "image_url", "resource",
					      "resource_link" };
	struct ofs_span_cursor c = ofs_span_elements(array);
	struct ofs_span block;
	size_t n = 0;

	for (; ofs_span_next(&c, &block); n++) {
		struct ofs_span type = ofs_span_member(block, "type");
		bool known = ofs_span_is(type, "text") &&
			     ofs_span_is_string(ofs_span_member(block, "text"));

		for (size_t i = 0; i < OFS_ARRAY_SIZE(others); i++)
			known |= ofs_span_is(type, others[i]);
		if (!known)
			return false;
	}
	return n > 0;
}

/* Appends the texts, one per line, and counts the other blocks. */
static void append_blocks(struct ofs_tool_result *r, struct ofs_span array)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span block;

	while (ofs_span_next(&c, &block)) {
		if (!ofs_span_is(ofs_span_member(block, "type"), "text")) {
			r->images++;
			continue;
		}
		end_line(&r->unwrapped);
		ofs_span_decode(ofs_span_member(block, "text"), &r->unwrapped);
	}
}

/* ---- objects */

static bool says_nothing(struct ofs_span value)
{
	return *value.p == 'f' || *value.p == 'n' ||
	       (value.len == 2 && (*value.p == '"' || *value.p == '{' || *value.p == '['));
}

/*
 * Appends the members that are not `taken`, each followed by a comma. Returns false if one of them
 * is too long, so that the object itself must be stored.
 */
static bool append_rest(struct ofs_buf *out, struct ofs_span object, const struct ofs_span taken[2])
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span name, value;
	size_t total = 0;

	while (ofs_span_next_member(&c, &name, &value)) {
		if (value.p == taken[0].p || value.p == taken[1].p)
			continue;
		total += name.len + value.len;
		if (value.len > REST_MAX || total > REST_TOTAL)
			return false;
		if (says_nothing(value) || ofs_args_index(name, TOLD_NAMES))
			continue;
		ofs_buf_append(out, name.p, name.len);
		ofs_buf_append_str(out, ":");
		ofs_buf_append(out, value.p, value.len);
		ofs_buf_append_str(out, ",");
	}
	return true;
}

/* Makes `rest` of the other members of an object and of the one around it, if that differs. */
static bool take_rest(struct ofs_tool_result *r, struct ofs_span outer, struct ofs_span object,
		      struct ofs_span text, struct ofs_span errors)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf all = OFS_BUF_INIT, shown = OFS_BUF_INIT;

	ofs_buf_append_str(&all, "{");
	if (!append_rest(&all, object, (struct ofs_span[]){ text, errors }) ||
	    (outer.p != object.p &&
	     !append_rest(&all, outer, (struct ofs_span[]){ object, object })))
		return false;
	if (all.len == 1)
		return true;
	all.data[all.len - 1] = '}';
	ofs_redact_text(&shown, (char *)all.data, all.len);
	/* Fails for values that jansson cannot represent. */
	r->rest = json_loadb((char *)shown.data, shown.len, JSON_ALLOW_NUL, NULL);
	return r->rest != NULL;
}

/* Takes the text of the object and its other members. Returns false if it has no text. */
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
	if (is_block_array(text))
		append_blocks(r, text);
	else if (ofs_span_is_string(text))
		ofs_span_decode(text, out);
	else if (errors.p)
		text = (struct ofs_span){ 0 };
	else
		return false;
	if (errors.len > 2)
		end_line(out);
	at = out->len;
	if (errors.p)
		ofs_span_decode(errors, out);
	take_unwrapped(r, at);
	if (!r->images && take_rest(r, outer, object, text, errors))
		store_text(r);
	return true;
}

/* Returns whether an object in a string wraps output, rather than being output itself. */
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
	struct ofs_span inner = ofs_args_find(r->json, INNER_NAMES);

	if (is_block_array(r->json)) {
		append_blocks(r, r->json);
		take_unwrapped(r, r->unwrapped.len);
		if (!r->images)
			store_text(r);
	} else if (ofs_span_is_object(r->json) && (!in_string || is_wrapping(r->json, rule)) &&
		   !unwrap_object(r, r->json, r->json, rule) && ofs_span_is_object(inner)) {
		unwrap_object(r, r->json, inner, rule);
	}
}

/* Returns the object or array that the text consists of, or no value. */
static struct ofs_span look_for_json(const struct ofs_tool_result *r)
{
	struct ofs_span json = { 0 };
	size_t i = 0;

	while (i < r->text_len && strchr(" \t\r\n", r->text[i]) && r->text[i])
		i++;
	if (i < r->text_len && (r->text[i] == '{' || r->text[i] == '['))
		ofs_span_parse(r->text, r->text_len, NULL, &json);
	return json;
}

void ofs_tool_result_open(struct ofs_span value, enum ofs_tool_rule rule,
			  struct ofs_tool_result *ret)
{
	struct ofs_tool_result r = { .text = "" };
	bool is_string = ofs_span_is_string(value);
	/* A file is text, even if it contains JSON. */
	bool may_hold_json = rule != OFS_TOOL_READ;

	if (is_string && !memchr(value.p, '\\', value.len)) {
		r.text = value.p + 1;
		r.text_len = value.len - 2;
	} else if (is_string) {
		ofs_span_decode(value, &r.decoded);
		r.text = ofs_buf_str(&r.decoded);
		r.text_len = r.decoded.len;
	} else if (value.p && !ofs_span_is_null(value)) {
		r.text = value.p;
		r.text_len = value.len;
	}
	r.errors = r.text_len;
	store_text(&r);
	if (ofs_span_is_object(value) || ofs_span_is_array(value))
		r.json = value;
	else if (is_string && may_hold_json)
		r.json = look_for_json(&r);
	unwrap(&r, is_string, rule);
	r.text_json = r.json;
	if (r.unwrapped.data)
		r.text_json = may_hold_json ? look_for_json(&r) : (struct ofs_span){ 0 };
	*ret = r;
}
