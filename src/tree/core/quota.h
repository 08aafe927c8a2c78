/* SPDX-License-Identifier: MIT */
/* Limits for the trees of agents: the sum of the sizes of all files in a tree and inside it. */
#pragma once

#include "tree/core/root.h"

struct ofs_quota;

/* Returns NULL if nothing is limited. The names are copied. */
struct ofs_quota *ofs_quota_create(uint64_t max, const struct ofs_agent_limit *limits, size_t n);
void ofs_quota_destroy(struct ofs_quota *q);

/* Returns the number of bytes that a tree may hold; 0: no limit. */
uint64_t ofs_quota_max(struct ofs_tree *t, const struct ofs_root *root);

/*
 * Checks whether a file may grow to `size` bytes (-EDQUOT: no). A size that does not make it grow
 * is always allowed.
 */
int ofs_quota_check(struct ofs_tree *t, uint64_t ino, uint64_t size);
/* The same for a file of `size` bytes that moves from one tree to another. */
int ofs_quota_check_move(struct ofs_tree *t, const struct ofs_root *from, const struct ofs_root *to,
			 uint64_t size);
