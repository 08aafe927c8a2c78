/* SPDX-License-Identifier: MIT */
#include "context/prefetch.h"
int ofs_prefetch_write(struct ofs_shelf *shelf, const struct ofs_prefetch_source sources[], size_t n,
		       const char *query, size_t query_len, struct ofs_error *err,
		       struct ofs_buf *out) { return 0; }
