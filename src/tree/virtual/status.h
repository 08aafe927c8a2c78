/* SPDX-License-Identifier: MIT */
/* .offload/status.json and metrics. */
#ifndef OFS_TREE_VIRTUAL_STATUS_H
#define OFS_TREE_VIRTUAL_STATUS_H

#include "tree/core/tree_state.h"

struct ofs_status *ofs_status_create(void);
void ofs_status_destroy(struct ofs_status *r);

/*
 * As they were within the last second, so that who looks a report up, looks again and reads it gets
 * one and the same.
 */
int ofs_status_write_status(struct ofs_tree *t, struct ofs_buf *out);
int ofs_status_write_metrics(struct ofs_tree *t, struct ofs_buf *out);

#endif
