/* SPDX-License-Identifier: MIT */
/*
 * The origin of a file: the task and the category that it had in the working tier. Anything that
 * leaves that tier is first marked with both; the mark of a directory holds for everything in it.
 * The mark is an attribute that is neither shown nor settable, and a first one is never replaced.
 * The nearest mark counts, from the file upwards. In the working tier marks mean nothing: the place
 * tells.
 */
#pragma once

#include "tree/core/tree_state.h"

/* Its value is TASK, a NUL and CATEGORY; either may be empty. */
#define OFS_ORIGIN_MARK "user.offload.origin"

struct ofs_origin {
	char task[OFS_NAME_MAX + 1];
	char category[OFS_NAME_MAX + 1];
};

/* Reads the inode's own mark. Returns 1, 0 if there is none, or -errno. */
int ofs_origin_read(struct ofs_tree *t, uint64_t ino, struct ofs_origin *ret);

void ofs_origin_write(const struct ofs_origin *o, struct ofs_buf *out);

/* Returns whether this is the mark of a whole task's directory, which contains categories. */
static inline bool ofs_origin_is_task(const struct ofs_origin *o)
{
	return o->task[0] && !o->category[0];
}
