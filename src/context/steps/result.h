/* SPDX-License-Identifier: MIT */
/* What a tool gave back, in whichever form: what is stored of it, and what it says to a reader. */
#ifndef OFS_CONTEXT_STEPS_RESULT_H
#define OFS_CONTEXT_STEPS_RESULT_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"
#include "context/tool.h"

struct ofs_tool_result {
	/*
	 * What is stored: what a string says; of an object the text in it when all else is short, and then in `rest`;
	 * else the JSON itself.
	 */
	const char *content;
	size_t content_len;
	/* The text in it, for the rules. */
	const char *text;
	size_t text_len;
	size_t errors; /* where in `text` begins what came on standard error; text_len: nothing did */
	/* The object or array that it is, or that its string holds; nothing: neither. */
	struct ofs_span json;
	/* The same of `text`, which may be what stands in blocks; nothing: it is no JSON. */
	struct ofs_span text_json;
	json_t *rest; /* object; NULL: there is none */
	size_t images; /* pictures and the like among the blocks of text */
	struct ofs_buf decoded; /* what `content` and `text` lie in unless it is the input */
	struct ofs_buf unwrapped;
};

/* Fit for OFS_CLEANUP. */
void ofs_tool_result_finish(struct ofs_tool_result *r);

/* Takes in the value (or nothing) that a tool of that kind gave; it must outlive `ret`. 0 or -ENOMEM. */
int ofs_tool_result_open(struct ofs_span value, enum ofs_tool_rule rule,
			 struct ofs_tool_result *ret);

/* Lines as sed counts them. */
size_t ofs_tool_result_lines(const char *text, size_t len);

#endif
