/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <pthread.h>

#include "base/util.h"
#include "codec/zstd.h"

#define SIZE 20000u

static struct ofs_compressor *compressor;
static uint8_t plain[SIZE];

static void setup(void)
{
	uint32_t i;

	compressor = ofs_compressor_create();
	cr_assert_not_null(compressor);
	for (i = 0; i < SIZE; i++)
		plain[i] = (uint8_t)("offload"[i * i / 77 % 7]);
}

static void teardown(void)
{
	ofs_compressor_destroy(compressor);
	ofs_compressor_destroy(NULL);
}

TestSuite(codec_zstd, .init = setup, .fini = teardown);

Test(codec_zstd, round_trip_at_every_level)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	uint8_t back[SIZE];
	int level;

	for (level = 1; level <= 19; level++) {
		out.len = 0;
		cr_assert_eq(ofs_compress(compressor, level, plain, SIZE, &out), 0);
		cr_assert_lt(out.len, SIZE / 2);
		memset(back, 0, sizeof(back));
		cr_assert_eq(ofs_decompress(out.data, out.len, back, SIZE), 0);
		cr_assert_arr_eq(back, plain, SIZE);
	}
}

Test(codec_zstd, appends_behind_what_is_there)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	uint8_t back[SIZE];

	ofs_buf_append_str(&out, "head");
	cr_assert_eq(ofs_compress(compressor, 3, plain, SIZE, &out), 0);
	cr_assert_arr_eq(out.data, "head", 4);
	cr_assert_eq(ofs_decompress(out.data + 4, out.len - 4, back, SIZE), 0);
	cr_assert_arr_eq(back, plain, SIZE);
}

Test(codec_zstd, bare_is_shorter_by_the_checksum)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf whole = OFS_BUF_INIT, bare = OFS_BUF_INIT;
	uint8_t back[SIZE];

	/* Twice in turn: neither call affects the other. */
	for (int i = 0; i < 2; i++) {
		whole.len = bare.len = 0;
		cr_assert_eq(ofs_compress(compressor, 6, plain, SIZE, &whole), 0);
		cr_assert_eq(ofs_compress_bare(compressor, 6, plain, SIZE, &bare), 0);
		cr_assert_eq(whole.len, bare.len + 4);
		memset(back, 0, sizeof(back));
		cr_assert_eq(ofs_decompress(bare.data, bare.len, back, SIZE), 0);
		cr_assert_arr_eq(back, plain, SIZE);
	}
}

Test(codec_zstd, nothing)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	cr_assert_eq(ofs_compress(compressor, 3, NULL, 0, &out), 0);
	cr_assert_gt(out.len, 0);
	cr_assert_eq(ofs_decompress(out.data, out.len, NULL, 0), 0);
}

Test(codec_zstd, wrong_size_is_eio)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	uint8_t back[SIZE + 1];

	cr_assert_eq(ofs_compress(compressor, 3, plain, SIZE, &out), 0);
	cr_assert_eq(ofs_decompress(out.data, out.len, back, SIZE - 1), -EIO);
	cr_assert_eq(ofs_decompress(out.data, out.len, back, SIZE + 1), -EIO);
	cr_assert_eq(ofs_decompress(out.data, out.len - 1, back, SIZE), -EIO);
	cr_assert_eq(ofs_decompress(out.data, 0, back, SIZE), -EIO);
}

/* Damage is either detected or in a bit that does not matter. */
Test(codec_zstd, damage_never_gives_wrong_bytes)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	uint8_t back[SIZE];
	size_t bit, harmless = 0;
	int r;

	cr_assert_eq(ofs_compress(compressor, 6, plain, SIZE, &out), 0);
	for (bit = 0; bit < 8 * out.len; bit++) {
		out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		r = ofs_decompress(out.data, out.len, back, SIZE);
		if (r == 0)
			cr_assert_arr_eq(back, plain, SIZE);
		else
			cr_assert_eq(r, -EIO);
		harmless += r == 0;
		out.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	cr_assert_lt(harmless, out.len / 4);
	cr_assert_eq(ofs_decompress(out.data, out.len, back, SIZE), 0);
}

static void *decompress_often(void *arg)
{
	const struct ofs_buf *out = arg;
	uint8_t back[SIZE];
	int i;

	for (i = 0; i < 200; i++)
		if (ofs_decompress(out->data, out->len, back, SIZE) != 0 ||
		    memcmp(back, plain, SIZE) != 0)
			return arg;
	return NULL;
}

Test(codec_zstd, threads)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	pthread_t threads[4];
	void *failed;
	size_t i;

	cr_assert_eq(ofs_compress(compressor, 3, plain, SIZE, &out), 0);
	for (i = 0; i < OFS_ARRAY_SIZE(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, decompress_often, &out), 0);
	for (i = 0; i < OFS_ARRAY_SIZE(threads); i++) {
		pthread_join(threads[i], &failed);
		cr_assert_null(failed);
	}
}
