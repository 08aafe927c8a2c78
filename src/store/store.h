/* SPDX-License-Identifier: MIT */
/*
 * The store: inodes, directories and content, kept by journal, packs and index. It knows nothing of
 * tiers, slices or any other meaning of a name.
 *
 * A change is acknowledged once its journal record is written. The index holds the committed state;
 * changes since the last checkpoint are also in memory, and are rebuilt from the journal when the
 * store is opened. Inodes and directories are loaded from the index when they are first used.
 *
 * Any thread may call any function. Functions return 0 (or a count) or -errno, and change nothing
 * on an error, unless said otherwise.
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

/* A change of the state of a follower. */
struct ofs_followed {
	/*
	 * What the other host has done. NULL: states were skipped. That is told for each former
	 * name of each held inode, and at last without an inode.
	 */
	const struct ofs_record *record;
	uint64_t ino; /* made, named, moved, unlinked or changed; 0: none */
	uint64_t other; /* what a move has replaced, or exchanged with `ino`; 0: nothing */
	uint64_t left; /* a held inode whose last name the record has removed; 0: none */
	/* Without a record: a former name; `name` is NULL if there was none. */
	uint64_t dir;
	const char *name;
};

struct ofs_store_options {
	bool create; /* make the store if there is none */
	bool read_only; /* nothing in the store's directory is written; changes are -EROFS */
	/*
	 * The store is another host's, of which this directory has a copy (replication.h): changes
	 * are -EROFS, and index.db and journal/ are not written. packs/ is a cache of what objects
	 * have, and the store is locked as by an owner.
	 */
	bool follow;
	bool blocks_data; /* st_blocks counts bytes that are no hole, rather than bytes on disk */
	const char *mountpoint; /* for the lock file; NULL: none */
	uint32_t seal_delay_ms;
	size_t cache_bytes; /* of decompressed frames */
	uint32_t scrub_ms; /* time after which an idle store reads back another frame; 0: never */
	uint64_t journal_max; /* bytes above which writers wait for the sealer; 0: as in tree.h */
	/*
	 * Returns the class (base/class.h) of content below the directory `second`, which is in
	 * `top`, which is in the root of a region; either is 0 if there is no such directory.
	 * Called with no lock held. NULL: the class is always 0.
	 */
	uint32_t (*classify)(void *arg, uint64_t top, uint64_t second);
	/*
	 * Attributes of an inode have changed. Called with no lock held, mostly by the sealer's
	 * thread; may be NULL.
	 */
	void (*attr_changed)(void *arg, uint64_t ino);
	/*
	 * All content of a file, which is not empty, is in packs; `again`: so was an earlier
	 * content. Called likewise, once for each content, but perhaps again after a crash.
	 */
	void (*sealed)(void *arg, uint64_t ino, bool again);
	/* A follower's state has changed. Called with no lock held; may be NULL. */
	void (*followed)(void *arg, const struct ofs_followed *what);
	/* Called by ofs_store_close() when all is written, before others can open it; or NULL. */
	void (*closing)(void *arg);
	void *events_arg; /* passed to all of these */
};

/* The directory for derived files of an open store: `path`, or a temporary one if read-only. */
const char *ofs_store_scratch(const struct ofs_store *s, const char *path);

/*
 * Opens the store in the directory `path` and recovers its state. 0 or -errno, with a message.
 * ofs_store_close() frees *ret.
 */
int ofs_store_open(const char *path, const struct ofs_store_options *opts, struct ofs_error *err,
		   struct ofs_store **ret);

/* Starts sealing in the background, once the functions of the options may be called. */
int ofs_store_start(struct ofs_store *s);

/*
 * Writes a checkpoint, after sealing everything if there was no background thread, and frees the
 * store in any case. An error: the index lacks some changes, and the log says where they are. NULL
 * is allowed.
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
	 * it may lie up to OFS_STORE_USE_AHEAD and a second ahead. A directory is used by a change
	 * of its attributes or a move, but not by a change of its entries.
	 */
	int64_t used;
	int64_t seen; /* the same as exactly as memory knows it, and never ahead */
	uint64_t held; /* references, including a new one, except in ofs_store_readdir() */
	uint64_t occupied; /* bytes on disk: its drafts in the journal and its share of the packs */
	/*
	 * Bytes that st_blocks reports: `occupied` or, with `blocks_data` and in regions, those
	 * that are no hole. A file of one block then counts as a whole, so that its map need not be
	 * loaded.
	 */
	uint64_t shown;
	uint64_t version; /* changes whenever the content does, and sometimes when it does not */
	int64_t tokens; /* an estimate; -1: none yet */
	bool sealed; /* the content is not empty, and all in packs */
};

