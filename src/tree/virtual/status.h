/* SPDX-License-Identifier: MIT */
/* .offload/status.json and metrics. */
#ifndef OFS_TREE_VIRTUAL_STATUS_H
#define OFS_TREE_VIRTUAL_STATUS_H

#include "tree/core/tree_state.h"

struct ofs_status *ofs_status_create(void);
void ofs_status_destroy(struct ofs_status *r);

/*
 * Append the reports. They may be a second old, so that a program which looks one up several times
 * to read it gets the same text each time.
 */
int ofs_status_write_status(struct ofs_tree *t, struct ofs_buf *out);
int ofs_status_write_metrics(struct ofs_tree *t, struct ofs_buf *out);

#endif
