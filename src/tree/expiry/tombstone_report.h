/* SPDX-License-Identifier: MIT */
/* Tombstones: what a collected file was, and when and why it was removed. */
#pragma once

#include "tree/core/place.h"
#include "tree/expiry/lifetime.h"

/* Appends the tombstone of a file; `used` is a wall clock time. */
void ofs_tombstone_format(struct ofs_tree *t, const struct ofs_attr *file,
			  const struct ofs_place *place, int64_t used, int64_t ttl,
			  enum ofs_verdict verdict, struct ofs_buf *out);

/*
 * Appends the tombstone of `ref`, as seen from `root`, as JSON. Returns 0, -ENOENT if there is
 * none, or another -errno.
 */
int ofs_tombstone_report(struct ofs_tree *t, const struct ofs_root *root, const char *ref,
			 struct ofs_buf *out);
