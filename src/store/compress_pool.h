/* SPDX-License-Identifier: MIT */
/*
 * Compresses frames in several threads and returns them in the order in which they were given. All
 * calls are made by one thread, which counts as one of these: rather than wait, it compresses as
 * well.
 */
#pragma once

#include "codec/zstd.h"
#include "pack/pack.h"

#define OFS_COMPRESS_THREADS_MAX 4u

struct ofs_compress_pool;

/* The number of threads that pay off here: one for each processor, up to the maximum. */
unsigned int ofs_compress_pool_threads(void);

/*
 * `own` (borrowed) is the caller's compressor. Up to `threads` - 1 other threads are started, each
 * when a frame is given while another waits. If none can be started, the caller does all the work.
 */
struct ofs_compress_pool *ofs_compress_pool_create(struct ofs_compressor *own,
						   unsigned int threads);

/* Ends the threads and drops frames that were not taken. NULL is allowed. */
void ofs_compress_pool_destroy(struct ofs_compress_pool *p);

/* There are two frames for each thread: one must be taken before the next is given. */
bool ofs_compress_pool_is_full(const struct ofs_compress_pool *p);

bool ofs_compress_pool_is_empty(const struct ofs_compress_pool *p);

/* Gives a pool that is not full a frame to make of a copy of these chunks. */
void ofs_compress_pool_give(struct ofs_compress_pool *p, int level,
			    const struct ofs_frame_chunk *chunks, size_t n);

/*
 * Takes the oldest frame out of a pool that is not empty, once it is built. *ret is valid until the
 * next frame is given. Errors as ofs_frame_build(); that frame is lost.
 */
int ofs_compress_pool_take(struct ofs_compress_pool *p, struct ofs_frame_build **ret);
