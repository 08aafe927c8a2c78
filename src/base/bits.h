/* SPDX-License-Identifier: MIT */
/* A growing set of small numbers, a bit each. */
#pragma once

#include "base/util.h"

/* All zeros is an empty set. */
struct ofs_bits {
	uint64_t *words;
	size_t n;
};

void ofs_bits_add(struct ofs_bits *b, uint32_t number);
bool ofs_bits_has(const struct ofs_bits *b, uint32_t number);

/* Adds what is in `more`. */
void ofs_bits_join(struct ofs_bits *b, const struct ofs_bits *more);

/* Frees the set and leaves it empty; fit for OFS_CLEANUP. */
void ofs_bits_finish(struct ofs_bits *b);
