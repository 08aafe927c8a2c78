/* SPDX-License-Identifier: MIT */
/* Numbers with a unit, as people write them: durations, sizes and counts. */
#pragma once

#include "base/util.h"

/* The unit of a number; another may follow it as a suffix. Powers of 1024 for bytes. */
enum ofs_unit {
	OFS_UNIT_MS, /* 250, 500ms, 2s, 3m, 1h */
	OFS_UNIT_S, /* 90, 45s, 30m, 6h, 7d */
	OFS_UNIT_BYTES, /* 4096, 4K, 1M, 1G */
	OFS_UNIT_MIB, /* 64, 64M, 1G */
	OFS_UNIT_TOKENS, /* 2000, 2K: thousands */
	OFS_UNIT_CHARS, /* 500, 2K: thousands */
	OFS_UNIT_LINES,
	OFS_UNIT_ITEMS,
	OFS_UNIT_RESULTS,
	OFS_UNIT_STEPS,
};

/* Which numbers are allowed. */
struct ofs_quantity {
	enum ofs_unit unit;
	uint64_t min, max;
	const char *zero; /* a word for 0, which then is allowed, too: "never"; NULL: none */
	/* A suffix is required, in its own case; no leading zeros, and 0 only as the word. */
	bool strict;
};

struct ofs_quantity_text {
	char text[160];
};

/* False: `text` is no such number. */
bool ofs_quantity_parse(const struct ofs_quantity *q, const char *text, uint64_t *ret);

/* The allowed numbers, as it follows "must be": "a number of lines from 0 to 9, or unlimited". */
struct ofs_quantity_text ofs_quantity_describe(const struct ofs_quantity *q);

/* The shortest form that is exact: "90m", "7d", "4K", or the word for 0. */
struct ofs_quantity_text ofs_quantity_show(const struct ofs_quantity *q, uint64_t n);

/* A number of this unit in a usage text: "MIB". */
const char *ofs_unit_placeholder(enum ofs_unit unit);
