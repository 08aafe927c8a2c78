/* SPDX-License-Identifier: MIT */
/* Tombstones that are not in the index yet. */
#ifndef OFS_STORE_TOMBSTONE_H
#define OFS_STORE_TOMBSTONE_H

#include <stddef.h>
#include <stdint.h>

struct ofs_store;

/* Never changes. */
struct ofs_tombstone {
	uint64_t ino;
	int64_t removed; /* seconds since 1970 */
	size_t len;
	uint8_t what[];
};

/* All of these with the store's `lock` held. */

/* An inode was removed by a record of that time. */
void ofs_tombstone_add(struct ofs_store *s, uint64_t ino, int64_t time, const void *what,
		       size_t len);

/*
 * Lists all, for a checkpoint; returns how many, and leaves *ret alone when there are none. The list
 * is the caller's, what is in it stays the store's, and stays there as long as `cycle` is held.
 */
size_t ofs_tombstones_take(struct ofs_store *s, const struct ofs_tombstone ***ret);

/* These are in the index now: frees them. */
void ofs_tombstones_committed(struct ofs_store *s, const struct ofs_tombstone *const *list,
			      size_t n);

void ofs_tombstones_finish(struct ofs_store *s);

#endif
