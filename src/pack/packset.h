/* SPDX-License-Identifier: MIT */
/* The members of a set of packs, for what appends and reads frames and for what frees space. */
#pragma once

#include <pthread.h>

#include "pack/ahead.h"
#include "pack/frame.h"
#include "pack/frame_cache.h"
#include "pack/pack_table.h"
#include "pack/pack_use.h"

struct ofs_packset {
	int dirfd; /* constant, borrowed */
	struct ofs_pack_table table; /* locks itself */
	struct ofs_frame_cache *cache; /* locks itself */
	struct ofs_ahead *ahead; /* locks itself */
	struct ofs_pack_use *use; /* locks itself */
	bool away; /* frames may be away; constant once anything was read */

	/* For the appending thread alone. */
	struct ofs_pack *tail_pack; /* the pack being appended to; NULL before the first */
	struct ofs_frame_build build; /* emptied by each sync */
	bool tail_dirty; /* frames were appended since the last sync */
	bool dir_dirty; /* a pack was created since the last sync */
	bool failed; /* a sync failed */

	pthread_mutex_t lock; /* guards what follows */
	uint32_t tail;
	uint64_t tail_size;
	uint32_t committed; /* the tail that the index knows; anything after it may be cut off */
	uint64_t committed_size;
	uint64_t pack_size;
};
