/* SPDX-License-Identifier: MIT */
/*
 * The interface for replication: reading the log as it grows, the index as a set of pages and the
 * content of packs, and supplying content that is not on this disk. The functions may be called
 * from any thread, but those of the log and of snapshots from one at a time.
 */
#pragma once

#include "base/buf.h"
#include "index/index.h"
#include "journal/journal.h"
#include "store/store.h"

const uint8_t *ofs_store_uuid(const struct ofs_store *s);

/* ---- content elsewhere */

/*
 * Brings `len` bytes from `at` on of those in an object. 0; -ENOENT: there is no such object; any
 * other error: it cannot be had now. It may take a while, but not for ever.
 */
typedef int (*ofs_object_get_fn)(void *arg, const struct ofs_index_object *object, uint64_t at,
				 void *buf, size_t len);

/*
 * Frames that are not on this disk are had from there. Before anything is read: what the owner of
 * the store has for that is ofs_tree_options.opened.
 */
void ofs_store_set_objects(struct ofs_store *s, ofs_object_get_fn get, void *arg);

/* Before that: `room` is called whenever something is about to be brought, and may evict frames. */
void ofs_store_set_room(struct ofs_store *s, void (*room)(void *arg));

/*
 * Gives back what objects with an id up to `durable` have, used longest ago first, until packs take
 * `keep` bytes on this disk; *ret_left is what they take then. Waits for sealing, unless it is the
 * sealing thread that brings what it reads.
 */
int ofs_store_evict_frames(struct ofs_store *s, uint64_t keep, uint64_t durable,
			   uint64_t *ret_left);

/*
 * Packs are to take `max` bytes on this disk (0: no bound). While they take more, `crowded` is
 * called, with no lock held, before anything is sealed: it may wait for room. From then on `max`
 * alone may change.
 */
void ofs_store_bound_packs(struct ofs_store *s, uint64_t max, void (*crowded)(void *arg),
			   void *arg);

/*
 * Reads all frames, and brings those that are not here. `progress` is called now and then with how
 * many bytes of content of how many that were. `problem` (may be NULL) is told what an object should
 * have and does not, with why; without it that is an error. What is damaged here and in no object is
 * none of its business.
 */
int ofs_store_bring_all(
	struct ofs_store *s, void (*progress)(void *arg, uint64_t done, uint64_t total),
	void (*problem)(void *arg, const struct ofs_index_object *object, int error), void *arg);

/*
 * Forgets all objects, once what was brought is durable: content that is not here is lost, and
 * another remote gets everything.
 */
int ofs_store_forget_objects(struct ofs_store *s);

/* ---- the log */

/*
 * Appends what was logged from `from` up to `limit`, a record's border, to `ret`: some `max` bytes,
 * durable here by then, as ofs_journal_export() has it. *ret_to is `from` when there is nothing
 * new. -ESTALE: some of it is gone; -EUCLEAN: it is damaged.
 */
int ofs_store_export_log(struct ofs_store *s, ofs_lsn from, ofs_lsn limit, size_t max,
			 struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment);

/*
 * Calls `fn` for each inode that records from `from` on have made, written or labelled, perhaps more
 * than once. -EUCLEAN: the log begins after `from`.
 */
int ofs_store_list_changed(struct ofs_store *s, ofs_lsn from, int (*fn)(void *arg, uint64_t ino),
			   void *arg);

/* The end of the log now, and that of its last record: nothing that matters lies between. */
ofs_lsn ofs_store_log_end(struct ofs_store *s);
ofs_lsn ofs_store_log_tail(struct ofs_store *s);

/*
 * Calls `fn` when the next record is logged or content is sealed, once, with locks held: it may only
 * wake somebody. NULL: no more.
 */
void ofs_store_watch(struct ofs_store *s, void (*fn)(void *arg), void *arg);

/*
 * Keeps the log from `lsn` on (0: nothing), though the store does not need it, up to `max` bytes
 * and while there is room on the disk. Then it goes all the same.
 */
void ofs_store_hold_log(struct ofs_store *s, ofs_lsn lsn, uint64_t max);

/*
 * From now on ofs_store_sync() calls `wait` when all before `lsn` is durable here, and returns what
 * it does. NULL: no more.
 */
