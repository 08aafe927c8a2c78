/* SPDX-License-Identifier: MIT */
/* Telling a tree's ledger what was kept out of a prompt, or read back into it. */
#pragma once

#include "client/backend.h"
#include "client/content.h"

/* Strings are borrowed; NULL: none. */
struct ofs_usage {
	const char *way; /* by which it happened: "run", "hook", ...; NULL: nothing is told */
	const char *agent; /* NULL: none beside the one whose tree it is */
	const char *task;
	uint64_t results; /* that were offloaded */
	uint64_t offloaded, pointers, read; /* tokens */
};

/* Adds to today's sums. What fails is left out: a ledger must not cost anybody a result. */
void ofs_usage_tell(struct ofs_backend *b, const struct ofs_usage *usage);

/* The tokens of a content; 0: it cannot be read. */
uint64_t ofs_usage_tokens(const struct ofs_content *content);
