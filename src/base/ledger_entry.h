/* SPDX-License-Identifier: MIT */
/* The ledger: tokens that were kept out of prompts, and read back into them. */
#pragma once

#include <stdint.h>

/* Bytes of `who`. */
#define OFS_LEDGER_WHO_MAX 1024u

struct ofs_ledger_entry {
	int64_t day; /* since 1970, in UTC */
	const char *who; /* borrowed */
	uint64_t results; /* that were offloaded */
	uint64_t offloaded, pointers, read; /* tokens */
};

/* Adds the numbers of one entry to those of another. */
static inline void ofs_ledger_entry_add(struct ofs_ledger_entry *to,
					const struct ofs_ledger_entry *from)
{
	to->results += from->results;
	to->offloaded += from->offloaded;
	to->pointers += from->pointers;
	to->read += from->read;
}
