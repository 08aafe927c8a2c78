/* SPDX-License-Identifier: MIT */
/* The only way in which anything in the tree is renamed. */
#pragma once

#include "tree/core/tree_state.h"

/*
 * Does what ofs_store_move() does, marks what is promoted (core/origin.h), and notifies the other
 * parts of the tree. The caller handles names cached by the kernel. Returns 0 or -errno.
 */
int ofs_tree_move(struct ofs_tree *t, const struct ofs_move *what);
