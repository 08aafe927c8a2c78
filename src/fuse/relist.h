/* SPDX-License-Identifier: MIT */
/*
 * Decides which directories the kernel should list again. After a read, the kernel takes the
 * attributes of the file as stale, because the access time may have changed, and asks for them one
 * file at a time. A listing would bring those of all files of a directory, but the kernel caches
 * the old listing and never asks for a new one. So a listing is dropped once many files have been
 * read since, but only where the kernel has been seen to ask: programs that do not want attributes
 * are served best by the old listing.
 */
#pragma once

#include <offloadfs/tree.h>

struct ofs_relist;

#define OFS_RELIST_MAX 256 /* directories that are remembered */

struct ofs_relist *ofs_relist_create(void);
void ofs_relist_destroy(struct ofs_relist *r); /* NULL is allowed */

/* Records that `n` entries of `dir` were listed with their attributes. `first`: from its start. */
void ofs_relist_listed(struct ofs_relist *r, ofs_node dir, size_t n, bool first);

/* Records that a file in `dir` was read from its start. */
void ofs_relist_read(struct ofs_relist *r, ofs_node dir);

/*
 * Records that the attributes of a file in `dir` were asked for. Stores the directories whose
 * listings are to be dropped in `ret`, each once until its next listing. Returns their number,
 * mostly 0.
 */
size_t ofs_relist_asked(struct ofs_relist *r, ofs_node dir, ofs_node ret[OFS_RELIST_MAX]);
