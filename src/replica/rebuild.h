/* SPDX-License-Identifier: MIT */
/* Restores a store from its remote: the newest checkpoint and the log after it, but no packs. */
#pragma once

#include "replica/bucket.h"

struct ofs_rebuild_settings {
	const struct ofs_remote_access *remote;
	/* Called now and then with the bytes fetched so far and in total; may be NULL. */
	void (*progress)(void *arg, uint64_t done, uint64_t total);
	void *arg;
};

/*
 * Takes over the store and makes the directory `path`, which is missing or empty, a copy of it. The
 * former owner can write no more. No frames are fetched. Returns 0, or -errno with the reason in
 * *err.
 */
int ofs_rebuild(const char *path, const struct ofs_rebuild_settings *set, struct ofs_error *err);
