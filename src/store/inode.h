/* SPDX-License-Identifier: MIT */
/*
 * Inodes in memory: loaded from the index when they are needed, stamped when they change, dropped
 * when they are clean and many. All of it with the store's `lock` held, unless said otherwise.
 */
#pragma once

#include "index/index.h"
#include "store/content_map.h"
#include "store/dir.h"
#include "store/store.h"

struct ofs_inode {
	struct ofs_index_inode row;
	uint64_t epoch; /* of the last change; see store_state.h */
	bool on_dirty_list;
	bool on_draft_list;
	bool unsealed; /* its content changed, and was not all in packs since */
	bool resealed; /* then an earlier content was */
	bool gone; /* no name and no reference is left: the next checkpoint deletes it */
	uint64_t version; /* of the content, unique in this run */
	int64_t seen; /* the last use, on the age clock; row.used may lie ahead of it */
	int64_t written_at; /* monotonic time of the last write */
	struct ofs_content_map content; /* regular files */
	struct ofs_dir *dir; /* directories, once loaded */
	uint64_t region; /* that the directory belongs to, as of `region_moves`; 0: not known */
	uint64_t region_moves;
	struct ofs_buf xattrs; /* a list as in base/xattr.h */
	bool xattrs_loaded;
	uint64_t xattrs_epoch; /* of their last change */
};

/*
 * Bytes of memory for what can be large in an inode: attributes (128 KiB), blocks and entries. When
 * more than OFS_WEIGHT_MAX, or four times the largest, was added, clean inodes are dropped, and a
 * checkpoint makes the others clean; at four times that, who adds attributes or copies by reference
 * waits for one.
 */
#define OFS_WEIGHT_MAX ((size_t)64 << 20)
#define OFS_WEIGHT_DIRENT 128u

struct ofs_weight {
	size_t all;
	size_t kept; /* of that, what was left when inodes were last dropped */
	size_t largest; /* that was loaded */
};

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

/* The inode, loaded from the index if need be. -ENOENT: there is none, or it is gone. */
int ofs_store_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same with its entries loaded; -ENOTDIR. */
int ofs_store_dir(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for a regular file with its blocks loaded; -EISDIR, -EINVAL. */
int ofs_store_file(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for any inode with its extended attributes loaded. */
int ofs_store_xattrs(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* Sets an attribute where it is not set and the value is not empty; `lock` held. 0 or -errno. */
int ofs_store_mark(struct ofs_store *s, struct ofs_inode *n, const char *name,
		   const struct ofs_buf *value);

/* A new inode enters the table. */
struct ofs_inode *ofs_store_add_inode(struct ofs_store *s, uint64_t ino);

/* Takes an inode out of the table and frees it. */
void ofs_store_free_inode(struct ofs_store *s, struct ofs_inode *n);

/* Frees the table and all that is in it. */
void ofs_store_free_inodes(struct ofs_store *s);

/* An inode has got its first name, in its parent, or loses its last there. */
void ofs_store_count(struct ofs_store *s, const struct ofs_inode *n, bool named);

/* A regular file, with a name or not, gets another size. */
void ofs_store_set_size(struct ofs_store *s, struct ofs_inode *n, uint64_t size);

/* There is something for a checkpoint to do. */
void ofs_store_dirtied(struct ofs_store *s);

/* Stamps the inode as changed now. */
void ofs_store_touch(struct ofs_store *s, struct ofs_inode *n);

/* The content changed: it gets a new version and is to be sealed again. */
void ofs_store_content_changed(struct ofs_store *s, struct ofs_inode *n);

/* All of the content is in packs: the owner is to be told, once. */
void ofs_store_content_sealed(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_add_draft(struct ofs_store *s, struct ofs_inode *n);

/*
 * Uses were noted ahead of their time so that later ones cost nothing. Now there will be none: takes
 * that back, for the last checkpoint. Takes `lock`.
 */
void ofs_store_settle_uses(struct ofs_store *s);

uint64_t ofs_store_refs(struct ofs_store *s, uint64_t ino);
void ofs_store_set_refs(struct ofs_store *s, uint64_t ino, uint64_t n);

/* Nothing names the inode and nobody holds it: it goes with the next checkpoint. */
void ofs_store_drop_inode(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_attr(struct ofs_store *s, struct ofs_inode *n, struct ofs_attr *ret);

/* Something large of an inode was loaded or added. */
void ofs_store_weigh(struct ofs_store *s, size_t bytes);

/* More than `times` of what may be in memory is there. */
bool ofs_store_is_heavy(const struct ofs_store *s, size_t times);

/*
 * Drops clean inodes from memory when they are many or large; afterwards no inode pointer is valid.
 */
void ofs_store_evict(struct ofs_store *s);

/* ---- names */

struct ofs_name {
	uint64_t dir;
	char *name;
};

struct ofs_names {
	struct ofs_name *list; /* by directory and name, each once */
	size_t n;
	size_t cap;
};

void ofs_names_finish(struct ofs_names *l);

/*
 * The only name of an inode that has one, through its parent, into the empty `ret`. 1: it has
 * several, or that one is elsewhere: they have to be gathered.
 */
int ofs_names_sole(struct ofs_store *s, const struct ofs_inode *n, struct ofs_names *ret);

/*
 * All names into the empty `ret`, with no lock held; only ofs_names_are_all() tells whether that is
 * still so. -ENOENT.
 */
int ofs_names_gather(struct ofs_store *s, uint64_t ino, struct ofs_names *ret);

/* These are the names of the inode now, and all of them. */
bool ofs_names_are_all(struct ofs_store *s, const struct ofs_inode *n, const struct ofs_names *l);

/* ---- classes */

/*
 * The content of the inode, or of all below it, may be in the wrong class: always, or when the two
 * directories between which it moved are of different ones.
 */
void ofs_class_move_add(struct ofs_store *s, uint64_t ino);
void ofs_class_move_add_renamed(struct ofs_store *s, uint64_t ino, uint64_t from, uint64_t to);

/* The class that the content of an inode belongs to now; takes `lock`. */
uint32_t ofs_store_class(struct ofs_store *s, uint64_t ino);
