/* SPDX-License-Identifier: MIT */
/* Text as the search index takes it: UTF-8 without NULs, and what is alike made the same. */
#ifndef OFS_INDEX_FTS_FOLD_H
#define OFS_INDEX_FTS_FOLD_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Appends the text as UTF-8: U+FFFD for each byte that is no part of it, a space for NUL. With
 * `fold` the letters A to Z and those of Latin with diacritics (U+00C0 to U+017F) become a to z,
 * and combining marks (U+0300 to U+036F) go. 0 or -ENOMEM.
 */
void ofs_fts_clean(const void *text, size_t len, int fold, struct ofs_buf *out);

/*
 * Reads one character: its length in bytes; 0: the bytes there, of `len` > 0, begin none. `ret`
 * gets its code.
 */
size_t ofs_fts_decode(const uint8_t *p, size_t len, uint32_t *ret);

#endif
