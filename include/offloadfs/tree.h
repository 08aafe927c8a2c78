/* SPDX-License-Identifier: MIT */
/**
 * The tree of a store, as a user of the mount sees it: tiers, refs, slices and an ordinary
 * filesystem in between. The FUSE daemon, the companion tool and any program that embeds the engine
 * are clients of this header.
 *
 * Unless stated otherwise, a call returns 0 (or a count), or -errno as the system call of the same
 * name does; may be made from any thread; and changes nothing when it fails. A successful change
 * survives the death of the process at once, and a power loss after the next successful
 * ofs_tree_sync().
 *
 * Times are nanoseconds since 1970. Names are NUL-terminated and at most 255 bytes long; any byte
 * but '/' is allowed.
 */
#ifndef OFFLOADFS_TREE_H
#define OFFLOADFS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

#include <offloadfs/error.h>
#include <offloadfs/export.h>

struct ofs_tree;

/** A node: a real inode, whose number never changes, or a virtual one (a slice, refs/). */
typedef uint64_t ofs_node;

#define OFS_NODE_ROOT ((ofs_node)1)
#define OFS_NAME_MAX 255

/** Notifications from the tree. They are called with no lock held. */
struct ofs_tree_events {
	/**
	 * The attributes of `node`, but not its content, differ from what ofs_tree_getattr()
	 * returned. Called from a background thread, or within the call that made the change.
	 */
	void (*attr_changed)(void *arg, ofs_node node);
	/**
	 * The entry `name` in `parent`, and the attributes and content of its node `node`, must no
	 * longer be cached, so that the next use is seen and, unless the node is in use,
	 * ofs_tree_forget() follows. If `node` is 0, the name may be cached as absent but now
	 * exists. Called once for each name, from any thread, possibly within the call that made
	 * the change; the callback must only take note.
	 */
	void (*release)(void *arg, ofs_node node, ofs_node parent, const char *name);
	/**
	 * The content of the file `node`, or the entries of the directory `node`, and its
	 * attributes have changed since they were read. Only in a tree that follows another host's;
	 * called as `release` is.
	 */
	void (*content_changed)(void *arg, ofs_node node);
	void *arg;
};

/** How long unused files of a category stay in the working tier. */
struct ofs_lifetime {
	/** A directory in `cache/`; "other" stands for all without a lifetime of their own. */
	const char *category;
	uint64_t ttl_s; /**< seconds; 0: never expires */
};

/** The limit on the total size of an agent's files. The agent is "a" or "a/b". */
struct ofs_agent_limit {
	const char *agent;
	uint64_t max_bytes; /**< 0: no limit */
};

/** A file tasks/<task>/history/step_*.json: the record of one tool call. */
struct ofs_task_step {
	const char *name; /**< of the file, without its directory */
	const char *text; /**< its content, not NUL-terminated */
	size_t len;
	int error; /**< 0; -errno if unreadable, with empty text (-EACCES: for this caller) */
	uint64_t reserved[2]; /**< unused */
};

/** Writes the recap of a task's steps, from any thread during a lookup. Must not call the tree. */
struct ofs_tree_recap {
	/**
	 * Sets `ret` to an allocated text, which the tree frees. `steps` are in order, and the same
	 * steps must give the same text. Returns 0 or -errno. If NULL, tasks have no recap.
	 */
	int (*write)(void *arg, const struct ofs_task_step *steps, size_t n, char **ret,
		     size_t *ret_len);
	void *arg;
};

/** Hides the working tier from listings. OFS_HIDE_AUTO: if the mount point is named .offload. */
enum ofs_hide_working {
	OFS_HIDE_AUTO,
	OFS_HIDE_ON,
	OFS_HIDE_OFF,
};

/**
 * st_blocks counts bytes on disk, or bytes not in holes. The latter counts a file of up to
 * 256 KiB whole.
 */
enum ofs_blocks {
	OFS_BLOCKS_COST,
	OFS_BLOCKS_DATA,
};

