/* SPDX-License-Identifier: MIT */
/**
 * The tree of a store, as a user of the mount sees it: tiers, refs, slices and an ordinary
 * filesystem in between. The FUSE daemon and the companion tool are both clients of this header; so
 * is any program that embeds the engine.
 *
 * Unless said otherwise a call returns 0 (or a count) or -errno with the meaning that the system
 * call of the same name gives it, may come from any thread, and leaves nothing changed when it
 * fails. What a successful change promises: it survives the death of the process at once, and power
 * loss after the next successful ofs_tree_sync().
 *
 * Times are nanoseconds since 1970. Names are NUL-terminated, at most 255 bytes, any bytes but '/'.
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

/**
 * A node: a real inode (its number never changes) or a virtual one (a slice, refs/).
 */
typedef uint64_t ofs_node;

#define OFS_NODE_ROOT ((ofs_node)1)
#define OFS_NAME_MAX 255

/** Notifications from the tree. Called with no lock held. */
struct ofs_tree_events {
	/**
	 * The attributes of `node` (not its content) are no longer what getattr said. From a thread
	 * that serves no request, or, for a directory in views/, from the call whose change shows
	 * there.
	 */
	void (*attr_changed)(void *arg, ofs_node node);
	/**
	 * The name `name` of `parent` for `node`, its attributes and its content must no longer be
	 * cached, so that the next use is seen and, unless the node is in use, ofs_tree_forget()
	 * follows. `node` 0: the name may be cached as absent, and exists now. Called once for each
	 * name, from any thread, also within the call that made the change; it must only take note.
	 */
	void (*release)(void *arg, ofs_node node, ofs_node parent, const char *name);
	/**
	 * The content of the file `node`, or the entries of the directory, and its attributes are
	 * no longer what was read. Only in a tree that follows another one; called as `release` is.
	 */
	void (*content_changed)(void *arg, ofs_node node);
	void *arg;
};

/** How long files of a category stay unused in the working tier. */
struct ofs_lifetime {
	/** The name of a directory in `cache/`; "other": all without a lifetime of their own. */
	const char *category;
	uint64_t ttl_s; /**< seconds; 0: never expires */
};

/** The limit of the total size of an agent's files; the agent is "a" or "a/b". */
struct ofs_agent_limit {
	const char *agent;
	uint64_t max_bytes; /**< 0: no limit */
};

/** A file tasks/<task>/history/step_*.json: the record of one tool call. */
struct ofs_task_step {
	const char *name; /**< of the file, without its directory */
	const char *text; /**< its content, not NUL-terminated */
	size_t len;
	int error; /**< 0; -errno: unreadable, and empty (-EACCES: for the caller) */
	uint64_t reserved[2]; /**< has no meaning yet */
};

/**
 * Writes the recap of a task's steps. Called from any thread, during a lookup; it must not call the
 * tree.
 */
struct ofs_tree_recap {
	/**
	 * Sets `ret` to an allocated text, which the tree frees; `steps` are in order. The same
	 * steps must give the same text. Returns 0 or -errno. NULL: tasks have no recap.
	 */
	int (*write)(void *arg, const struct ofs_task_step *steps, size_t n, char **ret,
		     size_t *ret_len);
	void *arg;
};

/** OFS_HIDE_AUTO hides them in a mount named .offload, which lies in a workspace. */
enum ofs_hide_working {
	OFS_HIDE_AUTO,
	OFS_HIDE_ON,
	OFS_HIDE_OFF,
};

/** Bytes on disk, or bytes that are no hole; a file of up to 256 KiB then counts whole. */
enum ofs_blocks {
	OFS_BLOCKS_COST,
	OFS_BLOCKS_DATA,
};

