/* SPDX-License-Identifier: MIT */
/*
 * What a file was made as: the task and the category that it had in the working tier. Whatever goes
 * from there into a tier that keeps it is marked with both first, a directory for all that lies in
 * it. The mark is an attribute that is neither shown nor settable; the first one stays. The nearest
 * one counts, from the file upwards, and only in a tier that keeps: in the working tier the place
 * tells.
 */
#pragma once

#include "tree/core/tree_state.h"

/* Its value is TASK, a NUL, and CATEGORY; either may be empty. */
#define OFS_ORIGIN_MARK "user.offload.origin"

struct ofs_origin {
	char task[OFS_NAME_MAX + 1];
	char category[OFS_NAME_MAX + 1];
};

/* The inode's own mark: 1; 0: it has none; or -errno. */
int ofs_origin_read(struct ofs_tree *t, uint64_t ino, struct ofs_origin *ret);

void ofs_origin_write(const struct ofs_origin *o, struct ofs_buf *out);

/* The mark of a whole task's directory: the directories in it are categories. */
static inline bool ofs_origin_is_task(const struct ofs_origin *o)
{
	return o->task[0] && !o->category[0];
}
