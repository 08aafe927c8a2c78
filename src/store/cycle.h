/* SPDX-License-Identifier: MIT */
/*
 * The work in the background, step by step. Unless said otherwise with `cycle` held and no other
 * lock.
 */
#pragma once

#include "index/index.h"
#include "pack/pack.h"

struct ofs_store;

/* ---- sealing: drafts become chunks */

/* Chunks and inodes that a cycle has sealed, to be committed by its checkpoint. */
struct ofs_seal_batch;

/* Which drafts a batch is for. */
struct ofs_seal_when {
	int64_t now; /* monotonic; what was written later waits */
	int64_t delay; /* how long before that a file is to have been quiet; 0: seal it for good */
	bool pressed; /* the journal is too long: quiet or not */
};

/* There is a file to be sealed or hashed; `lock` held. */
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

/* ---- checkpoints */

/* Memory has something to commit. */
bool ofs_store_is_dirty(struct ofs_store *s);

/* Commits memory to the index; `batch` may be NULL. */
int ofs_store_checkpoint(struct ofs_store *s, struct ofs_seal_batch *batch);

/* Memory follows the charges that the index has moved, and the kernel with the next telling. */
void ofs_store_refresh_charges(struct ofs_store *s);

/*
 * Tells the kernel, through the store's owner, which attributes have changed. With no lock held at
 * all: the kernel may have to write to us before it can answer.
 */
void ofs_store_tell(struct ofs_store *s);

/* ---- giving space back */

/* Removes journal segments that nothing needs; `idle`: also those with room left. */
int ofs_store_trim(struct ofs_store *s, bool idle);

/* Frames and packs that no map names any more. */
int ofs_store_reclaim(struct ofs_store *s);

/* ---- content that is sealed */

/*
 * Moves content to where it belongs: into frames of the class that its files are in now, at that
 * class's density, and out of frames that hold little. Each call does a part; 0 when there is
 * nothing to do, else 1. With `settle` small remainders are joined, too: for times when nothing
 * else happens.
 */
int ofs_store_repack(struct ofs_store *s, bool settle);

/*
 * Makes frames dense whose files were not used since then, on the age clock, whatever their class:
 * for times when the machine is at rest. Each call does a part, and the next goes on behind it; 0
 * when it has come to the last frame, else 1.
 */
int ofs_store_densify(struct ofs_store *s, int64_t unused_since);

/*
 * Reads a frame and looks at every chunk that should be in it. -EIO: some of it is not what it
 * should be, and the frame is remembered as bad (or, 0, as good again).
 */
int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks);

/*
 * -EIO unless every chunk that the index has in the frame is in its content. Calls `fn` (may be
 * NULL) for those that it finds by their hashes, and counts them: f->live, but for chunks that lie
 * elsewhere a second time.
 */
int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    struct ofs_frame_content *content,
			    int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg,
			    uint64_t *ret_found);

/* Reads the next frame back; 0 after the last one, else 1. */
int ofs_store_scrub(struct ofs_store *s);

/* ---- the whole; `cycle` is taken */

/* Seals what is due, writes a checkpoint and gives space back. */
int ofs_store_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool always_checkpoint);

void ofs_sealer_stop(struct ofs_store *s);