struct ofs_tree_options {
	/**
	 * Bytes of this structure, as the program knows it. OFS_TREE_OPTIONS_INIT sets it; an option
	 * of a later version then has its default.
	 */
	size_t size;
	/** Make the store when the directory does not exist or is empty. */
	bool create;
	/**
	 * Write nothing in the store's directory: for evidence, backups and read-only media.
	 * Changes of the tree are -EROFS; `background` must not be set. The index is copied to
	 * $TMPDIR.
	 */
	bool read_only;
	/**
	 * The store is a copy of one that another host changes, and changes with it. Changes of
	 * the tree are -EROFS; only a search index and fetched content are written.
	 */
	bool follow;
	/** Seal in the background. Without it, quiet files are sealed when the tree is closed. */
	bool background;
	/**
	 * What the lock file tells others about the owner: where it is mounted; NULL: nowhere.
	 * Borrowed.
	 */
	const char *mountpoint;
	/** Whether listings hide cache/, tasks/, agents/ and .offload/. They always open by name. */
	enum ofs_hide_working hide_working;
	/** How st_blocks is counted. */
	enum ofs_blocks blocks;
	/** A file is sealed after this long without a write. */
	uint32_t seal_delay_ms;
	/** Caps of one slice; 0: none. */
	uint32_t slice_max_lines;
	uint32_t slice_max_bytes;
	/** Milliseconds for which a search reads what is not indexed, the newest files first. */
	uint32_t search_ms;
	/** Bytes of decompressed content kept in memory. */
	size_t cache_bytes;
	/**
	 * Bytes of content that may wait to be sealed. Above a quarter of it files are sealed
	 * before they are quiet, and above all of it writers wait. Never more than a quarter of the
	 * space that is free when the tree is opened, but at least 64 MiB. 0: 2 GiB.
	 */
	uint64_t journal_max;
	/**
	 * Milliseconds between two portions of stored content that are read back when idle, so that
	 * damage is known early; 0: never. Only in the background.
	 */
	uint32_t scrub_ms;
	/**
	 * Lifetimes that differ from the defaults of offloadfs-config(5); of a category that occurs
	 * twice the last one counts. Read only by ofs_tree_open().
	 */
	const struct ofs_lifetime *lifetimes;
	size_t n_lifetimes;
	/**
	 * Least number of milliseconds between two garbage collections; only in the background.
	 */
	uint32_t gc_interval_ms;
	/**
	 * Bytes on disk of the working tier; above, the least recently used goes. 0: no limit.
	 */
	uint64_t working_max;
	/**
	 * The same for files that were unused for their lifetime; above, the least recently used
	 * go. 0: 1 GiB or 5% of the disk, whichever is less.
	 */
	uint64_t working_keep;
	/** Seconds after its lifetime for which a file stays if there is room. */
	uint64_t grace_s;
	/** Seconds for which a task stays live after the last use of a file in it; at least 1. */
	uint64_t task_idle_s;
	/**
	 * Bytes of content that an agent's tree and the trees in it may have together; adding more
	 * is -EDQUOT. 0: no limit. Agents in `agent_limits` have their own. Read only by
	 * ofs_tree_open().
	 */
	uint64_t agent_max;
	const struct ofs_agent_limit *agent_limits;
	size_t n_agent_limits;
	/**
	 * Search by meaning as well: a directory with a static model or, with the base URL of an
	 * endpoint of OpenAI's API, the name of a model there, which may need a key. NULL or "": by
	 * words only. Read only by ofs_tree_open().
	 */
	const char *embed_model;
	const char *embed_url;
	const char *embed_key;
	/** Bytes on disk of the log, `.offload/log`; 0: nothing is written. */
	uint64_t log_max;
	/**
	 * A rule by which files are promoted: patterns separated by commas, CATEGORY/NAME, tag:NAME
	 * or title:TITLE; NULL or "": none. It acts after `promote_reads` reads of a file, each at
	 * least a minute after the last; 0: when its task ends. Read only by ofs_tree_open().
	 */
	const char *promote_match;
	uint32_t promote_reads;
	/**
	 * Object storage to which the store is replicated, and from which content comes that is not
	 * on this disk, as in config.ini. NULL or "": none. Sent only in the background.
	 */
	const char *remote;
	/** A file with the key that seals objects there; NULL or "": none is named. */
	const char *replicate_key;
	/** Milliseconds between two objects of the log there. */
	uint32_t replicate_ms;
	/** ofs_tree_sync() waits until the remote has what it covers; -EIO if that takes long. */
	bool replicate_on_sync;
	/** Bytes of packs on this disk; above, content that the remote has goes. 0: no limit. */
	uint64_t local_max;
	/** Seconds for which tombstones of collected files are kept; 0: for ever. */
	uint64_t tombstones_s;
	/**
	 * Other users have access. Attributes are the same for all, so `blocks` is then
	 * OFS_BLOCKS_DATA: the cost would reveal what a file has in common with those of others.
	 */
	bool shared;
	/** The text of `.offload/config.ini`; NULL: empty. Borrowed. */
	const char *config;
	/** Writes `tasks/<task>/context.md`; its function may be NULL. */
	struct ofs_tree_recap recap;
	/** Notifications of changes; its functions may be NULL. */
	struct ofs_tree_events events;
};

