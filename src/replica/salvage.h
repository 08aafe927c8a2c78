/* SPDX-License-Identifier: MIT */
/* Recovers what a store still has that another host, which has taken it over, never received. */
#pragma once

#include "replica/bucket.h"

struct ofs_salvage {
	const struct ofs_remote_access *remote; /* may be the only place of some content */
	const char *into; /* directory for the files and their parents; created if missing */
	/* Called for each copied file with its path in the tree. A negative result ends it. */
	int (*found)(void *arg, const char *path, uint64_t size);
	void *arg;
};

/*
 * Copies the files created or changed since the remote last received log. `store` must not be open.
 * -ENODATA: it was never replicated.
 */
int ofs_salvage(const char *store, const struct ofs_salvage *s, struct ofs_error *err);
