/* SPDX-License-Identifier: MIT */
/* Pointers to stored results, and names (paths, identifiers, numbers) from results. */
#pragma once

#include "context/snapshot/digest.h"

/* Adds what the pointers in a text refer to. */
void ofs_named_pointers(struct ofs_digest *d, uint64_t order, const char *text, size_t len);

struct ofs_named_string {
	char *text;
	uint64_t order; /* of its newest use */
};

/* The names that a model used, gathered from the newest message to the oldest. All zeros: none. */
struct ofs_named {
	struct ofs_named_string *list;
	size_t n, cap;
	struct ofs_map by_hash; /* number + 1 */
};

/* Fit for OFS_CLEANUP. */
void ofs_named_finish(struct ofs_named *n);

/* Takes in what the model wrote in a message of that order. */
void ofs_named_use(struct ofs_named *n, uint64_t order, const char *text, size_t len);

/* Adds the names in a result that were used after it, and as long as there are few, others. */
void ofs_named_in_result(const struct ofs_named *n, struct ofs_digest *d, uint64_t order,
			 const char *text, size_t len);
