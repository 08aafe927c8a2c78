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

/* Frames that are not on this disk are had from there. Before anything is read. */
void ofs_store_set_objects(struct ofs_store *s, ofs_object_get_fn get, void *arg);

/*
 * Gives back what objects with an id up to `durable` have, used longest ago first, until packs take
 * `keep` bytes on this disk; *ret_left is what they take then.
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
 * Brings all content here that is not. `progress` is called now and then with how many bytes of
 * content of how many it has looked at. -EIO: some cannot be had.
 */
int ofs_store_bring_all(struct ofs_store *s,
			void (*progress)(void *arg, uint64_t done, uint64_t total), void *arg);

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

/* The end of the log now. */
ofs_lsn ofs_store_log_end(struct ofs_store *s);

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

/* Enters an object that holds these extents, durably. */
int ofs_store_put_object(struct ofs_store *s, const struct ofs_index_object *object,
			 const struct ofs_index_extent *extents, size_t n);

/* Forgets the objects of which nothing is alive, durably, and calls `fn` for all others. */
int ofs_store_list_objects(struct ofs_store *s,
			   int (*fn)(void *arg, const struct ofs_index_object *o), void *arg);
