/* SPDX-License-Identifier: MIT */
/*
 * Frames are compressed by several threads and come back in the order in which they were given. All
 * calls are made by one thread, which counts as one of them: rather than wait it compresses, too.
 */
#pragma once

#include "codec/zstd.h"
#include "pack/pack.h"

#define OFS_COMPRESS_THREADS_MAX 4u

struct ofs_compress_pool;

/* How many threads are worthwhile on this machine: one for each processor, up to the most. */
unsigned int ofs_compress_pool_threads(void);

/*
 * `own` (borrowed) is what the caller compresses with. Other threads are started when a frame is
 * given while another one waits, `threads` - 1 at most; where none can be, the caller does it all.
 */
struct ofs_compress_pool *ofs_compress_pool_create(struct ofs_compressor *own,
						   unsigned int threads);

/* Ends the threads; frames that were not taken are dropped. NULL is allowed. */
void ofs_compress_pool_destroy(struct ofs_compress_pool *p);

/* A frame has to be taken before the next is given: there are two for each thread. */
bool ofs_compress_pool_is_full(const struct ofs_compress_pool *p);

bool ofs_compress_pool_is_empty(const struct ofs_compress_pool *p);

/* Gives a frame of a copy of these chunks to a pool that is not full. */
void ofs_compress_pool_give(struct ofs_compress_pool *p, int level,
			    const struct ofs_frame_chunk *chunks, size_t n);

/*
 * Takes the oldest frame out of a pool that is not empty, once it is built: *ret is good until the
 * next one is given. Errors as ofs_frame_build(): the frame is lost.
 */
int ofs_compress_pool_take(struct ofs_compress_pool *p, struct ofs_frame_build **ret);
