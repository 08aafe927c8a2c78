/* SPDX-License-Identifier: MIT */
/*
 * The log of a store in its remote, as a chain of objects (docs/REPLICATION.md, "Protocol"):
 * reading it, appending to it, finding its end. For one thread at a time.
 */
#pragma once

#include "journal/journal.h"
#include "replica/bucket.h"
#include "replica/object_cache.h"
#include "replica/remote_object.h"

#define OFS_REMOTE_OBJECT_MAX \
	((size_t)(OFS_REMOTE_BODY_MAX + (1u << 20))) /* bytes of an object other than a pack */
#define OFS_LOG_AHEAD 16
#define OFS_WRITER_SIZE 33 /* 16 random bytes in hex and a NUL */

/* A place in the log: after object `seq`, or before the first one of the epoch if that is 0. */
struct ofs_log_place {
	uint32_t epoch;
	uint32_t seq;
	ofs_lsn lsn; /* where the log continues */
};

enum ofs_link_kind {
	OFS_LINK_DATA,
	OFS_LINK_BASE, /* the log continues at `to`, in the state of a manifest */
	OFS_LINK_FENCE, /* the log continues at `to`, in another epoch */
};

/* An object of the log. */
struct ofs_link {
	enum ofs_link_kind kind;
	char writer[OFS_WRITER_SIZE]; /* mount that made it; for a FENCE, that of the next epoch */
	ofs_lsn from, to;
	ofs_lsn segment; /* for DATA, first LSN of the segment in which it starts */
	uint32_t checkpoint; /* BASE: its manifest; DATA: the newest one of its epoch; 0: none */
	int64_t time; /* when it was made, by its writer's clock; for people only */
	struct ofs_buf log; /* for DATA */
};

void ofs_link_finish(struct ofs_link *link);

struct ofs_lineage {
	struct ofs_bucket *bucket;
	uint8_t uuid[16];
	struct ofs_object_cache *cache; /* cache of objects other than packs, or NULL */
};

/*
 * Makes the cache, if there is one, read an object ahead. Not for objects whose existence proves
 * something: they may be gone when the cache returns them.
 */
void ofs_lineage_expect(struct ofs_lineage *l, const char *key);

/* Reads ahead the OFS_LOG_AHEAD objects of the log after `at`. */
void ofs_lineage_expect_log(struct ofs_lineage *l, const struct ofs_log_place *at);

/*
 * Creates an object, or finds out that it was created. Returns 0 if it exists with these bytes;
 * -EEXIST: with other bytes; -EAGAIN: this is not known, and only the same bytes may be tried again
 * under this name. Other errors: it cannot be created.
 */
int ofs_lineage_put(struct ofs_lineage *l, const char *key, const struct ofs_buf *bytes,
		    struct ofs_error *err);

/* Reads an object other than a pack. -ENOENT; -EAGAIN: try later; -EBADMSG: damaged or wrong. */
int ofs_lineage_read(struct ofs_lineage *l, const char *key, struct ofs_error *err,
		     struct ofs_remote_object *ret);

/* Sets l->uuid to that of the store in the remote. -ENOENT: there is none. */
int ofs_lineage_read_store(struct ofs_lineage *l, struct ofs_error *err);

/* Creates the object that names the remote's store, l->uuid. -EEXIST: there is another one. */
int ofs_lineage_note_store(struct ofs_lineage *l, struct ofs_error *err);

/* Encodes an object of the log for ofs_lineage_put(). */
int ofs_link_encode(const struct ofs_lineage *l, const struct ofs_link *link, struct ofs_buf *ret);

/*
 * Reads the object of the log after `at`; at->lsn 0 allows any `from`. -ENOENT: the log ends there.
 */
int ofs_lineage_next(struct ofs_lineage *l, const struct ofs_log_place *at, struct ofs_error *err,
		     struct ofs_link *ret);

/* Returns the place after an object that comes after `at`. */
struct ofs_log_place ofs_log_place_after(const struct ofs_log_place *at,
					 const struct ofs_link *link);

/* Reads the FENCE that began an epoch. -ENOENT: the epoch has no object. */
int ofs_lineage_read_epoch(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			   struct ofs_link *ret);

/* Finds the newest epoch that has its object, and its FENCE. -ENOENT: there is none. */
int ofs_lineage_newest_epoch(struct ofs_lineage *l, struct ofs_error *err, uint32_t *ret,
			     struct ofs_link *ret_fence);

/* Creates epoch/<E> for the FENCE that begins the epoch. It may exist already. */
int ofs_lineage_note_epoch(struct ofs_lineage *l, uint32_t epoch, const struct ofs_link *fence,
			   struct ofs_error *err);

/*
 * Returns 1 if the remote has a store, 0 if not. With `write` it also tests whether a store can be
 * put there. An error says why the remote cannot be used.
 */
int ofs_lineage_look(const struct ofs_remote_access *remote, bool write, struct ofs_error *err);

/* Return names of objects, which the caller frees. */
char *ofs_key_wal(uint32_t epoch, uint32_t seq);
char *ofs_key_epoch(uint32_t epoch);
char *ofs_key_pack(uint32_t epoch, uint32_t number);
char *ofs_key_checkpoint(uint32_t epoch, uint32_t n);
char *ofs_key_part(uint32_t epoch, uint32_t number);