/**
 * The defaults: create, background, 1000 ms, 2000 lines, 65536 bytes, 250 ms, 32 MiB, 1000 ms;
 * lifetimes as in offloadfs-config(5), a minute, no limit, a week of grace, a day, a year, 64 MiB.
 */
#define OFS_TREE_OPTIONS_INIT                                                                  \
	{                                                                                      \
		.size = sizeof(struct ofs_tree_options), .create = true, .background = true,   \
		.mountpoint = NULL, .seal_delay_ms = 1000, .slice_max_lines = 2000,            \
		.slice_max_bytes = 65536, .search_ms = 250, .cache_bytes = (size_t)32 << 20,   \
		.scrub_ms = 1000, .gc_interval_ms = 60000, .grace_s = 604800,                  \
		.task_idle_s = 86400, .tombstones_s = 31536000, .log_max = (uint64_t)64 << 20, \
		.replicate_ms = 5000                                                           \
	}

/** The caller: owner of new files, and subject of the tree's own permission checks. */
struct ofs_cred {
	uid_t uid;
	gid_t gid;
	/** Whether the caller is in another group too; NULL: in none. */
	bool (*in_group)(void *arg, gid_t gid);
	void *arg;
};

struct ofs_entry {
	ofs_node node;
	struct stat attr;
	/**
	 * The name may be cached until a change through this API or a `release` event; false: ask
	 * again each time.
	 */
	bool keep_name;
	/**
	 * The same for the attributes; false: first ask for them by ofs_tree_getattr(), since a
	 * change before the node was known may have gone unreported.
	 */
	bool keep_attr;
	uint64_t reserved[2]; /**< has no meaning yet */
};

/**
 * Opens the store in the directory `path`. Waits for an owner that is just closing. -EBUSY: another
 * process owns it; -EINVAL: not a store, of an unknown format, or options without a size; -EPERM:
 * it belongs to another user, or others may write to it, and the caller's
 * $XDG_CONFIG_HOME/offloadfs/trusted_stores does not name it; -ENOENT, -EACCES and other errors of
 * the filesystem. `err` (may be NULL) gets the reason in words. `opts` is borrowed for the call only.
 */
OFS_EXPORT int ofs_tree_open(const char *path, const struct ofs_tree_options *opts,
			     struct ofs_error *err, struct ofs_tree **ret);

/**
 * Announces that the tree will be closed: calls that wait for content that a follower does not have
 * yet return -EIO within a second.
 */
OFS_EXPORT void ofs_tree_interrupt(struct ofs_tree *t);

/**
 * Writes a checkpoint and closes; NULL is allowed. All nodes are forgotten. 0, or -errno when not
 * everything could be written: the log says what, and where it is kept.
 */
OFS_EXPORT int ofs_tree_close(struct ofs_tree *t);

/**
 * Looks `name` up in `parent` and takes a reference to the node, to be given back with
 * ofs_tree_forget(). The literal name wins; else a slice of an existing file (-ERANGE: starts past
 * the end; -EINVAL: reversed or malformed). On -ENOENT `ret->keep_name` says whether the absence
 * may be cached. In search/ every name is a query, with "%2F" for '/': a file with what it
 * finds (-EINVAL: malformed). "." is the node itself, file or directory, and ".." the directory
 * that it is in: -ENOENT if it has no name, -ESTALE for what is made up.
 */
