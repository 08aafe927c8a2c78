/* SPDX-License-Identifier: MIT */
/*
 * Translates FUSE requests to calls of the tree, and the results to replies. Requests that change
 * the tree are in adapter_change.c.
 */
#pragma once

#include <fuse_lowlevel.h>

/*
 * Enters the functions of all requests. create, flush and release are missing on purpose, and open
 * and opendir are refused. The kernel then opens files without a message (docs/ARCHITECTURE.md,
 * "Zero-message open").
 */
void ofs_adapter_fill(struct fuse_lowlevel_ops *ret);
