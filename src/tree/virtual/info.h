/* SPDX-License-Identifier: MIT */
/* The text of F:info and F:summary. */
#ifndef OFS_TREE_VIRTUAL_INFO_H
#define OFS_TREE_VIRTUAL_INFO_H

#include "tree/core/tree_state.h"

void ofs_info_format(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out);
int ofs_summary_format(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_buf *out);

#endif
