/* SPDX-License-Identifier: MIT */
/* Reading back everything that a remote has of a store: what a restore would find. */
#pragma once

#include "replica/bucket.h"

struct ofs_remote_verify {
	const struct ofs_remote_access *remote;
	void (*progress)(void *arg, uint64_t done, uint64_t total); /* bytes of content */
	/* An object that lacks what it should have, once for each frame. */
	void (*problem)(void *arg, const char *key, const char *what);
	void *arg;
	/* Results. */
	uint64_t bytes; /* of content */
	uint64_t files;
};

/*
 * Makes a copy of the index and the log in a directory below $TMPDIR, which goes afterwards, and
 * reads each frame; some 64 MiB of them are on this disk at a time. 0 also with problems; an error
 * says why there is nothing that could be restored.
 */
int ofs_remote_verify(struct ofs_remote_verify *v, struct ofs_error *err);
