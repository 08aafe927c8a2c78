/* SPDX-License-Identifier: MIT */
/*
 * The store: inodes, directories and content, kept by journal, packs and index. It knows nothing of
 * tiers, slices or any other meaning of a name.
 *
 * A change is acknowledged when its journal record is written. Committed state lies in the index;
 * what came after the last checkpoint lies in memory as well and is rebuilt from the journal when
 * the store is opened. Inodes and directories are loaded from the index when they are first used.
 *
 * Every call may come from any thread; all return 0 (or a count) or -errno and change nothing when
 * they fail.
 */
#ifndef OFS_STORE_STORE_H
#define OFS_STORE_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <offloadfs/error.h>

#define OFS_ROOT_INO UINT64_C(1)
#define OFS_SIZE_MAX (INT64_C(1) << 44) /* of one file */

struct ofs_store;

struct ofs_store_options {
	bool create; /* make it where nothing is */
	bool background; /* run the sealer's thread */
	const char *mountpoint; /* for the lock file; NULL: none */
	uint32_t seal_delay_ms;
	size_t cache_bytes; /* of decompressed frames */
	/* From the sealer's thread, no lock held; may be NULL. */
	void (*attr_changed)(void *arg, uint64_t ino);
	void *events_arg;
};

int ofs_store_open(const char *path, const struct ofs_store_options *opts, struct ofs_error *err,
		   struct ofs_store **ret);

/*
 * Seals what is quiet when there was no background thread, writes a checkpoint and lets the store
 * go.
 */
void ofs_store_close(struct ofs_store *s);

struct ofs_attr {
	uint64_t ino;
	uint64_t parent;
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev;
	uint64_t size;
	int64_t atime, mtime, ctime, btime;
	uint64_t occupied; /* bytes on disk: its drafts in the journal and its share of the packs */
	uint64_t version; /* changes with the content */
	bool sealed; /* it has content and all of it is in packs */
};

/* What is known of the whole content. */
struct ofs_digest {
	bool has_sha;
	uint8_t sha[32];
	int64_t lines; /* newline characters; -1: not counted yet */
};

/*
 * These return a reference to the inode, given back with ofs_store_forget(): lookup, create, link.
 */
int ofs_store_lookup(struct ofs_store *s, uint64_t dir, const char *name, struct ofs_attr *ret);
/* By number; -ENOENT when it is unlinked or unknown. */
int ofs_store_hold(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);
void ofs_store_forget(struct ofs_store *s, uint64_t ino, uint64_t n);

int ofs_store_getattr(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);
int ofs_store_digest(struct ofs_store *s, uint64_t ino, struct ofs_digest *ret);

/* What an inode is made of; `target` for S_IFLNK. A parent with S_ISGID passes its group on. */
struct ofs_create {
	uint32_t mode;
	uint32_t uid, gid;
	uint64_t rdev;
	const char *target;
};

int ofs_store_create(struct ofs_store *s, uint64_t dir, const char *name,
		     const struct ofs_create *what, struct ofs_attr *ret);
int ofs_store_link(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name,
		   struct ofs_attr *ret);
int ofs_store_unlink(struct ofs_store *s, uint64_t dir, const char *name);
int ofs_store_rmdir(struct ofs_store *s, uint64_t dir, const char *name);
int ofs_store_rename(struct ofs_store *s, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, unsigned int flags);

/* The bits of `set` are OFS_SET_* of <offloadfs/tree.h>. */
struct ofs_setattr;
int ofs_store_setattr(struct ofs_store *s, uint64_t ino, const struct ofs_setattr *attr,
		      struct ofs_attr *ret);

ssize_t ofs_store_readlink(struct ofs_store *s, uint64_t ino, char *buf, size_t size);

/* Entries with a cookie above `cookie`, in order of cookie; cookies are at least OFS_COOKIE_MIN. */
#define OFS_COOKIE_MIN 64
typedef int (*ofs_store_readdir_fn)(void *arg, const char *name, const struct ofs_attr *attr,
				    uint64_t cookie);
/*
 * With `plus` attributes are whole and each entry taken carries a reference; else ino and type bits
 * alone.
 */
int ofs_store_readdir(struct ofs_store *s, uint64_t dir, uint64_t cookie, bool plus,
		      ofs_store_readdir_fn fn, void *arg);

/*
 * A directory that has a name for `ino`, and the name; `ret_name` has room for 256 bytes. -ENOENT
 * when it has no name (any more), or is the root.
 */
int ofs_store_name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name);

ssize_t ofs_store_read(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off);
ssize_t ofs_store_write(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off);

/*
 * Where line `line` (from 0) begins, for sealed content in time that does not depend on the place:
 * *ret_off is the start of a stretch of the file before or at that line and *ret_line the lines
 * that end before it. Content that is not sealed: 0 and 0.
 */
int ofs_store_line_hint(struct ofs_store *s, uint64_t ino, uint64_t line, uint64_t *ret_off,
			uint64_t *ret_line);

int ofs_store_sync(struct ofs_store *s);
int ofs_store_seal(struct ofs_store *s); /* everything, now */
int ofs_store_statfs(struct ofs_store *s, struct statvfs *ret);

#endif