struct ofs_tree_options {
	/**
	 * Size of this structure, in bytes, as the program was compiled. Set by
	 * OFS_TREE_OPTIONS_INIT; options added in later versions have their defaults.
	 */
	size_t size;
	/** Create the store if the directory does not exist or is empty. */
	bool create;
	/**
	 * Write nothing to the store's directory: for evidence, backups and read-only media.
	 * Changes of the tree return -EROFS; `background` must not be set. The index is copied to
	 * $TMPDIR.
	 */
	bool read_only;
	/**
	 * The store is a copy of one that another host changes, and follows those changes. Local
	 * changes of the tree return -EROFS; only a search index and fetched content are written.
	 */
	bool follow;
	/** Seal in the background. Without this, quiet files are sealed when the tree is closed. */
	bool background;
	/**
	 * Where the owner of the store is mounted, written to the lock file for others to read.
	 * NULL: not mounted. Borrowed.
	 */
	const char *mountpoint;
	/** Hides cache/, tasks/, agents/ and .offload/ from listings; they still open by name. */
	enum ofs_hide_working hide_working;
	enum ofs_blocks blocks;
	/** Milliseconds without a write after which a file is sealed. */
	uint32_t seal_delay_ms;
	/** Limits for one slice; 0: none. */
	uint32_t slice_max_lines;
	uint32_t slice_max_bytes;
	/** Milliseconds for which a search may read files that are not indexed, newest first. */
	uint32_t search_ms;
	/** Bytes of decompressed content kept in memory. */
	size_t cache_bytes;
	/**
	 * Bytes of content that may wait to be sealed. Above a quarter of it files are sealed
	 * before they are quiet, and above all of it writers wait. Limited to a quarter of the
	 * space that is free when the tree is opened, but at least 64 MiB. 0: 2 GiB.
	 */
	uint64_t journal_max;
	/**
	 * Milliseconds between two portions of stored content that are read back when idle, so that
	 * damage is found early; 0: never. Only with `background`.
	 */
	uint32_t scrub_ms;
	/**
	 * Lifetimes that differ from the defaults of offloadfs-config(5). If a category occurs
	 * twice, the last entry counts. Read only by ofs_tree_open().
	 */
	const struct ofs_lifetime *lifetimes;
	size_t n_lifetimes;
	/** Minimum milliseconds between two garbage collections; only with `background`. */
	uint32_t gc_interval_ms;
	/** Bytes on disk of the working tier; above, the least recently used go. 0: no limit. */
	uint64_t working_max;
	/**
	 * Bytes on disk for files that were unused for their lifetime; above that, the least
	 * recently used are removed. 0: 1 GiB or 5% of the disk, whichever is less.
	 */
	uint64_t working_keep;
	/** Seconds after its lifetime for which a file stays if there is room. */
	uint64_t grace_s;
	/** Seconds for which a task stays live after the last use of a file in it; at least 1. */
	uint64_t task_idle_s;
	/**
	 * Bytes of content that an agent's tree and the trees in it may have together; -EDQUOT
	 * above that. 0: no limit. Agents in `agent_limits` have limits of their own. Read only by
	 * ofs_tree_open().
	 */
	uint64_t agent_max;
	const struct ofs_agent_limit *agent_limits;
	size_t n_agent_limits;
	/**
	 * Search by meaning as well. Without `embed_url`, `embed_model` is a directory with a
	 * static model. With it (the base URL of an endpoint that speaks OpenAI's API),
	 * `embed_model` is the name of a model there, which may need `embed_key`. NULL or "":
	 * search by words only. Read only by ofs_tree_open().
	 */
	const char *embed_model;
	const char *embed_url;
	const char *embed_key;
	/** Bytes on disk for the log, `.offload/log`; 0: nothing is logged. */
	uint64_t log_max;
	/**
	 * Which files are promoted: patterns separated by commas, each CATEGORY/NAME, tag:NAME or
	 * title:TITLE; NULL or "": none. Promotion happens after `promote_reads` reads of a file,
	 * each at least a minute after the previous one, or, if that is 0, when its task ends. Read
	 * only by ofs_tree_open().
	 */
	const char *promote_match;
	uint32_t promote_reads;
	/**
	 * Object storage to which the store is replicated and from which content missing on this
	 * disk is fetched, in the form used in config.ini. NULL or "": none. Data is sent only with
	 * `background`.
	 */
	const char *remote;
	/** A file with the key that seals objects on the remote; NULL or "": none is named. */
	const char *replicate_key;
	/** Milliseconds between two log objects sent to the remote. */
	uint32_t replicate_ms;
	/** Make ofs_tree_sync() wait until the remote has what it covers; -EIO after too long. */
	bool replicate_on_sync;
	/** Bytes of packs on this disk; above, content that the remote has goes. 0: no limit. */
	uint64_t local_max;
	/** Seconds for which tombstones of collected files are kept; 0: for ever. */
	uint64_t tombstones_s;
	/**
	 * Other users have access. Implies OFS_BLOCKS_DATA, since attributes are the same for all
	 * callers and the cost would reveal what a file has in common with those of others.
	 */
	bool shared;
	/** The text of `.offload/config.ini`; NULL: empty. Borrowed. */
	const char *config;
	/** Writes `tasks/<task>/context.md`. Its function may be NULL. */
	struct ofs_tree_recap recap;
	/** Notifications of changes. Its functions may be NULL. */
	struct ofs_tree_events events;
};

