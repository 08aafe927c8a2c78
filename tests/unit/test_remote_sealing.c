/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <sys/stat.h>

#include "codec/aead.h"
#include "codec/hash.h"
#include "remote/sealing.h"
#include "scratch.h"

#define NAME "pack/00000001/00000002"
#define BLOCK ((size_t)65536)
#define SEALED (BLOCK + 48)

static const uint8_t bytes[OFS_SEAL_KEY_SIZE + 1] = "hidden key, 32 bytes of letters!";
static struct ofs_seal_key *key;
static struct ofs_error err;
static struct ofs_buf sealed, copy;
static uint8_t content[4 * BLOCK], out[4 * BLOCK];
static char dir[SCRATCH_SIZE], path[64];

static void init(void)
{
	key = ofs_seal_key_create(bytes);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)(i * 2654435761u >> 13);
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/key", dir);
}

static void finish(void)
{
	ofs_seal_key_destroy(key);
	ofs_seal_key_destroy(NULL);
	ofs_buf_finish(&sealed);
	ofs_buf_finish(&copy);
	unlink(path);
	rmdir(dir);
}

TestSuite(remote_sealing, .init = init, .fini = finish);

static void seal(size_t len)
{
	sealed.len = 0;
	cr_assert_eq(ofs_seal(key, NAME, content, len, &sealed), 0);
	cr_assert_eq(sealed.len, ofs_sealed_size(len));
}

/* Unseals the first `len` sealed bytes as an object of this name. */
static int unseal(const struct ofs_seal_key *k, const char *name, size_t len)
{
	copy.len = 0;
	ofs_buf_append(&copy, sealed.data, len);
	return ofs_unseal(k, name, &copy, &err);
}

static void expect_refusal(int r, int code, const char *words)
{
	cr_expect_eq(r, -code, "%d instead of %d: %s", r, -code, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strstr(err.text, "hidden"), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
}

/* Reads [at, at + len) of an object of `size` bytes. */
static int read_range(uint64_t size, uint64_t at, uint64_t len)
{
	uint64_t from, n;

	ofs_sealed_range(size, at, len, &from, &n);
	cr_assert_leq(from + n, sealed.len);
	copy.len = 0;
	ofs_buf_append(&copy, sealed.data + from, n);
	return ofs_unseal_range(key, NAME, size, at, len, copy.data, out, &err);
}

static const size_t sizes[] = {
	0,	   1,	      1022,	     1023,	    1024,	   BLOCK - 1025,
	BLOCK - 2, BLOCK - 1, BLOCK,	     BLOCK + 1,	    2 * BLOCK - 1, 2 * BLOCK,
	100000,	   131073,    3 * BLOCK - 1, 3 * BLOCK + 7,
};

Test(remote_sealing, round_trips)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(sizes); i++) {
		size_t n = sizes[i];

		seal(n);
		cr_expect_eq((sealed.len - (n / BLOCK + 1) * 48) % 1024, 0);
		cr_assert_eq(unseal(key, NAME, sealed.len), 0, "%zu: %s", n, err.text);
		cr_assert_eq(copy.len, n);
		cr_expect(n == 0 || memcmp(copy.data, content, n) == 0, "%zu", n);
	}
	cr_expect_eq(ofs_sealed_size(0), ofs_sealed_size(1023));
	cr_expect_eq(ofs_sealed_size(1023) + 1024, ofs_sealed_size(1024));
}

Test(remote_sealing, ranges)
{
	static const int64_t around[] = { -2, -1, 0, 1, 2 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(sizes); i++) {
		seal(sizes[i]);
		for (size_t j = 0; j < OFS_ARRAY_SIZE(sizes); j++)
			for (size_t k = 0; k < OFS_ARRAY_SIZE(around); k++) {
				uint64_t at = sizes[j] / 2, end = sizes[j] + (uint64_t)around[k];

				if (end < at || end > sizes[i])
					continue;
				memset(out, 0, sizeof(out));
				cr_assert_eq(read_range(sizes[i], at, end - at), 0, "%s", err.text);
				cr_assert_eq(memcmp(out, content + at, end - at), 0);
			}
	}
	cr_expect_eq(read_range(3 * BLOCK + 7, BLOCK, BLOCK), 0);
	cr_expect_eq(copy.len, SEALED); /* only one block is read */
}

