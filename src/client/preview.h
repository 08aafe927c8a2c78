/* SPDX-License-Identifier: MIT */
/* The first and last lines of a content, within what a prompt can bear. */
#ifndef OFS_CLIENT_PREVIEW_H
#define OFS_CLIENT_PREVIEW_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "client/content.h"

#define OFS_PREVIEW_LINE_MAX 200
#define OFS_PREVIEW_MAX 2000

struct ofs_preview {
	uint64_t head; /* lines 1 to `head` are shown */
	uint64_t tail; /* and those from `tail` on, always behind `head`; lines + 1: none */
	uint64_t first_missing; /* the first line that is not shown whole; 0: all are */
};

/* Binary content has no preview, and all of it is missing. 0 or -errno. */
int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret);

/* Prints the lines under "--- lines 1-10 of 912 ---". 0 or -errno. */
int ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out);

#endif
