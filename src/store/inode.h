/* SPDX-License-Identifier: MIT */
/*
 * Inodes in memory: loaded from the index when needed, stamped when they change, dropped when they
 * are clean and many. Called with the store's `lock` held, unless said otherwise.
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
	bool unsealed; /* the content has changed, and has not all been in packs since */
	bool resealed; /* if `unsealed`: an earlier content was in packs */
	bool gone; /* without a name or reference: the next checkpoint deletes it */
	uint64_t version; /* of the content, unique in this run; new with each load as well */
	int64_t seen; /* the last use, on the age clock; row.used may lie ahead */
	int64_t written_at; /* monotonic time of the last write */
	int64_t seal_after; /* monotonic; nonzero: it could not be read for sealing */
	struct ofs_content_map content; /* regular files */
	uint64_t data; /* bytes of it that are in no hole, as of `data_version` */
	uint64_t data_version; /* 0: unknown */
	struct ofs_dir *dir; /* directories, once loaded */
	uint64_t region; /* to which the directory belongs, as of `region_moves`; 0: unknown */
	uint64_t region_moves;
	struct ofs_buf xattrs; /* a list as in base/xattr.h */
	bool xattrs_loaded;
	uint64_t xattrs_epoch; /* of their last change */
};

/*
 * Bytes of memory taken by what can be large in an inode: attributes (128 KiB), blocks and entries.
 * Beyond OFS_WEIGHT_MAX, or four times the largest that was loaded, clean inodes are dropped, and a
 * checkpoint makes the others clean. Beyond four times that, whoever adds attributes or copies by
 * reference waits for a checkpoint.
 */
#define OFS_WEIGHT_MAX ((size_t)64 << 20)
#define OFS_WEIGHT_DIRENT 128u

struct ofs_weight {
	size_t all;
	size_t kept; /* of `all`, what was left when inodes were last dropped */
	size_t largest; /* loaded for one inode at once */
};

struct ofs_inode_list {
	struct ofs_inode **list;
	size_t n;
	size_t cap;
};

/* Since `epoch`, the content of an inode, or of all below it, may be in the wrong class. */
struct ofs_class_move {
	uint64_t ino;
	uint64_t epoch;
};

/* Gets an inode, loading it if necessary. -ENOENT: there is none, or it is gone. */
int ofs_store_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for a directory, with its entries; -ENOTDIR. */
int ofs_store_dir(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for a regular file, with its blocks; -EISDIR, -EINVAL. */
int ofs_store_file(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for any inode, with its extended attributes. */
int ofs_store_xattrs(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* Sets an attribute unless it is set already or the value is empty. 0 or -errno. */
int ofs_store_mark(struct ofs_store *s, struct ofs_inode *n, const char *name,
		   const struct ofs_buf *value);

/* Adds a new inode to the table. */
struct ofs_inode *ofs_store_add_inode(struct ofs_store *s, uint64_t ino);

/* Takes an inode out of the table and frees it. */
void ofs_store_free_inode(struct ofs_store *s, struct ofs_inode *n);

/* Frees the table and all inodes in it. */
void ofs_store_free_inodes(struct ofs_store *s);

/* Counts an inode that has got its first name, in its parent, or is losing the last one there. */
void ofs_store_count(struct ofs_store *s, const struct ofs_inode *n, bool named);

/* Sets the size of a regular file, with a name or not. */
void ofs_store_set_size(struct ofs_store *s, struct ofs_inode *n, uint64_t size);

/* Notes that there is something for a checkpoint to do. */
void ofs_store_dirtied(struct ofs_store *s);

/* Stamps the inode as changed now. */
void ofs_store_touch(struct ofs_store *s, struct ofs_inode *n);

/* Notes that the content has changed: it gets a new version and is to be sealed again. */
void ofs_store_content_changed(struct ofs_store *s, struct ofs_inode *n);

/* Notes that all of the content is in packs, of which the owner is told once. */
void ofs_store_content_sealed(struct ofs_store *s, struct ofs_inode *n);

/* Puts a file on the list of those to be sealed. */
void ofs_store_add_draft(struct ofs_store *s, struct ofs_inode *n);

/*
 * Sets uses that were noted ahead of their time back to when they were, for the last checkpoint.
 * Takes `lock`.
 */
void ofs_store_settle_uses(struct ofs_store *s);

/* The number of references that callers hold. */
uint64_t ofs_store_refs(struct ofs_store *s, uint64_t ino);
void ofs_store_set_refs(struct ofs_store *s, uint64_t ino, uint64_t n);

/* Marks an inode that has neither name nor holder: it goes with the next checkpoint. */
void ofs_store_drop_inode(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_attr(struct ofs_store *s, struct ofs_inode *n, struct ofs_attr *ret);

/* Notes that something large of an inode was loaded or added. */
void ofs_store_weigh(struct ofs_store *s, size_t bytes);

/* Memory holds more than `times` what it should. */
bool ofs_store_is_heavy(const struct ofs_store *s, size_t times);

/* Drops clean inodes when they are many or large. Afterwards no pointer to an inode is valid. */
void ofs_store_evict(struct ofs_store *s);

/* ---- names */

struct ofs_name {
	uint64_t dir;
	char *name;
};

struct ofs_names {
	struct ofs_name *list; /* by directory and name, without duplicates */
	size_t n;
	size_t cap;
};

void ofs_names_finish(struct ofs_names *l);

/*
 * Gets the name of an inode with only one, through its parent, into the empty `ret`. 1: there are
 * several, or it is elsewhere, and they must be gathered.
 */
int ofs_names_sole(struct ofs_store *s, const struct ofs_inode *n, struct ofs_names *ret);

/*
 * Gathers all names into the empty `ret`, with no lock held. Whether they still are all, only
 * ofs_names_are_all() tells. -ENOENT.
 */
int ofs_names_gather(struct ofs_store *s, uint64_t ino, struct ofs_names *ret);

/* The list has exactly the names that the inode has now. */
bool ofs_names_are_all(struct ofs_store *s, const struct ofs_inode *n, const struct ofs_names *l);

/* ---- classes */

/*
 * Notes that the content of the inode, or of all below it, may be in the wrong class; the second
 * only if the directories between which it has moved may be of different classes.
 */
void ofs_class_move_add(struct ofs_store *s, uint64_t ino);
void ofs_class_move_add_renamed(struct ofs_store *s, uint64_t ino, uint64_t from, uint64_t to);

/* Returns the class that the content of an inode now belongs to. Takes `lock`. */
uint32_t ofs_store_class(struct ofs_store *s, uint64_t ino);
