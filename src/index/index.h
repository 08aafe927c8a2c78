/* SPDX-License-Identifier: MIT */
/*
 * The index: one SQLite database that holds the committed state of the store up to a position of
 * the journal. Only src/index/ speaks SQL. SQLite's codes become -errno here (SQLITE_FULL: -ENOSPC,
 * SQLITE_NOMEM: -ENOMEM, corruption: -EUCLEAN, most others: -EIO).
 *
 * There is one connection, with WAL, exclusive locking and synchronous=FULL. Every call may come
 * from any thread. The lock of the connection is held for one statement at a time, so reads
 * continue between the statements of a write transaction. One thread at a time may have a write
 * transaction. A read during a transaction sees what that transaction has written so far.
 *
 * Callbacks run under the lock of the connection, so they must not call the index and should be
 * short, unless the function says otherwise. What a callback receives is valid until it returns.
 */
#pragma once

#include <offloadfs/error.h>
#include "base/ledger_entry.h"

#include "base/buf.h"
#include "base/class.h"

#define OFS_INDEX_FORMAT 7
#define OFS_INDEX_FORMAT_OLD 2 /* the oldest format that is upgraded on opening */

/* A frame with fewer live bytes than this is worth rewriting together with others. */
#define OFS_FRAME_LOOSE 131072
#define OFS_FRAME_LOOSE_DENSE 524288

struct ofs_index;

/*
 * Counts of inodes that have a name, by type, and of tombstones. `bytes` is the sum of the sizes of
 * the regular files.
 */
struct ofs_index_counts {
	uint64_t files;
	uint64_t dirs;
	uint64_t others;
	uint64_t bytes;
	uint64_t tombstones; /* rows of that table */
};

/* Facts about the whole store. */
struct ofs_index_meta {
	uint8_t uuid[16];
	uint64_t checkpoint; /* journal position; everything before it is in the index */
	uint64_t next_ino;
	uint64_t next_chunk;
	uint32_t pack; /* the pack being appended to; 0 before the first */
	uint64_t pack_size; /* its committed size */
	/*
	 * Chunks from this id on may be without a reference, because their writer died before it
	 * used them; 0: none. See ofs_index_delete_unused().
	 */
	uint64_t unused_from;
	uint64_t scrubbed; /* the last frame that the scrub has read */
	struct ofs_index_counts counts; /* maintained by the caller */
	/*
	 * The age clock of the store and the wall clock at the same moment, in nanoseconds since
	 * 1970.
	 */
	int64_t age;
	int64_t age_wall;
	int64_t wall_high; /* the highest age_wall so far; 0: not known yet */
	int64_t ref_seed; /* scrambles the refs of the store; 0: an older store, without a seed */
};

struct ofs_index_inode {
	uint64_t ino;
	uint64_t parent; /* the directory of its latest name; 0: the root, or an orphan */
	uint32_t mode; /* type and permissions, as in st_mode */
	uint32_t uid;
	uint32_t gid;
	uint32_t nlink;
	uint64_t rdev;
	uint64_t size;
	int64_t atime, mtime, ctime, btime; /* nanoseconds since 1970 */
	int64_t used; /* last use, on the age clock; stored in whole seconds */
	uint64_t stored; /* bytes charged to it in packs */
	int64_t lines; /* newline characters; -1: not counted */
	int64_t tokens; /* an estimate; -1: not made */
	bool has_sha; /* false while the hash of the whole content is unknown */
	uint8_t sha[32];
	char *target; /* of a symbolic link, else NULL; allocated, the receiver frees it */
};

struct ofs_index_dirent {
	const char *name; /* borrowed; any bytes but '/' and NUL */
	uint64_t ino;
	uint8_t type; /* DT_* */
	uint64_t cookie; /* grows with every entry; a readdir position */
};

/*
 * A frame holds content of one class (base/class.h): content with a similar expected lifetime,
 * stored at the same density.
 */
struct ofs_index_frame {
	uint64_t id;
	uint32_t pack;
	uint64_t off;
	uint32_t stored; /* bytes in the pack */
	uint32_t raw; /* bytes of content */
	uint32_t live; /* live chunks */
	uint32_t held; /* bytes of the live chunks */
	uint32_t class;
	bool dense;
	bool bad; /* cannot be read */
};

/* A chunk and its place. */
struct ofs_index_chunk {
	uint64_t id;
	uint8_t sha[32];
	uint32_t pack;
	uint64_t frame_off;
	uint32_t frame_stored;
	uint32_t frame_raw;
	uint32_t off; /* in the expanded frame */
	uint32_t len;
	uint32_t lines;
	uint64_t bearer; /* the inode that is charged for it; 0: the chunk is dead */
	uint32_t class; /* of its frame */
	bool dense; /* of its frame */
	bool bad; /* its frame cannot be read */
};

