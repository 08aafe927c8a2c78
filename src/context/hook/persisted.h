/* SPDX-License-Identifier: MIT */
/*
 * Outputs that Claude Code found too long for the prompt and wrote to a file:
 *
 *   <persisted-output>
 *   Output too large (4.8MB). Full output saved to: /home/u/.claude/projects/.../tool-results/x.txt
 *
 *   Preview (first 2KB):
 *   ...
 */
#ifndef OFS_CONTEXT_HOOK_PERSISTED_H
#define OFS_CONTEXT_HOOK_PERSISTED_H

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "client/spool.h"

/* Whether the text is such a notice: it begins as one. What only quotes one is none. */
bool ofs_persisted_is(const char *text, size_t len);

/* The absolute path that a notice names, allocated; NULL: it names none. */
char *ofs_persisted_path(const char *text, size_t len);

/* Where what is behind the notice begins: another text, which the file has not; `len`: nothing is. */
size_t ofs_persisted_end(const char *text, size_t len);

/*
 * Takes in the file. A tool's output can say anything, so a notice must not be able to lay open what
 * it names: only a regular file of the user's own is taken, which is not a link, not empty and not made
 * up by the kernel, and below a hidden folder (keys are in such ones) only one that lies in a folder
 * "tool-results". -EPERM: it is not such a one; or -errno.
 */
int ofs_persisted_take(const char *path, struct ofs_error *err, struct ofs_spool *spool);

#endif
