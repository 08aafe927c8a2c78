/* SPDX-License-Identifier: MIT */
/*
 * Applies to the open tree the changes that another host made to its store, as if they were made
 * here.
 */
#pragma once

#include "tree/core/tree_state.h"

/* Callback for struct ofs_store_options; `tree` is an open struct ofs_tree. */
void ofs_tree_followed(void *tree, const struct ofs_followed *what);
