/* SPDX-License-Identifier: MIT */
/* Numbers with a unit, as people write them: durations, sizes and counts. */
#pragma once

#include "base/util.h"

/* The unit of a number without a suffix. Suffixes for bytes are powers of 1024. */
enum ofs_unit {
	OFS_UNIT_MS, /* 250, 500ms, 2s, 3m, 1h */
	OFS_UNIT_S, /* 90, 45s, 30m, 6h, 7d */
	OFS_UNIT_BYTES, /* 4096, 4K, 1M, 1G */
	OFS_UNIT_MIB, /* 64, 64M, 1G */
	OFS_UNIT_TOKENS, /* 2000, 2K (thousands) */
	OFS_UNIT_CHARS, /* 500, 2K (thousands) */
	OFS_UNIT_LINES,
	OFS_UNIT_ITEMS,
	OFS_UNIT_RESULTS,
	OFS_UNIT_STEPS,
};

/* The unit and range of allowed numbers. */
struct ofs_quantity {
	enum ofs_unit unit;
	uint64_t min, max;
	const char *zero; /* a word for 0, such as "never", which also allows 0; NULL for none */
	/* Requires a suffix in the given case, no leading zeros, and 0 only as the word. */
	bool strict;
};

struct ofs_quantity_text {
	char text[160];
};

/* Returns false, leaving *ret alone, if `text` is not an allowed number. */
bool ofs_quantity_parse(const struct ofs_quantity *q, const char *text, uint64_t *ret);

/* Describes the allowed numbers, to follow "must be": "a number of lines from 0 to 9, or never". */
struct ofs_quantity_text ofs_quantity_describe(const struct ofs_quantity *q);

/* Formats `n` exactly, with the largest fitting suffix: "90m", "7d", "4K", or the word for 0. */
struct ofs_quantity_text ofs_quantity_show(const struct ofs_quantity *q, uint64_t n);

/* The placeholder for such a number in usage texts: "MIB". */
const char *ofs_unit_placeholder(enum ofs_unit unit);
