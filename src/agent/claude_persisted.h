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
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "client/spool.h"

/* Whether the text starts with such a notice; one that only quotes a notice does not. */
bool ofs_persisted_is(const char *text, size_t len);

/* The absolute path that a notice names, allocated; NULL: it names none. */
char *ofs_persisted_path(const char *text, size_t len);

/* Where the notice ends: any text from there on is not in the file. */
size_t ofs_persisted_end(const char *text, size_t len);

/*
 * Takes in the file. A tool's output can say anything, so a notice must not be able to disclose
 * what it names: only a regular file of the user's own is taken, which is not a link, not empty and
 * not made up by the kernel, and below a hidden folder (where keys are kept) only in a folder
 * "tool-results". -EPERM: it is none of these; or -errno.
 */
int ofs_persisted_take(const char *path, struct ofs_error *err, struct ofs_spool *spool);
