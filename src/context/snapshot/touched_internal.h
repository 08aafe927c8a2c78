/* SPDX-License-Identifier: MIT */
/* What calls and commands have in common. */
#ifndef OFS_CONTEXT_SNAPSHOT_TOUCHED_INTERNAL_H
#define OFS_CONTEXT_SNAPSHOT_TOUCHED_INTERNAL_H

#include <string.h>

#include "context/snapshot/touched.h"

#define PATH_LEN_MAX 200
/* Of a command or a patch; what is longer is data. */
#define COMMAND_MAX 65536

/* Puts a text in place of what a buffer has. */
void ofs_touched_set(struct ofs_buf *b, const char *text, size_t len);

/* Whether it can be a path: one line, without what stands for other things in a shell; no address, no option. */
bool ofs_touched_is_path(const char *p, size_t len);

/* Notes what was done to a file, relative to the working directory where that is known; nothing for what is none. */
void ofs_touched_note(struct ofs_touched *t, const char *p, size_t len, enum ofs_touch how);

/* Whether [p, p + len) is that name. */
static inline bool ofs_touched_is(const char *p, size_t len, const char *name)
{
	return len && *p == *name && len == strlen(name) && memcmp(p, name, len) == 0;
}

/* Whether it is one of the names. */
bool ofs_touched_is_among(const char *p, size_t len, const char *const names[], size_t n);

/* The length of what stands behind the last '.' of a path's last part, with a letter in it; or 0. */
size_t ofs_touched_extension(const char *p, size_t len);

#endif
