/* SPDX-License-Identifier: MIT */
/* Recognizes tool calls that read back offloaded content. */
#pragma once

#include "client/access.h"
#include "context/json/span.h"

/*
 * The longest result of such a call that stays in the prompt, in bytes; it is the limit of a slice.
 * Longer results are offloaded like any other.
 */
#define OFS_READBACK_MAX ((uint64_t)64 << 10)

/*
 * Returns whether a call reads a file of the tree, judged by its arguments (an object or a string).
 * They must name the file as a path, contain a command line that reads nothing else (by cat or the
 * like, "offload slice" or "offload show"), or be those of memory_fetch. Merely mentioning the tree
 * is not enough. The tree must have been found.
 */
bool ofs_readback_call(struct ofs_span args, const struct ofs_access *access);

/* Returns whether it is "offload slice" or memory_fetch, which add to the ledger themselves. */
bool ofs_readback_tells(struct ofs_span args);
