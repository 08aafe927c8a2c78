/* SPDX-License-Identifier: MIT */
/* What a store that another host has taken over still has, and that host never got. */
#pragma once

#include "replica/bucket.h"

struct ofs_salvage {
	const struct ofs_remote_access *remote; /* content may be there alone */
	const char *into; /* a directory, made if it is missing: files go below their names in it */
	/* Each file that was copied, by its path in the tree; a negative return ends it. */
	int (*found)(void *arg, const char *path, uint64_t size);
	void *arg;
};

/*
 * Copies the files that were made or changed since the remote got the log last. `store` is not open
 * anywhere. -ENODATA: it was never replicated.
 */
int ofs_salvage(const char *store, const struct ofs_salvage *s, struct ofs_error *err);