/** The defaults. Other options are 0, NULL or false; lifetimes are those of offloadfs-config(5). */
#define OFS_TREE_OPTIONS_INIT                                                                  \
	{                                                                                      \
		.size = sizeof(struct ofs_tree_options), .create = true, .background = true,   \
		.mountpoint = NULL, .seal_delay_ms = 1000, .slice_max_lines = 2000,            \
		.slice_max_bytes = 65536, .search_ms = 250, .cache_bytes = (size_t)32 << 20,   \
		.scrub_ms = 1000, .gc_interval_ms = 60000, .grace_s = 604800,                  \
		.task_idle_s = 86400, .tombstones_s = 31536000, .log_max = (uint64_t)64 << 20, \
		.replicate_ms = 5000                                                           \
	}

/** The caller: the owner of new files and the subject of the tree's own permission checks. */
struct ofs_cred {
	uid_t uid;
	gid_t gid;
	/** Returns whether the caller is also in the group `gid`. NULL: in no other group. */
	bool (*in_group)(void *arg, gid_t gid);
	void *arg;
};

struct ofs_entry {
	ofs_node node;
	struct stat attr;
	/**
	 * The name may be cached until a change through this API or a `release` event. If false, it
	 * must be looked up each time.
	 */
	bool keep_name;
	/**
	 * The attributes may be cached likewise. If false, call ofs_tree_getattr() first, since a
	 * change made before the node was known may have gone unreported.
	 */
	bool keep_attr;
	uint64_t reserved[2]; /**< unused */
};

/**
 * Opens the store in the directory `path`. Waits for an owner that is just closing it. `opts` is
 * borrowed for the call only. `err` (may be NULL) gets the reason in words.
 *
 * -EBUSY: another process owns the store.
 * -EINVAL: it is not a store or has an unknown format, or the options have no size.
 * -EPERM: it belongs to another user, or others may write to it, and the caller's
 * $XDG_CONFIG_HOME/offloadfs/trusted_stores does not name it.
 * -ENOENT, -EACCES and other errors of the filesystem.
 */
OFS_EXPORT int ofs_tree_open(const char *path, const struct ofs_tree_options *opts,
			     struct ofs_error *err, struct ofs_tree **ret);

/**
 * Announces that the tree will be closed. Calls that wait for content from a remote return -EIO
 * within a second.
 */