/* What is known of the whole content. */
struct ofs_content_hash {
	bool has_sha;
	uint8_t sha[32];
	int64_t lines; /* newline characters; -1: not counted yet */
};

/* Lookup, hold, create and link return a reference; ofs_store_forget() gives it back. */
int ofs_store_lookup(struct ofs_store *s, uint64_t dir, const char *name, struct ofs_attr *ret);
/* Gets an inode by its number; -ENOENT: it is unlinked or unknown. */
int ofs_store_hold(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);
/* Gives back `n` references; returns how many are still held. */
uint64_t ofs_store_forget(struct ofs_store *s, uint64_t ino, uint64_t n);

int ofs_store_getattr(struct ofs_store *s, uint64_t ino, struct ofs_attr *ret);

/* Returns whether an inode is known to have no name; false if it cannot be read. */
bool ofs_store_is_nameless(struct ofs_store *s, uint64_t ino);

/*
 * The same for an inode that was found in `dir` (0: unknown). If its parent no longer has a name
 * for it, `dir` becomes its parent, which saves a search through all names.
 */
int ofs_store_getattr_in(struct ofs_store *s, uint64_t dir, uint64_t ino, struct ofs_attr *ret);
/* Returns the directory of the last known name; 0: there is none, or no such inode. */
uint64_t ofs_store_parent(struct ofs_store *s, uint64_t ino);
/* Sealing or repacking may change the st_blocks of the file. */
bool ofs_store_blocks_vary(struct ofs_store *s, uint64_t ino);
int ofs_store_get_hash(struct ofs_store *s, uint64_t ino, struct ofs_content_hash *ret);

/*
 * ---- regions: directories that are told apart from all others until the store is closed. An inode
 * belongs to the nearest region above it.
 */

void ofs_store_add_region(struct ofs_store *s, uint64_t dir);
void ofs_store_remove_region(struct ofs_store *s, uint64_t dir);

/* Inodes with a name, not counting the region's own directory. */
struct ofs_region_counts {
	uint64_t files, dirs, others;
	uint64_t bytes; /* the files' sizes */
};

/*
 * Counts what is in a region, including the regions within it. The first call reads all of it;
 * later ones are cheap until a directory is moved into it or out. -ENOENT: `dir` is no region.
 */
int ofs_store_count_region(struct ofs_store *s, uint64_t dir, struct ofs_region_counts *ret);

/*
 * Keeps an estimate of the tokens in a file's content, if that still has this version. It is kept
 * for good, except in a store that is only read, or if too many come at once.
 */
void ofs_store_note_tokens(struct ofs_store *s, uint64_t ino, uint64_t version, uint64_t tokens);

/*
 * The same for the hash and the newlines of the whole content. Only for a follower, which seals
 * nothing; kept until the content changes.
 */
void ofs_store_note_hash(struct ofs_store *s, uint64_t ino, uint64_t version,
			 const struct ofs_content_hash *hash);

/* Frees the memory that visiting many inodes has filled. */
void ofs_store_relax(struct ofs_store *s);

/*
 * `target` is for S_IFLNK. A parent with S_ISGID passes on its group. `ino` (0: the next number) is
 * a number that a regular file has brought along: -EEXIST if it is or ever was in use. With `again`
 * a number may be used again once its file is gone; -EBUSY: the file is removed but still held.
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

/* *ret_left (may be NULL): the inode that has lost its last name but is still held; 0: none. */
int ofs_store_unlink(struct ofs_store *s, uint64_t dir, const char *name, uint64_t *ret_left);
int ofs_store_rmdir(struct ofs_store *s, uint64_t dir, const char *name);
int ofs_store_rename(struct ofs_store *s, uint64_t dir, const char *name, uint64_t newdir,
		     const char *newname, unsigned int flags, uint64_t *ret_left);

/*
 * What a removal was decided on: the file's ctime, and ofs_store_moves() before the file was looked
 * at. The last use alone is not enough, as it may lie ahead of a change made after it.
 */
struct ofs_expire_guard {
	int64_t ctime;
	uint64_t moves;
};

/*
 * A rename that first marks what it moves with an extended attribute, unless it has one of that
 * name. After a crash in between it is marked and has not moved; so nothing ever moves without its
 * mark.
 */
struct ofs_move {
	uint64_t dir, newdir;
	const char *name, *newname;
	unsigned int flags; /* as for renameat2() */
	const char *mark; /* name of the attribute; NULL: none */
	struct ofs_buf value, back; /* for what moves to `newdir`, and back; empty: none */
	/* As for ofs_store_expire(), on the file `ino` at `name`; 0: whatever is there. */
	uint64_t ino;
	int64_t used;
	struct ofs_expire_guard guard;
};

