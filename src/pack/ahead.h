/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: recognizes frames that are read one after the other, and loads those that follow
 * in threads of its own. Any thread may call.
 */
#pragma once

#include "pack/pack.h"

/* How many frames ahead of the reader. */
#define OFS_AHEAD_FRAMES 8

struct ofs_ahead;

/* Called by its threads. */
struct ofs_ahead_ops {
	/* The frame that starts at `off`. 1: it need not be loaded; an error ends the walk. */
	int (*locate)(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret);
	/* Loads it; errors are ignored. */
	void (*load)(void *arg, const struct ofs_frame_loc *loc);
};

/* `ops` is borrowed. */
struct ofs_ahead *ofs_ahead_create(const struct ofs_ahead_ops *ops, void *arg);

/* Waits for frames being loaded. */
void ofs_ahead_destroy(struct ofs_ahead *a);

/*
 * The frame at `loc` is asked for the first time since it was loaded; `ahead`: it was read ahead.
 */
void ofs_ahead_used(struct ofs_ahead *a, const struct ofs_frame_loc *loc, bool ahead);
