/* SPDX-License-Identifier: MIT */
/* Bringing the index up to date, and what can be given back then; `cycle` held. */
#ifndef OFS_STORE_CHECKPOINT_H
#define OFS_STORE_CHECKPOINT_H

#include <stdbool.h>
#include <stdint.h>

struct ofs_store;
struct ofs_inode;

struct ofs_seal_batch;

/* Commits memory to the index; `batch` may be NULL. */
int ofs_store_checkpoint(struct ofs_store *s, struct ofs_seal_batch *batch);

/* Memory follows the charges that the index has moved, and the kernel with the next telling. */
void ofs_store_refresh_charges(struct ofs_store *s);

/*
 * Tells the kernel, through the store's owner, which attributes have changed. With no lock held at
 * all: the kernel may have to write to us before it can answer.
 */
void ofs_store_tell(struct ofs_store *s);

#endif
