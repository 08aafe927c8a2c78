/* SPDX-License-Identifier: MIT */
/*
 * Decompressed frames, least recently used ones dropped first. Its mutex is held neither while a
 * frame is loaded nor by those who wait for one that another thread is loading. Any thread may
 * call.
 */
#ifndef OFS_PACK_FRAME_CACHE_H
#define OFS_PACK_FRAME_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pack/pack.h"

/* Offsets in packs stay below this: place and pack number make one 64-bit key. */
#define OFS_PACK_OFF_MAX (UINT64_C(32) << 30)

struct ofs_frame_cache;

/*
 * Keeps at most `max` bytes of content; frames that readers hold do not count once they were
 * dropped.
 */
struct ofs_frame_cache *ofs_frame_cache_create(size_t max);
void ofs_frame_cache_destroy(struct ofs_frame_cache *fc);

/* Gives the content of the frame at `loc`: allocated, loc->raw bytes. 0 or -errno. */
typedef int (*ofs_frame_load_fn)(void *arg, const struct ofs_frame_loc *loc, uint8_t **ret);

/* How a frame was come by. */
enum ofs_frame_origin {
	OFS_FRAME_KEPT, /* it was in the cache, or another thread has asked for it as well */
	OFS_FRAME_LOADED, /* by this call */
	OFS_FRAME_AHEAD, /* it was read ahead, and this is the first time that it is asked for */
};

/*
 * The frame at `loc`, from the cache or through `load`. Threads that ask for the same missing frame
 * wait for the first one and share its outcome, but for an error of reading ahead. Release with
 * ofs_frame_unref(). Returns its origin; -EIO when a frame of other dimensions lies there.
 */
int ofs_frame_cache_get(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc,
			ofs_frame_load_fn load, void *arg, struct ofs_frame **ret);

/*
 * Whether a frame with so much content may be read ahead: those that nobody has asked for yet fill
 * no more than half of the cache.
 */
bool ofs_frame_cache_has_room(struct ofs_frame_cache *fc, uint32_t raw);

/*
 * Loads the frame at `loc` for those who may ask for it. Nothing is done where it is known, or
 * where there is no room.
 */
void ofs_frame_cache_ahead(struct ofs_frame_cache *fc, const struct ofs_frame_loc *loc,
			   ofs_frame_load_fn load, void *arg);

/* Whether a frame that begins there is known, be it only that it is being loaded. */
bool ofs_frame_cache_find(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off,
			  struct ofs_frame_loc *ret);

/*
 * Forgets the frames of a pack that begin in [from, to) or reach into it, those being loaded
 * included.
 */
void ofs_frame_cache_drop(struct ofs_frame_cache *fc, uint32_t pack, uint64_t from, uint64_t to);

/* Forgets every frame that ends behind `off` of pack number `pack`, or lies in a later pack. */
void ofs_frame_cache_drop_from(struct ofs_frame_cache *fc, uint32_t pack, uint64_t off);

/* Bytes of content that are kept. */
size_t ofs_frame_cache_size(struct ofs_frame_cache *fc);

#endif
