/* SPDX-License-Identifier: MIT */
/* The bytes of frames and pack headers: decoding gives what was encoded, or an error. */
#include <criterion/criterion.h>

#include "base/util.h"
#include "codec/hash.h"
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

static int build(struct ofs_frame_build *b, const struct ofs_frame_chunk *chunks, size_t n)
{
	struct ofs_compressor *c = ofs_compressor_create();
	int r = ofs_frame_build(b, c, 3, chunks, n);

	ofs_compressor_destroy(c);
	return r;
}

static size_t entry_size(uint32_t len)
{
	size_t n = 1;

	while (len >>= 7)
		n++;
	return n;
}

/* Builds a frame at (7, 4096), decodes it, and compares content and table. */
static void round_trip(const struct ofs_frame_chunk *chunks, size_t n, uint16_t format)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_info info;
	uint32_t *len = malloc(n * sizeof(*len));
	uint8_t *content;
	size_t at = 0, table = 0;

	cr_assert_eq(build(&b, chunks, n), 0);
	ofs_frame_place(&b, 7, 4096);
	cr_assert_eq(b.bytes.len % OFS_FRAME_ALIGN, 0);
	cr_assert_leq(b.bytes.len, OFS_FRAME_STORED_MAX);
	cr_assert_eq(ofs_frame_decode(b.bytes.data, b.bytes.len, 7, 4096, &info, &content), 0);
	cr_assert_eq(info.format, format);
	cr_assert_eq(info.chunks, n);
	cr_assert_eq(info.stored, b.bytes.len);
	ofs_frame_lengths(&info, len);
	for (size_t i = 0; i < n; i++) {
		cr_assert_eq(len[i], chunks[i].len);
		cr_assert_arr_eq(content + at, chunks[i].data, len[i]);
		at += len[i];
		table += entry_size(len[i]);
	}
	cr_assert_eq(at, info.raw);
	cr_assert_eq(table, info.table_len);
	free(content);
	free(len);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, one_chunk)
{
	uint8_t text[5000];
	struct ofs_frame_chunk c;

	fill_text(text, sizeof(text));
	c = (struct ofs_frame_chunk){ text, sizeof(text) };
	round_trip(&c, 1, OFS_FRAME_ZSTD);
	c.len = 1;
	round_trip(&c, 1, OFS_FRAME_PLAIN);
}

Test(pack_frame, incompressible_content_is_stored_as_it_is)
{
	uint8_t noise[5000];
	struct ofs_frame_chunk c = { noise, sizeof(noise) };

	fill_noise(noise, sizeof(noise));
	round_trip(&c, 1, OFS_FRAME_PLAIN);
}

Test(pack_frame, most_chunks)
{
	static struct ofs_frame_chunk c[OFS_FRAME_CHUNKS_MAX + 1];
	struct ofs_frame_build b = { 0 };
	static uint8_t text[64];

	fill_text(text, sizeof(text));
	for (size_t i = 0; i <= OFS_FRAME_CHUNKS_MAX; i++)
		c[i] = (struct ofs_frame_chunk){ text, 1 + (uint32_t)(i % 64) };
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

/* Each length alone, then as many as fit into a frame, in both orders. */
Test(pack_frame, lengths_at_the_borders_of_the_encoding)
{
	static const uint32_t len[] = { 1,     127,   128,     129,	16383,
					16384, 16385, 2097151, 2097152, OFS_FRAME_RAW_MAX };
	uint8_t *text = malloc(OFS_FRAME_RAW_MAX);
	struct ofs_frame_chunk c[OFS_ARRAY_SIZE(len)], up[8], down[8];

	fill_text(text, OFS_FRAME_RAW_MAX);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(len); i++) {
		c[i] = (struct ofs_frame_chunk){ text, len[i] };
		round_trip(&c[i], 1, len[i] == 1 ? OFS_FRAME_PLAIN : OFS_FRAME_ZSTD);
	}
	for (size_t i = 0; i < 8; i++)
		up[i] = down[7 - i] = c[i];
	round_trip(up, 8, OFS_FRAME_ZSTD);
	round_trip(down, 8, OFS_FRAME_ZSTD);
	up[0] = c[8];
	up[1] = c[8];
	round_trip(up, 2, OFS_FRAME_ZSTD);
	free(text);
}

/* Noise with the largest table: no frame is larger. */
Test(pack_frame, most_chunks_of_noise)
{
	static struct ofs_frame_chunk c[OFS_FRAME_CHUNKS_MAX];
	uint8_t *noise = malloc(OFS_FRAME_RAW_MAX);

	fill_noise(noise, OFS_FRAME_RAW_MAX);
	for (size_t i = 0; i < OFS_FRAME_CHUNKS_MAX; i++)
		c[i] = (struct ofs_frame_chunk){ noise, 64 };
	c[100].len += OFS_FRAME_RAW_MAX - 64 * OFS_FRAME_CHUNKS_MAX;
	round_trip(c, OFS_FRAME_CHUNKS_MAX, OFS_FRAME_ZSTD);
	for (size_t i = 0, at = 0; i < OFS_FRAME_CHUNKS_MAX; at += c[i++].len)
		c[i].data = noise + at;
	round_trip(c, OFS_FRAME_CHUNKS_MAX, OFS_FRAME_PLAIN);
	free(noise);
}