OFS_EXPORT int ofs_tree_lookup(struct ofs_tree *t, ofs_node parent, const char *name,
			       struct ofs_entry *ret);

/**
 * The same with the caller's permissions checked where the name bypasses a walk or reveals content
 * itself. For anyone but root and the store's owner a ref is -ENOENT, as if it never was, unless
 * they own the file or may list and search all directories above it; a slice of a file that the
 * caller may not read is -EACCES, and so is their every query.
 */
OFS_EXPORT int ofs_tree_lookup_as(struct ofs_tree *t, ofs_node parent, const char *name,
				  const struct ofs_cred *cred, struct ofs_entry *ret);

/** Gives `n` references back. An unlinked file goes when the last one does. */
OFS_EXPORT void ofs_tree_forget(struct ofs_tree *t, ofs_node node, uint64_t n);

/**
 * Walks a path relative to the root ("cache/shell/x", "refs/k3f9x2:1-20"; leading and repeated
 * slashes and "." are skipped, ".." is -EINVAL) and takes a reference to the node it names.
 */
OFS_EXPORT int ofs_tree_walk(struct ofs_tree *t, const char *path, struct ofs_entry *ret);

OFS_EXPORT int ofs_tree_getattr(struct ofs_tree *t, ofs_node node, struct stat *ret);

/** What ofs_tree_setattr() sets: the bits of `set`. */
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

/** Creates a regular file (S_IFREG), FIFO, socket or device and takes a reference to it. */
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

/** Writes the target into `buf` and returns its length, not terminated; at most `size` bytes. */
OFS_EXPORT ssize_t ofs_tree_readlink(struct ofs_tree *t, ofs_node node, char *buf, size_t size);

/** The directory of the file's last known name; 0: none, or a virtual node. */
OFS_EXPORT ofs_node ofs_tree_parent(struct ofs_tree *t, ofs_node node);

/**
 * Calls `fn` for the entries after position `cookie` (0: from the start; "." and ".." included).
 * `next` is the position after the entry; it stays valid while the directory changes. A nonzero
 * return of `fn` means that the entry was not taken and ends the walk; ofs_tree_readdir() then
 * still returns 0. With `plus`, each entry taken except "." and ".." carries attributes and a
 * reference, unless its node is 0: then it is to be looked up. Without `plus` only attr.st_ino,
 * the type bits of attr.st_mode and perhaps the node are set. `fn` must not call the
 * tree.
 */
typedef int (*ofs_readdir_fn)(void *arg, const char *name, const struct ofs_entry *entry,
			      uint64_t next);
OFS_EXPORT int ofs_tree_readdir(struct ofs_tree *t, ofs_node dir, uint64_t cookie, bool plus,
				ofs_readdir_fn fn, void *arg);

/** Both return the count; a read is short only at the end of the file. Damaged content is -EIO. */
OFS_EXPORT ssize_t ofs_tree_read(struct ofs_tree *t, ofs_node node, void *buf, size_t size,
				 uint64_t off);
OFS_EXPORT ssize_t ofs_tree_write(struct ofs_tree *t, ofs_node node, const void *buf, size_t size,
				  uint64_t off);

/**
 * fallocate(2): `mode` is 0 or FALLOC_FL_KEEP_SIZE (-ENOSPC when the disk has less than `len`;
 * nothing is set aside), FALLOC_FL_ZERO_RANGE with or without FALLOC_FL_KEEP_SIZE, or
 * FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE; -EOPNOTSUPP: another mode. The content of a range
 * that becomes zeros is freed.
 */
OFS_EXPORT int ofs_tree_fallocate(struct ofs_tree *t, ofs_node node, int mode, uint64_t off,
				  uint64_t len);

/** lseek(2) with SEEK_DATA or SEEK_HOLE: the offset; -ENXIO. */
OFS_EXPORT int64_t ofs_tree_seek(struct ofs_tree *t, ofs_node node, uint64_t off, int whence);

/**
 * copy_file_range(2): whole blocks of 256 KiB that start at multiples of that, and the last one of
 * a file, are shared and take no space; the rest is copied. Returns the count, which may be less
 * than `len`. -EXDEV: `from` is no file of the store (a slice, README.md): read it.
 */
