/* SPDX-License-Identifier: MIT */
/* Sums up the tree's ledger of tokens kept out of prompts. */
#pragma once

#include <jansson.h>

#include "base/util.h"

#define OFS_SAVINGS_PATH ".offload/ledger"
#define OFS_SAVINGS_DAY_SIZE sizeof("2026-01-31")

/* Columns by which rows can be grouped. */
enum ofs_savings_column {
	OFS_SAVINGS_DAY,
	OFS_SAVINGS_WAY,
	OFS_SAVINGS_AGENT,
	OFS_SAVINGS_TASK,
	OFS_SAVINGS_COLUMNS
};

/* Names of the columns, ended by NULL. */
extern const char *const ofs_savings_columns[];

/*
 * Writes the first day to include, in the form of the ledger; "" if `since` is NULL, for all days.
 * Returns false if `since` is neither a day ("2026-01-31") nor an age ("7d").
 */
bool ofs_savings_since(const char *since, char ret[OFS_SAVINGS_DAY_SIZE]);

/*
 * Sums up the lines of a ledger from the day `first` on. Modifies `text`. Returns {"rows":
 * [{COLUMN: NAME, ..., "results", "offloaded", "pointers", "read", "saved"}], "total": {...}}, with
 * a row for each combination of the columns whose bits are set in `by`.
 */
json_t *ofs_savings_sum(char *text, const char *first, unsigned int by);
