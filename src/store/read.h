/* SPDX-License-Identifier: MIT */
/* Reading content, for callers and for the sealer. */
#pragma once

#include <sys/types.h>
#include "pack/pack.h"
#include "store/content_map.h"

struct ofs_store;
struct ofs_inode;

/* Where a frame of the index lies in the packs. */
static inline struct ofs_frame_loc ofs_loc_of_frame(const struct ofs_index_frame *f)
{
	return (struct ofs_frame_loc){ f->pack, f->off, f->stored, f->raw };
}

/* Where the frame of a chunk lies in the packs. */
static inline struct ofs_frame_loc ofs_loc_of_chunk(const struct ofs_index_chunk *c)
{
	return (struct ofs_frame_loc){ c->pack, c->frame_off, c->frame_stored, c->frame_raw };
}

/*
 * Reads content, whose version it sets in *ret_version (may be NULL); takes the locks itself.
 * Returns the length, which is less than `size` at the end of the file. -EIO: damaged; -OFS_EREAD:
 * reading failed. With `here`, content that is not on this disk is not brought: -OFS_EAWAY.
 */
ssize_t ofs_store_read_version(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			       uint64_t off, bool here, uint64_t *ret_version);

/* The state of a block when it was read. */
struct ofs_block_state {
	uint64_t version; /* of the file */
	uint64_t drafts; /* fingerprint of the drafts in the block */
	uint64_t chunk; /* that these lie over; 0: a hole */
	struct ofs_extent *lost; /* ranges that are damaged and nowhere else */
	size_t nlost, cap_lost;
};

/*
 * Reads block `i` of a file for the sealer: lost ranges become zeros and are listed. Returns the
 * length; -ESTALE: the file ends before the block; -OFS_EREAD: reading failed, or what is damaged
 * here may be sound in an object.
 * ofs_block_state_finish() frees *ret.
 */
ssize_t ofs_store_read_block(struct ofs_store *s, uint64_t ino, uint64_t i, uint8_t *buf,
			     struct ofs_block_state *ret);
void ofs_block_state_finish(struct ofs_block_state *st);
