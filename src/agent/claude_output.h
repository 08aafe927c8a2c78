/* SPDX-License-Identifier: MIT */
/*
 * The responses of Claude Code's tools: each tool has a shape of its own, and in it somewhere the
 * text that the model reads.
 */
#pragma once

#include "context/json/span.h"

enum ofs_claude_shape {
	OFS_CLAUDE_STRING, /* "text" */
	OFS_CLAUDE_BLOCKS, /* [{"type": "text", "text"}] */
	OFS_CLAUDE_STREAMS, /* {"stdout", "stderr"} */
	OFS_CLAUDE_FILE, /* {"type": "text", "file": {"content"}} */
	OFS_CLAUDE_MESSAGE, /* {"content": [{"type": "text", "text"}]} */
	OFS_CLAUDE_CONTENT, /* {"content": "text"} */
	OFS_CLAUDE_NAMES, /* {"filenames": ["text"]} */
	OFS_CLAUDE_RESULT, /* {"result": "text"} */
	OFS_CLAUDE_RESULTS, /* {"results": ["text", {"content": [...]}]} */
	OFS_CLAUDE_OTHER, /* any other; its text is the JSON itself */
};

struct ofs_claude_output {
	enum ofs_claude_shape shape;
	struct ofs_buf text; /* what the model reads */
	/* The name of the file with all of the text, if the tool gives one. */
	struct ofs_span persisted;
	size_t beside; /* where in the text begins what that file may not have */
};

void ofs_claude_output_finish(struct ofs_claude_output *o);

/* Finds the text. False: there is none, or something that no text can stand for, as an image. */
bool ofs_claude_output_read(struct ofs_span response, struct ofs_claude_output *ret);

/*
 * Appends the response in its own shape, which is not OFS_CLAUDE_OTHER, with `text` in place of
 * what the model reads; what else is in it stays.
 */
void ofs_claude_output_write(struct ofs_span response, enum ofs_claude_shape shape,
			     const char *text, struct ofs_buf *out);