/* data_pos of lost content, which cannot be read until it is written again. */
#define OFS_INDEX_LOST_POS 1

/* Content of a file that is still in the journal: `len` bytes at `off` of the file. */
struct ofs_index_draft {
	uint64_t ino;
	uint64_t off;
	uint64_t len;
	uint64_t data_pos; /* 0: a hole, reads as zeros; or OFS_INDEX_LOST_POS */
	uint32_t data_len; /* length of all the data of the journal record */
	uint32_t data_off; /* where in that data this extent starts */
};

/*
 * Opens `path` (a file name; SQLite's own system calls are the one exception to src/io), or creates
 * it with `fresh` as its meta. With `fresh` NULL a missing file is -ENOENT. An older format that is
 * known is upgraded to OFS_INDEX_FORMAT. -EINVAL: not an index, or a newer format; `err` says which
 * format was found and which are known. -EBUSY: another process has it.
 */
int ofs_index_open(const char *path, const struct ofs_index_meta *fresh, struct ofs_error *err,
		   struct ofs_index **ret);

/*
 * Opens an index that is only read and that nobody changes while it is open. Writes nothing, takes
 * no lock and ignores a write-ahead log beside it. Another file may take its name meanwhile.
 */
int ofs_index_open_fixed(const char *path, struct ofs_error *err, struct ofs_index **ret);

void ofs_index_close(struct ofs_index *ix);

/* Exchanges two open indexes of the same store. Only `ix` may be in use. */
void ofs_index_swap(struct ofs_index *ix, struct ofs_index *other);

/* ---- reads: a callback's nonzero return ends the walk and is returned */
int ofs_index_get_meta(struct ofs_index *ix, struct ofs_index_meta *ret);
int ofs_index_get_inode(struct ofs_index *ix, uint64_t ino,
			struct ofs_index_inode *ret); /* -ENOENT */
/* Lists the inodes from `first` to `last`, in order. `fn` takes over in->target. */
int ofs_index_list_inodes(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, const struct ofs_index_inode *in), void *arg);
/* The inode that an entry of a directory names. -ENOENT: there is no such entry. */
int ofs_index_get_dirent(struct ofs_index *ix, uint64_t dir, const char *name, uint64_t *ret);
int ofs_index_list_dir(struct ofs_index *ix, uint64_t dir,
		       int (*fn)(void *arg, const struct ofs_index_dirent *e),
		       void *arg); /* in no order */
int ofs_index_list_blocks(struct ofs_index *ix, uint64_t ino,
			  int (*fn)(void *arg, uint64_t block, const struct ofs_index_chunk *c),
			  void *arg); /* by block; -EUCLEAN: a chunk or its frame is missing */
/*
 * Lists the first block of each inode from `first` to `last` that has one: all of a small file. By
 * inode; -EUCLEAN as above.
 */
int ofs_index_list_firsts(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, uint64_t ino, const struct ofs_index_chunk *c),
			  void *arg);
int ofs_index_list_drafts(struct ofs_index *ix,
			  int (*fn)(void *arg, const struct ofs_index_draft *d),
			  void *arg); /* by ino, then off */
/*
 * Appends the extended attributes (base/xattr.h) of an inode, if it has any, to the empty `ret`.
 * -EUCLEAN: damaged.
 */
int ofs_index_get_xattrs(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret);
/* Lists the inodes above `after` that have extended attributes and a name, in order. */
int ofs_index_list_labelled(struct ofs_index *ix, uint64_t after,
			    int (*fn)(void *arg, uint64_t ino), void *arg);
/* Lists the regular files below `before` that have a name, the newest first. */
int ofs_index_list_files(struct ofs_index *ix, uint64_t before, int (*fn)(void *arg, uint64_t ino),
			 void *arg);
/*
 * Lists the names of `ino` and their directories. Reads every entry, a thousand at a time: names
 * that are written meanwhile may be missed. `fn` does not run under the lock and may call the
 * index.
 */
int ofs_index_list_names(struct ofs_index *ix, uint64_t ino,
			 int (*fn)(void *arg, uint64_t dir, const char *name), void *arg);
int ofs_index_list_orphans(struct ofs_index *ix, int (*fn)(void *arg, uint64_t ino),
			   void *arg); /* nlink = 0 */
int ofs_index_find_chunk(struct ofs_index *ix, const uint8_t sha[32],
			 struct ofs_index_chunk *ret); /* live chunks only; -ENOENT */
