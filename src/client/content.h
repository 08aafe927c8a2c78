/* SPDX-License-Identifier: MIT */
/* Describes spooled bytes: hash, kind and number of lines. */
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

/* Reads the whole spool and describes it in *ret, which borrows the spool. 0 or -errno. */
int ofs_content_scan(const struct ofs_spool *spool, struct ofs_content *ret);
