/* SPDX-License-Identifier: MIT */
/* The one way in which anything in the tree is renamed, by whom ever. */
#pragma once

#include "tree/core/tree_state.h"

/*
 * Does what ofs_store_move() does, with the marks of what is promoted (core/origin.h), and tells
 * those who have to know; what the kernel knows of the names is the caller's business.
 */
int ofs_tree_move(struct ofs_tree *t, const struct ofs_move *what);
