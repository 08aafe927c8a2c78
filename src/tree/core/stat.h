/* SPDX-License-Identifier: MIT */
/* Attributes in the form of stat(2). */
#pragma once

#include "tree/core/root.h"

void ofs_stat_fill(const struct ofs_attr *attr, struct stat *ret);
void ofs_stat_fill_entry(const struct ofs_attr *attr, bool keep_name, struct ofs_entry *ret);

/* Fills in a virtual node, which has the owner and age of its tree. `mode` includes the type. */
void ofs_stat_make_up(struct ofs_tree *t, const struct ofs_root *root, ofs_node node, uint32_t mode,
		      struct ofs_attr *ret);
