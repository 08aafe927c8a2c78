/* SPDX-License-Identifier: MIT */
/* The room for the working tier, on the disk and within the limits, in bytes on disk. */
#pragma once

#include "tree/core/tree_state.h"
#include "tree/expiry/verdict.h"

struct ofs_headroom {
	/* Constant. */
	struct ofs_store **store; /* of the tree; may not be open yet */
	uint64_t max; /* limit of the working tier; 0: none */
	uint64_t keep; /* above it, evictable files are removed; 0: by the size of the disk */

	/* What the store has still to free on the disk. Only for the collecting thread. */
	uint64_t freeing; /* as of `freed_at`, when `available` bytes were available */
	uint64_t available;
	int64_t freed_at; /* monotonic clock */
};

/* Returns how large the working tier may be before evictable files are removed. */
uint64_t ofs_headroom_keep(const struct ofs_headroom *m);

/* Returns how much the disk lacks of what must be available. Sets *ret (may be NULL) to what is. */
uint64_t ofs_headroom_disk_lacks(const struct ofs_headroom *m, uint64_t *ret);

/* Sets how much must be removed for each shortage, if the working tier has `stored` bytes. */
void ofs_headroom_wants(const struct ofs_headroom *m, uint64_t stored, uint64_t ret[OFS_SHORTAGES]);

/* Notes that `removed` bytes were removed, which the store frees on the disk gradually. */
void ofs_headroom_note(struct ofs_headroom *m, uint64_t removed);

/* Returns the bytes that can be written before a limit is exceeded or another run is worthwhile. */
uint64_t ofs_headroom_left(const struct ofs_headroom *m, uint64_t stored);
