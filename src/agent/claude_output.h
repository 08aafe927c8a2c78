/* SPDX-License-Identifier: MIT */
/*
 * The responses of Claude Code's tools. Each tool has its own shape, which contains the text that
 * the model reads.
 */
#pragma once

#include <offloadfs/error.h>

#include "client/spool.h"
#include "context/json/span.h"

enum ofs_claude_shape {
	OFS_CLAUDE_STRING, /* "text" */
	OFS_CLAUDE_BLOCKS, /* [{"type": "text", "text"}], possibly with images */
	OFS_CLAUDE_STREAMS, /* {"stdout", "stderr"} */
	OFS_CLAUDE_FILE, /* {"type": "text", "file": {"content"}} */
	OFS_CLAUDE_TASK, /* {"task": {"output": "text"}} */
	OFS_CLAUDE_NOTEBOOK, /* {"type": "notebook", "file": {"cells": [{"source", "outputs"}]}} */
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
	bool images; /* has images or the like, which only an answer of this shape keeps */
	/* Path of the file with the whole text, if the tool gives one. */
	struct ofs_span persisted;
	size_t beside; /* where the part of the text starts that the file may lack */
};

void ofs_claude_output_finish(struct ofs_claude_output *o);

/* Finds the text. Returns false if there is none, or if a text cannot replace the response. */
bool ofs_claude_output_read(struct ofs_span response, struct ofs_claude_output *ret);

/*
 * Appends the response in its own shape, which must not be OFS_CLAUDE_OTHER, with `text` replacing
 * what the model reads. All else stays, including images. A file becomes a notebook of one cell,
 * because the lines of other files are numbered, as if they were the file's own.
 */
void ofs_claude_output_write(struct ofs_span response, enum ofs_claude_shape shape,
			     const char *text, struct ofs_buf *out);

/*
 * Outputs that Claude Code found too long for the prompt and wrote to a file:
 *
 *   <persisted-output>
 *   Output too large (4.8MB). Full output saved to: /home/u/.claude/projects/.../tool-results/x.txt
 *
 *   Preview (first 2KB):
 *   ...
 *
 * A command may print the same. So a notice counts only if it comes from a tool that Claude Code
 * runs itself, names a file in the session's folder of saved outputs, and previews the start of
 * that file. Any other is ordinary text.
 */
struct ofs_persisted {
	char *path; /* absolute; allocated */
	const char *preview; /* part of the notice's text */
	size_t preview_len;
	size_t end; /* end of the notice; text after it is not in the file */
};

/*
 * Reads the notice that the text starts with. Returns 1, or 0 if there is none, or one without an
 * absolute path or a preview.
 */
int ofs_persisted_read(const char *text, size_t len, struct ofs_persisted *ret);

/*
 * Reads the file `path`, which must be a regular file of the user in or below `folder`, reached
 * without symbolic links. Returns 0; -EPERM if it is anything else; or another -errno, with the
 * reason in `err`.
 */
int ofs_persisted_take(const char *folder, const char *path, struct ofs_error *err,
		       struct ofs_spool *spool);

/*
 * Reads the whole output of a failed command. The event has it as a text, `error`, that is cut in
 * the middle; Claude Code has the whole in a file of `folder`. The newest file that starts with the
 * same text is taken. Returns 1, 0 if `error` is not cut or no file matches, or -errno with the
 * reason in `err`.
 */
int ofs_failure_take(const char *folder, const char *error, size_t len, struct ofs_error *err,
		     struct ofs_spool *spool);

/* Returns whether the notice previews the start of the spool. */
bool ofs_persisted_previews(const struct ofs_persisted *p, const struct ofs_spool *spool);
