/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/util.h"
#include "codec/hash.h"

static const struct {
	const char *text;
	const char *hex;
} vectors[] = {
	{ "", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
	{ "abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
	{ "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
	  "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
};

static void check_hex(const uint8_t sha[OFS_SHA256_SIZE], const char *expected)
{
	char hex[2 * OFS_SHA256_SIZE + 1];

	ofs_sha256_hex(sha, hex);
	cr_assert_str_eq(hex, expected);
}

Test(codec_hash, known_vectors)
{
	uint8_t sha[OFS_SHA256_SIZE];
	size_t i;

	for (i = 0; i < OFS_ARRAY_SIZE(vectors); i++) {
		cr_assert_eq(ofs_sha256(vectors[i].text, strlen(vectors[i].text), sha), 0);
		check_hex(sha, vectors[i].hex);
	}
	cr_assert_eq(ofs_sha256(NULL, 0, sha), 0);
	check_hex(sha, vectors[0].hex);
}

Test(codec_hash, pieces_give_the_same_and_final_starts_anew)
{
	struct ofs_sha256 *h = ofs_sha256_create();
	uint8_t sha[OFS_SHA256_SIZE];
	size_t i, n;

	cr_assert_not_null(h);
	for (i = 0; i < OFS_ARRAY_SIZE(vectors); i++) {
		for (n = 0; n < strlen(vectors[i].text); n++)
			cr_assert_eq(ofs_sha256_update(h, vectors[i].text + n, 1), 0);
		cr_assert_eq(ofs_sha256_final(h, sha), 0);
		check_hex(sha, vectors[i].hex);
	}
	ofs_sha256_destroy(h);
	ofs_sha256_destroy(NULL);
}

Test(codec_hash, million_letters)
{
	struct ofs_sha256 *h = ofs_sha256_create();
	uint8_t sha[OFS_SHA256_SIZE];
	char a[1000];
	int i;

	memset(a, 'a', sizeof(a));
	for (i = 0; i < 1000; i++)
		cr_assert_eq(ofs_sha256_update(h, a, sizeof(a)), 0);
	cr_assert_eq(ofs_sha256_final(h, sha), 0);
	check_hex(sha, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
	ofs_sha256_destroy(h);
}

/* Cases 1 and 6 of RFC 4231. */
Test(codec_hash, hmac_of_short_and_long_keys)
{
	static const char text[] = "Test Using Larger Than Block-Size Key - Hash Key First";
	uint8_t key[131], mac[OFS_SHA256_SIZE];

	memset(key, 0x0b, sizeof(key));
	cr_assert_eq(ofs_hmac(key, 20, "Hi There", 8, mac), 0);
	check_hex(mac, "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
	memset(key, 0xaa, sizeof(key));
	cr_assert_eq(ofs_hmac(key, sizeof(key), text, strlen(text), mac), 0);
	check_hex(mac, "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

/* From the test suite in RFC 1321. */
Test(codec_hash, md5)
{
	static const uint8_t expected[OFS_MD5_SIZE] = { 0x90, 0x01, 0x50, 0x98, 0x3c, 0xd2,
							0x4f, 0xb0, 0xd6, 0x96, 0x3f, 0x7d,
							0x28, 0xe1, 0x7f, 0x72 };
	uint8_t md5[OFS_MD5_SIZE];

	cr_assert_eq(ofs_md5("abc", 3, md5), 0);
	cr_expect_eq(memcmp(md5, expected, sizeof(md5)), 0);
}

/* These values are on disk, so no library or platform may change them. */
Test(codec_hash, checksum_is_xxh3_64)
{
	cr_assert_eq(ofs_checksum("", 0, 0), UINT64_C(0x2d06800538d394c2));
	cr_assert_eq(ofs_checksum(NULL, 0, 0), UINT64_C(0x2d06800538d394c2));
}

Test(codec_hash, checksum_depends_on_seed_and_every_bit)
{
	uint8_t data[300];
	uint64_t sum;
	size_t bit;

	memset(data, 7, sizeof(data));
	sum = ofs_checksum(data, sizeof(data), 5);
	cr_assert_eq(ofs_checksum(data, sizeof(data), 5), sum);
	cr_assert_neq(ofs_checksum(data, sizeof(data), 6), sum);
	cr_assert_neq(ofs_checksum(data, sizeof(data) - 1, 5), sum);
	for (bit = 0; bit < 8 * sizeof(data); bit++) {
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_assert_neq(ofs_checksum(data, sizeof(data), 5), sum);
		data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}
