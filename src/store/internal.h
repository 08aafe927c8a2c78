/* SPDX-License-Identifier: MIT */
/*
 * The inside of the store, shared by the files of this folder.
 *
 * Locks, in the order in which they are taken:
 *   cycle    one sealing and checkpoint cycle at a time
 *   reclaim  shared by whoever turns a content map into bytes, from reading the map to having the
 *            bytes; exclusive while space that no map names any more is given back (punched
 *            frames, trimmed segments)
 *   lock     everything in memory below, and the order of journal records. Held for the time of an
 *            append, never while waiting for a disk to sync
 *   the locks inside journal, packs and index, and that of the reserve
 *
 * Epochs: every change of memory is stamped with `epoch`. A checkpoint takes all that is stamped
 * and raises `epoch`; once committed, `committed` becomes the epoch it took. A thing is dirty while
 * its stamp is above `committed`, so a checkpoint that fails has nothing to undo.
 */
#ifndef OFS_STORE_INTERNAL_H
#define OFS_STORE_INTERNAL_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "index/index.h"
#include "journal/journal.h"
#include "pack/pack.h"
#include "store/inode.h"
#include "store/packer.h"
#include "store/record.h"
#include "store/store.h"
#include "store/tombstone.h"

struct ofs_inode_list {
	struct ofs_inode **list;
	size_t n;
	size_t cap;
};

/* The content of an inode, or of all below it, may be in the wrong class since `epoch`. */
struct ofs_mark {
	uint64_t ino;
	uint64_t epoch;
};

struct ofs_store {
	/* Set at open, constant afterwards. */
	int dirfd;
	int lockfd;
	int journal_fd;
	int packs_fd;
	uint8_t uuid[16];
	struct ofs_journal *journal;
	struct ofs_packset *packs;
	struct ofs_index *index;
	uint32_t seal_delay_ms;
	uint32_t scrub_ms;
	uint64_t journal_max;
	uint32_t (*classify)(void *arg, uint64_t top, uint64_t second);
	void (*attr_changed)(void *arg, uint64_t ino);
	void *events_arg;
	int64_t age_start; /* the age clock (age.c) when the boot clock was at boot_start */
	int64_t boot_start;

	pthread_mutex_t cycle;
	struct ofs_compressor *compressor; /* cycle */
	uint64_t next_chunk; /* cycle */
	uint64_t scrubbed; /* the frame that was read back last; cycle */
	/*
	 * The packs' tail is not the one that the index knows: frames were appended and not
	 * committed. Until they are cut off nothing is appended, and no pack is removed. cycle.
	 */
	bool strays;
	bool uncertain; /* a commit to the index failed: a start may find that it did not; cycle */

	pthread_rwlock_t reclaim;

	/* The room that is set aside for a full disk (reserve.c); taken with any of the others held. */
	pthread_mutex_t reserve_lock;
	bool reserved; /* it is there; reserve_lock */
	int64_t reserve_tried; /* when it was last tried to set it aside; reserve_lock */
	atomic_bool
		tight; /* it is used: only what frees space may be written; changed under reserve_lock */

	pthread_mutex_t lock;
	/* All guarded by `lock`. */
	struct ofs_map inodes; /* ino -> struct ofs_inode */
	struct ofs_map refs; /* ino -> how many references callers hold, as a pointer-sized number */
	struct ofs_inode_list dirty; /* inodes with a stamp above `committed` */
	struct ofs_inode_list drafts; /* inodes whose content changed since it was sealed */
	struct ofs_mark *marks; /* not yet in the index */
	size_t nmarks, cap_marks;
	uint64_t epoch;
	uint64_t committed;
	uint64_t next_ino;
	uint64_t next_version;
	struct ofs_index_counts counts; /* of all inodes that have a name */
	struct ofs_map tombstones; /* ino -> struct ofs_tombstone, until it is in the index */
	int64_t kept_age; /* what the index knows of the age clock, and the wall clock then */
	int64_t kept_wall;
	uint64_t held; /* the sum of `refs` */
	int64_t dirty_since; /* monotonic; 0 while nothing is dirty */
	bool replaying; /* unlinked inodes are kept: a later record may still write to one */
	bool broken; /* memory and journal disagree: only reads from now on */
	bool closing; /* nobody else has the store any more */