/* Builds an object from its parts, as sealing.h describes. */
Test(remote_sealing, the_format)
{
	static const char name[] = NAME;
	struct {
		uint8_t head[32];
		char name[sizeof(name) - 1];
	} bound = { .head = "OFSseal\1" };
	struct ofs_aead aead = { .also = &bound, .also_len = sizeof(bound) };
	uint8_t mac[OFS_SHA256_SIZE], block[1024] = "the content\x80";

	memcpy(bound.name, name, sizeof(bound.name));
	cr_assert_eq(ofs_hmac(bytes, 32, bound.head, 8, mac), 0);
	memcpy(bound.head + 8, mac, 8);
	memset(bound.head + 16, 's', 16);
	cr_assert_eq(ofs_hmac(bytes, 32, &bound, sizeof(bound), aead.key), 0);
	memset(aead.nonce, 0, sizeof(aead.nonce));
	aead.nonce[8] = 1;
	cr_assert_eq(ofs_aead_seal(&aead, block, sizeof(block), mac), 0);
	ofs_buf_append(&sealed, bound.head, 32);
	ofs_buf_append(&sealed, block, sizeof(block));
	ofs_buf_append(&sealed, mac, OFS_AEAD_TAG_SIZE);
	cr_assert_eq(unseal(key, NAME, sealed.len), 0, "%s", err.text);
	cr_assert_eq(copy.len, 11);
	cr_expect_eq(memcmp(copy.data, "the content", 11), 0);
}

Test(remote_sealing, every_bit_counts)
{
	seal(10);
	for (size_t bit = 0; bit < 8 * sealed.len; bit++) {
		sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_assert_lt(unseal(key, NAME, sealed.len), 0, "%zu", bit);
		cr_assert_eq(copy.len, 0);
		cr_assert_lt(read_range(10, 0, 10), 0, "%zu", bit);
		sealed.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	cr_expect_eq(unseal(key, NAME, sealed.len), 0);
	ofs_buf_append(&sealed, "", 1);
	expect_refusal(unseal(key, NAME, sealed.len), EBADMSG, "is damaged");
}

Test(remote_sealing, parts_that_are_missing)
{
	seal(10);
	for (size_t n = 0; n < sealed.len; n++)
		cr_assert_eq(unseal(key, NAME, n), -EBADMSG);
	seal(2 * BLOCK + 10);
	expect_refusal(unseal(key, NAME, SEALED), EBADMSG, "is damaged");
	expect_refusal(unseal(key, NAME, 2 * SEALED), EBADMSG, "is damaged");
	/* A wrong size of the content, smaller or larger, is noticed at its end. */
	cr_expect_eq(read_range(2 * BLOCK, BLOCK, BLOCK), 0);
	expect_refusal(read_range(2 * BLOCK + 9, 2 * BLOCK, 9), EBADMSG, "is damaged");
	expect_refusal(read_range(2 * BLOCK + 11, 2 * BLOCK, 11), EBADMSG, "is damaged");
}

static void swap(uint8_t *a, uint8_t *b)
{
	memcpy(out, a, SEALED);
	memcpy(a, b, SEALED);
	memcpy(b, out, SEALED);
}

Test(remote_sealing, blocks_in_another_order_or_of_another_sealing)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf other = OFS_BUF_INIT;

	seal(2 * BLOCK + 10);
	swap(sealed.data, sealed.data + SEALED);
	expect_refusal(unseal(key, NAME, sealed.len), EBADMSG, "is damaged");
	cr_expect_eq(read_range(2 * BLOCK + 10, 0, 1), -EBADMSG);
	swap(sealed.data, sealed.data + SEALED);
	cr_assert_eq(unseal(key, NAME, sealed.len), 0);

	cr_assert_eq(ofs_seal(key, NAME, content, 2 * BLOCK + 10, &other), 0);
	cr_expect_neq(memcmp(sealed.data, other.data, 1000), 0, "two sealings have one salt");
	memcpy(sealed.data + SEALED, other.data + SEALED, SEALED);
	expect_refusal(unseal(key, NAME, sealed.len), EBADMSG, "is damaged");
	cr_expect_eq(read_range(2 * BLOCK + 10, 0, 2 * BLOCK), -EBADMSG);
	cr_expect_eq(read_range(2 * BLOCK + 10, 0, BLOCK), 0);
}

