/* SPDX-License-Identifier: MIT */
/* Calls of tools that read back what was offloaded. */
#pragma once

#include "client/access.h"
#include "context/json/span.h"

/*
 * A result of such a call stays in the prompt up to this size, which is what a slice may have;
 * beyond it, it is offloaded as any other.
 */
#define OFS_READBACK_MAX ((uint64_t)64 << 10)

/*
 * True if the arguments of a call, an object or a string, read a file of the tree (which must have
 * been found): they name it as a path, or have a command line that reads nothing else, with cat or
 * the like, "offload slice" or "offload show", or they are those of memory_fetch. To name the tree in another way is not enough.
 */
bool ofs_readback_call(struct ofs_span args, const struct ofs_access *access);

/* True if it is "offload slice" or memory_fetch, which add to the ledger themselves. */
bool ofs_readback_tells(struct ofs_span args);
