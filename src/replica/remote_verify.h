/* SPDX-License-Identifier: MIT */
/* Reads back everything that a remote has of a store, as a restore would. */
#pragma once

#include "replica/bucket.h"

struct ofs_remote_verify {
	const struct ofs_remote_access *remote;
	/* Called with the bytes of content read so far and in total. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	/*
	 * Called for each missing or damaged frame with the object that should have it, or with the
	 * frame's place in the store if none has it.
	 */
	void (*problem)(void *arg, const char *key, const char *what);
	void *arg;
	/* Results: */
	uint64_t bytes; /* bytes of content read */
	uint64_t files;
};

/*
 * Copies the index and the log into a temporary directory below $TMPDIR, and reads each frame.
 * About 64 MiB of frames are on this disk at a time. Returns 0 even if there were problems; an
 * error means that nothing could be restored, and why.
 */
int ofs_remote_verify(struct ofs_remote_verify *v, struct ofs_error *err);
