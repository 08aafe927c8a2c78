/* SPDX-License-Identifier: MIT */
/* The inodes in memory: loaded from the index when they are needed, stamped when they change. */
#ifndef OFS_STORE_INODE_TABLE_H
#define OFS_STORE_INODE_TABLE_H

#include "base/map.h"
#include "store/inode.h"
#include "store/store.h"

struct ofs_inode_list {
	struct ofs_inode **list;
	size_t n;
	size_t cap;
};

/* The content of an inode, or of all below it, may be in the wrong class since `epoch`. */
struct ofs_class_move {
	uint64_t ino;
	uint64_t epoch;
};

/* ---- all with `lock` held */

/* The inode in memory, loaded from the index if need be. -ENOENT: there is none, or it is gone. */
int ofs_store_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same with its entries loaded; -ENOTDIR. */
int ofs_store_dir(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for a regular file with its blocks loaded; -EISDIR, -EINVAL. */
int ofs_store_file(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for any inode with its extended attributes loaded. */
int ofs_store_xattrs(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* A new inode enters the table. */
struct ofs_inode *ofs_store_add_inode(struct ofs_store *s, uint64_t ino);

/* An inode has got its first name, or lost its last; it still has the size that counted. */
void ofs_store_count(struct ofs_store *s, const struct ofs_inode *n, bool named);

/* A regular file, with a name or not, gets another size. */
void ofs_store_set_size(struct ofs_store *s, struct ofs_inode *n, uint64_t size);

/* Stamps the inode as changed now. */
void ofs_store_touch(struct ofs_store *s, struct ofs_inode *n);

/* The content changed: it gets a new version and is to be sealed again. */
void ofs_store_content_changed(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_ref(struct ofs_store *s, uint64_t ino, uint64_t n);
uint64_t ofs_store_unref(struct ofs_store *s, uint64_t ino, uint64_t n); /* what is left */
uint64_t ofs_store_refs(struct ofs_store *s, uint64_t ino);

/* Nothing names the inode and nobody holds it: it goes with the next checkpoint. */
void ofs_store_drop_inode(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_attr(struct ofs_store *s, const struct ofs_inode *n, struct ofs_attr *ret);
void ofs_inode_list_add(struct ofs_inode_list *l, struct ofs_inode *n);

/* Drops clean inodes from memory when there are many; afterwards no inode pointer is valid. */
void ofs_store_evict(struct ofs_store *s);

/* ---- content that may be in the wrong class */

/*
 * The content of the inode, or of all below it, may be in the wrong class: always, or when the two
 * directories, between which it moved, are of different ones. `lock` held.
 */
void ofs_class_move_add(struct ofs_store *s, uint64_t ino);
void ofs_class_move_add_renamed(struct ofs_store *s, uint64_t ino, uint64_t from, uint64_t to);

/* The class that the content of an inode belongs to now; takes `lock`. */
uint32_t ofs_store_class(struct ofs_store *s, uint64_t ino);

#endif
