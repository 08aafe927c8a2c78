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
#pragma once

#include <sys/statvfs.h>
#include <sys/types.h>

#include <offloadfs/error.h>
#include "base/ledger_entry.h"

#include "base/xattr.h"
#include "codec/hash.h"

#define OFS_ROOT_INO UINT64_C(1)
#define OFS_SIZE_MAX (INT64_C(1) << 44) /* of one file */

struct ofs_store;
struct ofs_record;

/* How the state of a follower has become another. */
struct ofs_followed {
	/*
	 * What the other host has done. NULL: a state was skipped to, and this is told for each
	 * inode that is held, with each name that it had, and then once with no inode at all.
	 */
	const struct ofs_record *record;
	uint64_t ino; /* that was made, named, moved, unlinked or changed; 0: none */
	uint64_t left; /* it has lost its last name by the record, and is held; 0: none */
	/* Without a record: NULL where it had none. */
	uint64_t dir;
	const char *name;
};

struct ofs_store_options {
	bool create; /* make it where nothing is */
	bool read_only; /* nothing in the store's directory is written; changes are -EROFS */
	/*
	 * The store is another host's, of which this directory has a copy (replication.h): changes
	 * are -EROFS, and index.db and journal/ are not written. packs/ is a cache of what objects
	 * have, and the lock is that of an owner.
	 */
	bool follow;
	bool blocks_data; /* st_blocks tells what is no hole, not what is on disk */
	const char *mountpoint; /* for the lock file; NULL: none */
	uint32_t seal_delay_ms;
	size_t cache_bytes; /* of decompressed frames */
	uint32_t scrub_ms; /* an idle store reads one frame back in so many; 0: never */
	uint64_t journal_max; /* bytes, above which writers wait for the sealer; 0: see tree.h */
	/*
	 * The class (base/class.h) of content below the directory `second`, which is in `top`,
	 * which is in the root of a region; 0 where there is no such directory. No lock is held; NULL: always
	 * 0.
	 */
	uint32_t (*classify)(void *arg, uint64_t top, uint64_t second);
	/* From the sealer's thread, no lock held; may be NULL. */
	void (*attr_changed)(void *arg, uint64_t ino);
	/*
	 * The same: the content of a file, not empty, is in packs, all of it. `again`: an earlier
	 * content of it was. Once for each content, but perhaps again after a crash.
	 */
	void (*sealed)(void *arg, uint64_t ino, bool again);
	/* A follower's state is another; no lock is held. May be NULL. */
	void (*followed)(void *arg, const struct ofs_followed *what);
	/* From ofs_store_close(), when all is written and nobody else can open it yet; or NULL. */
	void (*closing)(void *arg);
	void *events_arg; /* for all of these */
};

/* Where a store that is open may keep files of its own: `path`, or elsewhere if it is only read. */
const char *ofs_store_scratch(const struct ofs_store *s, const char *path);

int ofs_store_open(const char *path, const struct ofs_store_options *opts, struct ofs_error *err,
		   struct ofs_store **ret);

/* Starts to seal in the background: once the options' functions can be called. */
int ofs_store_start(struct ofs_store *s);

/*
 * Seals everything when there was no background thread, writes a checkpoint and lets the store go.
 * An error: the index lacks something; the log says what has it.
 */
int ofs_store_close(struct ofs_store *s);

struct ofs_attr {
	uint64_t ino;
	uint64_t parent;
	uint64_t region; /* see ofs_store_add_region(); OFS_ROOT_INO: none */
	uint32_t mode;
	uint32_t uid, gid;
	uint32_t nlink;
	uint64_t rdev;
	uint64_t size;
	int64_t atime, mtime, ctime, btime;
	/*
	 * The last use, on the age clock (ofs_store_age()), in whole seconds and never too early:
	 * it may lie up to OFS_STORE_USE_AHEAD and a second ahead. A change of its entries is no
	 * use of a directory; a change of its attributes, or a move, is one.
	 */
	int64_t used;
	int64_t seen; /* the same as far as memory knows when it was: never ahead */
	uint64_t held; /* references that callers hold, with that which the same call has given */
	uint64_t occupied; /* bytes on disk: its drafts in the journal and its share of the packs */
	/*
	 * Bytes that st_blocks tells: the same, or with `blocks_data` and in a region those that are
	 * no hole. A file of one block then counts whole, so that its map need not be loaded.
	 */
	uint64_t shown;
	uint64_t version; /* changes with the content */
	int64_t tokens; /* an estimate; -1: not made yet */
	bool sealed; /* it has content and all of it is in packs */
};