/* As ofs_store_rename(). -EAGAIN: `name` is not `ino`, or it was used; -ENOSPC: no room to mark. */
int ofs_store_move(struct ofs_store *s, const struct ofs_move *m, uint64_t *ret_left);

/* The bits of `set` are OFS_SET_* of <offloadfs/tree.h>. */
struct ofs_setattr;
int ofs_store_setattr(struct ofs_store *s, uint64_t ino, const struct ofs_setattr *attr,
		      struct ofs_attr *ret);

ssize_t ofs_store_readlink(struct ofs_store *s, uint64_t ino, char *buf, size_t size);

/*
 * Calls `fn` for the entries with a cookie above `cookie`, in order of cookie, until it returns
 * nonzero, which refuses the entry; it must not call the store. Cookies are at least
 * OFS_COOKIE_MIN, and a call with a lower one begins a listing. Entries added later are left out,
 * so that a reader who renames what it meets, which gives it a new cookie, comes to an end. With
 * `plus`, attributes are complete and each entry taken carries a reference; else they are the ino
 * and the type bits.
 */
#define OFS_COOKIE_MIN 64
typedef int (*ofs_store_readdir_fn)(void *arg, const char *name, const struct ofs_attr *attr,
				    uint64_t cookie);
int ofs_store_readdir(struct ofs_store *s, uint64_t dir, uint64_t cookie, bool plus,
		      ofs_store_readdir_fn fn, void *arg);

/*
 * Gets a directory that has a name for `ino`, and the name; `ret_name` has room for 256 bytes.
 * -ENOENT: it has no name (any more), or is the root.
 */
int ofs_store_name_of(struct ofs_store *s, uint64_t ino, uint64_t *ret_dir, char *ret_name);

/* 1: `name` in `dir` stands for `ino`; 0: not; or -errno. Fast even in large directories. */
int ofs_store_is_name(struct ofs_store *s, uint64_t ino, uint64_t dir, const char *name);

/*
 * Extended attributes of any inode, within the limits of base/xattr.h. With size 0 nothing is
 * written. Returns the length; -ENODATA: not set; -ERANGE: longer than `size`.
 */
ssize_t ofs_store_getxattr(struct ofs_store *s, uint64_t ino, const char *name, void *buf,
			   size_t size);
/* Gets the names, each with its NUL, in byte order. */
ssize_t ofs_store_listxattr(struct ofs_store *s, uint64_t ino, char *buf, size_t size);
/*
 * XATTR_CREATE: -EEXIST if it is set; XATTR_REPLACE: -ENODATA if it is not; both, or other flags:
 * -EINVAL. -ERANGE: the name's length; -E2BIG: the value's; -ENOSPC: no room on the inode or on the
 * disk. Changes the inode's ctime.
 */
int ofs_store_setxattr(struct ofs_store *s, uint64_t ino, const char *name, const void *value,
		       size_t size, int flags);
int ofs_store_removexattr(struct ofs_store *s, uint64_t ino, const char *name); /* -ENODATA */
/*
 * Lists up to `max` inodes above number `after` that have extended attributes and a name, in order.
 * Returns how many; 0 at the end.
 */
int ofs_store_list_labelled(struct ofs_store *s, uint64_t after, uint64_t *ret, size_t max);
/*
 * Lists up to `max` regular files below number `before` that have a name, the newest first. Returns
 * how many; 0 at the end.
 */
int ofs_store_list_files(struct ofs_store *s, uint64_t before, uint64_t *ret, size_t max);

/* Returns the length read, less than `size` at the end of the file. -EIO: damaged or unreadable. */
ssize_t ofs_store_read(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off);
/* The same of what is on this disk: -EAGAIN if content would have to be fetched from a remote. */
ssize_t ofs_store_read_here(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			    uint64_t off);
/* The same for reading much once: leaves in the cache what others read. */
ssize_t ofs_store_scan(struct ofs_store *s, uint64_t ino, void *buf, size_t size, uint64_t off);
/* Returns the length written, less than `size` if an error followed. -EFBIG. */
ssize_t ofs_store_write(struct ofs_store *s, uint64_t ino, const void *buf, size_t size,
			uint64_t off);

/*
 * Makes [off, off + len) read as zeros, and drops what is stored there. With `grow` the file
 * becomes at least off + len long; else nothing changes after its end. The cost depends on what is
 * stored in the range, not on its length. -EFBIG.
 */
int ofs_store_zero(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len, bool grow);

