/* SPDX-License-Identifier: MIT */
/*
 * Packs: append-only files `packs/<8 hex digits>.pack` of self-describing frames. A frame holds one
 * or more chunks, compressed together. The index knows which frames are alive.
 *
 * Appending, syncing and punching belong to one thread at a time; reading may be done by any number
 * meanwhile.
 */
#pragma once

#include <offloadfs/error.h>

#include "codec/zstd.h"

#define OFS_FRAME_RAW_MAX (4u << 20) /* bytes of content in one frame */
#define OFS_FRAME_CHUNKS_MAX 65535u

/* One piece of content on its way into a frame. */
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
 * Opens the packs in the directory `dirfd` (borrowed for the life of the set). Nothing is read yet:
 * a pack is opened when it is first used. `uuid` is the store's. `cache_bytes` bounds the memory of
 * decompressed frames.
 */
struct ofs_packset *ofs_packset_open(int dirfd, const uint8_t uuid[16], size_t cache_bytes);
void ofs_packset_close(struct ofs_packset *ps);

/*
 * Parts of packs, or whole ones, may be kept elsewhere: where there is no trace of a frame, what
 * asks for it is told -OFS_EAWAY. To be called before anything is read.
 */
void ofs_packset_expect_away(struct ofs_packset *ps);

/*
 * Puts bytes of a pack back to where they were, before its committed end; the pack is made if it is
 * gone. Not durable: they may be away again after a crash. Any thread may call.
 */
int ofs_packset_put_back(struct ofs_packset *ps, uint32_t pack, uint64_t off, const void *bytes,
			 size_t len);

/* Makes all that was put back durable, with the packs that it lies in. */
int ofs_packset_sync_all(struct ofs_packset *ps);

/* Where a pack has data on this disk from `off` on, by blocks of the disk; UINT64_MAX: nowhere. */
uint64_t ofs_packset_next_data(struct ofs_packset *ps, uint32_t pack, uint64_t off);

/* A new pack is started when the present one would exceed this. Default 256 MiB. */
void ofs_packset_set_pack_size(struct ofs_packset *ps, uint64_t bytes);

/*
 * Says where the next frame goes: after recovery, the pack and the size that the index committed.
 * Frames beyond it were never committed and are cut off; so are packs with a higher number. pack 0:
 * no pack yet. When the pack is shorter than that, missing or another store's, this is logged and
 * the next frame goes to a new pack. -EUCLEAN: that cannot be the size of a pack.
 */
int ofs_packset_resume(struct ofs_packset *ps, uint32_t pack, uint64_t size, struct ofs_error *err);

/*
 * Nothing is appended, cut off or removed here: frames before that end are for good, as far as they
 * are on this disk. Any thread may call.
 */
void ofs_packset_follow(struct ofs_packset *ps, uint32_t pack, uint64_t size);

/*
 * Appends one frame with these chunks in order, compressed with zstd at `level`, or as it is where
 * that would not be smaller. Not durable until ofs_packset_sync(). On an error the pack is as it
 * was.
 * -EINVAL: no chunks, an empty one, or more than a frame may hold.
 */
int ofs_packset_append(struct ofs_packset *ps, struct ofs_compressor *c, int level,
		       const struct ofs_frame_chunk *chunks, size_t n, struct ofs_frame_loc *ret);

/* The same with a frame that ofs_frame_build() has made (pack/frame.h): any thread may do that. */
struct ofs_frame_build;
int ofs_packset_append_built(struct ofs_packset *ps, struct ofs_frame_build *b,
			     struct ofs_frame_loc *ret);

/*
 * Makes every appended frame durable, new pack files' names included. After a failure every later
 * append and sync fails with -EIO, since nobody knows what the kernel has dropped.
 */
int ofs_packset_sync(struct ofs_packset *ps);

/*
 * The pack that is being appended to and its size: what the index commits for ofs_packset_resume().
 */