/* Of the whole content. */
struct ofs_content_hash {
	bool has_sha;
	uint8_t sha[32];
	int64_t lines; /* newline characters; -1: not counted yet */
};

/* Lookup, hold, create and link return a reference, given back with ofs_store_forget(). */
int ofs_store_lookup(struct ofs_store *s, uint64_t dir, const char *name, struct ofs_attr *ret);
/* By number; -ENOENT when it is unlinked or unknown. */
int ofs_store_hold(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);
/* Gives `n` references back; returns how many callers still hold. */
uint64_t ofs_store_forget(struct ofs_store *s, uint64_t ino, uint64_t n);

int ofs_store_getattr(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);

/*
 * The same for an inode that was found in `dir` (0: it is not known where). If its parent has no
 * name for it any more, `dir` becomes its parent, which saves a search through all names.
 */
int ofs_store_getattr_in(struct ofs_store *s, uint64_t dir, uint64_t ino, struct ofs_attr *ret);
/* The directory of its last name that is known; 0: none, or no such inode. */
uint64_t ofs_store_parent(struct ofs_store *s, uint64_t ino);
/* Sealing or repacking may change what st_blocks tells of the file. */
bool ofs_store_blocks_vary(struct ofs_store *s, uint64_t ino);
int ofs_store_get_hash(struct ofs_store *s, uint64_t ino, struct ofs_content_hash *ret);

/*
 * ---- regions: directories that are told apart from all others, until the store is closed. What
 * lies below one belongs to it, unless it belongs to another one further down.
 */

void ofs_store_add_region(struct ofs_store *s, uint64_t dir);
void ofs_store_remove_region(struct ofs_store *s, uint64_t dir);

/* Inodes with a name, the directory itself left out. */
struct ofs_region_counts {
	uint64_t files, dirs, others;
	uint64_t bytes; /* the files' sizes */
};

/*
 * What a region has, those within it included. The first call looks at all of it; later ones are
 * cheap until a directory is moved into it or out. -ENOENT: it is none.
 */
int ofs_store_count_region(struct ofs_store *s, uint64_t dir, struct ofs_region_counts *ret);

/*
 * Keeps an estimate of the tokens in content of that version, if it still is. For good, but for
 * those of a store that is read only, and where too many come at once.
 */
void ofs_store_note_tokens(struct ofs_store *s, uint64_t ino, uint64_t version, uint64_t tokens);

/*
 * The same of the hash and the newlines of all of it; of a follower, which seals nothing, and until
 * the content is another.
 */
void ofs_store_note_hash(struct ofs_store *s, uint64_t ino, uint64_t version,
			 const struct ofs_content_hash *hash);

/* Gives back the memory that looking at many inodes has filled. */
void ofs_store_relax(struct ofs_store *s);

/*
 * `target` is for S_IFLNK. A parent with S_ISGID passes its group on. `ino` (0: the next one) is a
 * number that was brought along, for a regular file: -EEXIST where it is in use or was ever given,
 * but for `again` that is allowed once its file is gone; -EBUSY while somebody still holds that.
 */
struct ofs_create {
	uint32_t mode;
	uint32_t uid, gid;
	uint64_t rdev;
	const char *target;
	uint64_t ino;
	bool again;
};

int ofs_store_create(struct ofs_store *s, uint64_t dir, const char *name,
		     const struct ofs_create *what, struct ofs_attr *ret);
int ofs_store_link(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name,
		   struct ofs_attr *ret);

/* *ret_left (may be NULL): the file that has lost its last name but is still held, else 0. */
int ofs_store_unlink(struct ofs_store *s, uint64_t dir, const char *name, uint64_t *ret_left);
int ofs_store_rmdir(struct ofs_store *s, uint64_t dir, const char *name);
int ofs_store_rename(struct ofs_store *s, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, unsigned int flags, uint64_t *ret_left);

/*
 * What a removal was decided on: the file's ctime, and ofs_store_moves() before anything was looked
 * at. A last use alone does not tell, as it may lie ahead of a change that came after it.
 */
struct ofs_expire_guard {
	int64_t ctime;
	uint64_t moves;
};

/*
 * A rename that first gives what it moves an extended attribute, unless it has one of that name.
 * After a death in between it is marked and has not moved; so nothing ever moves without its mark.
 */
