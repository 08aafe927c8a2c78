/* SPDX-License-Identifier: MIT */
/* Frames that are not on this disk, and bringing them back from the remote. */
#pragma once

#include "base/thread.h"
#include "pack/pack.h"
#include "store/replication.h"

#define OFS_AWAY_BUSY 4u /* concurrent requests */
#define OFS_AWAY_STREAMS 8u

/* A stretch of a pack. */
struct ofs_away_range {
	uint32_t pack; /* 0: none */
	uint64_t off, end;
};

struct ofs_away_extent {
	struct ofs_index_object object;
	struct ofs_index_extent extent;
};

/* Frames that are read one after the other are requested together. */
struct ofs_away {
	ofs_object_get_fn get; /* constant, as are `room` and `arg`; NULL: nothing is away */
	void (*room)(void *arg); /* called before a frame is brought; may be NULL */
	void *arg;
	pthread_mutex_t lock; /* guards what follows */
	pthread_cond_t brought;
	struct ofs_away_extent *late; /* extents that the index of a follower lacks */
	size_t nlate, cap_late;
	struct ofs_away_range busy[OFS_AWAY_BUSY]; /* being brought */
	struct ofs_away_range stream[OFS_AWAY_STREAMS]; /* brought last */
	unsigned int next_stream; /* the one to replace */
};

void ofs_away_init(struct ofs_away *a);
void ofs_away_finish(struct ofs_away *a);

/* As ofs_index_find_extent(), but also finds the extents that the index of a follower lacks. */
int ofs_away_find(struct ofs_store *s, uint32_t pack, uint64_t off, struct ofs_index_extent *ret,
		  struct ofs_index_object *ret_object);

/* Remembers the extents of an object; ofs_away_settle() forgets those that the index has by now. */
void ofs_away_add(struct ofs_store *s, const struct ofs_index_object *object,
		  const struct ofs_index_extent *extents, size_t n);
void ofs_away_settle(struct ofs_store *s);

/*
 * Brings the frame, and often those after it, back to this disk, or waits until another thread has.
 * No lock is held. 0: reading it may succeed now. -EIO: it cannot be brought. -ENOMEM.
 */
int ofs_away_bring(struct ofs_store *s, const struct ofs_frame_loc *loc);

/* The same for a frame that is damaged here; it stays as it is unless the copy is sound. */
int ofs_away_mend(struct ofs_store *s, const struct ofs_frame_loc *loc);

/* An object has the frame, and may be asked for it. */
bool ofs_away_has(struct ofs_store *s, const struct ofs_frame_loc *loc);
