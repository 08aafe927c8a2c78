/* SPDX-License-Identifier: MIT */
/* A store from its remote: the newest checkpoint, and the log behind it. Packs stay where they are. */
#pragma once

#include "replica/bucket.h"

struct ofs_rebuild_settings {
	const struct ofs_remote_access *remote;
	/* Called now and then with how many bytes of how many were fetched; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/*
 * Takes the store over, and makes the directory `path`, which is missing or empty, the store. Whoever
 * had it writes no more. Nothing of packs is fetched.
 */
int ofs_rebuild(const char *path, const struct ofs_rebuild_settings *set, struct ofs_error *err);
