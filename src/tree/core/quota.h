/* SPDX-License-Identifier: MIT */
/* How much the trees of agents may hold: the sizes of the files in each, and in those in it. */
#pragma once

#include "tree/core/root.h"

struct ofs_quota;

/* NULL: nothing is limited. The names are copied. */
struct ofs_quota *ofs_quota_create(uint64_t max, const struct ofs_agent_limit *limits, size_t n);
void ofs_quota_destroy(struct ofs_quota *q);

/* Bytes that a tree may hold; 0: no limit. */
uint64_t ofs_quota_max(struct ofs_tree *t, const struct ofs_root *root);

/* -EDQUOT: a file may not grow to `size` bytes. What does not make it grow may always be. */
int ofs_quota_check(struct ofs_tree *t, uint64_t ino, uint64_t size);
/* The same of a file of that size that comes to the tree `to` from another one. */
int ofs_quota_check_move(struct ofs_tree *t, const struct ofs_root *from, const struct ofs_root *to,
			 uint64_t size);