Test(pack_frame, senseless_chunks_are_refused)
{
	struct ofs_frame_build b = { 0 };
	struct ofs_frame_chunk c = { .data = "x" };

	cr_assert_eq(build(&b, &c, 0), -EINVAL);
	cr_assert_eq(build(&b, &c, 1), -EINVAL);
	ofs_frame_build_finish(&b);
}

/* Builds a frame of two chunks at (3, 64). */
static void build_small(struct ofs_frame_build *b, bool noise)
{
	static uint8_t data[300];
	struct ofs_frame_chunk c[2];

	if (noise)
		fill_noise(data, sizeof(data));
	else
		fill_text(data, sizeof(data));
	c[0] = (struct ofs_frame_chunk){ data, 100 };
	c[1] = (struct ofs_frame_chunk){ data + 100, 200 };
	cr_assert_eq(build(b, c, 2), 0);
	ofs_frame_place(b, 3, 64);
}

/*
 * Decodes a copy, which must give the right content or -EIO. The copy has an exact size, so that
 * ASan detects reads beyond it.
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

static uint64_t seed_of(uint32_t pack, uint64_t off)
{
	return off * UINT64_C(0x9e3779b97f4a7c15) + pack * UINT64_C(0xd6e8feb86659fd93);
}

/* Changes a field, corrects the header's checksum and expects a refusal. */
static void forge(size_t at, size_t width, uint64_t value)
{
	struct ofs_frame_build b = { 0 };
	uint8_t le[8];
	size_t check;

	build_small(&b, false);
	check = OFS_FRAME_HEAD + ofs_get_le32(b.bytes.data + 16);
	ofs_put_le64(le, value);
	memcpy(b.bytes.data + at, le, width);
	ofs_put_le64(b.bytes.data + check, ofs_checksum(b.bytes.data, check, seed_of(3, 64)));
	cr_assert_eq(decode_copy(&b, b.bytes.data, b.bytes.len), -EIO, "offset %zu", at);
	ofs_frame_build_finish(&b);
}

Test(pack_frame, forged_fields)
{
	forge(0, 4, 0);
	forge(4, 2, 0);
	forge(4, 2, 2);
	forge(6, 2, 0);
	forge(6, 2, 1);
	forge(6, 2, 3);
	forge(6, 2, 65535);
	forge(8, 4, 0);
	forge(8, 4, UINT32_MAX);
	forge(8, 4, 301);
	forge(12, 4, 0);
	forge(12, 4, 299);
	forge(12, 4, UINT32_MAX);
	forge(16, 4, 0);
	forge(16, 4, 2);
	forge(16, 4, 4);
	forge(16, 4, UINT32_MAX);
	forge(24, 8, 0);
}

/* Decodes a plain frame at (3, 64) with any bytes as its chunk table, and correct checksums. */
static int parse_table(const uint8_t *table, size_t table_len, uint16_t chunks, uint32_t raw,
		       uint32_t *ret)
{
	size_t check = OFS_FRAME_HEAD + table_len;
	size_t stored = ofs_align_up(check + OFS_FRAME_CHECK + raw, OFS_FRAME_ALIGN);
	uint8_t *frame = calloc(1, stored), *content = NULL;
	struct ofs_frame_info info;
	int r;

	fill_text(frame + check + OFS_FRAME_CHECK, raw);
	ofs_put_le32(frame, OFS_FRAME_MAGIC);
	ofs_put_le16(frame + 4, OFS_FRAME_PLAIN);
	ofs_put_le16(frame + 6, chunks);
	ofs_put_le32(frame + 8, raw);
	ofs_put_le32(frame + 12, raw);
	ofs_put_le32(frame + 16, (uint32_t)table_len);
	ofs_put_le64(frame + 24,
		     ofs_checksum(frame + check + OFS_FRAME_CHECK, raw, seed_of(3, 64)));
	if (table_len)
		memcpy(frame + OFS_FRAME_HEAD, table, table_len);
	ofs_put_le64(frame + check, ofs_checksum(frame, check, seed_of(3, 64)));
	r = ofs_frame_decode(frame, stored, 3, 64, &info, &content);
	cr_assert_eq(ofs_frame_parse(frame, stored, 3, 64, &info), r);
	if (r == 0)
		ofs_frame_lengths(&info, ret);
	free(content);
	free(frame);
	return r;
}

#define PARSE_TABLE(chunks, raw, ret, ...)                                                      \
	parse_table((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }), \
		    chunks, raw, ret)

