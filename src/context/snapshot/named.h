/* SPDX-License-Identifier: MIT */
/* Finds pointers to stored results, and the names (paths, identifiers, numbers) in results. */
#pragma once

#include "context/snapshot/digest.h"

/* Adds a reference for each pointer in a text. */
void ofs_named_pointers(struct ofs_digest *d, uint64_t order, const char *text, size_t len);

struct ofs_named_string {
	char *text;
	uint64_t order; /* that of the newest use */
};

/* Names that the model used, gathered from the newest message to the oldest. Empty if all zeros. */
struct ofs_named {
	struct ofs_named_string *list;
	size_t n, cap;
	struct ofs_map by_hash; /* checksum -> index + 1 */
};

/* Fit for OFS_CLEANUP. */
void ofs_named_finish(struct ofs_named *n);

/* Adds the names in what the model wrote in a message of that order. */
void ofs_named_use(struct ofs_named *n, uint64_t order, const char *text, size_t len);

/* Adds the names in a result that the model used later, and a few that it did not use. */
void ofs_named_in_result(const struct ofs_named *n, struct ofs_digest *d, uint64_t order,
			 const char *text, size_t len);
