/* SPDX-License-Identifier: MIT */
/*
 * The steps of the work in the background. Called with `cycle` and no other lock held, unless said
 * otherwise.
 */
#pragma once

#include "index/index.h"
#include "pack/pack.h"

struct ofs_store;

/* ---- sealing: drafts become chunks */

/* Chunks and inodes that a cycle has sealed, for its checkpoint to commit. */
struct ofs_seal_batch;

/* Selects the drafts of a batch. */
struct ofs_seal_when {
	int64_t now; /* monotonic; content written later waits */
	int64_t delay; /* for which a file must have been quiet; 0: seal and hash all */
	bool pressed; /* the journal is too long: files need not be quiet */
};

/* There is a file to seal or hash; `lock` held. */
bool ofs_seal_is_due(struct ofs_store *s, const struct ofs_seal_when *when);

/* All that is left to seal are files that could not be read a moment ago; `lock` held. */
bool ofs_seal_is_stuck(struct ofs_store *s);

/*
 * Seals a bounded amount of what is due, and commits the new chunks to the index. Returns the
 * number of files on which it made progress, or -errno. *ret is set, and owned by the caller, on
 * success.
 */
int ofs_seal_collect(struct ofs_store *s, const struct ofs_seal_when *when,
		     struct ofs_seal_batch **ret);
void ofs_seal_batch_destroy(struct ofs_seal_batch *b);

/* Replaces drafts by the sealed blocks, where the content is still the same; `lock` held. */
void ofs_seal_install(struct ofs_seal_batch *b);

/* ---- checkpoints */

/* Memory has something to commit. Takes `lock`. */
bool ofs_store_is_dirty(struct ofs_store *s);

/* Commits memory to the index; `batch` may be NULL. 0 or -errno: everything is still dirty then. */
int ofs_store_checkpoint(struct ofs_store *s, struct ofs_seal_batch *batch);

/* Takes over the charges that the index has moved; the next ofs_store_tell() tells the kernel. */
void ofs_store_refresh_charges(struct ofs_store *s);

/*
 * Tells the store's owner which attributes have changed and which files were sealed. No lock at all
 * is held: the kernel may have to write to us before it can answer.
 */
void ofs_store_tell(struct ofs_store *s);

/* ---- giving space back */

/* Removes journal segments that nothing needs; with `idle` also those with room left. */
int ofs_store_trim(struct ofs_store *s, bool idle);

/* Gives back frames and packs that no map names any more. */
int ofs_store_reclaim(struct ofs_store *s);

/* ---- sealed content */

/*
 * Moves content to where it belongs: into frames of the class that its files are in now, at that
 * class's density, and out of frames that hold little. Each call does a part: 1, or 0 when nothing
 * is left to do. With `settle`, small remainders are joined as well: for times when nothing else
 * happens.
 */
int ofs_store_repack(struct ofs_store *s, bool settle);

/*
 * Makes frames dense, whatever their class, if their files were not used since `unused_since` on
 * the age clock: for times when the machine is at rest. Each call does a part, after that of the
 * last call: 1, or 0 at the last frame.
 */
int ofs_store_densify(struct ofs_store *s, int64_t unused_since);

/*
 * Reads a frame and checks every chunk that should be in it. -EIO: some are damaged, and the frame
 * is remembered as bad; 0: it is sound, and no longer bad; -OFS_EREAD: the frame or the index cannot
 * be read; -OFS_EAWAY. Adds the chunks found to *ret_chunks.
 */
int ofs_store_check_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			  uint64_t *ret_chunks);

/*
 * Returns -EIO unless the content has every chunk that the index places in the frame; -OFS_EREAD if
 * the index cannot be read. Calls `fn` (may be NULL) for those that it finds by their hashes, and
 * counts them: f->live of them, less those of which the content lies elsewhere a second time.
 */
int ofs_store_compare_frame(struct ofs_store *s, const struct ofs_index_frame *f,
			    struct ofs_frame_content *content,
			    int (*fn)(void *arg, const struct ofs_index_chunk *c), void *arg,
			    uint64_t *ret_found);

/* Reads back the next frame: 1, or 0 after the last one. */
int ofs_store_scrub(struct ofs_store *s);

/* ---- whole cycles, which take `cycle` */

/* Seals what is due, writes a checkpoint (if needed or asked for) and gives space back. */
int ofs_store_cycle(struct ofs_store *s, const struct ofs_seal_when *when, bool always_checkpoint);

/* Ends the background thread, if it runs. Takes `lock`; `cycle` is not held. */
void ofs_sealer_stop(struct ofs_store *s);