void ofs_packset_tail(struct ofs_packset *ps, uint32_t *ret_pack, uint64_t *ret_size);

/* A decompressed, verified frame, shared by its readers. */
struct ofs_frame;

/* Where frames that were asked for came from, since the set was opened, and what is kept of them. */
struct ofs_frame_counts {
	uint64_t kept; /* in memory already */
	uint64_t ahead; /* read ahead, and asked for the first time */
	uint64_t loaded; /* from the disk, by whoever asked */
	uint64_t bytes; /* of content in memory */
};
void ofs_packset_count_frames(struct ofs_packset *ps, struct ofs_frame_counts *ret);

/*
 * The index has committed the tail as it is: no frame before it is ever cut off. Only those are
 * read ahead.
 */
void ofs_packset_committed(struct ofs_packset *ps);

/*
 * Returns the frame, from the cache or from disk. Release it with ofs_frame_unref(). Where frames
 * are read one after the other, the next ones are loaded meanwhile. With `passing`, what others
 * read stays in the cache (see ofs_frame_cache_get()).
 * -EIO when what lies there is not this frame or is damaged; -OFS_EREAD when reading it failed;
 * -OFS_EAWAY.
 */
int ofs_packset_read(struct ofs_packset *ps, const struct ofs_frame_loc *loc, bool passing,
		     struct ofs_frame **ret);
const uint8_t *ofs_frame_data(const struct ofs_frame *f);
uint32_t ofs_frame_size(const struct ofs_frame *f);
void ofs_frame_unref(struct ofs_frame *f);

/* The content of a frame, and the lengths of its chunks. */
struct ofs_frame_content {
	uint8_t *data;
	uint32_t raw;
	uint32_t *len; /* of each chunk, in order */
	uint16_t chunks;
};

/*
 * Reads and verifies the frame from disk, past the cache. Release it with
 * ofs_frame_content_finish(). Errors as ofs_packset_read(). Any thread may call.
 */
int ofs_packset_load(struct ofs_packset *ps, const struct ofs_frame_loc *loc,
		     struct ofs_frame_content *ret);
void ofs_frame_content_finish(struct ofs_frame_content *fc);

/*
 * The frame's bytes as they lie in the pack, whatever they are: allocated, *ret_len of them, fewer
 * than loc->stored where the pack ends before. -ENOENT: there is no such pack.
 */
int ofs_packset_copy(struct ofs_packset *ps, const struct ofs_frame_loc *loc, uint8_t **ret,
		     size_t *ret_len);

/* Forgets the cached frame at `loc`. */
void ofs_packset_forget(struct ofs_packset *ps, const struct ofs_frame_loc *loc);

/*
 * Gives the bytes [off, off + len) of a pack back to the filesystem and forgets cached frames that
 * lie in it. The range must hold no live frame; the file header (the first OFS_PACK_HEADER bytes)
 * is never touched, and a range that goes beyond the end of the pack ends there. A pack that is
 * gone is no error.
 */
#define OFS_PACK_HEADER 64u
int ofs_packset_punch(struct ofs_packset *ps, uint32_t pack, uint64_t off, uint64_t len);

/*
 * Removes a pack that holds no live frame. The one being appended to is not removed (-EBUSY); a
 * missing one is no error. Reads in progress may finish.
 */
int ofs_packset_remove(struct ofs_packset *ps, uint32_t pack);

/*
 * Calls `fn` for each part of a pack (OFS_PACK_PART) of which there is something on this disk: where
 * it begins, and when it was read or written last by this set, 0 for never and higher for later
 * (only noted after ofs_packset_expect_away()). A nonzero return ends the walk and is returned.
 */
int ofs_packset_list_parts(struct ofs_packset *ps,
			   int (*fn)(void *arg, uint32_t pack, uint64_t off, uint64_t used),
			   void *arg);

/* Bytes that all packs occupy on disk. */
int ofs_packset_disk_usage(struct ofs_packset *ps, uint64_t *ret);
