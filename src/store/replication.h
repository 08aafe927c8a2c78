/* SPDX-License-Identifier: MIT */
/*
 * What replication needs of a store: reading the log as it grows, the index as a set of pages and
 * the content of packs, and supplying content that is not on this disk. Any thread may call, but
 * the functions of the log and of snapshots only one at a time.
 */
#pragma once

#include "base/buf.h"
#include "index/index.h"
#include "journal/journal.h"
#include "store/store.h"

const uint8_t *ofs_store_uuid(const struct ofs_store *s);

/* ---- content elsewhere */

/*
 * Reads `len` bytes of an object, starting at its byte `at`. 0; -ENOENT: there is no such object;
 * any other error: it is unavailable now. May take a while, but not for ever.
 */
typedef int (*ofs_object_get_fn)(void *arg, const struct ofs_index_object *object, uint64_t at,
				 void *buf, size_t len);

/*
 * Sets where to get frames that are not on this disk. To be called before anything is read: the
 * owner of the store has ofs_tree_options.opened for that.
 */
void ofs_store_set_objects(struct ofs_store *s, ofs_object_get_fn get, void *arg);

/* To be called before that. `room` is called before a frame is brought, and may evict others. */
void ofs_store_set_room(struct ofs_store *s, void (*room)(void *arg));

/*
 * Drops frames that objects with an id up to `durable` have, least recently used first, until packs
 * take no more than `keep` bytes on this disk; *ret_left is what they take then. Waits for sealing,
 * unless the caller is the sealing thread bringing what it reads. 0 or -errno.
 */
int ofs_store_evict_frames(struct ofs_store *s, uint64_t keep, uint64_t durable,
			   uint64_t *ret_left);

/*
 * Bounds packs to `max` bytes on this disk (0: no bound). While they take more, `crowded` is called
 * before anything is sealed, with no lock held; it may wait for room. Later calls may change `max`
 * only.
 */
void ofs_store_bound_packs(struct ofs_store *s, uint64_t max, void (*crowded)(void *arg),
			   void *arg);

/*
 * Reads all frames, and brings those that are not here. Calls `progress` now and then with the
 * bytes of content done so far and in total. Calls `problem` (may be NULL) with each frame that
 * cannot be read, the object that should have it (NULL: none has it) and the positive errno.
 * Without `problem` the first such error is returned, and frames that no object has are passed
 * over.
 */
int ofs_store_bring_all(struct ofs_store *s,
			void (*progress)(void *arg, uint64_t done, uint64_t total),
			void (*problem)(void *arg, const struct ofs_index_frame *f,
					const struct ofs_index_object *object, int error),
			void *arg);

/*
 * Makes durable what was brought, then forgets all objects: content that is not here is lost, and
 * another remote gets everything. 0 or -errno.
 */
int ofs_store_forget_objects(struct ofs_store *s);

/* ---- the log */

/*
 * Appends the log from `from` on, about `max` bytes and no further than `limit` (where a record
 * ends), to `ret`, after making it durable here; the format and *ret_segment are those of
 * ofs_journal_export(). *ret_to is `from` if there is nothing new. -ESTALE: some of it is gone;
 * -EUCLEAN: it is damaged.
 */
int ofs_store_export_log(struct ofs_store *s, ofs_lsn from, ofs_lsn limit, size_t max,
			 struct ofs_buf *ret, ofs_lsn *ret_to, ofs_lsn *ret_segment);

/*
 * Calls `fn` for each inode that records from `from` on have made, written or labelled, perhaps
 * more than once. -EUCLEAN: the log begins after `from`, or lacks records.
 */
int ofs_store_list_changed(struct ofs_store *s, ofs_lsn from, int (*fn)(void *arg, uint64_t ino),
			   void *arg);

/* The end of the log, and that of its last record; nothing that matters lies between. */
ofs_lsn ofs_store_log_end(struct ofs_store *s);
ofs_lsn ofs_store_log_tail(struct ofs_store *s);

/*
 * Calls `fn` once, when the next record is logged or content is sealed. Locks are held then, so it
 * may only wake somebody. NULL: no more.
 */
void ofs_store_watch(struct ofs_store *s, void (*fn)(void *arg), void *arg);

/*
 * Keeps the log from `lsn` on (0: none of it), even if the store does not need it, up to `max`
 * bytes and while there is room on the disk; then it is removed all the same.
 */
void ofs_store_hold_log(struct ofs_store *s, ofs_lsn lsn, uint64_t max);

/*
 * From now on ofs_store_sync() calls `wait` once everything before `lsn` is durable here, and
 * returns its result. NULL: no more.
 */
