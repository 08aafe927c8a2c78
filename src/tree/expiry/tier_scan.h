/* SPDX-License-Identifier: MIT */
/* A walk over the files of the working tier, with what follows from the directories above them. */
#pragma once

#include "tree/expiry/lifetime.h"

struct ofs_tier_scan {
	/* A regular file; no lock is held. Both are valid for the call. An error ends the walk. */
	int (*file)(void *arg, const struct ofs_attr *file, const struct ofs_lifetime_place *place);
	/*
	 * An empty directory below a category or within a task that has ended; may be NULL.
	 */
	int (*empty)(void *arg, const struct ofs_attr *dir, const struct ofs_lifetime_place *place);
	void *arg;
};

/*
 * In a tree and those in it. Files made, moved or removed meanwhile may be missed. 0, or the error
 * of a function.
 */
int ofs_tier_scan_run(struct ofs_tree *t, struct ofs_root *root, const struct ofs_tier_scan *s);
