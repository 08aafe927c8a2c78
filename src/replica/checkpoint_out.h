/* SPDX-License-Identifier: MIT */
/*
 * Sends frames and checkpoints: pages of the index, the data that drafts read, and a manifest that
 * names them. For the thread that sends the log.
 */
#pragma once

#include "replica/garbage.h"
#include "replica/lineage.h"
#include "store/replication.h"

struct ofs_checkpoint_out {
	struct ofs_lineage *lineage; /* borrowed, like `store` */
	struct ofs_store *store;
	int dirfd; /* directory of the store, for a file in remote/ */
	uint32_t epoch;
	uint32_t newest; /* newest manifest that was acknowledged; 0: none in this epoch */
	uint32_t parts, packs; /* last numbers given to objects */
	_Atomic uint64_t sent; /* packs and parts sent; readable by any thread */
	bool passed; /* frames may have been passed over that can be read by now */
	json_t *chain; /* parts of the index in the newest manifest; NULL if there is none */
	uint64_t whole, added; /* bytes of its whole copy, and of the parts after it */
	uint64_t durable; /* highest object id that a manifest in the remote lists */
	struct ofs_garbage garbage;
	/* Places before the newest objects of the log, without a gap. */
	struct ofs_log_place *log;
	size_t nlog, cap_log;
	char *unsettled_key; /* key of a manifest whose outcome is unknown, or NULL */
	struct ofs_buf unsettled;
};

void ofs_checkpoint_out_finish(struct ofs_checkpoint_out *out);

/* Starts an epoch in which nothing was made yet. */
void ofs_checkpoint_out_begin(struct ofs_checkpoint_out *out, uint32_t epoch);

/* Notes that an object of the log was made after `before`. */
void ofs_checkpoint_out_note_log(struct ofs_checkpoint_out *out,
				 const struct ofs_log_place *before);

/* Notes a gap in the log: no checkpoint needs what is before it. */
void ofs_checkpoint_out_forget_log(struct ofs_checkpoint_out *out);

/*
 * Sends frames that no object holds, while there are enough for one. Returns 0 or an error of
 * ofs_bucket_create().
 */
int ofs_checkpoint_out_frames(struct ofs_checkpoint_out *out, struct ofs_error *err);

struct ofs_checkpoint_request {
	/*
	 * Sends the log up to `lsn`, so that an object ends there, and sets *ret to the place after
	 * it; or, for a BASE, to the place that the BASE for this manifest will have. An object may
	 * end beyond `lsn` if there are only headers of segments in between.
	 */
	int (*send_log)(void *arg, ofs_lsn lsn, struct ofs_log_place *ret, struct ofs_error *err);
	void *arg;
	const char *writer;
	ofs_lsn lsn; /* result: where the log continues */
};

/* Makes a checkpoint. -EAGAIN: it is not possible now, try again later. */
int ofs_checkpoint_out_make(struct ofs_checkpoint_out *out, struct ofs_checkpoint_request *rq,
			    struct ofs_error *err);