/*
 * Ensures, as far as a store that compresses can, that a write into the range finds room. -ENOSPC:
 * the disk has less than `len`. The file becomes at least off + len long, unless `keep_size`.
 * -EFBIG.
 */
int ofs_store_allocate(struct ofs_store *s, uint64_t ino, uint64_t off, uint64_t len,
		       bool keep_size);

/*
 * Returns the first byte from `off` on that is data (SEEK_DATA) or in a hole (SEEK_HOLE; the end of
 * the file counts as one). -ENXIO: `off` is not before the end, or no data follows.
 */
int64_t ofs_store_seek(struct ofs_store *s, uint64_t ino, uint64_t off, int whence);

/*
 * Copies content within the store, as copy_file_range(2): by reference where both places are at the
 * start of a block, else as data. Ends at the end of `from`, after 1 GiB, or after some data that
 * had to be copied; returns the length. -EINVAL: the ranges overlap in one file, or an inode is no
 * regular file (-EISDIR: a directory); -EFBIG; else as ofs_store_read() and ofs_store_write().
 */
ssize_t ofs_store_copy(struct ofs_store *s, uint64_t from, uint64_t from_off, uint64_t to,
		       uint64_t to_off, uint64_t len);

/*
 * Narrows down where line `line` (from 0) starts, without reading: *ret_off is a place at or before
 * it, and *ret_line the number of lines that end before that place. Unsealed content: 0 and 0.
 */
int ofs_store_line_hint(struct ofs_store *s, uint64_t ino, uint64_t line, uint64_t *ret_off,
			uint64_t *ret_line);

/* The progress of a verification, and what it has checked. */
struct ofs_verify_counts {
	uint64_t done; /* bytes of content, of `total` */
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
	 * Puts damaged content aside and rebuilds what can be rebuilt. What the index says of names
	 * and content is repaired only in a store that nobody uses (ofs_store_start() was not
	 * called).
	 */
	bool repair;
	uint64_t lost_dir; /* the directory for files that have lost their names; 0: none */
	/*
	 * Reports that `what`, one line, is wrong with file `ino`, or with the store (0). May read
	 * from the store.
	 */
	void (*problem)(void *arg, uint64_t ino, const char *what, bool repaired);
	/* Called now and then; nonzero ends the verification with -ECANCELED. May be NULL. */
	int (*progress)(void *arg, const struct ofs_verify_counts *counts);
	void *arg;
};

/*
 * Reads all content and compares it with its hashes, the packs with the index and the index with
 * itself. The store may be in use; what is written meanwhile may be left out. The callbacks run in
 * the caller's thread. 0: all was checked, whatever was found. -EBUSY: another verification runs.
 */
int ofs_store_verify(struct ofs_store *s, const struct ofs_verify *v,
		     struct ofs_verify_counts *ret);

/*
 * The age clock, in nanoseconds: the wall clock in a new store. It runs on while the store is
 * closed, within the limits of age.h, and ignores steps of the wall clock while the store is open.
 */
int64_t ofs_store_age(struct ofs_store *s);

/*
 * Puts into the index what the next start must know of the age clock, if necessary: after a step of
 * the wall clock, and every ten minutes. To be called about once a minute; may wait for the sealer.
 */
int ofs_store_keep_age(struct ofs_store *s);

/*
 * Notes a use of an inode's content that did not change it. Does nothing if the inode is not in
 * memory; one that was just read is. The use is noted up to a minute ahead, so that further ones
 * until then cost nothing. It is on disk with the next checkpoint, unless the disk is full.
 */
#define OFS_STORE_USE_AHEAD INT64_C(60000000000)
void ofs_store_use(struct ofs_store *s, uint64_t ino);

#define OFS_TOMBSTONE_MAX 16384u /* bytes */

/* Changes with every rename, link and change of an extended attribute. */
uint64_t ofs_store_moves(struct ofs_store *s);

/*
 * Removes a regular file with all its names and keeps `what` as its tombstone. -ENOENT: it has no
 * name any more; -EBUSY: it is held; -EAGAIN: it, or a directory between it and those in the root
 * of its region, was used later than `used`, or something of `guard` (may be NULL) has changed, or
 * it is being renamed; -EISDIR, -EINVAL: it is no regular file; -E2BIG. If the journal fails on the
 * way, a file with several names may be left with fewer. On a full disk the tombstone may be empty.
 */
int ofs_store_expire(struct ofs_store *s, uint64_t ino, int64_t used,
		     const struct ofs_expire_guard *guard, const void *what, size_t len);

/*
 * Calls `fn`, with no lock held, for each name of the inode, until it returns nonzero, which is
 * returned. Cheap for an inode with one name; for one with several, every entry in the store may be
 * read, and it may wait for the sealer. Names that come or go meanwhile may be left out. -ENOENT:
 * it has none, or is the root.
 */
