/* SPDX-License-Identifier: MIT */
/* Writing content, within the folder. */
#ifndef OFS_STORE_WRITE_H
#define OFS_STORE_WRITE_H

#include <stdbool.h>
#include <stdint.h>

struct ofs_store;
struct ofs_inode;

/* ofs_store_zero() with the lock held, on a file that is loaded; with `grow` within OFS_SIZE_MAX. */
int ofs_store_zero_locked(struct ofs_store *s, struct ofs_inode *n, uint64_t off, uint64_t len,
			  bool grow);

#endif
