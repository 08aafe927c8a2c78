/* SPDX-License-Identifier: MIT */
/* Spooled bytes as content: hash, kind, and the places of the first and last lines. */
#pragma once

#include "client/spool.h"

/* Lines whose places are known at each end. */
#define OFS_CONTENT_LINES 10

struct ofs_content {
	const struct ofs_spool *spool; /* borrowed */
	uint64_t size;
	uint64_t lines;
	char sha256[65];
	const char *ext; /* "json", "html", "diff", "txt" or "bin"; static */
	bool binary;
	/*
	 * Where line i (from 0) starts: first[i] for the first N and the next, last[i % N] for the
	 * last N.
	 */
	uint64_t first[OFS_CONTENT_LINES + 1];
	uint64_t last[OFS_CONTENT_LINES];
};

/* Reads the whole spool, which must outlive `ret`. 0 or -errno. */
int ofs_content_scan(const struct ofs_spool *spool, struct ofs_content *ret);

/*
 * The offset of line `i` (from 0), which must be one that is known: the first N, the next, the last
 * N. The size for i == lines.
 */
uint64_t ofs_content_line(const struct ofs_content *c, uint64_t i);
