/* SPDX-License-Identifier: MIT */
/* Tokens kept out of prompts: sums of the tree's ledger. */
#pragma once

#include <jansson.h>

#include "base/util.h"

#define OFS_SAVINGS_PATH ".offload/ledger"
#define OFS_SAVINGS_DAY_SIZE sizeof("2026-01-31")

/* What rows can be told apart by. */
enum ofs_savings_column {
	OFS_SAVINGS_DAY,
	OFS_SAVINGS_WAY,
	OFS_SAVINGS_AGENT,
	OFS_SAVINGS_TASK,
	OFS_SAVINGS_COLUMNS
};

/* Their names, then NULL. */
extern const char *const ofs_savings_columns[];

/*
 * The first day to be told of, as the ledger writes it; NULL: "", for all. False: `since` is neither
 * a day ("2026-01-31") nor an age ("7d").
 */
bool ofs_savings_since(const char *since, char ret[OFS_SAVINGS_DAY_SIZE]);

/*
 * Sums the lines of a ledger from the day `first` on, which are cut up: {"rows": [{COLUMN: NAME, ...,
 * "results", "offloaded", "pointers", "read", "saved"}], "total": {...}}, a row for each combination
 * of the columns whose bits `by` has.
 */
json_t *ofs_savings_sum(char *text, const char *first, unsigned int by);