OFS_EXPORT void ofs_tree_interrupt(struct ofs_tree *t);

/**
 * Writes a checkpoint, forgets all nodes and closes the tree; NULL is allowed. Returns 0, or -errno
 * if not everything could be written; the log says what is missing and where it is kept.
 */
OFS_EXPORT int ofs_tree_close(struct ofs_tree *t);

/**
 * Looks `name` up in `parent` and takes a reference to the node, to be released with
 * ofs_tree_forget(). A literal name takes precedence over a slice of an existing file (-ERANGE: it
 * starts past the end; -EINVAL: reversed or malformed). On -ENOENT, `ret->keep_name` says whether
 * the absence may be cached. In search/ every name is a query, with "%2F" for '/', and the node is
 * a file with its results (-EINVAL: malformed). "." is the node itself, file or directory, and ".."
 * its directory: -ENOENT if it has no name, -ESTALE for virtual nodes.
 */
OFS_EXPORT int ofs_tree_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			       struct ofs_entry *ret);

/**
 * Like ofs_tree_lookup(), but checks the caller's permissions where a name bypasses a walk or
 * itself reveals content. For anyone but root and the store's owner, a ref is -ENOENT, as if it had
 * never existed, unless they own the file or may list and search all directories above it. A slice
 * of a file that they may not read is -EACCES, and so is every query.
 */
OFS_EXPORT int ofs_tree_lookup_as(struct ofs_tree *t, ofs_node parent, const char *name,
				  const struct ofs_cred *cred, struct ofs_entry *ret);

/** Releases `n` references. An unlinked file is deleted when the last one is released. */
OFS_EXPORT void ofs_tree_forget(struct ofs_tree *t, ofs_node node, uint64_t n);

/**
 * Walks a path relative to the root ("cache/shell/x", "refs/k3f9x2:1-20") and takes a reference to
 * the node it names. Leading and repeated slashes and "." are skipped; ".." is -EINVAL.
 */
OFS_EXPORT int ofs_tree_walk(struct ofs_tree *t, const char *path, struct ofs_entry *ret);

OFS_EXPORT int ofs_tree_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret);

/** Bits of `set`: the attributes that ofs_tree_setattr() changes. */
enum {
	OFS_SET_MODE = 1 << 0,
	OFS_SET_UID = 1 << 1,
	OFS_SET_GID = 1 << 2,
	OFS_SET_SIZE = 1 << 3,
	OFS_SET_ATIME = 1 << 4,
	OFS_SET_MTIME = 1 << 5,
};

struct ofs_setattr {
	uint32_t set;
	mode_t mode;
	uid_t uid;
	gid_t gid;
	uint64_t size;
	int64_t atime;
	int64_t mtime;
};

OFS_EXPORT int ofs_tree_setattr(struct ofs_tree *t, ofs_node node, const struct ofs_setattr *attr,
				struct stat *ret);

/**
 * These four create an entry and take a reference to its node. ofs_tree_mknod() makes a regular
 * file (S_IFREG), FIFO, socket or device.
 */
OFS_EXPORT int ofs_tree_mknod(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode,
			      dev_t rdev, const struct ofs_cred *cred, struct ofs_entry *ret);
OFS_EXPORT int ofs_tree_mkdir(struct ofs_tree *t, ofs_node parent, const char *name, mode_t mode,
			      const struct ofs_cred *cred, struct ofs_entry *ret);
OFS_EXPORT int ofs_tree_symlink(struct ofs_tree *t, ofs_node parent, const char *name,
				const char *target, const struct ofs_cred *cred,
				struct ofs_entry *ret);
OFS_EXPORT int ofs_tree_link(struct ofs_tree *t, ofs_node node, ofs_node parent, const char *name,
			     struct ofs_entry *ret);
OFS_EXPORT int ofs_tree_unlink(struct ofs_tree *t, ofs_node parent, const char *name);
OFS_EXPORT int ofs_tree_rmdir(struct ofs_tree *t, ofs_node parent, const char *name);

