/* SPDX-License-Identifier: MIT */
/*
 * How much room there is for the working tier, on the disk and by the limits. All are bytes on
 * disk.
 */
#pragma once

#include "tree/core/tree_state.h"
#include "tree/expiry/verdict.h"

struct ofs_headroom {
	/* Constant. */
	struct ofs_store **store; /* of the tree, which may not be open yet */
	uint64_t max; /* of the working tier, 0: no limit */
	uint64_t keep; /* with what is evictable, 0: by the size of the disk */

	/* Of the thread that collects: what the store has still to free on the disk. */
	uint64_t freeing; /* as of `freed_at` (monotonic), with so much available */
	uint64_t available;
	int64_t freed_at;
};

/* The working tier may have so much with what is evictable. */
uint64_t ofs_headroom_keep(const struct ofs_headroom *m);

/* What the disk lacks of what is to be available; `ret` (may be NULL): what is. */
uint64_t ofs_headroom_disk_lacks(const struct ofs_headroom *m, uint64_t *ret);

/* How much is to go for each shortage, of a working tier that has `stored`. */
void ofs_headroom_wants(const struct ofs_headroom *m, uint64_t stored, uint64_t ret[OFS_SHORTAGES]);

/* So much was removed, which is freed by and by. */
void ofs_headroom_note(struct ofs_headroom *m, uint64_t removed);

/* What can be written before a limit is exceeded or, where one is, before it is worth a look. */
uint64_t ofs_headroom_left(const struct ofs_headroom *m, uint64_t stored);
