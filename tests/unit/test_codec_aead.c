/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>

#include "codec/aead.h"

static size_t unhex(const char *hex, uint8_t *ret)
{
	size_t n = strlen(hex) / 2;

	for (size_t i = 0; i < n; i++)
		cr_assert_eq(sscanf(hex + 2 * i, "%2hhx", ret + i), 1);
	return n;
}

/* Test cases 13 to 16 of "The Galois/Counter Mode of Operation" by McGrew and Viega. */
#define KEY "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
#define NONCE "cafebabefacedbaddecaf888"
#define PLAIN                                                                                  \
	"d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf" \
	"0e2449a6b525b16aedf5aa0de657ba637b39"
#define SEALED                                                                                 \
	"522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b0" \
	"8b1056828838c5f61e6393ba7a0abcc9f662"
#define ZEROS "00000000000000000000000000000000"

static const struct {
	const char *key, *nonce, *also, *plain, *sealed, *tag;
} cases[] = {
	{ ZEROS ZEROS, "000000000000000000000000", "", "", "", "530f8afbc74536b9a963b4f1c4cb738b" },
	{ ZEROS ZEROS, "000000000000000000000000", "", ZEROS, "cea7403d4d606b6e074ec5d3baf39d18",
	  "d0d1c8a799996bf0265b98b5d48ab919" },
	{ KEY, NONCE, "", PLAIN "1aafd255", SEALED "898015ad", "b094dac5d93471bdec1a502270e3cc6c" },
	{ KEY, NONCE, "feedfacedeadbeeffeedfacedeadbeefabaddad2", PLAIN, SEALED,
	  "76fc6ece0f4e1768cddf8853bb2d551b" },
};

static struct ofs_aead a;
static uint8_t also[64], data[64], expected[64], tag[OFS_AEAD_TAG_SIZE], its[OFS_AEAD_TAG_SIZE];

static size_t load(size_t i)
{
	unhex(cases[i].key, a.key);
	unhex(cases[i].nonce, a.nonce);
	a.also = also;
	a.also_len = unhex(cases[i].also, also);
	unhex(cases[i].sealed, expected);
	unhex(cases[i].tag, its);
	return unhex(cases[i].plain, data);
}

Test(codec_aead, known_vectors)
{
	uint8_t plain[64];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		size_t n = load(i);

		memcpy(plain, data, sizeof(plain));
		cr_assert_eq(ofs_aead_seal(&a, data, n, tag), 0);
		cr_expect_arr_eq(data, expected, n);
		cr_expect_arr_eq(tag, its, sizeof(tag));
		cr_assert_eq(ofs_aead_open(&a, data, n, tag), 0);
		cr_expect_arr_eq(data, plain, n);
	}
}

static void expect_refusal(size_t n)
{
	static const uint8_t zeros[64];

	cr_expect_eq(ofs_aead_open(&a, data, n, its), -EBADMSG);
	cr_expect_arr_eq(data, zeros, n);
	memcpy(data, expected, sizeof(data));
}

Test(codec_aead, every_bit_counts)
{
	const struct {
		uint8_t *at;
		size_t len;
	} parts[] = { { a.key, sizeof(a.key) },
		      { a.nonce, sizeof(a.nonce) },
		      { also, 20 },
		      { data, 60 },
		      { its, sizeof(its) } };
	size_t n = load(3);

	memcpy(data, expected, sizeof(data));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(parts); i++)
		for (size_t bit = 0; bit < 8 * parts[i].len; bit++) {
			parts[i].at[bit / 8] ^= (uint8_t)(1u << bit % 8);
			expect_refusal(n);
			if (parts[i].at != data)
				parts[i].at[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	expect_refusal(n - 1);
	a.also_len--;
	expect_refusal(n);
	a.also_len++;
	cr_expect_eq(ofs_aead_open(&a, data, n, its), 0);
}