void ofs_store_set_sync_hook(struct ofs_store *s, int (*wait)(void *arg, ofs_lsn lsn), void *arg);

/*
 * Continues with a part of the log, from `lsn` on, and with inode numbers that nobody who continued
 * from the same state can have used. The store must not be used meanwhile. 0 or -errno.
 */
int ofs_store_leap(struct ofs_store *s, ofs_lsn lsn);

/* Ends all writing: another host has the store now. `why` must live as long as the store. */
void ofs_store_depose(struct ofs_store *s, const char *why);

/* ---- snapshots */

struct ofs_snapshot {
	bool changed; /* only pages that may have changed since the last snapshot that arrived */
	bool passed; /* also frames that were passed over: between extents of the index */
	/* Called in this order; a nonzero return ends the snapshot and is returned. */
	int (*page_run)(void *arg, uint32_t first, uint32_t n, const uint8_t *pages);
	/*
	 * Returns the position of the log from which on the data of drafts is not wanted, as the
	 * receiver has the log from there. `data` lists all of it, in order. NULL: all is wanted.
	 */
	ofs_lsn (*has_log)(void *arg, const struct ofs_journal_data *data, size_t n);
	/* The data of a record that drafts read, and the segment in which it lies. */
	int (*draft)(void *arg, ofs_lsn segment, const struct ofs_journal_data *data,
		     const void *bytes);
	/* A frame after all extents of the index, or one that was passed over. */
	int (*frame)(void *arg, const struct ofs_index_frame *f);
	void *arg;
	/* Results. */
	struct ofs_index_meta meta; /* of the copied index; the log continues at its checkpoint */
	uint32_t pages; /* in the index */
};

/*
 * Writes a checkpoint and copies the index as it then is; sealing and checkpoints wait meanwhile.
 * Until ofs_store_end_snapshot() no frame is given back, unless the disk is full, so that those the
 * index names can be read. 0 or -errno: then there is nothing to end.
 */
int ofs_store_begin_snapshot(struct ofs_store *s, struct ofs_snapshot *snap);

/* `arrived`: the next snapshot may leave out what this one had. */
void ofs_store_end_snapshot(struct ofs_store *s, bool arrived);

/*
 * Calls `fn` for frames that lie after all extents, in the order of their places; for none while
 * frames wait for the checkpoint that refers to them, since sending later ones would pass them
 * over.
 */
int ofs_store_list_unsent(struct ofs_store *s,
			  int (*fn)(void *arg, const struct ofs_index_frame *f), void *arg);

/*
 * Appends the bytes of a frame, verified. -ENOENT: it was given back meanwhile; -EIO: it is missing
 * or damaged; -OFS_EREAD: the disk does not read it; another error (-EMFILE, -ENOMEM): it may be
 * read later.
 */
int ofs_store_copy_frame(struct ofs_store *s, const struct ofs_index_frame *f, struct ofs_buf *ret);

/*
 * Enters an object that holds these extents, durably. A follower keeps them in memory until it is
 * reloaded with an index that has them. 0 or -errno.
 */
int ofs_store_put_object(struct ofs_store *s, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n);

/* Forgets, durably, objects of which nothing is alive, and calls `fn` for all others. */
int ofs_store_list_objects(struct ofs_store *s,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg);

/*
 * ---- following: a store that another host writes (`follow` of struct ofs_store_options). Its
 * directory has an index.db as ofs_store_begin_snapshot() copies it, which is never changed but
 * replaced by another file of that name, and the log after it. One thread calls these functions,
 * which tell ofs_store_options.followed what has changed.
 */

/*
 * Applies what ofs_journal_import() has put after ofs_store_log_end(), up to `to`. If some of it
 * cannot be read or applied, the state is that after the last record before it: import it again and
 * go on, or reload. 0 or -errno, with a message; -EUCLEAN: the log is damaged or missing.
 */
int ofs_store_follow(struct ofs_store *s, ofs_lsn to, struct ofs_error *err);

/*
 * Begins again from the current index.db and the log after it, which must reach
 * ofs_store_log_end(). Callers keep their references, and readers notice nothing. If the log ends
 * there, nothing is told. If it goes on, the state is a newer one (*ret_newer), and anything may
 * have changed; a held file that it lacks can be read as long as its content is there. On an error
 * all is as before; -EUCLEAN: the log ends earlier.
 */
int ofs_store_reload(struct ofs_store *s, bool *ret_newer, struct ofs_error *err);

/*
 * *ret: segments of journal/ that lie wholly before it may be removed, if index.db is the one that
 * was loaded last. 0 or -errno.
 */
int ofs_store_log_needed(struct ofs_store *s, ofs_lsn *ret);
