/* SPDX-License-Identifier: MIT */
/* Reading content, for callers and for the sealer. */
#pragma once

#include <sys/types.h>
#include "pack/pack.h"
#include "store/content_map.h"

struct ofs_store;
struct ofs_inode;

/* Where the packs have what the index speaks of. */
static inline struct ofs_frame_loc ofs_loc_of_frame(const struct ofs_index_frame *f)
{
	return (struct ofs_frame_loc){ f->pack, f->off, f->stored, f->raw };
}

static inline struct ofs_frame_loc ofs_loc_of_chunk(const struct ofs_index_chunk *c)
{
	return (struct ofs_frame_loc){ c->pack, c->frame_off, c->frame_stored, c->frame_raw };
}

/*
 * Reads regardless of file size limits of the caller; takes the locks itself. `ret_version` may be
 * NULL. -EIO: damaged; -OFS_EREAD: reading it failed. With `here` what is not on this disk is not
 * brought: -OFS_EAWAY.
 */
ssize_t ofs_store_read_version(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			       uint64_t off, bool here, uint64_t *ret_version);

/* A block as it was when it was read. */
struct ofs_block_state {
	uint64_t version; /* of the file */
	uint64_t drafts; /* fingerprint of those in the block */
	uint64_t chunk; /* what they lie over; 0: a hole */
	struct ofs_extent *lost; /* what could not be read */
	size_t nlost, cap_lost;
};

/*
 * Reads block `i` of a file for the sealer: what is damaged becomes zeros and is listed. Returns
 * the length; -ESTALE: the file ends before; -OFS_EREAD: reading failed. ofs_block_state_finish()
 * frees *ret.
 */
ssize_t ofs_store_read_block(struct ofs_store *s, uint64_t ino, uint64_t i, uint8_t *buf,
			     struct ofs_block_state *ret);
void ofs_block_state_finish(struct ofs_block_state *st);
