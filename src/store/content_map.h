/* SPDX-License-Identifier: MIT */
/*
 * Where the bytes of a file are. Blocks of OFS_BLOCK_SIZE bytes lie in packs, one chunk each;
 * drafts, which lie in the journal, cover them. What neither covers is zeros, and so is what lies
 * in a block after the end of its chunk.
 *
 * Pure bookkeeping: no I/O, no locks.
 */
#pragma once

#include "index/index.h"
#include "journal/journal.h"

#define OFS_BLOCK_SIZE (UINT64_C(256) << 10)
#define OFS_CONTENT_END (UINT64_C(1) << 44) /* no file reaches further */

struct ofs_block {
	uint64_t index; /* block number in the file */
	struct ofs_index_chunk chunk; /* id 0: a hole */
	uint64_t epoch; /* of the last change */
};

/*
 * `len` bytes at `off` come from `data`, starting at its byte `data_off`. data.pos 0: zeros;
 * OFS_LOST_POS: damaged, to be read as an error until they are written again.
 */
#define OFS_LOST_POS OFS_INDEX_LOST_POS
struct ofs_extent {
	uint64_t off;
	uint64_t len;
	struct ofs_journal_data data;
	uint32_t data_off;
};

struct ofs_content_map {
	bool loaded; /* blocks are known (they are fetched from the index when first needed) */
	struct ofs_block *blocks; /* by index; one that is not listed is a hole */
	size_t nblocks;
	size_t cap_blocks;
	bool holes; /* holes may be listed */

	/* Drafts, by offset, never overlapping. */
	struct ofs_extent *extents;
	size_t nextents;
	size_t cap_extents;
	uint64_t draft_bytes; /* of extents with data that is not lost */
	uint64_t drafts_epoch; /* of the last change of the drafts */

	/* Blocks at or after `cut` were dropped since the last checkpoint; UINT64_MAX: none. */
	uint64_t cut;
	uint64_t cut_epoch;
};

void ofs_content_map_init(struct ofs_content_map *c);
void ofs_content_map_finish(struct ofs_content_map *c);

/* Sets block `i`. */
void ofs_content_map_set_block(struct ofs_content_map *c, uint64_t i,
			       const struct ofs_index_chunk *chunk, uint64_t epoch);

/* Lays an extent over whatever was there. */
void ofs_content_map_cover(struct ofs_content_map *c, const struct ofs_extent *e, uint64_t epoch);

/* The file ends at `size` now: later bytes are dropped and read as zeros if it grows again. */
void ofs_content_map_truncate(struct ofs_content_map *c, uint64_t size, uint64_t epoch);

/*
 * [from, to) reads as zeros: blocks in it become holes, drafts in it go. What lies after the end of
 * a file counts as zeros already, so `to` is best rounded up there. Costs what is there, not what
 * is asked for.
 */
void ofs_content_map_zero(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch);

/*
 * The `n` blocks of `src` (which may be `c`) from block `from` on also become those of `c` from
 * `to` on, with the drafts over them and whatever lies after the end of a chunk or file.
 */
void ofs_content_map_copy(struct ofs_content_map *c, uint64_t to, const struct ofs_content_map *src,
			  uint64_t from, uint64_t n, uint64_t epoch);

/*
 * *ret_data: there is data, no hole, at `off`. Returns where that ends, at most `end`. What is lost
 * counts as data.
 */
uint64_t ofs_content_map_stretch(const struct ofs_content_map *c, uint64_t off, uint64_t end,
				 bool *ret_data);

/* Holes up to `epoch` are in the index: they need not be listed any more. */
void ofs_content_map_committed(struct ofs_content_map *c, uint64_t epoch);

/* Drops the drafts in [from, to), parts of them where they reach further. */
void ofs_content_map_uncover(struct ofs_content_map *c, uint64_t from, uint64_t to, uint64_t epoch);

/*
 * Content that is still to be looked at by the sealer without having a draft (cut at a block's end,
 * grown by a hole, sealed but not hashed as a whole) gets one after any end that a file may have:
 * after a restart drafts alone tell what is left to do.
 */
void ofs_content_map_mark(struct ofs_content_map *c, uint64_t epoch);

/* The id of block `i`'s chunk; 0: a hole. */
uint64_t ofs_content_map_chunk(const struct ofs_content_map *c, uint64_t i);

/* Stands for the drafts in [from, to): as long as it is the same, so are they. */
uint64_t ofs_content_map_fingerprint(const struct ofs_content_map *c, uint64_t from, uint64_t to);

/* There is a draft that can be sealed: neither lost nor after any end (a mark). */
bool ofs_content_map_has_drafts(const struct ofs_content_map *c);

/* The first extent that ends after `off`; c->nextents when there is none. */
size_t ofs_content_map_find(const struct ofs_content_map *c, uint64_t off);

/* The journal position of the oldest draft that is not lost, UINT64_MAX without one. */
uint64_t ofs_content_map_oldest(const struct ofs_content_map *c);

/* A stretch of a read: `len` bytes for `buf + at`. */
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