/** `flags`: 0, RENAME_NOREPLACE or RENAME_EXCHANGE. */
OFS_EXPORT int ofs_tree_rename(struct ofs_tree *t, ofs_node parent, const char *name,
			       ofs_node newparent, const char *newname, unsigned int flags);

/** Writes at most `size` bytes of the target into `buf`, not terminated; returns their number. */
OFS_EXPORT ssize_t ofs_tree_readlink(struct ofs_tree *t, ofs_node node, char *buf, size_t size);

/** Returns the directory of the file's last known name; 0: none, or a virtual node. */
OFS_EXPORT ofs_node ofs_tree_parent(struct ofs_tree *t, ofs_node node);

/**
 * Calls `fn` for each entry after the position `cookie` (0: from the start, "." and ".." included).
 * `next` is the position after the entry; it stays valid while the directory changes. If `fn`
 * returns nonzero, the entry was not consumed and the walk ends; ofs_tree_readdir() still returns
 * 0. With `plus`, each consumed entry except "." and ".." carries attributes and a reference; if
 * its node is 0, it carries none and must be looked up. Without `plus`, only attr.st_ino, the type
 * bits of attr.st_mode and perhaps the node are set. `fn` must not call the tree.
 */
typedef int (*ofs_readdir_fn)(void *arg, const char *name, const struct ofs_entry *entry,
			      uint64_t next);
OFS_EXPORT int ofs_tree_readdir(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus,
				ofs_readdir_fn fn, void *arg);

/** These return the number of bytes; a read is short only at the end of the file. -EIO: damaged. */
OFS_EXPORT ssize_t ofs_tree_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size,
				 uint64_t off);
OFS_EXPORT ssize_t ofs_tree_write(struct ofs_tree *t, ofs_node node, const void *buf, size_t size,
				  uint64_t off);

/**
 * fallocate(2). `mode` is one of:
 *
 * 0 or FALLOC_FL_KEEP_SIZE: only checks for room; -ENOSPC if less than `len` is free on the disk
 * FALLOC_FL_ZERO_RANGE, with or without FALLOC_FL_KEEP_SIZE: zeroes the range and frees its content
 * FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE: likewise
 *
 * Any other mode is -EOPNOTSUPP.
 */
OFS_EXPORT int ofs_tree_fallocate(struct ofs_tree *t, ofs_node node, int mode, uint64_t off,
				  uint64_t len);

/** lseek(2) with SEEK_DATA or SEEK_HOLE: returns the offset, or -ENXIO. */
OFS_EXPORT int64_t ofs_tree_seek(struct ofs_tree *t, ofs_node node, uint64_t off, int whence);

/**
 * copy_file_range(2). Whole blocks of 256 KiB at multiples of that size, and the last block of a
 * file, are shared and take no space; the rest is copied. Returns the number of bytes copied, which
 * may be less than `len`. -EXDEV: `from` is not in the store (a slice, README.md) and must be read
 * instead.
 */
OFS_EXPORT ssize_t ofs_tree_copy(struct ofs_tree *t, ofs_node from, uint64_t from_off, ofs_node to,
				 uint64_t to_off, uint64_t len);

/** Returns true if looking up a name in the directory `dir` is a search, which may take a while. */
OFS_EXPORT bool ofs_tree_is_search(ofs_node dir);

/**
 * Lets lookups, reads and changes by the calling thread, of any tree, fail with -EAGAIN, having
 * changed nothing, where they would wait for room or for content of a remote. Searches wait all the
 * same.
 */
OFS_EXPORT void ofs_tree_set_nonblocking(bool on);

/** Makes all changes so far durable against power loss. */
OFS_EXPORT int ofs_tree_sync(struct ofs_tree *t);

/** Seals everything that is not sealed yet and writes a checkpoint. */
OFS_EXPORT int ofs_tree_seal(struct ofs_tree *t);

