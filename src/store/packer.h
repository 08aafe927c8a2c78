/* SPDX-License-Identifier: MIT */
/*
 * Puts chunks into packs: neighbours of one class share a frame. Only the holder of the store's
 * `cycle` may use it.
 */
#pragma once

#include "index/index.h"

#define OFS_FRAME_FULL (256u << 10) /* bytes of content in a frame, unless it is a single chunk */
#define OFS_FRAME_FULL_DENSE (1u << 20)

struct ofs_store;
struct ofs_packer;

/*
 * First cuts off frames that an earlier packer left uncommitted. With `dense`, chunks that move go
 * into dense frames whatever their class. 0 or -errno.
 */
int ofs_packer_create(struct ofs_store *s, bool dense, struct ofs_packer **ret);

/* Chunks that move into the class go into dense frames. */
bool ofs_packer_is_dense(const struct ofs_packer *p, uint32_t class);

/* Cuts off frames that were not committed. NULL is allowed. */
void ofs_packer_destroy(struct ofs_packer *p);

/*
 * Adds a copy of `data`, c->len bytes of content, to a frame of `class`. With `moving`, the chunk
 * c->id is already in the index and moves here, into a dense frame (slower to make) if the class
 * wants one. Otherwise it is new, with the sha and lines of `c`, and gets an id. Its index is
 * ofs_packer_count() - 1. Frames are made by other threads as well (compress_pool.h), so an error
 * may be that of an earlier chunk; after an error nothing can be added or committed.
 */
int ofs_packer_add(struct ofs_packer *p, uint32_t class, bool moving,
		   const struct ofs_index_chunk *c, const void *data);

/*
 * Writes and commits all frames: syncs the packs, then enters frames and chunks into the index in
 * one transaction, in which `also` (may be NULL) is called. Content maps in memory follow the
 * chunks that moved. Takes the store's `lock`. 0 or -errno.
 */
int ofs_packer_commit(struct ofs_packer *p, int (*also)(void *arg), void *arg);

size_t ofs_packer_count(const struct ofs_packer *p); /* of chunks */

/* Bytes that the frames take on disk, after the commit. */
uint64_t ofs_packer_stored(const struct ofs_packer *p);

/* The chunk with index `i`; where it lies is known after the commit. */
const struct ofs_index_chunk *ofs_packer_chunk(const struct ofs_packer *p, size_t i);
