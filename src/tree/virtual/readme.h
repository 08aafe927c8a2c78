/* SPDX-License-Identifier: MIT */
/* README.md, which explains the tree to a language model. */
#ifndef OFS_TREE_VIRTUAL_README_H
#define OFS_TREE_VIRTUAL_README_H

#include "tree/core/tree_state.h"

int ofs_readme_write(struct ofs_tree *t, struct ofs_buf *out);

#endif
