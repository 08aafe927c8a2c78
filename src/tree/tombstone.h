/* SPDX-License-Identifier: MIT */
/* What is left of a file that was collected: what it was, and when and why it went. */
#ifndef OFS_TREE_TOMBSTONE_H
#define OFS_TREE_TOMBSTONE_H

#include "tree/internal.h"
#include "tree/verdict.h"

/* A list as in base/xattr.h: `why` is a line for people. */
int ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			 const struct ofs_place *place, int64_t used, enum ofs_verdict verdict,
			 const char *why, struct ofs_buf *out);

/* Whether there is one for the ref. */
bool ofs_tombstone_exists(struct ofs_tree *t, const char *ref);

/* It as JSON, for readers and for programs: -ENOENT. */
int ofs_tombstone_report(struct ofs_tree *t, const char *ref, struct ofs_buf *out);

#endif
