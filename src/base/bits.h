/* SPDX-License-Identifier: MIT */
/* A growing set of small numbers, one bit each. */
#pragma once

#include "base/util.h"

/* Zero-initialised, the set is empty. */
struct ofs_bits {
	uint64_t *words;
	size_t n;
};

void ofs_bits_add(struct ofs_bits *b, uint32_t number);
bool ofs_bits_has(const struct ofs_bits *b, uint32_t number);

/* Adds all members of `more`. */
void ofs_bits_join(struct ofs_bits *b, const struct ofs_bits *more);

/* Frees the set and leaves it empty. Usable with OFS_CLEANUP. */
void ofs_bits_finish(struct ofs_bits *b);
