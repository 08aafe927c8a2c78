/* SPDX-License-Identifier: MIT */
/* The ledger: tokens kept out of prompts, and tokens read back into them. */
#pragma once

#include <stdint.h>

/* Longest `who`, in bytes. */
#define OFS_LEDGER_WHO_MAX 1024u

struct ofs_ledger_entry {
	int64_t day; /* days since 1970, UTC */
	const char *who; /* borrowed */
	uint64_t results; /* number of results offloaded */
	uint64_t offloaded, pointers, read; /* tokens */
};

/* Adds the counts of `from` to those of `to`. */
static inline void ofs_ledger_entry_add(struct ofs_ledger_entry *to,
					const struct ofs_ledger_entry *from)
{
	to->results += from->results;
	to->offloaded += from->offloaded;
	to->pointers += from->pointers;
	to->read += from->read;
}