int ofs_index_get_chunk(struct ofs_index *ix, uint64_t id,
			struct ofs_index_chunk *ret); /* -ENOENT */
/* Lists the files that hold the chunk. A file that holds it twice may be listed twice. */
int ofs_index_list_holders(struct ofs_index *ix, uint64_t chunk, int (*fn)(void *arg, uint64_t ino),
			   void *arg);
/* The first file with a number above `after` that has more than one block. -ENOENT: none. */
int ofs_index_next_long(struct ofs_index *ix, uint64_t after, uint64_t *ret_ino);
/* Bytes of content in live frames, and in files larger than `block` bytes. */
int ofs_index_totals(struct ofs_index *ix, uint64_t block, uint64_t *ret_frames,
		     uint64_t *ret_long);
/* The first frame with an id above `after`. -ENOENT: none. */
int ofs_index_next_frame(struct ofs_index *ix, uint64_t after, struct ofs_index_frame *ret);
int ofs_index_get_frame(struct ofs_index *ix, uint64_t id,
			struct ofs_index_frame *ret); /* -ENOENT */
/* Lists the live chunks of a frame. Reads every chunk of the index. */
int ofs_index_list_chunks(struct ofs_index *ix, uint64_t frame,
			  int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg);
/*
 * Lists frames worth rewriting, by class and id: those that hold few live bytes for their density
 * (OFS_FRAME_LOOSE, OFS_FRAME_LOOSE_DENSE), and those of classes from OFS_CLASS_DENSE on that are
 * not dense. Frames that cannot be read are left out.
 */
int ofs_index_list_due(struct ofs_index *ix, int (*fn)(void *arg, const struct ofs_index_frame *f),
		       void *arg);
/* Lists at most `max` inodes with a mark. */
int ofs_index_list_marks(struct ofs_index *ix, size_t max, int (*fn)(void *arg, uint64_t ino),
			 void *arg);
/*
 * Appends the record kept of a removed inode to the empty `ret`, and sets *ret_removed to the time
 * of its removal in seconds since 1970. -ENOENT.
 */
int ofs_index_get_tombstone(struct ofs_index *ix, uint64_t ino, struct ofs_buf *ret,
			    int64_t *ret_removed);
/* The first number of an inode or a tombstone from `from` on; UINT64_MAX: none. */
int ofs_index_first_number(struct ofs_index *ix, uint64_t from, uint64_t *ret);
int ofs_index_count(struct ofs_index *ix, uint64_t *ret_inodes,
		    uint64_t *ret_bytes); /* regular files and the sum of their sizes */
int ofs_index_disk_usage(struct ofs_index *ix, uint64_t *ret); /* bytes of database and WAL */

/*
 * Empties the WAL into the database and returns the space of deleted rows to the filesystem. For
 * quiet moments, outside a write transaction (else -EINVAL). Holds the lock of the connection
 * throughout.
 */
int ofs_index_checkpoint(struct ofs_index *ix);

/* Does the same, and compacts a small database. For when the store is idle. */
int ofs_index_settle(struct ofs_index *ix);

/*
 * Checks the consistency of the index and, with `repair` (inside a write transaction), repairs what
 * can be derived from the rest. Takes long. A repair holds the lock for each single check; else
 * the file is opened once more, so that readers of the index go on. The caller keeps writers out.
 *
 * Calls `problem(arg, ino, what, repaired)` for each finding, not under the lock. `ino` is the file
 * concerned, or 0; `what` is one line. About a thousand findings of a kind are reported one by one.
 * A repair may cause a later finding: a directory that lost an entry has a link too many.
 *
 * With `repair`, files without a name get their number as a name in the directory `lost_dir`. If
 * that is 0 or cannot be reached from the root, they stay nameless but keep their content. Lost
 * content becomes drafts with OFS_INDEX_LOST_POS. After a repair the caller's cached rows are
 * outdated.
 *
 * Returns 0 however many problems there are. -EUCLEAN: b-trees are damaged, so rows may only seem
 * to be missing; nothing is repaired from there on, and the transaction can only be rolled back.
 */
int ofs_index_check(struct ofs_index *ix, bool repair, uint64_t lost_dir,
		    void (*problem)(void *arg, uint64_t ino, const char *what, bool repaired),
		    void *arg);

/*
 * One write transaction. Writes outside of one are -EINVAL. After an error only
 * ofs_index_rollback() is allowed: later writes return the same error again, and so does
 * ofs_index_commit(), which then rolls back.
 */
