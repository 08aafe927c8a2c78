/* SPDX-License-Identifier: MIT */
/*
 * What a tool answered to Claude Code: each tool has a shape of its own, and in it somewhere the
 * text that the model reads.
 */
#ifndef OFS_CONTEXT_HOOK_TOOL_OUTPUT_H
#define OFS_CONTEXT_HOOK_TOOL_OUTPUT_H

#include "base/buf.h"
#include "context/json/span.h"

enum ofs_tool_shape {
	OFS_TOOL_STRING, /* "text" */
	OFS_TOOL_STREAMS, /* {"stdout", "stderr"} */
	OFS_TOOL_FILE, /* {"type": "text", "file": {"content"}} */
	OFS_TOOL_CONTENT, /* {"content": "text"} */
	OFS_TOOL_RESULT, /* {"result": "text"} */
	OFS_TOOL_NAMES, /* {"filenames": ["text"]} */
	OFS_TOOL_RESULTS, /* {"results": ["text", {"content": [...]}]} */
	OFS_TOOL_BLOCKS, /* [{"type": "text", "text"}] */
	OFS_TOOL_MESSAGE, /* {"content": [{"type": "text", "text"}]} */
	OFS_TOOL_OTHER, /* any other; its text is the JSON itself */
};

struct ofs_tool_output {
	enum ofs_tool_shape shape;
	struct ofs_span response; /* borrowed */
	struct ofs_buf text; /* what the model reads */
	/* The string that names the file with all of the text, when the tool says so; or nothing. */
	struct ofs_span persisted;
	size_t beside; /* where in the text begins what that file may not have */
};

void ofs_tool_output_finish(struct ofs_tool_output *o);

/*
 * Finds the text. -ENODATA: there is none that another could stand for (no answer, an image, a
 * block that is no text); -ENOMEM.
 */
int ofs_tool_output_read(struct ofs_span response, struct ofs_tool_output *ret);

/*
 * Appends the response in its own shape with `text` in place of what the model reads; what else is in
 * it stays. -ENOTSUP: the shape is not known; -ENOMEM.
 */
int ofs_tool_output_write(const struct ofs_tool_output *o, const char *text, struct ofs_buf *out);

#endif
