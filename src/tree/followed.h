/* SPDX-License-Identifier: MIT */
/* Applies changes that another host made to the store, as if they were made in this tree. */
#pragma once

#include "tree/core/tree_state.h"

/* Callback for struct ofs_store_options; `tree` is an open struct ofs_tree. */
void ofs_tree_followed(void *tree, const struct ofs_followed *what);