struct ofs_move {
	uint64_t dir, newdir;
	const char *name, *newname;
	unsigned int flags; /* as of renameat2() */
	const char *mark; /* the attribute's name; NULL: none */
	struct ofs_buf value, back; /* of what goes to `newdir`, and back from there; "": none */
	/* As of ofs_store_expire(), of the file `ino` at `name`; 0: whatever is there. */
	uint64_t ino;
	int64_t used;
	struct ofs_expire_guard guard;
};

/* As ofs_store_rename(). -EAGAIN: the file `ino` is another, or was used. -ENOSPC: no room to mark. */
int ofs_store_move(struct ofs_store *s, const struct ofs_move *m, uint64_t *ret_left);

/* The bits of `set` are OFS_SET_* of <offloadfs/tree.h>. */
struct ofs_setattr;
int ofs_store_setattr(struct ofs_store *s, uint64_t ino, const struct ofs_setattr *attr,
		      struct ofs_attr *ret);

ssize_t ofs_store_readlink(struct ofs_store *s, uint64_t ino, char *buf, size_t size);

/*
 * Entries with a cookie above `cookie`, in order of cookie; cookies are at least OFS_COOKIE_MIN.
 * Those added after the last call with a lower one are left out: a reader who renames what it
 * meets, which gives it a new cookie, comes to an end.
 * With `plus` attributes are whole and each entry taken carries a reference; else ino and type bits
 * alone.
 */
#define OFS_COOKIE_MIN 64
typedef int (*ofs_store_readdir_fn)(void *arg, const char *name, const struct ofs_attr *attr,
				    uint64_t cookie);
int ofs_store_readdir(struct ofs_store *s, uint64_t dir, uint64_t cookie, bool plus,
		      ofs_store_readdir_fn fn, void *arg);

/*
 * A directory that has a name for `ino`, and the name; `ret_name` has room for 256 bytes. -ENOENT
 * when it has no name (any more), or is the root.
 */
int ofs_store_name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name);

/* 1: `name` in `dir` leads to `ino`; 0: not; or -errno. Quick where the directory is large. */
int ofs_store_is_name(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name);

/*
 * Extended attributes, of any inode, within the limits of base/xattr.h. With size 0 nothing is
 * written. Returns the length; -ENODATA: not set; -ERANGE: longer than `size`.
 */
ssize_t ofs_store_getxattr(struct ofs_store *s, uint64_t ino, const char *name, void *buf,
			   size_t size);
/* The NUL-terminated names in the order of their bytes. */
ssize_t ofs_store_listxattr(struct ofs_store *s, uint64_t ino, char *buf, size_t size);
/*
 * XATTR_CREATE: -EEXIST when it is set; XATTR_REPLACE: -ENODATA when it is not; any other flags,
 * both included: -EINVAL. -ERANGE: the name's length; -E2BIG: the value's; -ENOSPC: no room for it,
 * on the inode or on the disk. The inode's ctime changes.
 */
int ofs_store_setxattr(struct ofs_store *s, uint64_t ino, const char *name, const void *value,
		       size_t size, int flags);
int ofs_store_removexattr(struct ofs_store *s, uint64_t ino, const char *name); /* -ENODATA */
/*
 * Up to `max` inodes with a number above `after` that have extended attributes and a name, in
 * order. Returns how many; 0 at the end.
 */
int ofs_store_list_labelled(struct ofs_store *s, uint64_t after, uint64_t *ret, size_t max);
/*
 * Up to `max` regular files with a number below `before` that have a name, the newest first.
 * Returns how many; 0 at the end.
 */
int ofs_store_list_files(struct ofs_store *s, uint64_t before, uint64_t *ret, size_t max);

ssize_t ofs_store_read(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off);
/* The same for one who reads much once: in the cache stays what others read. */
ssize_t ofs_store_scan(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off);
ssize_t ofs_store_write(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off);

/*
 * [off, off + len) reads as zeros; what is stored of it is given up. With `grow` the file becomes
 * at least off + len long, else nothing after its end changes. Costs what is there, not what is
 * asked for. -EFBIG.
 */
int ofs_store_zero(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len, bool grow);

/*
 * Makes sure, as far as a store that compresses can, that a write into the range finds room:
 * -ENOSPC when the disk has less than `len`. The file becomes at least off + len long, unless
 * `keep_size`. -EFBIG.
 */
int ofs_store_allocate(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len,
		       bool keep_size);