int ofs_index_begin(struct ofs_index *ix);
int ofs_index_commit(struct ofs_index *ix); /* durable when it returns 0; an error rolls back */
void ofs_index_rollback(struct ofs_index *ix);
/* Commits if `r` is 0; otherwise rolls back and returns `r`. */
int ofs_index_end(struct ofs_index *ix, int r);

/* Recomputes the counts in the meta from the rows. Reads every inode. */
int ofs_index_recount(struct ofs_index *ix);

int ofs_index_put_meta(struct ofs_index *ix, const struct ofs_index_meta *meta);

/*
 * Takes `stored` from the row only if it is new. Later only changes of blocks and frames affect it.
 */
int ofs_index_put_inode(struct ofs_index *ix, const struct ofs_index_inode *row);

/* Replaces all extended attributes of an inode. An empty list removes them. */
int ofs_index_set_xattrs(struct ofs_index *ix, uint64_t ino, const void *list, size_t len);

/*
 * Removes the inode with its blocks (as ofs_index_set_block() with chunk 0), drafts, extended
 * attributes and mark. An unknown one is not an error.
 */
int ofs_index_delete_inode(struct ofs_index *ix, uint64_t ino);

int ofs_index_put_dirent(struct ofs_index *ix, uint64_t dir, const struct ofs_index_dirent *e);
int ofs_index_delete_dirent(struct ofs_index *ix, uint64_t dir, const char *name);

/*
 * Adds a frame without chunks. Uses pack, off, stored, raw, class and dense of `frame`. -EEXIST:
 * there is a frame at that place already.
 */
int ofs_index_put_frame(struct ofs_index *ix, const struct ofs_index_frame *frame,
			uint64_t *ret_id);

/*
 * Adds a chunk without references to frame `frame`. Uses id, sha, off, len and lines of `c`.
 * -EEXIST: the id is taken; -EINVAL: the chunk is empty or does not fit into the frame; -ENOENT: no
 * such frame.
 */
int ofs_index_put_chunk(struct ofs_index *ix, uint64_t frame, const struct ofs_index_chunk *c);

/*
 * Moves chunk `id` to `off` of frame `frame`, where a copy of it was written, and adjusts the
 * charge of its bearer. -ENOENT: no such chunk or frame, or the chunk is dead; -EUCLEAN: it does
 * not fit there.
 */
int ofs_index_move_chunk(struct ofs_index *ix, uint64_t id, uint64_t frame, uint32_t off);

/* Deletes the chunks without a reference, from id `from` on. */
int ofs_index_delete_unused(struct ofs_index *ix, uint64_t from);

/* -ENOENT: no such frame. */
int ofs_index_set_frame_bad(struct ofs_index *ix, uint64_t frame, bool bad);

/*
 * Makes `chunk` (0: a hole) the content of one block of a file and adjusts the reference counts. A
 * chunk's share of its frame is charged to one of the files that hold it (`inode.stored`): to the
 * first and, when that one releases it, to another holder. -ENOENT: no such inode (put it first) or
 * chunk.
 */
int ofs_index_set_block(struct ofs_index *ix, uint64_t ino, uint64_t block, uint64_t chunk);

/*
 * Calls `fn` once for each inode whose charge has changed since the last call because of another
 * file or a frame, except in transactions that were rolled back. Called after the commit. `fn` does
 * not run under the lock and may call the index.
 */
int ofs_index_take_recharged(struct ofs_index *ix, int (*fn)(void *arg, uint64_t ino), void *arg);

/* Drops all blocks at or after `block`. */
int ofs_index_truncate_blocks(struct ofs_index *ix, uint64_t ino, uint64_t block);

/*
 * A mark: the content of an inode, or of all inodes below a directory, may be in the wrong class.
 */
int ofs_index_put_mark(struct ofs_index *ix, uint64_t ino);
int ofs_index_delete_mark(struct ofs_index *ix, uint64_t ino);

/* Keeps the record `what` of an inode that was removed at `removed`, in seconds since 1970. */
int ofs_index_put_tombstone(struct ofs_index *ix, uint64_t ino, int64_t removed, const void *what,
			    size_t len);
/* Deletes the tombstones from before `removed`. Sets *ret_n to their number. */
int ofs_index_delete_tombstones(struct ofs_index *ix, int64_t removed, uint64_t *ret_n);

/* Sets the numbers of `ret`. -ENOENT: there is no such row. */
int ofs_index_get_ledger(struct ofs_index *ix, int64_t id, struct ofs_ledger_entry *ret);
int ofs_index_put_ledger(struct ofs_index *ix, int64_t id, const struct ofs_ledger_entry *e);
/* Calls `fn` under the lock for each row of day `from` or later, until it returns nonzero. */
int ofs_index_list_ledger(struct ofs_index *ix, int64_t from,
			  int (*fn)(void *arg, int64_t id, const struct ofs_ledger_entry *e),
			  void *arg);

