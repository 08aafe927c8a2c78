/* SPDX-License-Identifier: MIT */
/* The bytes of frames and pack headers: what goes in comes out, and nothing else ever does. */
#include <criterion/criterion.h>

#include "base/util.h"
#include "pack/frame.h"

TestSuite(pack_frame);

static uint64_t rng_state = 0x243f6a8885a308d3;

static uint8_t rng(void)
{
	rng_state = rng_state * 6364136223846793005u + 1442695040888963407u;
	return (uint8_t)(rng_state >> 56);
}

static void fill_noise(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = rng();
}

static void fill_text(uint8_t *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		p[i] = (uint8_t)("a line of text, again and again\n"[i % 32]);
}

static struct ofs_frame_chunk make_chunk(const uint8_t *data, uint32_t len)
{
	struct ofs_frame_chunk c = { .data = data, .len = len };

	cr_assert_eq(ofs_sha256(data, len, c.sha), 0);
	for (uint32_t i = 0; i < len; i++)
		c.lines += data[i] == '\n';
	return c;
}

static int build(struct ofs_frame_build *b, const struct ofs_frame_chunk *chunks, size_t n)
{
	struct ofs_compressor *c = ofs_compressor_create();
	int r = ofs_frame_build(b, c, 3, chunks, n);

	ofs_compressor_destroy(c);
	return r;
}

/* Builds for (7, 4096), decodes, compares content and table. */
static void round_trip(const struct ofs_frame_chunk *chunks, size_t n, uint16_t format)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_info info;
	uint8_t *content;
	size_t at = 0;

	cr_assert_eq(build(&b, chunks, n), 0);
	ofs_frame_place(&b, 7, 4096);
	cr_assert_eq(b.bytes.len % OFS_FRAME_ALIGN, 0);
	cr_assert_leq(b.bytes.len, OFS_FRAME_STORED_MAX);
	cr_assert_eq(ofs_frame_decode(b.bytes.data, b.bytes.len, 7, 4096, &info, &content), 0);
	cr_assert_eq(info.format, format);
	cr_assert_eq(info.chunks, n);
	cr_assert_eq(info.stored, b.bytes.len);
	for (size_t i = 0; i < n; i++) {
		struct ofs_frame_chunk e;

		ofs_frame_entry(&info, (uint16_t)i, &e);
		cr_assert_eq(e.len, chunks[i].len);
		cr_assert_eq(e.lines, chunks[i].lines);
		cr_assert_arr_eq(e.sha, chunks[i].sha, 32);
		cr_assert_arr_eq(content + at, chunks[i].data, e.len);
		at += e.len;
	}
	cr_assert_eq(at, info.raw);
	free(content);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, one_chunk)
{
	uint8_t text[5000];
	struct ofs_frame_chunk c;

	fill_text(text, sizeof(text));
	c = make_chunk(text, sizeof(text));
	round_trip(&c, 1, OFS_FRAME_ZSTD);
	c = make_chunk(text, 1);
	round_trip(&c, 1, OFS_FRAME_PLAIN);
}

Test(pack_frame, incompressible_content_is_stored_as_it_is)
{
	uint8_t noise[5000];
	struct ofs_frame_chunk c;

	fill_noise(noise, sizeof(noise));
	c = make_chunk(noise, sizeof(noise));
	round_trip(&c, 1, OFS_FRAME_PLAIN);
}

Test(pack_frame, most_chunks)
{
	static struct ofs_frame_chunk c[OFS_FRAME_CHUNKS_MAX + 1];
	struct ofs_frame_build b = { 0 };
	static uint8_t text[64];

	fill_text(text, sizeof(text));
	for (size_t i = 0; i <= OFS_FRAME_CHUNKS_MAX; i++)
		c[i] = make_chunk(text, 1 + i % 64);
	round_trip(c, OFS_FRAME_CHUNKS_MAX, OFS_FRAME_ZSTD);
	cr_assert_eq(build(&b, c, OFS_FRAME_CHUNKS_MAX + 1), -EINVAL);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, most_content)
{
	uint8_t *noise = malloc(OFS_FRAME_RAW_MAX + 1);
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_chunk c = { .data = noise, .len = OFS_FRAME_RAW_MAX };

	fill_noise(noise, OFS_FRAME_RAW_MAX + 1);
	round_trip(&c, 1, OFS_FRAME_PLAIN);
	c.len++;
	cr_assert_eq(build(&b, &c, 1), -EINVAL);
	ofs_frame_build_finish(&b);
	free(noise);
}

Test(pack_frame, senseless_chunks_are_refused)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_chunk c = { .data = "x" };

	cr_assert_eq(build(&b, &c, 0), -EINVAL);
	cr_assert_eq(build(&b, &c, 1), -EINVAL);
	c.len = 1;
	c.lines = 2;
	cr_assert_eq(build(&b, &c, 1), -EINVAL);
	ofs_frame_build_finish(&b);
}

/* A small frame of two chunks at (3, 64). */
static void build_small(struct ofs_frame_build *b, bool noise)
{
	static uint8_t data[300];
	struct ofs_frame_chunk c[2];

	if (noise)
		fill_noise(data, sizeof(data));
	else
		fill_text(data, sizeof(data));
	c[0] = make_chunk(data, 100);
	c[1] = make_chunk(data + 100, 200);
	cr_assert_eq(build(b, c, 2), 0);
	ofs_frame_place(b, 3, 64);
}

/*
 * Right content or -EIO; the copy is exactly as long as the frame, so that ASan sees what reads
 * beyond.
 */