/*
 * The first byte from `off` on that is data (SEEK_DATA), or in a hole (SEEK_HOLE; the end of the
 * file is one). -ENXIO: `off` is not before the end, or no data follows.
 */
int64_t ofs_store_seek(struct ofs_store *s, uint64_t ino, uint64_t off, int whence);

/*
 * Copies content within the store, as copy_file_range(2): by reference where both places lie at the
 * start of blocks, else as data. Ends at the end of `from`, after 1 GiB, or after some data that
 * had to be copied; returns how much it was. -EINVAL: the ranges overlap in one file, or something
 * is no regular file (-EISDIR); -EFBIG; else as ofs_store_read() and ofs_store_write().
 */
ssize_t ofs_store_copy(struct ofs_store *s, uint64_t from, uint64_t from_off, uint64_t to,
		       uint64_t to_off, uint64_t len);

/*
 * Where line `line` (from 0) starts, without reading anything: *ret_off is the start of a stretch
 * of the file before or at that line and *ret_line the lines that end before it. Content that is
 * not sealed: 0 and 0.
 */
int ofs_store_line_hint(struct ofs_store *s, uint64_t ino, uint64_t line, uint64_t *ret_off,
			uint64_t *ret_line);

/* How far a verification is, and what it has looked at. */
struct ofs_verify_counts {
	uint64_t done; /* of `total`, in bytes of content */
	uint64_t total;
	uint64_t frames;
	uint64_t chunks;
	uint64_t bytes; /* of content, in packs and in the journal */
	uint64_t files; /* in the store */
	uint64_t problems;
	uint64_t repaired;
};

struct ofs_verify {
	/*
	 * Puts what is damaged aside and rebuilds what can be rebuilt. What the index says of names
	 * and content is repaired only in a store that nobody serves (ofs_store_start() was not
	 * called).
	 */
	bool repair;
	uint64_t lost_dir; /* a directory for files that have lost their name; 0: none */
	/* `what`, one line, is wrong with file `ino` or with the store (0). May read the store. */
	void (*problem)(void *arg, uint64_t ino, const char *what, bool repaired);
	/* From time to time; nonzero ends the verification with -ECANCELED. May be NULL. */
	int (*progress)(void *arg, const struct ofs_verify_counts *counts);
	void *arg;
};

/*
 * Reads all content and compares it with its hashes, the packs with the index and the index with
 * itself. The store may be in use; what is written meanwhile may be left out. The callbacks run in
 * the caller's thread. One at a time (-EBUSY). 0 when it came to its end, whatever it found.
 */
int ofs_store_verify(struct ofs_store *s, const struct ofs_verify *v,
		     struct ofs_verify_counts *ret);

/*
 * The age clock, in nanoseconds: the wall clock in a new store, it runs on while the store is
 * closed and does not follow steps of the wall clock while the store is open.
 */
int64_t ofs_store_age(struct ofs_store *s);

/*
 * Puts into the index what the next start has to know of the age clock, if that is needed: after a
 * step of the wall clock, and every ten minutes. To be called about once a minute; may wait for the
 * sealer.
 */
int ofs_store_keep_age(struct ofs_store *s);

/*
 * The content of an inode was used without being changed. Remembered for inodes that are in memory,
 * as one is that was just read, up to a minute ahead, so that further uses until then cost nothing;
 * on disk with the next checkpoint, unless the disk is full.
 */
#define OFS_STORE_USE_AHEAD INT64_C(60000000000)
void ofs_store_use(struct ofs_store *s, uint64_t ino);

#define OFS_TOMBSTONE_MAX 16384u /* bytes */

/* Another number after any rename, link or change of an extended attribute. */
uint64_t ofs_store_moves(struct ofs_store *s);

/*
 * Removes a regular file with all its names and keeps `what` as its tombstone. -ENOENT: it has no
 * name any more; -EBUSY: somebody holds a reference; -EAGAIN: it, or a directory above it but those
 * in the root of its region, was used later than `used`, or something of `guard` (may be NULL) has
 * changed, or it is being renamed; -EISDIR, -EINVAL: it is no regular file; -E2BIG. When the
 * journal fails in between, a file of several names may be left with fewer. On a full disk the
 * tombstone may be empty.
 */
int ofs_store_expire(struct ofs_store *s, uint64_t ino, int64_t used,
		     const struct ofs_expire_guard *guard, const void *what, size_t len);

