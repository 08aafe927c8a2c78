/* SPDX-License-Identifier: MIT */
/* The terminal of `offload top`. */
#pragma once

#include <offloadfs/error.h>

#include "cli/top_canvas.h"

/* Takes the terminal over. -errno with `err` set, and the terminal as it was. */
int ofs_screen_open(struct ofs_error *err);

/* Gives it back as it was; it need not be open. */
void ofs_screen_close(void);

/* The terminal may have another size. */
void ofs_screen_resize(void);

/* A blank canvas of its size, for ofs_canvas_finish(). */
void ofs_screen_canvas(struct ofs_canvas *ret);

/* Shows it; of what is there already nothing is sent. */
void ofs_screen_show(const struct ofs_canvas *c);

/* The next key, as of enum ofs_top_key; OFS_KEY_NONE: none waits. */
uint32_t ofs_screen_key(void);
