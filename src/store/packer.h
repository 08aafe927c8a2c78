/* SPDX-License-Identifier: MIT */
/*
 * Chunks on their way into packs: neighbours of one class share a frame. Belongs to the holder of
 * the store's `cycle`.
 */
#pragma once

#include "index/index.h"

#define OFS_FRAME_FULL (256u << 10) /* bytes of content in a frame, unless one chunk is all of it */
#define OFS_FRAME_FULL_DENSE (1u << 20)

struct ofs_store;
struct ofs_packer;

/*
 * Cuts off frames that an earlier packer left behind uncommitted. `dense`: what moves goes into
 * dense frames, whatever its class. 0 or -errno.
 */
int ofs_packer_create(struct ofs_store *s, bool dense, struct ofs_packer **ret);

/* What moves into that class goes into dense frames. */
bool ofs_packer_is_dense(const struct ofs_packer *p, uint32_t class);

/* Frames that were not committed are cut off. NULL is allowed. */
void ofs_packer_destroy(struct ofs_packer *p);

/*
 * Adds a copy of `data`, c->len bytes of content, to a frame of `class`. With `moving` the chunk
 * c->id is already in the index and moves here, into a dense frame (which takes longer to make)
 * where the class wants one; else it is a new one with sha and lines of `c`, and gets an id. Its
 * place is ofs_packer_count() - 1. Frames are made by other threads, too (compress_pool.h): an
 * error may be that of a chunk before, and after one nothing can be added or committed.
 */
int ofs_packer_add(struct ofs_packer *p, uint32_t class, bool moving,
		   const struct ofs_index_chunk *c, const void *data);

/*
 * Writes and commits all frames: packs are synced, then frames and chunks enter the index in one
 * transaction, in which `also` (may be NULL) is called. Maps in memory follow the chunks that
 * moved; the store's `lock` is not held. 0 or -errno.
 */
int ofs_packer_commit(struct ofs_packer *p, int (*also)(void *arg), void *arg);

size_t ofs_packer_count(const struct ofs_packer *p); /* chunks */

/* Bytes on disk of the frames, after the commit. */
uint64_t ofs_packer_stored(const struct ofs_packer *p);

/* The chunk at place `i`; where it lies is known after the commit. */
const struct ofs_index_chunk *ofs_packer_chunk(const struct ofs_packer *p, size_t i);
