/* SPDX-License-Identifier: MIT */
/* The numbers of a store in `offload top`: each line is about one part of it. */
#pragma once

#include "cli/top_canvas.h"
#include "cli/top_model.h"

/* Draws lines from `row` on, as many as leave `rest` rows. Returns the row after them. */
int ofs_top_numbers_draw(const struct ofs_top_model *m, int64_t now, struct ofs_canvas *c, int row,
			 int rest);