int ofs_store_names(struct ofs_store *s, uint64_t ino,
		    int (*fn)(void *arg, uint64_t dir, const char *name), void *arg);

/*
 * Appends the tombstone of a file to `ret_what`; *ret_removed is when the file was removed, on the
 * wall clock, in nanoseconds but to the second. -ENOENT: there is none.
 */
int ofs_store_get_tombstone(struct ofs_store *s, uint64_t ino, struct ofs_buf *ret_what,
			    int64_t *ret_removed);

/* Deletes tombstones of files removed before that time, to the second. May wait for the sealer. */
int ofs_store_drop_tombstones(struct ofs_store *s, int64_t before);

/*
 * Removes an empty directory by its number. -EBUSY: it is held, or the root; -ENOTEMPTY; -ENOTDIR;
 * -ENOENT.
 */
int ofs_store_rmdir_unheld(struct ofs_store *s, uint64_t ino);

/*
 * ---- the ledger: tokens that were kept out of prompts, and read back into them, by day and name.
 * It is as durable as any other change, and outlives the files.
 */

#define OFS_LEDGER_ROWS_MAX 1000u /* names that one source of entries adds in a day */

/* The names that a source of entries has added; initially zeros. Guarded by the store. */
struct ofs_ledger_made {
	int64_t day;
	unsigned int rows;
};

/*
 * Adds to the sums of today, ignoring `day`; to those of `rest` if the name is a new one and its
 * source has added as many as it may. -EINVAL: `who` is empty or too long.
 */
int ofs_store_add_to_ledger(struct ofs_store *s, const struct ofs_ledger_entry *e,
			    struct ofs_ledger_made *made, const char *rest);

/*
 * Calls `fn`, with no lock held, for the sums of each day from `from` on and each name, in that
 * order, until it returns nonzero, which is returned.
 */
int ofs_store_list_ledger(struct ofs_store *s, int64_t from,
			  int (*fn)(void *arg, const struct ofs_ledger_entry *e), void *arg);

/* The seed of the store's refs; 0: the store is older than they are. */
int64_t ofs_store_ref_seed(const struct ofs_store *s);

/* A secret of those who can read the store, for one purpose, as hex. It never changes. */
int ofs_store_key(const struct ofs_store *s, const char *purpose,
		  char ret[2 * OFS_SHA256_SIZE + 1]);

/* Makes all changes made so far durable. */
int ofs_store_sync(struct ofs_store *s);

/* A change that takes room in the journal would have to wait. */
bool ofs_store_would_wait(struct ofs_store *s);

/*
 * In nonblocking mode, a change by this thread fails with -EAGAIN, having changed nothing, where it
 * would wait for room or for content that is away.
 */
void ofs_store_set_nonblocking(bool on);
bool ofs_store_is_nonblocking(void);

int ofs_store_seal(struct ofs_store *s); /* everything, now */

/* Cheap enough to ask for once a second. */
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
	/* Of the journal: its files; what waits to be sealed; the bytes from which writers wait. */
	uint64_t segments;
	uint64_t waiting, waiting_records;
	uint64_t waiting_max;
	uint64_t unsynced; /* bytes that an fsync would have to write */
	/* Sealed since the store was opened: bytes of content, and of the frames made of it. */
	uint64_t sealed;
	uint64_t sealed_stored;
	/* Also since then: how often an inode was wanted, and had to be loaded from the index. */
	uint64_t inodes_asked, inodes_loaded;
	/* How often a frame was in memory, read ahead, or loaded; the bytes of those in memory. */
	uint64_t frames_kept, frames_ahead, frames_loaded;
	uint64_t frame_bytes;
	/* Files still to be sealed or hashed, and the bytes of them in the journal. */
	uint64_t draft_files;
	uint64_t draft_bytes;
	uint64_t cached; /* inodes in memory */
	uint64_t held; /* references that callers hold */
	bool tight; /* the disk is full: only what frees space is written */
	const char *broken; /* why nothing is written until the next start; NULL: it is whole */
	bool journal_damaged; /* verification says how; a repair retires the notice */
	int error; /* -errno of a sync that failed, or else of the last sealing; 0: none */
};
int ofs_store_stats(struct ofs_store *s, struct ofs_store_stats *ret);

/*
 * Figures of the store's disk, in blocks of 4096 bytes. A reserve that is still to be set aside is
 * not available. Inodes are counted as if all free space were used for them.
 */
int ofs_store_statfs(struct ofs_store *s, struct statvfs *ret);
