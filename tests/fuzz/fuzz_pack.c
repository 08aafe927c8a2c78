/* SPDX-License-Identifier: MIT */
/*
 * Frames of packs. The first byte chooses: any bytes as a frame; a frame that is built, damaged and
 * given correct checksums again, so that the code after the checks is reached; or a frame that must
 * decode to what it was built from.
 */
#include "fuzz.h"
#include "pack/frame.h"

#define PACK 7u
#define OFFSET UINT64_C(4096)
#define CHUNKS_MAX 40u

/* ---- the only code that knows the layout of a frame */

static struct ofs_compressor *compressor;

struct chunks {
	struct ofs_frame_chunk at[CHUNKS_MAX];
	size_t n;
	uint8_t *bytes; /* of all chunks, one after the other */
	size_t len;
};

static void frame_build(struct ofs_frame_build *b, const struct chunks *c, int level)
{
	FUZZ_ASSERT(ofs_frame_build(b, compressor, level, c->at, c->n) == 0);
	ofs_frame_place(b, PACK, OFFSET);
}

/* Returns 0 and the content in *ret, or -EIO. */
static int frame_decode(const uint8_t *bytes, size_t len, uint64_t off, struct ofs_frame_info *info,
			uint8_t **ret)
{
	struct ofs_frame_info parsed;
	int r = ofs_frame_decode(bytes, len, PACK, off, info, ret);

	FUZZ_ASSERT(r == 0 || r == -EIO);
	if (ofs_frame_parse(bytes, len, PACK, off, &parsed) == 0) {
		FUZZ_ASSERT(parsed.stored <= len && parsed.stored % OFS_FRAME_ALIGN == 0);
		FUZZ_ASSERT(parsed.chunks > 0 && parsed.raw <= OFS_FRAME_RAW_MAX);
		FUZZ_ASSERT(r || (parsed.stored == info->stored && parsed.raw == info->raw));
	} else {
		FUZZ_ASSERT(r == -EIO);
	}
	return r;
}

static void check_table(const struct ofs_frame_info *info)
{
	OFS_FREE uint32_t *len = fuzz_alloc(info->chunks * sizeof(*len));
	uint64_t sum = 0;

	ofs_frame_lengths(info, len);
	for (uint16_t i = 0; i < info->chunks; i++) {
		FUZZ_ASSERT(len[i]);
		sum += len[i];
	}
	FUZZ_ASSERT(sum == info->raw);
}

static void check_chunks(const struct ofs_frame_info *info, const struct chunks *c)
{
	uint32_t len[CHUNKS_MAX];

	FUZZ_ASSERT(info->chunks == c->n && info->raw == c->len);
	ofs_frame_lengths(info, len);
	for (uint16_t i = 0; i < c->n; i++)
		FUZZ_ASSERT(len[i] == c->at[i].len);
}

/*
 * Recomputes the checksums of a damaged `frame` of `len` bytes with this content. The buffer has
 * room for any chunk table beyond that.
 */
static void frame_repair(uint8_t *frame, size_t len, const struct ofs_buf *content)
{
	struct ofs_frame_build b = {
		.raw = *content,
		.bytes = { frame, len, OFS_FRAME_STORED_MAX },
	};

	/* The place of the second checksum depends on a length that may be damaged. */
	if (ofs_get_le32(frame + 16) <= OFS_FRAME_STORED_MAX - OFS_FRAME_HEAD - OFS_FRAME_CHECK)
		ofs_frame_place(&b, PACK, OFFSET);
}

/* ---- checks */

/* Decodes a copy of exactly `len` bytes. */
static int try_decode(const void *bytes, size_t len)
{
	OFS_FREE uint8_t *exact = fuzz_copy(bytes, len);
	OFS_FREE uint8_t *content = NULL;
	OFS_FREE uint8_t *again = NULL;
	struct ofs_frame_info info, shorter;
	int r = frame_decode(exact, len, OFFSET, &info, &content);

	if (r)
		return r;
	check_table(&info);
	FUZZ_ASSERT(frame_decode(exact, info.stored, OFFSET, &shorter, &again) == 0);
	FUZZ_ASSERT(memcmp(content, again, info.raw) == 0);
	ofs_cleanup_free(&again);
	again = NULL;
	FUZZ_ASSERT(frame_decode(exact, info.stored - 1, OFFSET, &shorter, &again) == -EIO);
	FUZZ_ASSERT(frame_decode(exact, len, OFFSET + 8, &shorter, &again) == -EIO);
	return 0;
}