	/* The sealer's thread; `stop` and `work` are guarded by `lock`. */
	pthread_t sealer;
	bool sealer_runs;
	pthread_cond_t sealer_wake;
	bool stop;
	/* All guarded by `lock`. */
	pthread_cond_t room; /* a cycle or a checkpoint has ended */
	uint64_t cycles; /* how many have ended */
	int cycle_error; /* of the last one */
	atomic_int sync_error; /* of the journal; it stays */
	uint64_t *changed; /* inodes whose attributes the kernel is to be told of */
	size_t nchanged, cap_changed;
	/* For a full disk; all guarded by `lock`. */
	bool squeezed; /* a writer waits for room to be made */
	uint64_t squeezes; /* how often room was made */
	uint64_t changes; /* records logged by this run */
	uint64_t moves; /* of those, what changes where something is or how it is labelled */
	uint64_t squeezed_changes; /* how many it were when room was made last */
	bool verifying; /* guarded by `lock` */
	bool unsettled; /* there may be something to repack; guarded by `lock` */
};

/* ---- inode table (table.c); all with `lock` held */

/* The inode in memory, loaded from the index if need be. -ENOENT: there is none, or it is gone. */
int ofs_store_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same with its entries loaded; -ENOTDIR. */
int ofs_store_dir(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for a regular file with its blocks loaded; -EISDIR, -EINVAL. */
int ofs_store_file(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* The same for any inode with its extended attributes loaded. */
int ofs_store_xattrs(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret);

/* A new inode enters the table. */
struct ofs_inode *ofs_store_add_inode(struct ofs_store *s, uint64_t ino);

/* An inode has got its first name, or lost its last; it still has the size that counted. */
void ofs_store_count(struct ofs_store *s, const struct ofs_inode *n, bool named);

/* A regular file, with a name or not, gets another size. */
void ofs_store_set_size(struct ofs_store *s, struct ofs_inode *n, uint64_t size);

/* Stamps the inode as changed now. */
void ofs_store_touch(struct ofs_store *s, struct ofs_inode *n);

/* The content changed: it gets a new version and is to be sealed again. */
void ofs_store_content_changed(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_ref(struct ofs_store *s, uint64_t ino, uint64_t n);
uint64_t ofs_store_unref(struct ofs_store *s, uint64_t ino, uint64_t n); /* what is left */
uint64_t ofs_store_refs(struct ofs_store *s, uint64_t ino);

/* Nothing names the inode and nobody holds it: it goes with the next checkpoint. */
void ofs_store_drop_inode(struct ofs_store *s, struct ofs_inode *n);

void ofs_store_attr(struct ofs_store *s, const struct ofs_inode *n, struct ofs_attr *ret);
void ofs_inode_list_add(struct ofs_inode_list *l, struct ofs_inode *n);

/* Drops clean inodes from memory when there are many; afterwards no inode pointer is valid. */
void ofs_store_evict(struct ofs_store *s);

/* ---- names of an inode (name.c) */

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
 * The only name of an inode that has one, through its parent, into the empty `ret`; `lock` held. 1:
 * it has several, or that one is elsewhere: they have to be gathered.
 */
int ofs_names_sole(struct ofs_store *s, const struct ofs_inode *n, struct ofs_names *ret);

/*
 * All names into the empty `ret`, with no lock held; only ofs_names_are_all() tells whether that is
 * still so. -ENOENT.
 */
int ofs_names_gather(struct ofs_store *s, uint64_t ino, struct ofs_names *ret);

/* Whether these are the names of an inode now, and all of them; `lock` held. */
bool ofs_names_are_all(struct ofs_store *s, const struct ofs_inode *n, const struct ofs_names *l);

/* ---- the age clock (age.c) */

/* Begins it where the index, and the time since, say. */
void ofs_age_open(struct ofs_store *s, const struct ofs_index_meta *meta);

/* Sets what a checkpoint is to keep of it, and, once that is committed, remembers it; `lock` held. */
void ofs_age_take(struct ofs_store *s, struct ofs_index_meta *meta);
void ofs_age_kept(struct ofs_store *s, const struct ofs_index_meta *meta);

/* Whether the index lacks what the next start has to know of it. */
bool ofs_age_is_to_be_closed(struct ofs_store *s);

/* A record made at `time` changes the inode: that is its last use. `lock` held. */
void ofs_store_changed(struct ofs_store *s, struct ofs_inode *n, int64_t time);

/* ---- applying records (apply.c); `lock` held */

/*
 * Applies a record to memory. Live, everything it needs was loaded before the record was appended,
 * so it cannot fail; in replay it loads as it goes.
 */
int ofs_store_apply(struct ofs_store *s, ofs_lsn lsn, const struct ofs_record *r,
		    const struct ofs_journal_data *data);

/* Appends a record and applies it. */
int ofs_store_log(struct ofs_store *s, const struct ofs_record *r, const void *data, size_t len);

/* ofs_store_zero() with the lock held, on a file that is loaded; with `grow` within OFS_SIZE_MAX. */
int ofs_store_zero_locked(struct ofs_store *s, struct ofs_inode *n, uint64_t off, uint64_t len,
			  bool grow);

/* ---- content (read.c) */

/* Where the packs have what the index speaks of. */
static inline struct ofs_frame_loc ofs_loc_of_frame(const struct ofs_index_frame *f)
{
	return (struct ofs_frame_loc){ f->pack, f->off, f->stored, f->raw };
}

static inline struct ofs_frame_loc ofs_loc_of_chunk(const struct ofs_index_chunk *c)
{
	return (struct ofs_frame_loc){ c->pack, c->frame_off, c->frame_stored, c->frame_raw };
}

/*
 * Reads regardless of file size limits of the caller; takes the locks itself. `ret_version` may be
 * NULL. -EIO: damaged; -OFS_EREAD: reading it failed.
 */
ssize_t ofs_store_read_version(struct ofs_store *s, uint64_t ino, void *buf, size_t size,
			       uint64_t off, uint64_t *ret_version);

/* What a block was when it was read. */
struct ofs_block_state {
	uint64_t version; /* of the file */
	uint64_t drafts; /* fingerprint of those in the block */
	uint64_t chunk; /* what they lie over; 0: a hole */
	struct ofs_extent *lost; /* what could not be read */
	size_t nlost, cap_lost;
};

/*
 * Reads block `i` of a file for the sealer: what is damaged becomes zeros and is listed. Returns the
 * length; -ESTALE: the file ends before; -OFS_EREAD: reading failed. ofs_block_state_finish() frees
 * *ret.
 */
ssize_t ofs_store_read_block(struct ofs_store *s, uint64_t ino, uint64_t i, uint8_t *buf,
			     struct ofs_block_state *ret);
void ofs_block_state_finish(struct ofs_block_state *st);

/* ---- sealing (seal.c), checkpoints (checkpoint.c), repacking (repack.c); `cycle` held */

/* Chunks and inodes that a cycle has sealed, to be committed by its checkpoint. */
struct ofs_seal_batch;

/* Which drafts a batch is for. */
struct ofs_seal_when {
	int64_t now; /* monotonic; what was written later waits */
	int64_t delay; /* how long before that a file is to have been quiet; 0: seal it for good */
	bool pressed; /* the journal is too long: quiet or not */
};

/* Whether there is a file to be sealed or hashed; `lock` held. */
bool ofs_seal_is_due(struct ofs_store *s, const struct ofs_seal_when *when);

/*
 * Seals what is due, up to some amount, and commits the new chunks to the index. Returns how many
 * files that brought further, or -errno.
 */
int ofs_seal_collect(struct ofs_store *s, const struct ofs_seal_when *when,
		     struct ofs_seal_batch **ret);
void ofs_seal_batch_destroy(struct ofs_seal_batch *b);

/*
 * Puts the sealed blocks in the place of the drafts, where the content is still the same; `lock`
 * held.
 */
void ofs_seal_install(struct ofs_seal_batch *b);

/* Commits memory to the index; `batch` may be NULL. */
int ofs_store_checkpoint(struct ofs_store *s, struct ofs_seal_batch *batch);

/* Removes journal segments that nothing needs; `idle`: also those with room left. */
int ofs_store_trim(struct ofs_store *s, bool idle);

/* Gives back what no map names any more. */
int ofs_store_reclaim(struct ofs_store *s);

/*
 * Moves content to where it belongs: into frames of the class that its files are in now, at that
 * class's density, and out of frames that hold little. Each call does a part; returns how many
 * frames it wrote, 0 when there is nothing to do. With `settle` also small remainders are joined,
 * for times when nothing else happens.
 */
int ofs_store_repack(struct ofs_store *s, bool settle);

/* Memory follows the charges that the index has moved, and the kernel with the next telling. */
void ofs_store_refresh_charges(struct ofs_store *s);

/*
 * Tells the kernel, through the store's owner, which attributes have changed. With no lock held at
 * all: the kernel may have to write to us before it can answer.
 */
void ofs_store_tell(struct ofs_store *s);

/*
 * The content of the inode, or of all below it, may be in the wrong class: always, or when the two
 * directories, between which it moved, are of different ones. `lock` held.
 */
void ofs_store_mark(struct ofs_store *s, uint64_t ino);
void ofs_store_mark_moved(struct ofs_store *s, uint64_t ino, uint64_t from, uint64_t to);

/* The class that the content of an inode belongs to now; takes `lock`. */
uint32_t ofs_store_class(struct ofs_store *s, uint64_t ino);

/* Lays the drafts that the index knows over their files: for memory that holds nothing yet. */
int ofs_store_load_drafts(struct ofs_store *s);

/* ---- reading back (verify.c, scrub.c) */

/*
 * Reads a frame and looks at every chunk that should be in it. -EIO: some of it is not what it
 * should be, and the frame is remembered as bad (or, 0, as good again).
 */
int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks);

/* -EIO unless every chunk that the index has in the frame is in its content. */
int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    const struct ofs_frame_content *content);

/* Reads the next frame back; 0 after the last one, else 1. */
int ofs_store_scrub(struct ofs_store *s);

/* ---- a full disk (reserve.c) */

/* Whether that is what an error says. */
bool ofs_store_is_full(int r);

/* Sets room aside; where there is none, the store is tight from now on. */
void ofs_reserve_fill(struct ofs_store *s);

/* Gives that room up. True when there was any, so that trying again makes sense. */
bool ofs_reserve_release(struct ofs_store *s);

/* Whether nothing may be written but what frees space; looks from time to time whether it may. */
bool ofs_reserve_is_tight(struct ofs_store *s);

void ofs_reserve_remove(struct ofs_store *s);

/* How much of what is free on the disk is still to be set aside. */
uint64_t ofs_reserve_missing(struct ofs_store *s);

/* ---- the cycle (sealer.c) */

/* One cycle: seal what is due, checkpoint, reclaim. */
int ofs_store_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool always_checkpoint);

void ofs_sealer_stop(struct ofs_store *s);

/* ---- room in the journal, and on the disk (room.c) */

/* Whether the journal is longer than it should be. */
bool ofs_store_is_pressed(struct ofs_store *s);

/*
 * For writers, before they take any lock: waits while the journal is too long. -ENOSPC or another
 * error when the sealer cannot make it shorter.
 */
int ofs_store_wait_for_room(struct ofs_store *s);

/*
 * For writers that found the disk full, before they take any lock: gives back what can be given
 * back. Whether that is worth another try.
 */
bool ofs_store_make_room(struct ofs_store *s);

/* Whether the daemon is about to end: what is not sealed yet stays a draft. */
bool ofs_store_is_stopping(struct ofs_store *s);

#endif