static int decode_copy(const struct ofs_frame_build *b, const uint8_t *bytes, size_t len)
{
	struct ofs_frame_info info;
	uint8_t *copy = malloc(len ? len : 1);
	uint8_t *content = NULL;
	int r;

	if (len)
		memcpy(copy, bytes, len);
	r = ofs_frame_decode(copy, len, 3, 64, &info, &content);
	cr_assert(r == 0 || r == -EIO, "%d", r);
	if (r == 0) {
		cr_assert_eq(info.raw, b->raw.len);
		cr_assert_arr_eq(content, b->raw.data, b->raw.len);
	}
	free(content);
	free(copy);
	return r;
}

static void flip_everywhere(bool noise)
{
	struct ofs_frame_build b = { 0 };
	size_t padding = 0;

	build_small(&b, noise);
	for (size_t i = 0; i < b.bytes.len; i++)
		for (int bit = 0; bit < 8; bit++) {
			b.bytes.data[i] ^= (uint8_t)(1 << bit);
			padding += decode_copy(&b, b.bytes.data, b.bytes.len) == 0;
			b.bytes.data[i] ^= (uint8_t)(1 << bit);
		}
	cr_assert_lt(padding, 8 * OFS_FRAME_ALIGN, "a flipped bit outside the padding went by");
	cr_assert_eq(decode_copy(&b, b.bytes.data, b.bytes.len), 0);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, every_flipped_bit_of_a_compressed_frame)
{
	flip_everywhere(false);
}

Test(pack_frame, every_flipped_bit_of_a_plain_frame)
{
	flip_everywhere(true);
}

Test(pack_frame, every_truncation)
{
	struct ofs_frame_build b = { 0 };

	build_small(&b, false);
	for (size_t len = 0; len < b.bytes.len; len++)
		cr_assert_eq(decode_copy(&b, b.bytes.data, len), -EIO, "%zu bytes", len);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, bytes_from_elsewhere_are_refused)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_info info;
	uint8_t *content;

	build_small(&b, false);
	cr_assert_eq(ofs_frame_decode(b.bytes.data, b.bytes.len, 4, 64, &info, &content), -EIO);
	cr_assert_eq(ofs_frame_decode(b.bytes.data, b.bytes.len, 3, 72, &info, &content), -EIO);
	cr_assert_eq(ofs_frame_parse(b.bytes.data, b.bytes.len, 4, 64, &info), -EIO);
	cr_assert_eq(ofs_frame_parse(b.bytes.data, b.bytes.len, 3, 64, &info), 0);
	ofs_frame_build_finish(&b);
}

/* Changes one field, makes the header's checksum right again and expects a refusal. */
static void forge(size_t at, size_t width, uint64_t value)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_info info;
	uint8_t *content = NULL;
	uint8_t le[8];
	uint64_t seed = 64 * UINT64_C(0x9e3779b97f4a7c15) + 3 * UINT64_C(0xd6e8feb86659fd93);
	size_t check = OFS_FRAME_HEAD + 2 * OFS_FRAME_CHUNK;

	build_small(&b, false);
	ofs_put_le64(le, value);
	memcpy(b.bytes.data + at, le, width);
	ofs_put_le64(b.bytes.data + check, ofs_checksum(b.bytes.data, check, seed));
	cr_assert_eq(ofs_frame_decode(b.bytes.data, b.bytes.len, 3, 64, &info, &content), -EIO,
		     "offset %zu", at);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, forged_fields)
{
	forge(0, 4, 0);
	forge(4, 2, 0);
	forge(4, 2, 2);
	forge(6, 2, 0);
	forge(6, 2, 1);
	forge(6, 2, 65535);
	forge(8, 4, 0);
	forge(8, 4, UINT32_MAX);
	forge(8, 4, 301);
	forge(12, 4, 0);
	forge(12, 4, 299);
	forge(12, 4, UINT32_MAX);
	forge(16, 8, 72);
	forge(24, 8, 0);
	forge(OFS_FRAME_HEAD + 32, 4, 0);
	forge(OFS_FRAME_HEAD + 32, 4, UINT32_MAX);
	forge(OFS_FRAME_HEAD + 36, 4, 101);
}

Test(pack_frame, random_bytes)
{
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[256];
		struct ofs_frame_info info;
		uint8_t *content = NULL;

		fill_noise(bytes, sizeof(bytes));
		if (round % 2)
			ofs_put_le32(bytes, OFS_FRAME_MAGIC);
		cr_assert_eq(ofs_frame_decode(bytes, rng(), 1, 64, &info, &content), -EIO);
	}
}

Test(pack_frame, pack_header)
{
	uint8_t uuid[16] = { 1, 2, 3 }, other[16] = { 1, 2, 4 };
	uint8_t h[OFS_PACK_HEADER];

	ofs_pack_header_encode(h, uuid, 9);
	cr_assert_eq(ofs_pack_header_check(h, uuid, 9), 0);
	cr_assert_eq(ofs_pack_header_check(h, uuid, 8), -EINVAL);
	cr_assert_eq(ofs_pack_header_check(h, other, 9), -EINVAL);
	for (size_t i = 0; i < sizeof(h); i++) {
		h[i] ^= 1;
		cr_assert_eq(ofs_pack_header_check(h, uuid, 9), -EIO);
		h[i] ^= 1;
	}
	ofs_put_le32(h + 8, OFS_PACK_FORMAT + 1);
	ofs_put_le64(h + 56, ofs_checksum(h, 56, 0));
	cr_assert_eq(ofs_pack_header_check(h, uuid, 9), -EINVAL);
}