/* Takes chunks whose content repeats up to 256 bytes of the input. */
static void take_chunks(struct fuzz_input *in, struct chunks *c)
{
	size_t n = 1 + fuzz_u8(in) % CHUNKS_MAX, len, given;

	*c = (struct chunks){ .bytes = fuzz_alloc(CHUNKS_MAX * 4096u) };
	while (c->n < n) {
		struct ofs_frame_chunk *chunk = &c->at[c->n];
		uint8_t *p = c->bytes + c->len;
		const uint8_t *from;

		len = 1 + fuzz_u16(in) % 4096u;
		given = fuzz_at_most(1u + fuzz_u8(in), len);
		chunk->len = (uint32_t)len;
		given = fuzz_at_most(given, in->left);
		from = fuzz_take(in, given);
		for (size_t i = 0; i < len; i++)
			p[i] = given ? from[i % given] : (uint8_t)c->n;
		chunk->data = p;
		c->len += len;
		c->n++;
	}
}

static void check_raw(struct fuzz_input *in)
{
	try_decode(in->at, in->left);
}

/* Overwrites bytes, mostly near the front, so that the header is hit often. */
static void damage(struct fuzz_input *in, uint8_t *frame, size_t len)
{
	while (in->left) {
		size_t at = fuzz_u8(in);

		at = at < 160 ? at : at * 97;
		frame[at % len] = fuzz_u8(in);
	}
}

static void check_repaired(struct fuzz_input *in)
{
	static uint8_t frame[OFS_FRAME_STORED_MAX];
	OFS_CLEANUP(ofs_frame_build_finish) struct ofs_frame_build b = { 0 };
	uint8_t level = 1 + fuzz_u8(in) % 5;
	uint16_t cut = fuzz_u16(in);
	struct chunks c;
	size_t len;

	take_chunks(in, &c);
	frame_build(&b, &c, level);
	len = b.bytes.len;
	memcpy(frame, b.bytes.data, len);
	damage(in, frame, len);
	frame_repair(frame, len, &b.raw);
	try_decode(frame, cut % 4 ? len : cut % (len + 1));
	/* The chunk count may lead beyond the frame, but the checksum there is correct. */
	try_decode(frame, fuzz_at_most(len * 4, sizeof(frame)));
	memset(frame, 0, sizeof(frame));
	free(c.bytes);
}

static void check_round_trip(struct fuzz_input *in)
{
	OFS_CLEANUP(ofs_frame_build_finish) struct ofs_frame_build b = { 0 };
	OFS_FREE uint8_t *content = NULL;
	OFS_FREE uint8_t *damaged = NULL;
	uint8_t level = 1 + fuzz_u8(in) % 5, bits = fuzz_u8(in);
	uint16_t at = fuzz_u16(in);
	struct ofs_frame_info info;
	struct chunks c;

	take_chunks(in, &c);
	frame_build(&b, &c, level);
	FUZZ_ASSERT(try_decode(b.bytes.data, b.bytes.len) == 0);
	FUZZ_ASSERT(frame_decode(b.bytes.data, b.bytes.len, OFFSET, &info, &content) == 0);
	FUZZ_ASSERT(info.stored == b.bytes.len);
	FUZZ_ASSERT(memcmp(content, c.bytes, c.len) == 0);
	check_chunks(&info, &c);
	ofs_cleanup_free(&content);
	content = NULL;

	/* A damaged frame is refused, unless it still decodes to the same content. */
	damaged = fuzz_copy(b.bytes.data, b.bytes.len);
	damaged[at % b.bytes.len] ^= bits;
	if (frame_decode(damaged, b.bytes.len, OFFSET, &info, &content) == 0) {
		FUZZ_ASSERT(info.raw == c.len && memcmp(content, c.bytes, c.len) == 0);
		check_chunks(&info, &c);
	}
	free(c.bytes);
}

static void finish(void)
{
	ofs_compressor_destroy(compressor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const checks[])(struct fuzz_input *) = { check_raw, check_repaired,
							       check_round_trip };
	struct fuzz_input in = { data, size };

	if (!compressor) {
		compressor = ofs_compressor_create();
		FUZZ_ASSERT(compressor);
		atexit(finish);
	}
	checks[fuzz_u8(&in) % OFS_ARRAY_SIZE(checks)](&in);
	return 0;
}