void ofs_store_set_sync_hook(struct ofs_store *s, int (*wait)(void *arg, ofs_lsn lsn), void *arg);

/*
 * Goes on in a part of the log, and with numbers of inodes, that nobody has used who may have gone
 * on from the same state: the log at `lsn`. Nothing else is done with the store meanwhile.
 */
int ofs_store_leap(struct ofs_store *s, ofs_lsn lsn);

/* Ends all writing: somebody else has the store now. `why` lives as long as the store. */
void ofs_store_depose(struct ofs_store *s, const char *why);

/* ---- snapshots */

struct ofs_snapshot {
	bool changed; /* only pages that may have changed since the last one that arrived */
	/* Calls in this order; a nonzero return ends the snapshot and is returned. */
	int (*page_run)(void *arg, uint32_t first, uint32_t n, const uint8_t *pages);
	/*
	 * From which position of the log on the data of drafts is not wanted, since whoever gets the
	 * snapshot has the log from there. `data` is all of it, in order. NULL: all is wanted.
	 */
	ofs_lsn (*has_log)(void *arg, const struct ofs_journal_data *data, size_t n);
	/* The data of a record that drafts read, and the segment it lies in. */
	int (*draft)(void *arg, ofs_lsn segment, const struct ofs_journal_data *data,
		     const void *bytes);
	/* Frames behind all extents of the index. */
	int (*frame)(void *arg, const struct ofs_index_frame *f);
	void *arg;
	/* Results. */
	struct ofs_index_meta
		meta; /* of the index as it was copied; checkpoint: the log goes on there */
	uint32_t pages; /* that the index has */
};

/*
 * Makes a checkpoint and copies the index as it then is. Sealing and checkpoints wait meanwhile.
 * Until ofs_store_end_snapshot() no frame is given back, unless the disk is full, so that those it
 * names can be read.
 */
int ofs_store_begin_snapshot(struct ofs_store *s, struct ofs_snapshot *snap);

/* `arrived`: the next one need not have again what this one had. */
void ofs_store_end_snapshot(struct ofs_store *s, bool arrived);

/* Frames that lie behind all extents, in the order of their places. */
int ofs_store_list_unsent(struct ofs_store *s,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg);

/*
 * Appends the bytes of a frame, verified. -ENOENT: it was given back meanwhile; other errors: it
 * cannot be read, or is damaged.
 */
int ofs_store_copy_frame(struct ofs_store *s, const struct ofs_index_frame *f, struct ofs_buf *ret);

/*
 * Enters an object that holds these extents, durably. A follower keeps them in memory, until it is
 * reloaded with an index that has them.
 */
int ofs_store_put_object(struct ofs_store *s, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n);

/* Forgets the objects of which nothing is alive, durably, and calls `fn` for all others. */
int ofs_store_list_objects(struct ofs_store *s,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg);

/*
 * ---- following: a store that another host writes (`follow` of struct ofs_store_options). Its
 * directory has an index.db as ofs_store_begin_snapshot() gives it, which is never changed but
 * replaced by another file of that name, and the log behind it. The functions are called from one
 * thread. They tell ofs_store_options.followed what has changed.
 */

/*
 * Applies what ofs_journal_import() has put behind ofs_store_log_end(), up to `to`. When some of it
 * cannot be read or applied, the state is that after the last record that could: import it again
 * and go on, or reload. 0 or -errno, with a message; -EUCLEAN: the log is damaged or not there.
 */
int ofs_store_follow(struct ofs_store *s, ofs_lsn to, struct ofs_error *err);

/*
 * Begins again from the index.db that is there now and the log behind it, which goes on to
 * ofs_store_log_end() at least. Callers keep their references, readers see no gap; nothing is told
 * where the log ends there. Else the state is a newer one, *ret_newer, and anything may have
 * changed. A file that is held, but not there any more, can still be read while its content is. On
 * an error all is as before. -EUCLEAN: the log ends earlier.
 */
int ofs_store_reload(struct ofs_store *s, bool *ret_newer, struct ofs_error *err);

/* Segments of journal/ that lie wholly before it may be removed; index.db is what was last loaded. */
int ofs_store_log_needed(struct ofs_store *s, ofs_lsn *ret);