Test(pack_frame, tables_that_are_sound)
{
	uint32_t len[4];

	cr_assert_eq(PARSE_TABLE(1, 127, len, 0x7f), 0);
	cr_assert_eq(len[0], 127);
	cr_assert_eq(PARSE_TABLE(1, 128, len, 0x80, 1), 0);
	cr_assert_eq(len[0], 128);
	cr_assert_eq(PARSE_TABLE(2, 16384 + 16383, len, 0x80, 0x80, 1, 0xff, 0x7f), 0);
	cr_assert_eq(len[0], 16384);
	cr_assert_eq(len[1], 16383);
	cr_assert_eq(PARSE_TABLE(1, OFS_FRAME_RAW_MAX, len, 0x80, 0x80, 0x80, 2), 0);
	cr_assert_eq(len[0], OFS_FRAME_RAW_MAX);
}

Test(pack_frame, damaged_tables_with_a_right_checksum)
{
	uint32_t len[4];

	/* No table, no length, or a length of zero. */
	cr_assert_eq(parse_table(NULL, 0, 1, 5, len), -EIO);
	cr_assert_eq(parse_table(NULL, 0, 0, 0, len), -EIO);
	cr_assert_eq(PARSE_TABLE(0, 5, len, 5), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 0, len, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 5, len, 0, 5), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 5, len, 5, 0), -EIO);
	/* Longer encodings than necessary. */
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85, 0x80, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85, 0x80, 0x80, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85, 0x80, 0x80, 0x80, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85, 0x80, 0x80, 0x80, 0x10), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 133, len, 0x80, 1, 0x85, 0), -EIO);
	/* The sum differs from the content's length. */
	cr_assert_eq(PARSE_TABLE(2, 10, len, 5, 4), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 10, len, 5, 6), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 10, len, 0xff, 0xff, 0xff, 0x7f, 11), -EIO);
	/* More bytes or fewer than the entries need. */
	cr_assert_eq(PARSE_TABLE(2, 10, len, 5, 5, 0), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 10, len, 5, 5, 5), -EIO);
	cr_assert_eq(PARSE_TABLE(1, 10, len, 5, 5), -EIO);
	cr_assert_eq(PARSE_TABLE(3, 10, len, 5, 5), -EIO);
	cr_assert_eq(PARSE_TABLE(65535, 10, len, 5, 5), -EIO);
	/* The last entry does not end. */
	cr_assert_eq(PARSE_TABLE(1, 5, len, 0x85), -EIO);
	cr_assert_eq(PARSE_TABLE(2, 133, len, 5, 0x80), -EIO);
	cr_assert_eq(PARSE_TABLE(1, OFS_FRAME_RAW_MAX, len, 0x80, 0x80, 0x80, 0x82), -EIO);
	/* More content than a frame holds. */
	cr_assert_eq(PARSE_TABLE(1, OFS_FRAME_RAW_MAX + 1, len, 0x81, 0x80, 0x80, 2), -EIO);
}

/* The sum of 65535 lengths must not wrap. */
Test(pack_frame, table_of_huge_lengths)
{
	static uint8_t table[OFS_FRAME_CHUNK_MAX * 65535];
	static uint32_t len[65535];
	uint64_t sum = UINT64_C(65535) * 0xfffffff;

	for (size_t i = 0; i < sizeof(table); i++)
		table[i] = i % 4 == 3 ? 0x7f : 0xff;
	cr_assert_eq(parse_table(table, sizeof(table), 65535, (uint32_t)(sum % (1u << 20)) + 1,
				 len),
		     -EIO);
	/* 16 * 0xfffffff + 16 wraps to 0 in 32 bits; the rest is the content. */
	table[16 * 4] = 16;
	table[16 * 4 + 1] = 5;
	cr_assert_eq(parse_table(table, 16 * 4 + 2, 18, 5, len), -EIO);
}

/* A random table that is accepted must be as a writer encodes its lengths. */
Test(pack_frame, random_tables)
{
	unsigned int sound = 0;

	for (int round = 0; round < 50000; round++) {
		static const uint8_t frequent[] = { 0x80, 0x81, 0, 1 };
		uint8_t table[6];
		size_t table_len = 1 + rng() % sizeof(table), size = 0;
		uint16_t chunks = 1 + rng() % 4;
		uint32_t len[4], raw = 0, sum = 0;

		for (size_t i = 0; i < table_len; i++)
			table[i] = rng() % 2 ? rng() % 8 : frequent[rng() % 4];
		for (size_t i = 0, shift = 0; i < table_len; i++) {
			raw += shift < 28 ? (uint32_t)(table[i] & 0x7f) << shift : 0;
			shift = table[i] & 0x80 ? shift + 7 : 0;
		}
		if (raw > 100000 || parse_table(table, table_len, chunks, raw, len) < 0)
			continue;
		sound++;
		for (uint16_t i = 0; i < chunks; i++) {
			sum += len[i];
			size += entry_size(len[i]);
			cr_assert_neq(len[i], 0);
		}
		cr_assert_eq(sum, raw);
		cr_assert_eq(size, table_len);
	}
	cr_assert_gt(sound, 100);
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
