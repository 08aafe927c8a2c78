/* SPDX-License-Identifier: MIT */
/* Normal form of text for the search index: UTF-8 without NULs, folded where asked to. */
#pragma once

#include "base/buf.h"

/*
 * Appends the text as UTF-8, with U+FFFD for each invalid byte and a space for NUL. With `fold` the
 * letters A to Z and Latin letters with diacritics (U+00C0 to U+017F) become a to z, and combining
 * marks (U+0300 to U+036F) are dropped.
 */
void ofs_fts_clean(const void *text, size_t len, int fold, struct ofs_buf *out);

/* Decodes one character of the `len` > 0 bytes at `p`. Returns its length in bytes; 0: invalid. */
size_t ofs_fts_decode(const uint8_t *p, size_t len, uint32_t *ret);
