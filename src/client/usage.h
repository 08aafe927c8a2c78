/* SPDX-License-Identifier: MIT */
/* Adds to a tree's ledger what was kept out of a prompt or read back into it. */
#pragma once

#include "client/backend.h"
#include "client/content.h"

/* Strings are borrowed; NULL: none. */
struct ofs_usage {
	const char *way; /* how it happened: "run", "hook", ...; NULL: add nothing */
	const char *agent; /* NULL: none but the one whose tree it is */
	const char *task;
	uint64_t results; /* number of results offloaded */
	uint64_t offloaded, pointers, read; /* tokens */
};

/* Adds to the sums of today. Ignores failures, since the ledger must not cost anybody a result. */
void ofs_usage_tell(struct ofs_backend *b, const struct ofs_usage *usage);

/* Returns the number of tokens of the content, or 0 if it cannot be read. */
uint64_t ofs_usage_tokens(const struct ofs_content *content);
