/* SPDX-License-Identifier: MIT */
/* The result of a tool in any form: the part to store, and the text in it. */
#pragma once

#include "context/json/span.h"
#include "context/tool.h"

struct ofs_tool_result {
	/*
	 * The part to store. It is the decoded string, or the text in an object whose other members
	 * are short enough for `rest`, or else the JSON itself.
	 */
	const char *content;
	size_t content_len;
	/* The text in it, for the rules. The byte after it is neither a letter nor a blank. */
	const char *text;
	size_t text_len;
	size_t errors; /* where standard error starts in `text`; text_len: there is none */
	/* The object or array that the result is, or that its string holds; or no value. */
	struct ofs_span json;
	/* The same for `text`, which may have come out of blocks. */
	struct ofs_span text_json;
	json_t *rest; /* the object's other members, without secrets; NULL: none */
	size_t images; /* blocks that are not text, such as pictures */
	struct ofs_buf decoded; /* owns `content` and `text`, unless they are in the input */
	struct ofs_buf unwrapped; /* owns `text`, if it came out of blocks or an object */
};

/* Fit for OFS_CLEANUP. */
void ofs_tool_result_finish(struct ofs_tool_result *r);

/* Reads what a tool of that kind returned: a value, which must outlive `ret`, or no value. */
void ofs_tool_result_open(struct ofs_span value, enum ofs_tool_rule rule,
			  struct ofs_tool_result *ret);
