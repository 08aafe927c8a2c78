/* SPDX-License-Identifier: MIT */
/* Spooled bytes as content: hash, kind and the number of lines. */
#pragma once

#include "client/spool.h"

struct ofs_content {
	const struct ofs_spool *spool; /* borrowed */
	uint64_t size;
	uint64_t lines;
	char sha256[65];
	const char *ext; /* "json", "html", "diff", "txt" or "bin"; static */
	bool binary;
};

/* Reads the whole spool, which must outlive `ret`. 0 or -errno. */
int ofs_content_scan(const struct ofs_spool *spool, struct ofs_content *ret);
