/* SPDX-License-Identifier: MIT */
/* Verification of a mounted store, as user.offload.verify of the root starts and reports it. */
#ifndef OFS_TREE_VIRTUAL_VERIFY_JOB_H
#define OFS_TREE_VIRTUAL_VERIFY_JOB_H

#include "tree/core/tree_state.h"

struct ofs_verify_job *ofs_verify_job_create(struct ofs_tree *t);
/* Ends one that runs. NULL is allowed. */
void ofs_verify_job_destroy(struct ofs_verify_job *job);

/* The value of the attribute, and what follows its name: "" or ".K". */
int ofs_verify_job_set(struct ofs_verify_job *job, const char *value, size_t size);
int ofs_verify_job_get(struct ofs_verify_job *job, const char *which, struct ofs_buf *out);

#endif