/**
 * Fills in disk statistics as seen from a node. An agent's tree seems to have the disk to itself,
 * so that they reveal nothing about what others use.
 */
OFS_EXPORT int ofs_tree_statfs(struct ofs_tree *t, ofs_node node, struct statvfs *ret);

/**
 * Extended attributes. `user.offload.*` holds what the tree knows about a file. Read-only are ref,
 * sha256, tier, task, created, expires, lines, tokens, mime, stored_bytes, used, lifecycle and
 * path, and for files moved out of the working tier origin_task and origin_category; ttl,
 * important, tags, title and category can be set. Other `user.*` attributes are the user's own,
 * with values of up to 64 KiB; all other namespaces (`security.*`, `system.*`, ...) are
 * -EOPNOTSUPP.
 *
 * getxattr returns the length of the value, listxattr that of the NUL-separated names. With size 0
 * nothing is written. -ERANGE: `size` is too small; -ENODATA: the attribute is not set.
 *
 * `user.offload.used` is the last use that was seen. `user.offload.lifecycle` is a sentence that
 * says why the file is kept or when it will be removed. `user.offload.state` of a directory in
 * tasks/ is "live", "idle" (no file in it was used for `task_idle_s`) or "done".
 *
 * The attributes below are not listed.
 *
 * `user.offload.ending.TEXT` of a directory: the names of the files in it that end with TEXT, one a
 * line, oldest first; empty if there are none.
 *
 * `user.offload.range` of a slice: where its bytes begin in the file and how many there are, such
 * as "5120 812", not counting the line that says how to continue.
 *
 * `user.offload.gc` of OFS_NODE_ROOT: the state of the last requested collection as a JSON object.
 * "state" and "error" are as for `user.offload.verify` below; further members are "dry_run",
 * "looked" (files), "done" of "total", "removed" with "removed_bytes" and "freed_bytes" (on disk),
 * "promoted", "evictable" with "evictable_bytes", "probation", "open" and "kept" (files), "next"
 * (when there is next something to do; null: unknown) and "items". `user.offload.gc.K`, with K from
 * 0, is what happens to one file: "path", "ref", "size", "action" ("remove", "promote",
 * "evictable", "probation", "open", "referenced"), "why", "at" (when it is removed; or null), "to"
 * (the path that it is promoted to; or null).
 *
 * `user.offload.log` of OFS_NODE_ROOT: the positions in bytes where the log begins and ends, such
 * as "0 48213".
 *
 * `user.offload.verify` of OFS_NODE_ROOT: the state of the running or else the last verification as
 * a JSON object: "state" ("none", "running", "done", "stopped", "failed"), "error" (in words; or
 * null), "repair", "done" of "total" (bytes of packs), "frames", "chunks", "files" and "bytes" (of
 * content) checked, "problems", "repaired" (problems repaired) and "hurt" (files with problems).
 * `user.offload.verify.K`, with K from 0, is problem number K: "path" and "ref" of the file (null:
 * the store as a whole), "what" is wrong, and whether it was "repaired". -ENODATA: there are fewer
 * problems, or it is beyond the 10,000 that are kept. A file without a name has the path
 * "refs/REF"; bytes of a name that are not UTF-8 are shown as \xNN.
 */
OFS_EXPORT ssize_t ofs_tree_getxattr(struct ofs_tree *t, ofs_node node, const char *name, void *buf,
				     size_t size);
OFS_EXPORT ssize_t ofs_tree_listxattr(struct ofs_tree *t, ofs_node node, char *buf, size_t size);

/**
 * Like ofs_tree_getxattr() and ofs_tree_listxattr(), for a caller that may read the node. For
 * anyone but root and the store's owner, a file has no stored_bytes, and no path, task and category
 * unless they could find it by its ref; `user.offload.key` is a key of their own.
 */
