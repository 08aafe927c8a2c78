/* SPDX-License-Identifier: MIT */
/* What a tree does when another host has changed its store: the same as if it had been done here. */
#pragma once

#include "tree/core/tree_state.h"

/* For ofs_store_options: `tree` is a struct ofs_tree, which is open. */
void ofs_tree_followed(void *tree, const struct ofs_followed *what);
