/* SPDX-License-Identifier: MIT */
/*
 * The responses of Claude Code's tools: each tool has a shape of its own, and in it somewhere the
 * text that the model reads.
 */
#pragma once

#include <offloadfs/error.h>

#include "client/spool.h"
#include "context/json/span.h"

enum ofs_claude_shape {
	OFS_CLAUDE_STRING, /* "text" */
	OFS_CLAUDE_BLOCKS, /* [{"type": "text", "text"}], with images among them */
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
	bool images; /* or the like beside it, which only an answer of this shape keeps */
	/* The name of the file with all of the text, if the tool gives one. */
	struct ofs_span persisted;
	size_t beside; /* where in the text begins what that file may not have */
};

void ofs_claude_output_finish(struct ofs_claude_output *o);

/* Finds the text. False: there is none, or something that no text can stand for. */
bool ofs_claude_output_read(struct ofs_span response, struct ofs_claude_output *ret);

/*
 * Appends the response in its own shape, which is not OFS_CLAUDE_OTHER, with `text` in place of
 * what the model reads; what else is in it stays, images too. A file becomes a notebook of one cell:
 * the lines of any other are numbered, as if they were those of the file.
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
 * A command's output can say anything, this too. So a notice counts only if it comes from a tool
 * that Claude Code itself runs, names a file in the session's own folder of saved outputs, and
 * previews what that file begins with. Any other is an ordinary text.
 */
struct ofs_persisted {
	char *path; /* absolute; allocated */
	const char *preview; /* in the text */
	size_t preview_len;
	size_t end; /* of the notice: any text from there on is not in the file */
};

/*
 * Reads the notice that the text starts with. 1; 0: it starts with none, or with one that has no
 * absolute path or no preview.
 */
int ofs_persisted_read(const char *text, size_t len, struct ofs_persisted *ret);

/*
 * Takes in the file `path`, which must be a regular file of the user's own below `folder` and is
 * reached from there without symbolic links. -EPERM: it is something else; or -errno, with the
 * reason in `err`.
 */
int ofs_persisted_take(const char *folder, const char *path, struct ofs_error *err,
		       struct ofs_spool *spool);

/*
 * The output of a command that failed comes as a text, `error`, which is cut in the middle; the
 * client has the whole in a file of `folder`. Takes in the newest one that begins with the same
 * text. 1; 0: `error` is not cut, or no file fits; or -errno with the reason in `err`.
 */
int ofs_failure_take(const char *folder, const char *error, size_t len, struct ofs_error *err,
		     struct ofs_spool *spool);

/* True if the notice previews the start of the content that was read. */
bool ofs_persisted_previews(const struct ofs_persisted *p, const struct ofs_spool *spool);