OFS_EXPORT ssize_t ofs_tree_getxattr_as(struct ofs_tree *t, ofs_node node, const char *name,
					void *buf, size_t size, const struct ofs_cred *cred);
OFS_EXPORT ssize_t ofs_tree_listxattr_as(struct ofs_tree *t, ofs_node node, char *buf, size_t size,
					 const struct ofs_cred *cred);

/**
 * Sets an extended attribute; `flags` are those of setxattr(2). -EOPNOTSUPP: it cannot be set;
 * -EINVAL: the value is not valid; -ENOSPC: the file has no room for more attributes.
 *
 * On regular files these `user.offload.*` can be set: `ttl`, how long the file stays unused in the
 * working tier ("45s", "30m", "6h", "7d", "never"); `important`, "1" for a file that does not
 * expire, or "0"; `tags`, separated by commas; `title`, a line of UTF-8 of up to 1024 bytes;
 * `category`, a name that overrides that of the directory. An empty value removes tags or title.
 *
 * `user.offload.state` of a directory in tasks/: "done" ends the task, so that its files are
 * removed unless they are used again, and those that never expire are moved to persistent/; "done
 * drop-all" removes the latter as well; "live" revokes both, and is a use of the task. On an
 * agent's directory in agents/ it does the same for the agent and its working tier.
 *
 * `user.offload.gc` of OFS_NODE_ROOT: "run" removes expired files; "dry-run" only reports them;
 * "dry-run task T" reports as if the task T (-ENOENT) had ended, and "dry-run drop-all task T" as
 * if it had ended with drop-all. All run in a thread of their own. "stop" stops the run, if any.
 * -EBUSY: one is active already; -EINVAL: another value.
 *
 * `user.offload.verify` of OFS_NODE_ROOT: "start" starts a verification of the store in a thread of
 * its own; "repair" starts one that puts damaged data aside and rebuilds what can be rebuilt (names
 * and the index: only in a tree without `background`; files that have lost their name get one in
 * persistent/lost+found); "stop" asks a running one to end. -EBUSY: one is running already;
 * -EINVAL: another value. Callers must check permissions themselves. ofs_tree_close() ends a
 * running verification.
 *
 * `user.offload.bring` of a directory: "REF/NAME" creates the empty file NAME with that ref, for an
 * import. -EEXIST: the name or the ref is taken; -EBUSY: the removed file that had the ref is in
 * use.
 */
OFS_EXPORT int ofs_tree_setxattr(struct ofs_tree *t, ofs_node node, const char *name,
				 const void *value, size_t size, int flags);

/** Removes an extended attribute. -ENODATA: it is not set; -EOPNOTSUPP: it is read-only. */
OFS_EXPORT int ofs_tree_removexattr(struct ofs_tree *t, ofs_node node, const char *name);

/** Writes the ref of an inode, its stable short name in refs/. Refs differ from store to store. */
#define OFS_REF_SIZE 9
OFS_EXPORT void ofs_ref_format(const struct ofs_tree *t, ofs_node ino, char ret[OFS_REF_SIZE]);
/**
 * Returns the number to show for a node, as in st_ino and file handles: unique and permanent. The
 * nodes' own numbers would reveal how many files there are.
 */
OFS_EXPORT uint64_t ofs_tree_show_node(const struct ofs_tree *t, ofs_node node);
/** Returns the node of a number from ofs_tree_show_node(). */
OFS_EXPORT ofs_node ofs_tree_shown_node(const struct ofs_tree *t, uint64_t shown);
/**
 * The same two for positions in a directory, which would reveal how much is written. Shown
 * positions have no order and fit in an off_t; 0 stays the start.
 */
OFS_EXPORT uint64_t ofs_tree_show_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t cookie);
OFS_EXPORT uint64_t ofs_tree_shown_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t shown);
/** Returns the inode number of a ref; 0 if `ref` is not one. */
OFS_EXPORT ofs_node ofs_ref_parse(const struct ofs_tree *t, const char *ref);

#endif
