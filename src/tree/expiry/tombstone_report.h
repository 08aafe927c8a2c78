/* SPDX-License-Identifier: MIT */
/* What is left of a file that was collected: what it was, and when and why it went. */
#ifndef OFS_TREE_EXPIRY_TOMBSTONE_REPORT_H
#define OFS_TREE_EXPIRY_TOMBSTONE_REPORT_H

#include "tree/core/place.h"
#include "tree/core/tree_state.h"
#include "tree/expiry/lifetime.h"

/* What the store is to keep of a file; `used` is of the wall clock. 0 or -errno. */
void ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			  const struct ofs_place *place, int64_t used, int64_t ttl,
			  enum ofs_verdict verdict, struct ofs_buf *out);

/* It as JSON, for readers and for programs: -ENOENT. */
int ofs_tombstone_report(struct ofs_tree *t, const char *ref, struct ofs_buf *out);

#endif
