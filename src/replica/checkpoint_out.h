/* SPDX-License-Identifier: MIT */
/*
 * Sends the content of packs and checkpoints: the index as pages, the data that drafts read, and a
 * manifest that names them. For the thread that has the log.
 */
#pragma once

#include "replica/garbage.h"
#include "replica/lineage.h"
#include "store/replication.h"

struct ofs_checkpoint_out {
	struct ofs_lineage *lineage; /* borrowed, as `store` */
	struct ofs_store *store;
	int dirfd; /* of the store: for a file in remote/ */
	uint32_t epoch;
	uint32_t newest; /* manifest that was acknowledged; 0: none in this epoch */
	uint32_t parts, packs; /* the last numbers that were given to objects */
	_Atomic uint64_t sent; /* packs and parts; for any thread */
	json_t *chain; /* parts that make the index of the newest manifest; NULL: none */
	uint64_t whole, added; /* bytes of its whole copy, and of what came since */
	uint64_t durable; /* the highest object id that a manifest in the remote knows */
	struct ofs_garbage garbage;
	/* Before which objects of the log there is what: the newest ones, without a gap. */
	struct ofs_log_place *log;
	size_t nlog, cap_log;
	char *unsettled_key; /* a manifest of which it is not known whether it is there; NULL: none */
	struct ofs_buf unsettled;
};

void ofs_checkpoint_out_finish(struct ofs_checkpoint_out *out);

/* All that follows belongs to that epoch, in which nothing was made yet. */
void ofs_checkpoint_out_begin(struct ofs_checkpoint_out *out, uint32_t epoch);

/* An object of the log was made behind `before`. */
void ofs_checkpoint_out_note_log(struct ofs_checkpoint_out *out,
				 const struct ofs_log_place *before);

/* The log has a gap there: no checkpoint needs what lies before. */
void ofs_checkpoint_out_forget_log(struct ofs_checkpoint_out *out);

/*
 * Sends frames that no object has, while there are enough for one. 0 or an error as of
 * ofs_bucket_create().
 */
int ofs_checkpoint_out_frames(struct ofs_checkpoint_out *out, struct ofs_error *err);

struct ofs_checkpoint_request {
	/*
	 * Sends the log up to `lsn`, so that an object ends there, and says behind which one that
	 * is. With `base` it says instead which one will be the BASE for this manifest. An object
	 * may end beyond `lsn`, when only headers of segments lie between.
	 */
	int (*send_log)(void *arg, ofs_lsn lsn, struct ofs_log_place *ret, struct ofs_error *err);
	void *arg;
	const char *writer;
	ofs_lsn lsn; /* result: where the log goes on */
};

/* Makes a checkpoint. -EAGAIN: not now, and the next one is to be tried later. */
int ofs_checkpoint_out_make(struct ofs_checkpoint_out *out, struct ofs_checkpoint_request *rq,
			    struct ofs_error *err);
