/* SPDX-License-Identifier: MIT */
/*
 * Access to a tree. A mounted tree is reached through ordinary system calls (backend_mount.c), an
 * unmounted store through <offloadfs/tree.h> (backend_store.c).
 *
 * Paths are relative to the root of the tree ("cache/shell/x"); "" is the root itself. No path is
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
	/* As stat, but of a symbolic link itself. */
	int (*lstat)(struct ofs_backend *b, const char *path, struct stat *ret);
	ssize_t (*getxattr)(struct ofs_backend *b, const char *path, const char *name, void *buf,
			    size_t size);
	int (*setxattr)(struct ofs_backend *b, const char *path, const char *name,
			const void *value, size_t size);
	int (*mkdir)(struct ofs_backend *b, const char *path, mode_t mode);
	/*
	 * Calls fn(arg, name) for every entry but "." and "..". Stops at the first nonzero result
	 * of fn and returns it.
	 */
	int (*list)(struct ofs_backend *b, const char *path, int (*fn)(void *arg, const char *name),
		    void *arg);
	/*
	 * `open` opens an existing file for reading. `create` makes a new file and opens it for
	 * reading and writing. -EEXIST: the name is taken.
	 */
	int (*open)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	int (*create)(struct ofs_backend *b, const char *path, mode_t mode, ofs_handle *ret);
	ssize_t (*read)(struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off);
	/* Writes all bytes or fails. */
	int (*write)(struct ofs_backend *b, ofs_handle h, const void *buf, size_t size,
		     uint64_t off);
	void (*close)(struct ofs_backend *b, ofs_handle h);
	/* Opens an existing file for reading and writing. */
	int (*edit)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	/* Returns the offset; `whence` is SEEK_DATA or SEEK_HOLE. -ENXIO: none follows `off`. */
	int64_t (*seek)(struct ofs_backend *b, ofs_handle h, uint64_t off, int whence);
	/*
	 * Writes the names, each with its NUL, and returns their total length; with `size` 0 only
	 * the length. Not for symbolic links.
	 */
	ssize_t (*listxattr)(struct ofs_backend *b, const char *path, char *buf, size_t size);
	ssize_t (*readlink)(struct ofs_backend *b, const char *path, char *buf, size_t size);
	int (*symlink)(struct ofs_backend *b, const char *target, const char *path);
	/* Makes `path` another name of the file `of`. */
	int (*link)(struct ofs_backend *b, const char *of, const char *path);
	/* Sets the permissions and the modification time (nanoseconds). */
	int (*stamp)(struct ofs_backend *b, const char *path, mode_t mode, int64_t mtime);
	/* `flags` are those of renameat2. */
	int (*rename)(struct ofs_backend *b, const char *from, const char *to, unsigned int flags);
	int (*unlink)(struct ofs_backend *b, const char *path);
	int (*rmdir)(struct ofs_backend *b, const char *path);
	/*
	 * Locks a directory against other tools until unlock, and waits for them. -ENOLCK: other
	 * users can open the directory, so any of them could hold the lock for ever.
	 */
	int (*lock)(struct ofs_backend *b, const char *path, ofs_handle *ret);
	void (*unlock)(struct ofs_backend *b, ofs_handle h);
};

struct ofs_backend {
	const struct ofs_backend_ops *ops;
	bool shared; /* mounted for other users, too */
	char *agent; /* directory of the agent at which all paths begin; NULL: the root */
};

/* Opens the tree mounted at `point`. `shared`: other users can use the mount. 0 or -errno. */
int ofs_backend_open_mount(const char *point, bool shared, struct ofs_error *err,
			   struct ofs_backend **ret);

/*
 * Opens an unmounted store. A missing one is made if `create` is set, and is -ENOENT otherwise.
 * `read_only` has the meaning that it has in <offloadfs/tree.h>. 0 or -errno.
 */
int ofs_backend_open_store(const char *store, bool create, bool read_only, struct ofs_error *err,
			   struct ofs_backend **ret);

/*
 * Confines the backend to the tree of the agent with this directory ("agents/a"). A missing agent
 * is made if `create` is set, and is -ENOENT otherwise. 0 or -errno.
 */
int ofs_backend_enter(struct ofs_backend *b, const char *agent, bool create, struct ofs_error *err);

/* Closes and frees `b`, which may be NULL. */
void ofs_backend_close(struct ofs_backend *b);

/* True if other users may look into a directory with these attributes. */
static inline bool ofs_backend_is_seen(const struct ofs_backend *b, const struct stat *dir)
{
	return b->shared && (dir->st_mode & (S_IRWXG | S_IRWXO) || dir->st_uid != geteuid());
}

/* As strerror(3), with texts for the errors that have a meaning of their own in a tree. */
const char *ofs_backend_strerror(int code);

/* Sets `err` to "cannot <what> '<path>'" and the reason for `r` (-errno). Returns `r`. */
int ofs_backend_failed(struct ofs_error *err, int r, const char *what, const char *path);

/*
 * Makes the directory `path` and the missing ones above it. Each is for its owner alone, unless its
 * parent is sticky and writable by all: then it gets the same mode. A task is always its owner's
 * alone. -EPERM: an existing directory below the top belongs neither to the caller, nor to root,
 * nor to the owner of its parent, so that another user could replace what is put there.
 */
int ofs_backend_mkdirs(struct ofs_backend *b, const char *path, struct ofs_error *err);

/*
 * Sets *ret to the attribute user.offload.<name> of a file as text, allocated. -ENODATA: the file
 * has no such attribute (yet); or another -errno.
 */
int ofs_backend_attribute(struct ofs_backend *b, const char *path, const char *name, char **ret);

/* Sets the attribute user.offload.<name>. 0 or -errno. */
int ofs_backend_set_attribute(struct ofs_backend *b, const char *path, const char *name,
			      const char *value);

/*
 * Reads the content of an open file into *ret, allocated and terminated by a NUL. `ret_len` may be
 * NULL. -EFBIG: the content exceeds `max` bytes; or another -errno.
 */
int ofs_backend_read_all(struct ofs_backend *b, ofs_handle h, uint64_t max, char **ret,
			 size_t *ret_len);

/* Reads a small file into *ret, allocated and terminated by a NUL. 0 or -errno. */
int ofs_backend_read_text(struct ofs_backend *b, const char *path, char **ret);
