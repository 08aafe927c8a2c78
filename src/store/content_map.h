/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a file are. A block of OFS_BLOCK_SIZE bytes lies in a pack, as one chunk;
 * drafts, which lie in the journal, cover blocks. Bytes that neither has are zeros, as are those of
 * a block after the end of its chunk.
 *
 * Pure bookkeeping: no I/O, no locks.
 */
#pragma once

#include "index/index.h"
#include "journal/journal.h"

#define OFS_BLOCK_SIZE (UINT64_C(256) << 10)
#define OFS_CONTENT_END (UINT64_C(1) << 44) /* no file is longer */

struct ofs_block {
	uint64_t index; /* block number in the file */
	struct ofs_index_chunk chunk; /* id 0: a hole */
	uint64_t epoch; /* of the last change */
};

/*
 * `len` bytes at `off` come from `data`, starting at its byte `data_off`. data.pos is 0 for zeros
 * and OFS_LOST_POS for damaged bytes, which read as an error until they are written again.
 */
#define OFS_LOST_POS OFS_INDEX_LOST_POS
struct ofs_extent {
	uint64_t off;
	uint64_t len;
	struct ofs_journal_data data;
	uint32_t data_off;
};

struct ofs_content_map {
	bool loaded; /* the blocks are known; they are loaded from the index when first needed */
	struct ofs_block *blocks; /* by index; an index that is not listed is a hole */
	size_t nblocks;
	size_t cap_blocks;
	bool holes; /* `blocks` may list holes */

	/* Drafts, by offset; they never overlap. */
	struct ofs_extent *extents;
	size_t nextents;
	size_t cap_extents;
	uint64_t draft_bytes; /* of extents whose data is in the journal: neither zeros nor lost */
	uint64_t drafts_epoch; /* of the last change of the drafts */

	/* Blocks at or after `cut` were dropped since the last checkpoint; UINT64_MAX: none. */
	uint64_t cut;
	uint64_t cut_epoch;
};

void ofs_content_map_init(struct ofs_content_map *c);
void ofs_content_map_finish(struct ofs_content_map *c);

void ofs_content_map_set_block(struct ofs_content_map *c, uint64_t i,
			       const struct ofs_index_chunk *chunk, uint64_t epoch);

/* Lays an extent over whatever was there. One of length 0 changes nothing. */
void ofs_content_map_cover(struct ofs_content_map *c, const struct ofs_extent *e, uint64_t epoch);

/* Ends the file at `size`: later bytes are dropped, and read as zeros if it grows again. */
void ofs_content_map_truncate(struct ofs_content_map *c, uint64_t size, uint64_t epoch);

/*
 * Makes [from, to) read as zeros: whole blocks in it become holes, drafts in it are dropped. Bytes
 * after the end of a file are zeros already, so a `to` there is best rounded up to a block. The
 * cost depends on what is stored in the range, not on its length.
 */
void ofs_content_map_zero(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch);

/*
 * Makes the `n` blocks of `c` from block `to` on the same as those of `src` (may be `c`) from
 * `from` on, drafts included, up to the end of the last block whatever the size of the file.
 */
void ofs_content_map_copy(struct ofs_content_map *c, uint64_t to, const struct ofs_content_map *src,
			  uint64_t from, uint64_t n, uint64_t epoch);

/*
 * Sets *ret_data to whether `off` is in data (else in a hole), and returns where that stretch ends,
 * at most `end`. Lost bytes count as data.
 */
uint64_t ofs_content_map_stretch(const struct ofs_content_map *c, uint64_t off, uint64_t end,
				 bool *ret_data);

/* Stops listing holes that a checkpoint of `epoch` has committed to the index. */
void ofs_content_map_committed(struct ofs_content_map *c, uint64_t epoch);

/* Drops the drafts in [from, to), cutting those that reach beyond it. */
void ofs_content_map_uncover(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch);

/*
 * Adds a mark, a draft after the end of any file, if there is no other draft. Only drafts tell
 * after a restart what the sealer still has to do, and some content has none: cut at the end of a
 * block, grown by a hole, or sealed but not hashed as a whole.
 */
void ofs_content_map_mark(struct ofs_content_map *c, uint64_t epoch);

/* The id of block `i`'s chunk; 0: a hole. */
uint64_t ofs_content_map_chunk(const struct ofs_content_map *c, uint64_t i);

/* A checksum of the drafts in [from, to): equal as long as they are the same. */
uint64_t ofs_content_map_fingerprint(const struct ofs_content_map *c, uint64_t from, uint64_t to);

/* There is a draft that can be sealed: one that is neither lost nor a mark. */
bool ofs_content_map_has_drafts(const struct ofs_content_map *c);

/* The index of the first extent that ends after `off`; c->nextents if there is none. */
size_t ofs_content_map_find(const struct ofs_content_map *c, uint64_t off);

/* The journal position of the oldest draft whose data is there; UINT64_MAX: none. */
uint64_t ofs_content_map_oldest(const struct ofs_content_map *c);

/* A part of a read: `len` bytes for `buf + at`. */
struct ofs_piece {
	uint64_t at;
	uint64_t len;
	enum {
		OFS_PIECE_ZERO,
		OFS_PIECE_DRAFT,
		OFS_PIECE_CHUNK
	} kind;
	struct ofs_journal_data data; /* DRAFT */
	uint32_t data_off;
	struct ofs_index_chunk chunk; /* CHUNK */
	uint32_t chunk_off;
};

struct ofs_pieces {
	struct ofs_piece *list;
	size_t n;
	size_t cap;
};

void ofs_pieces_finish(struct ofs_pieces *p);

/* Lists where the bytes [off, off + len) come from, in order and without gaps. */
void ofs_content_map_resolve(const struct ofs_content_map *c, uint64_t off, uint64_t len,
			     struct ofs_pieces *ret);
