/* SPDX-License-Identifier: MIT */
/* The first and last lines of content, in a size fit for a prompt. */
#pragma once

#include <stdio.h>

#include "client/content.h"

#define OFS_PREVIEW_LINE_MAX 200
#define OFS_PREVIEW_MAX 2000

/* Lines as they are shown: without secrets, harmless, cut, each with its end. */
struct ofs_preview {
	uint64_t head; /* lines 1 to `head` are shown */
	uint64_t tail; /* and those from `tail` on, always after `head`; lines + 1: none */
	uint64_t first_missing; /* the first line that is not shown whole; 0: all are */
	char *first[OFS_CONTENT_LINES]; /* as many as there are */
	char *last[OFS_CONTENT_LINES]; /* the last of the others, by their place from the end */
};

/* Binary content has no preview: all of it is missing. 0 or -errno. */
int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret);
void ofs_preview_finish(struct ofs_preview *p);

/* Prints the lines under "--- lines 1-10 of 912 ---". */
void ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out);
