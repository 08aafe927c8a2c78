/* SPDX-License-Identifier: MIT */
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
#pragma once

#include <offloadfs/error.h>

#include "client/spool.h"

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

/* Whether the notice previews the start of what was taken in. */
bool ofs_persisted_previews(const struct ofs_persisted *p, const struct ofs_spool *spool);