/* Replaces all drafts of a file. */
int ofs_index_set_drafts(struct ofs_index *ix, uint64_t ino, const struct ofs_index_draft *drafts,
			 size_t n);

/*
 * Reclaiming. A frame is dead when none of its chunks has a reference. For each dead frame the
 * callback receives the widest range around it without a live frame: from the end of the live frame
 * before it (or `header`) to the start of the one after it (or the end of the last frame). Frames
 * in one range are reported once. At most `max` ranges. The callback does not run under the lock
 * and may call the index.
 */
struct ofs_index_dead {
	uint32_t pack;
	uint64_t off;
	uint64_t len;
	bool whole; /* the pack holds no live frame */
};
int ofs_index_list_dead(struct ofs_index *ix, uint64_t header, size_t max,
			int (*fn)(void *arg, const struct ofs_index_dead *d), void *arg);
/*
 * Deletes the dead frames in that range, inside a write transaction. Their ids are reused, so none
 * of their chunks may still wait for its first reference.
 */
int ofs_index_delete_dead(struct ofs_index *ix, const struct ofs_index_dead *d);

/*
 * ---- objects of the remote: copies of parts of the packs
 */

struct ofs_index_object {
	uint64_t id;
	uint32_t epoch, number; /* its name in the remote */
	uint64_t size; /* bytes of packs in it */
};

/* Bytes of a pack, and their position `at` in an object. */
struct ofs_index_extent {
	uint32_t pack;
	uint64_t off;
	uint64_t len;
	uint64_t at;
};

/*
 * Adds an object with its extents, inside a write transaction. -EEXIST: another extent begins at
 * the same place.
 */
int ofs_index_put_object(struct ofs_index *ix, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n);

/*
 * Forgets the extents that contain no frame any more and the objects without an extent, inside a
 * write transaction.
 */
int ofs_index_delete_dead_objects(struct ofs_index *ix);

/* Forgets all objects and extents, inside a write transaction. */
int ofs_index_delete_objects(struct ofs_index *ix);

/* The extent that holds the byte at `off` of a pack, and its object. -ENOENT: none. */
int ofs_index_find_extent(struct ofs_index *ix, uint32_t pack, uint64_t off,
			  struct ofs_index_extent *ret, struct ofs_index_object *ret_object);

/* Calls `fn` for each object, by id, until it returns nonzero. `fn` does not run under the lock. */
int ofs_index_list_objects(struct ofs_index *ix,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg);

/* Calls `fn` for the live frames that begin in [off, end) of a pack, until it returns nonzero. */
int ofs_index_list_frames_at(struct ofs_index *ix, uint32_t pack, uint64_t off, uint64_t end,
			     int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg);

/* Returns 1 if a frame begins there, 0 if not, or -errno. */
int ofs_index_has_frame(struct ofs_index *ix, uint32_t pack, uint64_t off);

/*
 * Calls `fn` for the live frames after the last extent, by position, until it returns nonzero,
 * which is returned.
 */
int ofs_index_list_unsent(struct ofs_index *ix,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg);

/*
 * Calls `fn` for the live frames with ids from `first` to `last` that were passed over: they lie
 * before the end of the last extent, but in none. Frames that are bad are left out.
 */
int ofs_index_list_passed(struct ofs_index *ix, uint64_t first, uint64_t last,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg);

/*
 * ---- the database as pages. Nobody may write while a copy is made, so that the file does not
 * change between the calls of `fn`.
 */

/*
 * Passes the pages of the database to `fn`, as the last commit left them, including their
 * checksums: `n` consecutive ones from number `first` (the first page is 1) at `pages`. With
 * `changed`, only those that may differ since the last ofs_index_pages_copied(). Sets *ret_pages to
 * the number of pages of the database. A nonzero return of `fn` ends the copy and is returned.
 */
int ofs_index_copy_pages(struct ofs_index *ix, bool changed,
			 int (*fn)(void *arg, uint32_t first, uint32_t n, const uint8_t *pages),
			 void *arg, uint32_t *ret_pages);

/* Says that the last copy has arrived: its pages are copied again only if they change. */
void ofs_index_pages_copied(struct ofs_index *ix);

/* The bytes charged to an inode now. A commit may change the charge. */
int ofs_index_get_stored(struct ofs_index *ix, uint64_t ino, uint64_t *ret);
