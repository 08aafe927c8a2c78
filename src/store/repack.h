/* SPDX-License-Identifier: MIT */
/* Moving content to where it belongs; `cycle` held. */
#ifndef OFS_STORE_REPACK_H
#define OFS_STORE_REPACK_H

#include <stdbool.h>

struct ofs_store;
struct ofs_inode;

/*
 * Moves content to where it belongs: into frames of the class that its files are in now, at that
 * class's density, and out of frames that hold little. Each call does a part; returns how many
 * frames it wrote, 0 when there is nothing to do. With `settle` also small remainders are joined,
 * for times when nothing else happens.
 */
int ofs_store_repack(struct ofs_store *s, bool settle);

#endif
