/* SPDX-License-Identifier: MIT */
/*
 * A tree, wherever it is: mounted, and then reached through ordinary system calls
 * (backend_mount.c), or in a store that is not mounted, and then reached through <offloadfs/tree.h>
 * (backend_store.c).
 *
 * Paths are relative to the root of the tree ("cache/shell/x"), "" is the root itself; none is
 * followed through a symbolic link (-ELOOP, or -ENOTDIR from a store) or out of the tree (-EXDEV).
 * Calls return 0 (or a count) or -errno with the meaning of the system call of that name.
 */
#pragma once

#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include <offloadfs/error.h>

#include "base/util.h"

struct ofs_backend;

/* An open file or a held lock: a descriptor or a node. */
typedef uint64_t ofs_handle;

struct ofs_backend_ops {
	void (*destroy)(struct ofs_backend *b);
	int (*stat)(struct ofs_backend *b, const char *path, struct stat *ret);
	/* The same of a symbolic link itself. */
	int (*lstat)(struct ofs_backend *b, const char *path, struct stat *ret);
	ssize_t (*getxattr)(struct ofs_backend *b, const char *path, const char *name, void *buf,
			    size_t size);
	int (*setxattr)(struct ofs_backend *b, const char *path, const char *name,
			const void *value, size_t size);
	int (*mkdir)(struct ofs_backend *b, const char *path, mode_t mode);
	/*
	 * Calls fn(arg, name) for every entry but "." and ".."; a nonzero return ends the walk and
	 * is returned.
	 */
	int (*list)(struct ofs_backend *b, const char *path, int (*fn)(void *arg, const char *name),
		    void *arg);
	/*
	 * Opens an existing file for reading; create makes a new one (-EEXIST) for reading and
	 * writing.
	 */
	int (*open)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	int (*create)(struct ofs_backend *b, const char *path, mode_t mode, ofs_handle *ret);
	ssize_t (*read)(struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off);
	/* Writes all of it or fails. */
	int (*write)(struct ofs_backend *b, ofs_handle h, const void *buf, size_t size,
		     uint64_t off);
	void (*close)(struct ofs_backend *b, ofs_handle h);
	/* `flags` as of renameat2. */
	/* Opens an existing file for writing, too. */
	int (*edit)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	/* SEEK_DATA or SEEK_HOLE: the offset, or -ENXIO. */
	int64_t (*seek)(struct ofs_backend *b, ofs_handle h, uint64_t off, int whence);
	/* Names, each with its NUL; with `size` 0 their length. Of no symbolic link. */
	ssize_t (*listxattr)(struct ofs_backend *b, const char *path, char *buf, size_t size);
	ssize_t (*readlink)(struct ofs_backend *b, const char *path, char *buf, size_t size);
	int (*symlink)(struct ofs_backend *b, const char *target, const char *path);
	/* `path` becomes another name of the file `of`. */
	int (*link)(struct ofs_backend *b, const char *of, const char *path);
	/* Sets permissions and the time of the last change, in nanoseconds. */
	int (*stamp)(struct ofs_backend *b, const char *path, mode_t mode, int64_t mtime);
	int (*rename)(struct ofs_backend *b, const char *from, const char *to, unsigned int flags);
	int (*unlink)(struct ofs_backend *b, const char *path);
	int (*rmdir)(struct ofs_backend *b, const char *path);
	/*
	 * Keeps other tools out of a directory until unlock. Waits, but in a directory that other
	 * users can open (-ENOLCK): any of them could hold the lock for ever.
	 */
	int (*lock)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	void (*unlock)(struct ofs_backend *b, ofs_handle h);
};

struct ofs_backend {
	const struct ofs_backend_ops *ops;
	bool shared; /* other users come in */
	char *agent; /* the directory of an agent, at which all paths begin; NULL: at the root */
};

/* The tree mounted at `point`; `shared`: for other users, too. */
int ofs_backend_open_mount(const char *point, bool shared, struct ofs_error *err,
			   struct ofs_backend **ret);

/*
 * The store itself. `create`: makes it where it is missing; else -ENOENT. `read_only`: as that of
 * <offloadfs/tree.h>.
 */
int ofs_backend_open_store(const char *store, bool create, bool read_only, struct ofs_error *err,
			   struct ofs_backend **ret);

/*
 * From then on its tree is that of the agent with this directory in it ("agents/a"), and nothing else
 * can be reached. -ENOENT: there is none; `create`: then it is made.
 */
int ofs_backend_enter(struct ofs_backend *b, const char *agent, bool create, struct ofs_error *err);

/* Closes it; NULL is allowed. */
void ofs_backend_close(struct ofs_backend *b);

/* Other users may look into a directory with these attributes. */
static inline bool ofs_backend_is_seen(const struct ofs_backend *b, const struct stat *dir)
{
	return b->shared && (dir->st_mode & (S_IRWXG | S_IRWXO) || dir->st_uid != geteuid());
}

/* Words for a positive errno, with those that have a meaning of their own in a tree. */
const char *ofs_backend_strerror(int code);

/* Sets "cannot <what> '<path>'" and the reason, -errno `r`, which is returned. */
int ofs_backend_failed(struct ofs_error *err, int r, const char *what, const char *path);

/*
 * Makes the directory `path` and those above it that are missing: for their owner alone, or, where
 * the directory above is sticky and open to all, in the same way. A task is its owner's alone.
 * -EPERM: one below the top belongs neither to the caller nor to root nor to the owner of the
 * directory above it, so that another user decides over what is put there.
 */
int ofs_backend_mkdirs(struct ofs_backend *b, const char *path, struct ofs_error *err);

/*
 * The attribute user.offload.<name> of a file as text, allocated. -ENODATA: the file has none
 * (yet).
 */
int ofs_backend_attribute(struct ofs_backend *b, const char *path, const char *name, char **ret);

/* Sets that attribute to a text. */
int ofs_backend_set_attribute(struct ofs_backend *b, const char *path, const char *name,
			      const char *value);

/*
 * The content of an open file, allocated, ended by a NUL. -EFBIG: it is more than `max` bytes.
 * `ret_len` may be NULL.
 */
int ofs_backend_read_all(struct ofs_backend *b, ofs_handle h, uint64_t max, char **ret,
			 size_t *ret_len);

/* The content of a small file as text, allocated. */
int ofs_backend_read_text(struct ofs_backend *b, const char *path, char **ret);
