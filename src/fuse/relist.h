/* SPDX-License-Identifier: MIT */
/*
 * Which directories the kernel should list anew. It takes the attributes of a file as stale once it
 * has read from it, as the access time may have changed, and asks for them one file at a time; a
 * listing brings those of all files of a directory. But it keeps the listing, too, and then never
 * asks for another. So its listings are to be dropped where many files have been read since, once
 * it is seen that it asks: not every program wants attributes, and those that do not are served
 * best by the old listing.
 */
#pragma once

#include <offloadfs/tree.h>

struct ofs_relist;

#define OFS_RELIST_MAX 256 /* directories that are remembered */

struct ofs_relist *ofs_relist_create(void);
void ofs_relist_destroy(struct ofs_relist *r); /* NULL is allowed */

/* `n` entries of `dir` have been listed with their attributes. `first`: from its start. */
void ofs_relist_listed(struct ofs_relist *r, ofs_node dir, size_t n, bool first);

/* A file in `dir` has been read from its start. */
void ofs_relist_read(struct ofs_relist *r, ofs_node dir);

/*
 * The attributes of a file in `dir` have been asked for. Returns how many directories `ret` got
 * whose listings are to be dropped: 0 as a rule. Each is named once until it is listed again.
 */
size_t ofs_relist_asked(struct ofs_relist *r, ofs_node dir, ofs_node ret[OFS_RELIST_MAX]);