Test(remote_sealing, other_names_and_keys)
{
	struct ofs_seal_key *other = ofs_seal_key_create(content);

	seal(10);
	expect_refusal(unseal(key, "pack/00000001/00000003", sealed.len), EBADMSG, "is damaged");
	expect_refusal(unseal(other, NAME, sealed.len), EKEYREJECTED, "sealed with another key");
	expect_refusal(unseal(NULL, NAME, sealed.len), ENOKEY, "no key was given");
	sealed.data[7]++;
	expect_refusal(unseal(key, NAME, sealed.len), EPROTONOSUPPORT, "a newer offloadfs");
	ofs_seal_key_destroy(other);

	sealed.len = 0;
	ofs_buf_append_str(&sealed, "OFSobjct and what follows that is not sealed");
	expect_refusal(unseal(key, NAME, sealed.len), EBADMSG, "is not sealed");
	cr_expect_eq(unseal(NULL, NAME, sealed.len), 0);
	cr_expect(copy.len == sealed.len && memcmp(copy.data, sealed.data, copy.len) == 0);
	cr_expect_eq(unseal(NULL, NAME, 0), 0);
}

/* ---- keys */

static void write_file(const void *data, size_t len, mode_t mode)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	cr_assert_eq(fwrite(data, 1, len, f), len);
	fclose(f);
	cr_assert_eq(chmod(path, mode), 0);
}

static void expect_key(const char *file, const char *command)
{
	struct ofs_seal_key *k = NULL;

	seal(10);
	cr_assert_eq(ofs_seal_key_load(file, command, &err, &k), 0, "%s", err.text);
	cr_expect_eq(unseal(k, NAME, sealed.len), 0, "%s", err.text);
	ofs_seal_key_destroy(k);
}

static void expect_no_key(const char *file, const char *command, const char *words)
{
	struct ofs_seal_key *k = NULL;

	expect_refusal(ofs_seal_key_load(file, command, &err, &k), EACCES, words);
	cr_expect_null(k);
}

#define HEX "68696464656e206b65792c203332206279746573206f66206C65747465727321"
#define BASE64 "aGlkZGVuIGtleSwgMzIgYnl0ZXMgb2YgbGV0dGVycyE"

Test(remote_sealing, keys_in_a_file)
{
	static const char *const texts[] = { BASE64 "=\n", BASE64, " \t" BASE64 "\r\n\n", HEX,
					     HEX "\n" };
	static const char *const wrong[] = {
		"",
		"\n",
		"hidden",
		"hidden key, 32 bytes of letters!\n",
		HEX "0",
		"0x" HEX,
		BASE64 "==",
		BASE64 "A",
		BASE64 "= x",
		"hidden*uIGtleSwgMzIgYnl0ZXMgb2YgbGV0dGVycyE=",
		"hidden key of 64 characters, none of which are digits, altogether",
	};

	expect_no_key(path, NULL, "does not exist");
	write_file(bytes, 32, 0600);
	expect_key(path, "exit 1");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		write_file(texts[i], strlen(texts[i]), 0400);
		expect_key(path, NULL);
		unlink(path);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(wrong); i++) {
		write_file(wrong[i], strlen(wrong[i]), 0600);
		expect_no_key(path, NULL, "gives no key");
	}
	write_file(bytes, 32, 0640);
	expect_no_key(path, NULL, "chmod 600");
}

Test(remote_sealing, keys_of_a_command)
{
	expect_key(NULL, "echo hidden >&2; echo " BASE64 "=");
	expect_key(NULL, "printf " HEX);
	expect_no_key(NULL, "echo hidden", "the key command gives no key");
	expect_no_key(NULL, "true", "the key command gives no key");
	expect_no_key(NULL, "echo hidden; exit 3", "the key command ended with exit code 3");
}
