/* SPDX-License-Identifier: MIT */
/*
 * Packs: append-only files `packs/<8 hex digits>.pack` of self-describing frames. A frame holds one
 * or more chunks, compressed together. The index knows which frames are alive.
 *
 * One thread at a time may append, sync and punch. Meanwhile any number of threads may read.
 */
#pragma once

#include <offloadfs/error.h>

#include "codec/zstd.h"

#define OFS_FRAME_RAW_MAX (4u << 20) /* the most bytes of content in one frame */
#define OFS_FRAME_CHUNKS_MAX 65535u

/* A piece of content that is to become part of a frame. */
struct ofs_frame_chunk {
	const void *data; /* borrowed */
	uint32_t len;
};

/* Where a frame lies: pack number (from 1), byte offset and bytes in the pack, bytes of content. */
struct ofs_frame_loc {
	uint32_t pack;
	uint64_t off;
	uint32_t stored;
	uint32_t raw;
};

/* The bytes of a frame are not on this disk, but an object of the remote has them. */
#define OFS_EAWAY EREMOTE

struct ofs_packset;

/*
 * Opens the packs in the directory `dirfd` (borrowed for the life of the set). Reads nothing yet: a
 * pack is opened on first use. `uuid` is the store's. `cache_bytes` bounds the memory of
 * decompressed frames.
 */
struct ofs_packset *ofs_packset_open(int dirfd, const uint8_t uuid[16], size_t cache_bytes);
void ofs_packset_close(struct ofs_packset *ps);

/*
 * Allows packs, or parts of them, to be kept elsewhere: reading a frame of which there is no trace
 * here is then -OFS_EAWAY. Called before anything is read.
 */
void ofs_packset_expect_away(struct ofs_packset *ps);

/*
 * Writes bytes of a pack back to their place, which lies before its committed end, and creates the
 * pack if it is gone. Not durable: they may be away again after a crash. Any thread may call.
 */
int ofs_packset_put_back(struct ofs_packset *ps, uint32_t pack, uint64_t off, const void *bytes,
			 size_t len);

/* Makes everything that was put back durable, including the names of the packs. */
int ofs_packset_sync_all(struct ofs_packset *ps);

/*
 * The first position at or after `off` where a pack has data on this disk, by blocks of the disk.
 * UINT64_MAX: none.
 */
uint64_t ofs_packset_next_data(struct ofs_packset *ps, uint32_t pack, uint64_t off);

/* Starts a new pack when the current one would exceed this. The default is 256 MiB. */
void ofs_packset_set_pack_size(struct ofs_packset *ps, uint64_t bytes);

/*
 * Sets where the next frame goes: after recovery, the pack and the size that the index committed.
 * Later frames were never committed and are cut off, and packs with a higher number are removed.
 * `pack` 0: there is no pack yet. If the pack is shorter, missing or another store's, this is
 * logged and the next frame goes to a new pack. -EUCLEAN: `size` cannot be the size of a pack.
 */
int ofs_packset_resume(struct ofs_packset *ps, uint32_t pack, uint64_t size, struct ofs_error *err);

/*
 * Sets the committed end for a follower, which appends, cuts and removes nothing. Frames before
 * that end are permanent, if they are on this disk. Any thread may call.
 */
void ofs_packset_follow(struct ofs_packset *ps, uint32_t pack, uint64_t size);

/*
 * Appends one frame with these chunks in order, compressed with zstd at `level`, or uncompressed if
 * that is not larger. Not durable until ofs_packset_sync(). After an error the pack is unchanged.
 * -EINVAL: no chunks, an empty one, or more than a frame may hold.
 */
int ofs_packset_append(struct ofs_packset *ps, struct ofs_compressor *c, int level,
		       const struct ofs_frame_chunk *chunks, size_t n, struct ofs_frame_loc *ret);

/* The same with a frame of ofs_frame_build() (pack/frame.h), which any thread may have built. */
struct ofs_frame_build;
int ofs_packset_append_built(struct ofs_packset *ps, struct ofs_frame_build *b,
			     struct ofs_frame_loc *ret);

/*
 * Makes every appended frame durable, including the names of new packs. After a failure every later
 * append and sync fails with -EIO, since nobody knows what the kernel has dropped.
 */
