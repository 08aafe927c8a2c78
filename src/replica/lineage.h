/* SPDX-License-Identifier: MIT */
/*
 * The log of a store in its remote, as a chain of objects (docs/REPLICATION.md): reading it, adding
 * to it, finding its end. For one thread at a time.
 */
#pragma once

#include "journal/journal.h"
#include "replica/bucket.h"
#include "replica/object_cache.h"
#include "replica/remote_object.h"

#define OFS_REMOTE_OBJECT_MAX \
	((size_t)(OFS_REMOTE_BODY_MAX + (1u << 20))) /* bytes of one that is no pack */
#define OFS_LOG_AHEAD 16
#define OFS_WRITER_SIZE 33 /* 16 random bytes in hex, and a NUL */

/* Behind which object something is. seq 0: before the first one of the epoch. */
struct ofs_log_place {
	uint32_t epoch;
	uint32_t seq;
	ofs_lsn lsn; /* where the log goes on */
};

enum ofs_link_kind {
	OFS_LINK_DATA,
	OFS_LINK_BASE, /* the log goes on at `to`, in the state of a manifest */
	OFS_LINK_FENCE, /* the log goes on at `to`, in another epoch */
};

/* An object of the log. */
struct ofs_link {
	enum ofs_link_kind kind;
	char writer[OFS_WRITER_SIZE]; /* of a FENCE: that of the epoch which it begins */
	ofs_lsn from, to;
	ofs_lsn segment; /* of DATA: that in which it begins */
	uint32_t checkpoint; /* of BASE its manifest, of DATA the newest one of its epoch; 0: none */
	int64_t time; /* when it was made, by its writer's clock: for people alone */
	struct ofs_buf log; /* of DATA */
};

void ofs_link_finish(struct ofs_link *link);

struct ofs_lineage {
	struct ofs_bucket *bucket;
	uint8_t uuid[16];
	struct ofs_object_cache *cache; /* of objects that are no packs; or NULL */
};

/*
 * Has an object read by the cache, if there is one. Not for those whose being there proves anything:
 * it may be gone when it is given.
 */
void ofs_lineage_expect(struct ofs_lineage *l, const char *key);

/* Likewise the next OFS_LOG_AHEAD objects of the log behind `at`. */
void ofs_lineage_expect_log(struct ofs_lineage *l, const struct ofs_log_place *at);

/*
 * Makes an object, or finds out that it was made. 0: it is there with these bytes; -EEXIST: another
 * one is; -EAGAIN: it is not known: only the same bytes may be tried again under this name. Others:
 * it cannot be made.
 */
int ofs_lineage_put(struct ofs_lineage *l, const char *key, const struct ofs_buf *bytes,
		    struct ofs_error *err);

/* Reads an object that is no pack. -ENOENT; -EAGAIN: not now; -EBADMSG: it is not what it should be. */
int ofs_lineage_read(struct ofs_lineage *l, const char *key, struct ofs_error *err,
		     struct ofs_remote_object *ret);

/* Sets l->uuid to that of the store which is in the remote. -ENOENT: none is. */
int ofs_lineage_read_store(struct ofs_lineage *l, struct ofs_error *err);

/* Makes the object that says which store is in the remote, l->uuid. -EEXIST: another one is. */
int ofs_lineage_note_store(struct ofs_lineage *l, struct ofs_error *err);

/* The bytes of an object of the log, for ofs_lineage_put(). */
int ofs_link_encode(const struct ofs_lineage *l, const struct ofs_link *link, struct ofs_buf *ret);

/*
 * Reads the object of the log behind `at`; at->lsn 0: wherever that is. -ENOENT: the log ends there.
 */
int ofs_lineage_next(struct ofs_lineage *l, const struct ofs_log_place *at, struct ofs_error *err,
		     struct ofs_link *ret);

/* The place behind an object that lies behind `at`. */
struct ofs_log_place ofs_log_place_after(const struct ofs_log_place *at,
					 const struct ofs_link *link);

/* What began an epoch. -ENOENT: it has no object. */
int ofs_lineage_read_epoch(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			   struct ofs_link *ret);

/* The newest epoch that has its object, and what began it. -ENOENT: there is none. */
int ofs_lineage_newest_epoch(struct ofs_lineage *l, struct ofs_error *err, uint32_t *ret,
			     struct ofs_link *ret_fence);

/* Makes epoch/<E> of what began the epoch; that it is there already is no error. */
int ofs_lineage_note_epoch(struct ofs_lineage *l, uint32_t epoch, const struct ofs_link *fence,
			   struct ofs_error *err);

/*
 * Whether a remote has a store: 1, or 0. With `write` it also tries whether one can be put there. An
 * error says why the remote cannot be used.
 */
int ofs_lineage_look(const struct ofs_remote_access *remote, bool write, struct ofs_error *err);

/* Names of objects, allocated. */
char *ofs_key_wal(uint32_t epoch, uint32_t seq);
char *ofs_key_epoch(uint32_t epoch);
char *ofs_key_pack(uint32_t epoch, uint32_t number);
char *ofs_key_checkpoint(uint32_t epoch, uint32_t n);
char *ofs_key_part(uint32_t epoch, uint32_t number);
