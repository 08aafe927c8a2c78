/* SPDX-License-Identifier: MIT */
/* What is left of a file that was collected: what it was, and when and why it went. */
#ifndef OFS_TREE_TOMBSTONE_H
#define OFS_TREE_TOMBSTONE_H

#include "tree/internal.h"
#include "tree/life.h"

/* What the store is to keep of a file; `used` is of the wall clock. 0 or -errno. */
void ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			  const struct ofs_place *place, int64_t used, int64_t ttl,
			  enum ofs_verdict verdict, struct ofs_buf *out);

/* Whether there is one for the ref. */
bool ofs_tombstone_exists(struct ofs_tree *t, const char *ref);

/* It as JSON, for readers and for programs: -ENOENT. */
int ofs_tombstone_report(struct ofs_tree *t, const char *ref, struct ofs_buf *out);

#endif
