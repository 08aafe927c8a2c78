/* SPDX-License-Identifier: MIT */
#include "codec/hash.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <pthread.h>
#include <xxhash.h>

struct ofs_sha256 {
	EVP_MD_CTX *ctx;
};

/* Fetched once: a lookup costs as much as hashing a small file. */
static pthread_once_t sha256_once = PTHREAD_ONCE_INIT;
static EVP_MD *sha256_md;

static void sha256_fetch(void)
{
	sha256_md = EVP_MD_fetch(NULL, "SHA256", NULL);
}

static const EVP_MD *sha256_algorithm(void)
{
	pthread_once(&sha256_once, sha256_fetch);
	return sha256_md;
}

struct ofs_sha256 *ofs_sha256_create(void)
{
	struct ofs_sha256 *h = ofs_alloc(sizeof(*h));

	h->ctx = EVP_MD_CTX_new();
	if (!h->ctx || !sha256_algorithm() ||
	    EVP_DigestInit_ex(h->ctx, sha256_algorithm(), NULL) != 1)
		ofs_out_of_memory();
	return h;
}

void ofs_sha256_destroy(struct ofs_sha256 *h)
{
	int saved = errno;

	if (!h)
		return;
	EVP_MD_CTX_free(h->ctx);
	free(h);
	errno = saved;
}

int ofs_sha256_update(struct ofs_sha256 *h, const void *data, size_t len)
{
	return EVP_DigestUpdate(h->ctx, data, len) == 1 ? 0 : -EIO;
}

int ofs_sha256_final(struct ofs_sha256 *h, uint8_t ret[OFS_SHA256_SIZE])
{
	if (EVP_DigestFinal_ex(h->ctx, ret, NULL) != 1)
		return -EIO;
	return EVP_DigestInit_ex(h->ctx, sha256_algorithm(), NULL) == 1 ? 0 : -EIO;
}

int ofs_sha256(const void *data, size_t len, uint8_t ret[OFS_SHA256_SIZE])
{
	const EVP_MD *md = sha256_algorithm();

	return md && EVP_Digest(data, len, ret, NULL, md, NULL) == 1 ? 0 : -EIO;
}

int ofs_hmac(const void *key, size_t key_len, const void *data, size_t len,
	     uint8_t ret[OFS_SHA256_SIZE])
{
	const EVP_MD *md = sha256_algorithm();

	return md && HMAC(md, key, (int)key_len, data, len, ret, NULL) ? 0 : -EIO;
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

uint64_t ofs_checksum(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}
