/* SPDX-License-Identifier: MIT */
/*
 * The bytes of a pack, format 2. Numbers are little-endian.
 *
 * A pack is a header of 64 bytes and then frames, one after the other, each 8-aligned:
 *
 *   off size
 *     0    8  "OFSPACK" and a NUL
 *     8    4  format version, 2
 *    12    4  pack number, as in the file's name
 *    16   16  UUID of the store
 *    32   24  zeros
 *    56    8  checksum of bytes 0 to 55, seed 0
 *
 * A frame:
 *
 *   off size
 *     0    4  magic 0x46534f46 ("FOSF")
 *     4    2  format of the payload: 0 plain, 1 zstd
 *     6    2  chunk count n, 1 to 65535
 *     8    4  bytes of payload
 *    12    4  bytes of content, 1 to 4 MiB
 *    16    4  bytes t of the chunk table
 *    20    4  zeros
 *    24    8  checksum of the content
 *    32    t  chunk table: the lengths of the chunks in the order of the content, none of them 0,
 *             each in 7-bit groups, lowest first, all but the last with the top bit set (LEB128)
 *  32+t    8  checksum of everything above
 *             payload
 *             zeros up to the next multiple of 8
 *
 * Checksums are XXH3-64. The two of a frame are seeded with a mix of pack number and offset, so a
 * frame is accepted only where it was written. Only the magic and `t` are used before the checksum
 * after the chunk table is verified, and the lengths are checked even then.
 */
#pragma once

#include "pack/pack.h"

#define OFS_PACK_FORMAT 2u
#define OFS_FRAME_MAGIC 0x46534f46u
#define OFS_FRAME_ALIGN 8u
#define OFS_FRAME_HEAD 32u
#define OFS_FRAME_CHUNK_MAX 4u /* bytes of one entry of the chunk table */
#define OFS_FRAME_CHECK 8u

/* The most bytes that a frame occupies. */
#define OFS_FRAME_STORED_MAX                                                             \
	(OFS_FRAME_HEAD + OFS_FRAME_CHUNK_MAX * OFS_FRAME_CHUNKS_MAX + OFS_FRAME_CHECK + \
	 OFS_FRAME_RAW_MAX + OFS_FRAME_ALIGN)

enum ofs_frame_format {
	OFS_FRAME_PLAIN = 0,
	OFS_FRAME_ZSTD = 1,
};

/* The verified header of a frame. */
struct ofs_frame_info {
	uint16_t format;
	uint16_t chunks;
	uint32_t payload;
	uint32_t raw;
	uint32_t table_len;
	uint32_t stored; /* header, chunk table, payload and padding */
	uint64_t checksum; /* of the content */
	const uint8_t *table; /* borrowed: points into the decoded bytes */
};

/*
 * Decodes a frame that lies at `off` of pack number `pack`. `bytes` may be any input of `len`
 * bytes; bytes after the frame are ignored. *ret_content has ret_info->raw bytes and is released
 * with ofs_frame_buffer_put(). -EIO: not this frame, or damaged; -ENOMEM.
 */
int ofs_frame_decode(const void *bytes, size_t len, uint32_t pack, uint64_t off,
		     struct ofs_frame_info *ret_info, uint8_t **ret_content);

/* Does the same without the content, whose checksum is not verified. */
int ofs_frame_parse(const void *bytes, size_t len, uint32_t pack, uint64_t off,
		    struct ofs_frame_info *ret);

/* Does the same when only the part before the payload is present. */
int ofs_frame_parse_head(const void *bytes, size_t len, uint32_t pack, uint64_t off,
			 struct ofs_frame_info *ret);

/* Writes the lengths of the chunks, `info->chunks` of them. */
void ofs_frame_lengths(const struct ofs_frame_info *info, uint32_t *ret);

/* A frame being built. Zero-initialized. */
struct ofs_frame_build {
	struct ofs_buf raw; /* the content */
	struct ofs_buf bytes; /* the frame as it goes to disk */
};

void ofs_frame_build_finish(struct ofs_frame_build *b);

/*
 * Compresses the chunks into `b` and builds all of the frame except what depends on its place.
 * -EINVAL: no chunk, too many, an empty one, or more than OFS_FRAME_RAW_MAX bytes of content.
 */
int ofs_frame_build(struct ofs_frame_build *b, struct ofs_compressor *c, int level,
		    const struct ofs_frame_chunk *chunks, size_t n);

/* Completes the frame for its place. May be repeated for another place. */
void ofs_frame_place(struct ofs_frame_build *b, uint32_t pack, uint64_t off);

/* The header of a pack file. */
void ofs_pack_header_encode(uint8_t ret[OFS_PACK_HEADER], const uint8_t uuid[16], uint32_t pack);

/* 0; -EIO: damaged; -EINVAL: intact, but of another store, pack or format version. */
int ofs_pack_header_check(const uint8_t header[OFS_PACK_HEADER], const uint8_t uuid[16],
			  uint32_t pack);
