/* SPDX-License-Identifier: MIT */
/* zstd's contexts and error codes, translated once. */
#ifndef OFS_CODEC_ZSTD_H
#define OFS_CODEC_ZSTD_H

#include <stddef.h>

#include "base/buf.h"

/* Reuses its working memory from call to call; one thread at a time. */
struct ofs_compressor;

struct ofs_compressor *ofs_compressor_create(void);
void ofs_compressor_destroy(struct ofs_compressor *c);

/* Appends the compressed form of `data` to `out`. Levels as zstd's (1 to 19). 0 or -errno. */
int ofs_compress(struct ofs_compressor *c, int level, const void *data, size_t len,
		 struct ofs_buf *out);

/*
 * Expands into exactly `len` bytes at `ret`. Safe from any thread.
 * -EIO: damaged, or it expands to another size.
 */
int ofs_decompress(const void *data, size_t stored, void *ret, size_t len);

#endif
