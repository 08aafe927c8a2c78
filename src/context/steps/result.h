/* SPDX-License-Identifier: MIT */
/* The result of a tool in any form: the part to store, and the text for a reader. */
#pragma once

#include "context/json/span.h"
#include "context/tool.h"

struct ofs_tool_result {
	/*
	 * The part to store: a decoded string; the text in an object if all else is short, and
	 * then in `rest`; else the JSON itself.
	 */
	const char *content;
	size_t content_len;
	/* The text in it, for the rules. A byte that is no letter or blank follows. */
	const char *text;
	size_t text_len;
	size_t errors; /* start of standard error in `text`; text_len: there is none */
	/* The object or array that it is, or that its string holds; or nothing. */
	struct ofs_span json;
	/* The same for `text`, which may come from blocks. */
	struct ofs_span text_json;
	json_t *rest; /* object without secrets; NULL: there is none */
	size_t images; /* pictures and the like among the blocks of text */
	struct ofs_buf decoded; /* what `content` and `text` lie in unless it is the input */
	struct ofs_buf unwrapped;
};

/* Fit for OFS_CLEANUP. */
void ofs_tool_result_finish(struct ofs_tool_result *r);

/* Reads the value (or nothing) that a tool of that kind returned; it must outlive `ret`. */
void ofs_tool_result_open(struct ofs_span value, enum ofs_tool_rule rule,
			  struct ofs_tool_result *ret);