/*
 * Calls `fn`, with no lock held, for each name that the inode has; a nonzero return ends it and is
 * returned. Cheap for an inode of one name; for one of several every entry there is may be read,
 * and it may wait for the sealer. Names that come or go meanwhile may be told or not. -ENOENT: it
 * has none, or is the root.
 */
int ofs_store_names(struct ofs_store *s, uint64_t ino,
		    int (*fn)(void *arg, uint64_t dir, const char *name), void *arg);

/*
 * Appends what was kept of an expired file to `ret_what`; *ret_removed is the wall clock's time of
 * the removal, in nanoseconds, to the second. -ENOENT: no such tombstone.
 */
int ofs_store_get_tombstone(struct ofs_store *s, uint64_t ino, struct ofs_buf *ret_what,
			    int64_t *ret_removed);

/* Deletes the tombstones from before that time, to the second. May wait for the sealer. */
int ofs_store_drop_tombstones(struct ofs_store *s, int64_t before);

/*
 * Removes an empty directory by its number. -EBUSY: somebody holds a reference, or it is the root;
 * -ENOTEMPTY; -ENOTDIR; -ENOENT.
 */
int ofs_store_rmdir_unheld(struct ofs_store *s, uint64_t ino);

/*
 * ---- the ledger: tokens that were kept out of prompts, and read back into them, by day and by
 * who. It is durable as any other change, and stays when the files are gone.
 */

/*
 * Adds to the sums of today; `day` is not looked at, nor into `who`. -EINVAL: that is empty or too
 * long.
 */
int ofs_store_add_to_ledger(struct ofs_store *s, const struct ofs_ledger_entry *e);

/*
 * Calls `fn`, with no lock held, for the sums of each day from `from` on and each who, in that
 * order, until it returns nonzero, which is returned.
 */
int ofs_store_list_ledger(struct ofs_store *s, int64_t from,
			  int (*fn)(void *arg, const struct ofs_ledger_entry *e), void *arg);

/* The seed of the store's refs; 0: it is older than they are. */
int64_t ofs_store_ref_seed(const struct ofs_store *s);

/* Bytes that only those know who can read the store, as hex; the same for its whole life. */
int ofs_store_key(const struct ofs_store *s, const char *purpose,
		  char ret[2 * OFS_SHA256_SIZE + 1]);

int ofs_store_sync(struct ofs_store *s);

/* A change that takes room in the journal would have to wait for it. */
bool ofs_store_would_wait(struct ofs_store *s);
int ofs_store_seal(struct ofs_store *s); /* everything, now */

/* Cheap enough to be asked for once a second. */
struct ofs_store_stats {
	/* Inodes that have a name: regular files, directories (the root included), others. */
	uint64_t files;
	uint64_t dirs;
	uint64_t others;
	uint64_t bytes; /* the files' sizes */
	uint64_t tombstones;
	/* Bytes on disk. */
	uint64_t packs;
	uint64_t index; /* its write-ahead log included */
	uint64_t journal;
	/* Of the journal: its files; what waits to be sealed, at most, and before writers wait. */
	uint64_t segments;
	uint64_t waiting, waiting_records;
	uint64_t waiting_max;
	uint64_t unsynced; /* bytes that an fsync would have to wait for */
	/* Sealed since the store was opened: bytes of content, and of the frames made of it. */
	uint64_t sealed;
	uint64_t sealed_stored;
	/* Since then, too: how often an inode was wanted, and had to be loaded from the index. */
	uint64_t inodes_asked, inodes_loaded;
	/* Frames that were asked for: in memory, read ahead, from the disk; bytes of those in memory. */
	uint64_t frames_kept, frames_ahead, frames_loaded;
	uint64_t frame_bytes;
	/* Files that are still to be sealed or hashed, and what of them lies in the journal. */
	uint64_t draft_files;
	uint64_t draft_bytes;
	uint64_t cached; /* inodes in memory */
	uint64_t held; /* references that callers hold */
	bool tight; /* the disk is full: only what frees space is written */
	const char *broken; /* why nothing is written until the next start; NULL: it is */
	bool journal_damaged; /* verification says how, and a repair retires it */
	int error; /* 0, or why sealing failed last time, or why syncing once did (-errno) */
};
int ofs_store_stats(struct ofs_store *s, struct ofs_store_stats *ret);

/*
 * Of the store's disk, in blocks of 4096 bytes. What is to be set aside on it is not available.
 * Inodes are counted as if all that is free were used for them.
 */
int ofs_store_statfs(struct ofs_store *s, struct statvfs *ret);