OFS_EXPORT ssize_t ofs_tree_copy(struct ofs_tree *t, ofs_node from, uint64_t from_off, ofs_node to,
				 uint64_t to_off, uint64_t len);

/** True if looking up a name in the directory `dir` is a search, which may take a while. */
OFS_EXPORT bool ofs_tree_is_search(ofs_node dir);

/** True if a change that needs space in the journal would have to wait now. */
OFS_EXPORT bool ofs_tree_would_wait(struct ofs_tree *t);

/** Makes every change so far durable against power loss. */
OFS_EXPORT int ofs_tree_sync(struct ofs_tree *t);

/** Seals everything that is not sealed yet and writes a checkpoint. */
OFS_EXPORT int ofs_tree_seal(struct ofs_tree *t);

/**
 * Statistics of the disk as seen from a node: in an agent's tree nothing reveals what others use,
 * as if it had the disk for itself.
 */
OFS_EXPORT int ofs_tree_statfs(struct ofs_tree *t, ofs_node node, struct statvfs *ret);

/**
 * Extended attributes. `user.offload.*` is what the tree knows of a file: ref, sha256, tier,
 * category, task, created, expires, lines, tokens, mime, stored_bytes, used, lifecycle and path,
 * and of what was moved out of the working tier origin_task and origin_category, which are
 * read-only but for category, and ttl, important, tags and title. All other `user.*` are the user's
 * own, of any value up to 64 KiB; the rest (`security.*`, `system.*`, ...) is -EOPNOTSUPP.
 *
 * getxattr returns the length; with size 0 nothing is written; -ERANGE: `size` is too small;
 * -ENODATA: not set. listxattr: the same, over the NUL-separated names.
 *
 * `user.offload.used` is the last use that was seen, `user.offload.lifecycle` a sentence that says
 * why the file is kept or when it goes. `user.offload.state` of a directory in tasks/
 * is "live", "idle" (no file in it was used for `task_idle_s`) or "done".
 *
 * `user.offload.ending.TEXT` of a directory, which is not listed, has the names of the files in it
 * that end with TEXT, a line each, oldest first; empty if there are none.
 *
 * `user.offload.range` of a slice, which is not listed, is where its bytes begin in the file and
 * how many there are, "5120 812", without the line that says how to go on.
 *
 * `user.offload.gc` of OFS_NODE_ROOT, which is not listed, is the state of the last collection that
 * was asked for, as a JSON object: "state" and "error" as below, "dry_run", "looked" (files),
 * "done" of "total", "removed" with "removed_bytes" and "freed_bytes" (on disk), "promoted",
 * "evictable" with "evictable_bytes", "probation", "open" and "kept" (files), "next" (when there is
 * something to do again; null: not known), "items". `user.offload.gc.K`, with K from 0, is what
 * becomes of one file: "path", "ref", "size", "action" ("remove", "promote", "evictable",
 * "probation", "open", "referenced"), "why", "at" (when it goes; null), "to" (the path that it is
 * promoted to; null).
 *
 * `user.offload.log` of OFS_NODE_ROOT, which is not listed, is where the log begins and ends, in
 * bytes: "0 48213".
 *
 * `user.offload.verify` of OFS_NODE_ROOT, which is not listed, is the state of a verification as a
 * JSON object: "state" ("none", "running", "done", "stopped", "failed"), "error" (in words; null),
 * "repair", "done" of "total" (bytes of packs), "frames", "chunks", "files" and "bytes" (of
 * content) checked, "problems", those "repaired", and "hurt", the number of files with problems. It
 * describes the verification that runs or, until the next is started, the last one.
 * `user.offload.verify.K`, with K from 0, is the problem number K: "path" and "ref" of the file
 * (null: the store as a whole), "what" is wrong and whether it was "repaired"; -ENODATA: there are
 * fewer, or it is beyond the 10,000 that are kept. A file without a name has the path "refs/REF"; a
 * name that is not UTF-8 is shown with \xNN.
 */
OFS_EXPORT ssize_t ofs_tree_getxattr(struct ofs_tree *t, ofs_node node, const char *name, void *buf,
				     size_t size);
