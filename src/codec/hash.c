/* SPDX-License-Identifier: MIT */
#include "codec/hash.h"

/*
 * The functions of libcrypto used here are deprecated. Their replacements fetch an algorithm, for
 * which libcrypto reads its configuration and registers all its algorithms. That took 3 ms at each
 * start of a tool, and pulls in all of libcrypto where it is linked statically.
 */
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/md5.h>
#include <openssl/sha.h>
#include <xxhash.h>

struct ofs_sha256 {
	SHA256_CTX ctx;
};

static int result(int done)
{
	return done == 1 ? 0 : -EIO;
}

struct ofs_sha256 *ofs_sha256_create(void)
{
	struct ofs_sha256 *h = ofs_alloc(sizeof(*h));

	SHA256_Init(&h->ctx);
	return h;
}

void ofs_sha256_destroy(struct ofs_sha256 *h)
{
	free(h);
}

int ofs_sha256_update(struct ofs_sha256 *h, const void *data, size_t len)
{
	return result(SHA256_Update(&h->ctx, data, len));
}

int ofs_sha256_final(struct ofs_sha256 *h, uint8_t ret[OFS_SHA256_SIZE])
{
	int done = SHA256_Final(ret, &h->ctx);

	return result(SHA256_Init(&h->ctx) == 1 ? done : 0);
}

/* The digest of two parts. */
static int digest(const void *a, size_t a_len, const void *b, size_t b_len,
		  uint8_t ret[OFS_SHA256_SIZE])
{
	SHA256_CTX ctx;

	return result(SHA256_Init(&ctx) == 1 && SHA256_Update(&ctx, a, a_len) == 1 &&
		      SHA256_Update(&ctx, b, b_len) == 1 && SHA256_Final(ret, &ctx) == 1);
}

int ofs_sha256(const void *data, size_t len, uint8_t ret[OFS_SHA256_SIZE])
{
	return digest(NULL, 0, data, len, ret);
}

/* RFC 2104. */
int ofs_hmac(const void *key, size_t key_len, const void *data, size_t len,
	     uint8_t ret[OFS_SHA256_SIZE])
{
	uint8_t inner[SHA256_CBLOCK] = { 0 }, outer[SHA256_CBLOCK], hash[OFS_SHA256_SIZE];
	int r = 0;

	if (key_len > sizeof(inner))
		r = ofs_sha256(key, key_len, inner);
	else
		memcpy(inner, key, key_len);
	for (size_t i = 0; i < sizeof(inner); i++) {
		outer[i] = inner[i] ^ 0x5c;
		inner[i] ^= 0x36;
	}
	if (r == 0)
		r = digest(inner, sizeof(inner), data, len, hash);
	return r == 0 ? digest(outer, sizeof(outer), hash, sizeof(hash), ret) : r;
}

void ofs_sha256_hex(const uint8_t sha[OFS_SHA256_SIZE], char ret[2 * OFS_SHA256_SIZE + 1])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < OFS_SHA256_SIZE; i++) {
		ret[2 * i] = digits[sha[i] >> 4];
		ret[2 * i + 1] = digits[sha[i] & 15];
	}
	ret[2 * OFS_SHA256_SIZE] = '\0';
}

int ofs_md5(const void *data, size_t len, uint8_t ret[OFS_MD5_SIZE])
{
	return result(MD5(data, len, ret) ? 1 : 0);
}

uint64_t ofs_checksum(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}
