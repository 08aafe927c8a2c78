/* SPDX-License-Identifier: MIT */
/* Compression with zstd, whose error codes become -errno here. */
#pragma once

#include "base/buf.h"

/* Keeps its working memory between calls. Used by one thread at a time. */
struct ofs_compressor;

struct ofs_compressor *ofs_compressor_create(void);
void ofs_compressor_destroy(struct ofs_compressor *c);

/* Appends the compressed `data` to `out`. `level` is zstd's, 1 to 19. 0 or -errno. */
int ofs_compress(struct ofs_compressor *c, int level, const void *data, size_t len,
		 struct ofs_buf *out);

/*
 * The same without zstd's checksum, for content that is checked in another way. It expands faster,
 * but damage may go unnoticed.
 */
int ofs_compress_bare(struct ofs_compressor *c, int level, const void *data, size_t len,
		      struct ofs_buf *out);

/*
 * Expands into exactly `len` bytes at `ret`. May be called from any thread. -EIO: the data is
 * damaged or expands to another size.
 */
int ofs_decompress(const void *data, size_t stored, void *ret, size_t len);

/*
 * Sets *ret to the length of the content that was compressed. -EIO: damaged, or longer than `max`.
 */
int ofs_decompressed_size(const void *data, size_t stored, size_t max, size_t *ret);
