/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: recognizes frames that are read in sequence, and loads the following ones in
 * threads of its own. Any thread may call.
 */
#pragma once

#include "pack/pack.h"

/* How many frames are loaded ahead of the reader. */
#define OFS_AHEAD_FRAMES 8

struct ofs_ahead;

/* Called by its threads. */
struct ofs_ahead_ops {
	/*
	 * Finds the frame that starts at `off`. 1: it need not be loaded; an error ends the walk.
	 */
	int (*locate)(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret);
	/* Loads the frame. Errors are ignored. */
	void (*load)(void *arg, const struct ofs_frame_loc *loc);
};

/* `ops` is borrowed. */
struct ofs_ahead *ofs_ahead_create(const struct ofs_ahead_ops *ops, void *arg);

/* Waits for frames that are being loaded. NULL is allowed. */
void ofs_ahead_destroy(struct ofs_ahead *a);

/*
 * Reports that the frame at `loc` is requested for the first time since it was loaded. `ahead`: it
 * was read ahead.
 */
void ofs_ahead_used(struct ofs_ahead *a, const struct ofs_frame_loc *loc, bool ahead);
