/* SPDX-License-Identifier: MIT */
/*
 * A cache of decompressed frames that evicts the least recently used ones first. Its mutex is not
 * held while a frame is loaded or waited for. Any thread may call.
 */
#pragma once

#include "pack/pack.h"

/* Offsets in packs stay below this, so that an offset and a pack number make one 64-bit key. */
#define OFS_PACK_OFF_MAX (UINT64_C(32) << 30)

struct ofs_frame_cache;

/* Keeps at most `max` bytes of content, not counting dropped frames that readers still hold. */
struct ofs_frame_cache *ofs_frame_cache_create(size_t max);
void ofs_frame_cache_destroy(struct ofs_frame_cache *fc);

/*
 * Sets *ret to the content of the frame at `loc`: loc->raw bytes of ofs_frame_buffer_get(), which
 * the cache takes over. 0 or -errno.
 */
typedef int (*ofs_frame_load_fn)(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret);

/* Where a frame came from. */
enum ofs_frame_origin {
	OFS_FRAME_KEPT, /* the cache, or another thread that is loading it */
	OFS_FRAME_LOADED, /* this call, which loaded it */
	OFS_FRAME_AHEAD, /* reading ahead; this is the first request */
	OFS_FRAME_ORIGINS
};

/*
 * Returns in *ret the frame at `loc`, from the cache or through `load`, and its origin as the
 * result. Threads that request the same missing frame wait for the first one and share its result,
 * except an error of reading ahead. Release with ofs_frame_unref(). -EIO: a frame of other
 * dimensions lies there; or the error of `load`.
 *
 * Of the frames that only `passing` calls have requested, the last few are kept, so that a reader
 * of everything evicts little of what others read.
 */
int ofs_frame_cache_get(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc, bool passing,
			ofs_frame_load_fn load, void *arg, struct ofs_frame **ret);

/*
 * True if a frame with `raw` bytes of content may be read ahead. Frames that nobody has requested
 * yet fill at most half of the cache.
 */
bool ofs_frame_cache_has_room(struct ofs_frame_cache *fc, uint32_t raw);

/* Loads the frame at `loc` in advance, unless it is known already or there is no room. */
void ofs_frame_cache_ahead(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc,
			   ofs_frame_load_fn load, void *arg);

/*
 * True if the frame that starts there is in the cache or being loaded. Sets *ret to its location.
 */
bool ofs_frame_cache_find(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off,
			  struct ofs_frame_loc *ret);

/* Forgets the frames of a pack that overlap [from, to), including those being loaded. */
void ofs_frame_cache_drop(struct ofs_frame_cache *fc, uint32_t pack, uint64_t from, uint64_t to);

/* Forgets the frames that end after `off` of pack number `pack` or lie in a later pack. */
void ofs_frame_cache_drop_from(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off);

/* Bytes of content in the cache. */
size_t ofs_frame_cache_size(struct ofs_frame_cache *fc);

void ofs_frame_cache_count(struct ofs_frame_cache *fc, struct ofs_frame_counts *ret);
