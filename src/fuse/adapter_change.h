/* SPDX-License-Identifier: MIT */
/* The requests that change the tree, and fsync. */
#pragma once

#include "fuse/serving.h"

/* Enters their functions in `ret`. */
void ofs_adapter_add_changes(struct fuse_lowlevel_ops *ret);

/* The function of the worker `syncs`. */
void ofs_adapter_sync(struct ofs_tree *t, const struct ofs_work *list, size_t n);
