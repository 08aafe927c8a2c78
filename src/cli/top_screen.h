/* SPDX-License-Identifier: MIT */
/* The terminal of `offload top`. */
#pragma once

#include <offloadfs/error.h>

#include "cli/top_canvas.h"

/* Takes over the terminal. Returns 0, or -errno with `err` set and the terminal unchanged. */
int ofs_screen_open(struct ofs_error *err);

/* Restores the terminal, if it is open. */
void ofs_screen_close(void);

/* Adapts to the size of the terminal, which may have changed. */
void ofs_screen_resize(void);

/* Returns a blank canvas of the terminal's size, for ofs_canvas_finish(). */
void ofs_screen_canvas(struct ofs_canvas *ret);

/* Shows the canvas. Only what has changed is sent. */
void ofs_screen_show(const struct ofs_canvas *c);

/* Returns the next key, as in enum ofs_top_key, or OFS_KEY_NONE. */
uint32_t ofs_screen_key(void);
