/* SPDX-License-Identifier: MIT */
/* Giving back space in journal and packs; `cycle` held. */
#ifndef OFS_STORE_RECLAIM_H
#define OFS_STORE_RECLAIM_H

#include <stdbool.h>

struct ofs_store;
struct ofs_inode;

/* Removes journal segments that nothing needs; `idle`: also those with room left. */
int ofs_store_trim(struct ofs_store *s, bool idle);

/* Gives back what no map names any more. */
int ofs_store_reclaim(struct ofs_store *s);

#endif