OFS_EXPORT ssize_t ofs_tree_listxattr(struct ofs_tree *t, ofs_node node, char *buf, size_t size);

/**
 * The same for a caller that may read the node. For anyone but root and the store's owner a file
 * has no stored_bytes, and no path, task and category unless they could find it by its ref; and
 * `user.offload.key` is one of their own.
 */
OFS_EXPORT ssize_t ofs_tree_getxattr_as(struct ofs_tree *t, ofs_node node, const char *name,
					void *buf, size_t size, const struct ofs_cred *cred);
OFS_EXPORT ssize_t ofs_tree_listxattr_as(struct ofs_tree *t, ofs_node node, char *buf, size_t size,
					 const struct ofs_cred *cred);

/**
 * Sets an extended attribute; `flags` as of setxattr(2). -EOPNOTSUPP: it cannot be set; -EINVAL:
 * the value has no meaning; -ENOSPC: the file has no room for more of them.
 *
 * Of `user.offload.*` these can be set on regular files: `ttl`, how long the file stays unused in
 * the working tier ("45s", "30m", "6h", "7d", "never"); `important`, "1" for a file that does not
 * expire, or "0"; `tags`, separated by commas; `title`, a line of UTF-8 up to 1024 bytes;
 * `category`, a name that takes the place of that of the directory. Tags and title go with an empty
 * value.
 *
 * `user.offload.state` of a directory in tasks/: "done" ends the task, so that its files go unless
 * they are used again, and those that never expire are moved to persistent/; "done drop-all" lets
 * these go as well; "live" takes that back, and is a use of the task. The same of an agent and its
 * working tier, on its directory in agents/.
 *
 * `user.offload.gc` of OFS_NODE_ROOT: "run" removes expired files, "dry-run" only reports them,
 * "dry-run task T" as if the task T (-ENOENT) had ended, and "dry-run drop-all task T" as if with
 * that, all in a thread of their own; "stop" stops the run, if any. -EBUSY: one runs already;
 * -EINVAL: another value.
 *
 * `user.offload.verify` of OFS_NODE_ROOT: "start" starts a verification of the store in a thread of
 * its own, "repair" one that puts what is damaged aside and rebuilds what can be rebuilt (names and
 * what the index says: only in a tree without `background`; files that have lost their name get one
 * in persistent/lost+found), "stop" asks the one that runs, if any, to end. -EBUSY: one runs
 * already; -EINVAL: another value. Callers must check permissions themselves. ofs_tree_close() ends
 * a verification that runs.
 */
OFS_EXPORT int ofs_tree_setxattr(struct ofs_tree *t, ofs_node node, const char *name,
				 const void *value, size_t size, int flags);

/** -ENODATA: it is not set; -EOPNOTSUPP: it is read-only. */
OFS_EXPORT int ofs_tree_removexattr(struct ofs_tree *t, ofs_node node, const char *name);

/** Writes the stable short name of an inode, as in refs/, into `ret`. Each store has its own. */
#define OFS_REF_SIZE 9
OFS_EXPORT void ofs_ref_format(const struct ofs_tree *t, ofs_node ino, char ret[OFS_REF_SIZE]);
/**
 * The number to show for a node, as in st_ino and file handles: unique and permanent. The nodes'
 * own numbers would reveal how many files there are.
 */
OFS_EXPORT uint64_t ofs_tree_show_node(const struct ofs_tree *t, ofs_node node);
/** The node of such a number. */
OFS_EXPORT ofs_node ofs_tree_shown_node(const struct ofs_tree *t, uint64_t shown);
/**
 * The same for positions in a directory, which would reveal how much is written. Shown positions
 * have no order and fit in an off_t; 0 stays the start.
 */
OFS_EXPORT uint64_t ofs_tree_show_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t cookie);
OFS_EXPORT uint64_t ofs_tree_shown_cookie(const struct ofs_tree *t, ofs_node dir, uint64_t shown);
/** The inode number that a ref names; 0: not a ref. */
OFS_EXPORT ofs_node ofs_ref_parse(const struct ofs_tree *t, const char *ref);

#endif
