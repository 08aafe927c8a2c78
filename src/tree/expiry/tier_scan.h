/* SPDX-License-Identifier: MIT */
/* A walk over the files of the working tier, with the facts from the directories above them. */
#pragma once

#include "tree/expiry/lifetime.h"

struct ofs_tier_scan {
	/*
	 * Receives a regular file; no lock is held. Both pointers are valid only during the call. A
	 * nonzero return ends the walk.
	 */
	int (*file)(void *arg, const struct ofs_attr *file, const struct ofs_lifetime_place *place);
	/* Receives an empty directory below a category or in an ended task; may be NULL. */
	int (*empty)(void *arg, const struct ofs_attr *dir, const struct ofs_lifetime_place *place);
	void *arg;
};

/*
 * Scans a tree and those in it. Files created, moved or removed meanwhile may be missed. Returns 0,
 * -errno or what a function returned.
 */
int ofs_tier_scan_run(struct ofs_tree *t, struct ofs_root *root, const struct ofs_tier_scan *s);