int ofs_packset_sync(struct ofs_packset *ps);

/*
 * The pack that is being appended to and its size, which the index commits for
 * ofs_packset_resume().
 */
void ofs_packset_tail(struct ofs_packset *ps, uint32_t *ret_pack, uint64_t *ret_size);

/* A decompressed, verified frame, shared by its readers. */
struct ofs_frame;

/* Requests for frames since the set was opened, by the origin of the frame, and what is cached. */
struct ofs_frame_counts {
	uint64_t kept; /* already in memory */
	uint64_t ahead; /* read ahead and requested for the first time */
	uint64_t loaded; /* from the disk, by the thread that requested them */
	uint64_t bytes; /* of content in memory */
};
void ofs_packset_count_frames(struct ofs_packset *ps, struct ofs_frame_counts *ret);

/*
 * Says that the index has committed the tail as it is: no frame before it is ever cut off. Only
 * such frames are read ahead.
 */
void ofs_packset_committed(struct ofs_packset *ps);

/*
 * Returns the frame, from the cache or from disk. Release it with ofs_frame_unref(). When frames
 * are read in sequence, the next ones are loaded meanwhile. With `passing`, what others read stays
 * in the cache (see ofs_frame_cache_get()). -EIO: there is another frame or a damaged one;
 * -OFS_EREAD: reading failed; -OFS_EAWAY.
 */
int ofs_packset_read(struct ofs_packset *ps, const struct ofs_frame_loc *loc, bool passing,
		     struct ofs_frame **ret);
const uint8_t *ofs_frame_data(const struct ofs_frame *f);
uint32_t ofs_frame_size(const struct ofs_frame *f);
void ofs_frame_unref(struct ofs_frame *f);

/* The content of a frame and the lengths of its chunks. */
struct ofs_frame_content {
	uint8_t *data;
	uint32_t raw;
	uint32_t *len; /* of each chunk, in order */
	uint16_t chunks;
};

/*
 * Reads and verifies the frame from disk, bypassing the cache. Release it with
 * ofs_frame_content_finish(). Errors are those of ofs_packset_read(). Any thread may call.
 */
int ofs_packset_load(struct ofs_packset *ps, const struct ofs_frame_loc *loc,
		     struct ofs_frame_content *ret);
void ofs_frame_content_finish(struct ofs_frame_content *fc);

/*
 * Copies the bytes of the frame as they lie in the pack, without verifying them: allocated,
 * *ret_len of them, fewer than loc->stored if the pack ends before. -ENOENT: there is no such pack.
 */
int ofs_packset_copy(struct ofs_packset *ps, const struct ofs_frame_loc *loc, uint8_t **ret,
		     size_t *ret_len);

/* Removes the frame at `loc` from the cache. */
void ofs_packset_forget(struct ofs_packset *ps, const struct ofs_frame_loc *loc);

/*
 * Returns the bytes [off, off + len) of a pack to the filesystem and forgets cached frames that lie
 * in the range. It must hold no live frame. The file header (the first OFS_PACK_HEADER bytes) is
 * never touched, and a range that extends beyond the end of the pack is cut there. A missing pack
 * is not an error.
 */
#define OFS_PACK_HEADER 64u
int ofs_packset_punch(struct ofs_packset *ps, uint32_t pack, uint64_t off, uint64_t len);

/*
 * Removes a pack that holds no live frame. The one being appended to is not removed (-EBUSY). A
 * missing one is not an error. Reads in progress may finish.
 */
int ofs_packset_remove(struct ofs_packset *ps, uint32_t pack);

/*
 * Calls `fn` for each part of a pack (OFS_PACK_PART) that has data on this disk. `off` is where it
 * begins. `used` is 0 if this set has never read or written it, and otherwise higher for a later
 * use; uses are recorded only after ofs_packset_expect_away(). A nonzero return ends the walk and
 * is returned.
 */
int ofs_packset_list_parts(struct ofs_packset *ps,
			   int (*fn)(void *arg, uint32_t pack, uint64_t off, uint64_t used),
			   void *arg);

/* Bytes that all packs occupy on disk. */
int ofs_packset_disk_usage(struct ofs_packset *ps, uint64_t *ret);
