/* SPDX-License-Identifier: MIT */
/*
 * Inode numbers. New inodes get one after the other, from `next_ino` on, and a number is never given
 * twice. A file that was brought from another store has the number that its ref stands for, which
 * may be any: so those from `next_ino` on are mostly free, but not all. With the store's `lock` held.
 */
#pragma once

#include "store/inode.h"

struct ofs_record;

/* The number of the next new inode. 0 or -errno. */
int ofs_store_next_number(struct ofs_store *s, uint64_t *ret);

/* An inode has that number now: it is not given to a new one. */
void ofs_store_note_number(struct ofs_store *s, uint64_t ino);

/*
 * A file may be made with the number that was asked for: 0. -EEXIST: it was used, or may have been;
 * -EBUSY: by a removed file that is still held; -EAGAIN: by one of which the next checkpoint frees
 * it.
 */
int ofs_store_check_number(struct ofs_store *s, const struct ofs_create *what);

/*
 * The next number as a checkpoint keeps it: OFS_NUMBER_GAP numbers from it on are free, so that a
 * check of the index can tell brought numbers from given ones.
 */
#define OFS_NUMBER_GAP 65536
uint64_t ofs_store_clear_number(struct ofs_store *s);

/*
 * The removed file, with its content and attributes loaded, whose number a CREATE that is replayed
 * gives again (NULL: there is none). The host that logged it has seen the last of that file, whose
 * rows may be in the index here. 0 or -errno.
 */
int ofs_store_find_former(struct ofs_store *s, const struct ofs_record *r, struct ofs_inode **ret);

/* Makes a new inode of that. */
void ofs_store_renew_inode(struct ofs_store *s, struct ofs_inode *n);
