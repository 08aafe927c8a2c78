/* SPDX-License-Identifier: MIT */
/*
 * Inode numbers. New inodes get consecutive numbers from `next_ino` on, and no number is given
 * twice. A file brought from another store has the number that its ref stands for, which may be
 * any: so the numbers from `next_ino` on are mostly free, but not all. Called with the store's
 * `lock` held.
 */
#pragma once

#include "store/inode.h"

struct ofs_record;

/* Gets the number for the next new inode. 0 or -errno. */
int ofs_store_next_number(struct ofs_store *s, uint64_t *ret);

/* Notes that an inode has the number, so that no new one gets it. */
void ofs_store_note_number(struct ofs_store *s, uint64_t ino);

/*
 * Checks whether a file may be made with the number that was asked for. 0; -EEXIST: it is or may
 * have been in use; -EBUSY: a removed file that is still held has it; -EAGAIN: the next checkpoint
 * frees it; -EROFS.
 */
int ofs_store_check_number(struct ofs_store *s, const struct ofs_create *what);

/*
 * Returns the next number for a checkpoint to keep. OFS_NUMBER_GAP numbers from it on are free, so
 * that a check of the index can tell brought numbers from given ones.
 */
#define OFS_NUMBER_GAP 65536
uint64_t ofs_store_clear_number(struct ofs_store *s);

/*
 * Finds the removed file whose number a replayed CREATE gives again, and loads its content and
 * attributes; *ret is NULL if there is none. The host that logged the record was done with that
 * file, but the index here may still have its rows. 0 or -errno.
 */
int ofs_store_find_former(struct ofs_store *s, const struct ofs_record *r, struct ofs_inode **ret);

/* Turns a removed file into a new inode. */
void ofs_store_renew_inode(struct ofs_store *s, struct ofs_inode *n);
