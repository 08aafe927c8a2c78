/* SPDX-License-Identifier: MIT */
/*
 * Reading ahead: recognizes frames that are read one after the other and has those behind them
 * loaded by threads of its own before they are asked for. Any thread may call.
 */
#ifndef OFS_PACK_AHEAD_H
#define OFS_PACK_AHEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "pack/pack.h"

/* How many frames ahead of the reader. */
#define OFS_AHEAD_FRAMES 8

struct ofs_ahead;

/* What it works on; both are called by its threads. */
struct ofs_ahead_ops {
	/* The frame that begins at `off`. 1: it need not be loaded; an error: nothing is to be. */
	int (*locate)(void *arg, uint32_t pack, uint64_t off, struct ofs_frame_loc *ret);
	/* Loads it; nobody hears of what goes wrong. */
	void (*load)(void *arg, const struct ofs_frame_loc *loc);
};

/* `ops` is borrowed. NULL: out of memory. */
struct ofs_ahead *ofs_ahead_create(const struct ofs_ahead_ops *ops, void *arg);

/* Waits for what is being loaded. */
void ofs_ahead_destroy(struct ofs_ahead *a);

/*
 * Somebody needs the frame at `loc`, which nobody had asked for since it was last loaded; `ahead`:
 * that was done by reading ahead.
 */
void ofs_ahead_used(struct ofs_ahead *a, const struct ofs_frame_loc *loc, bool ahead);

#endif
