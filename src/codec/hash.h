/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 names content (libcrypto); XXH3-64 guards against damage (libxxhash); MD5 is what other
 * people's protocols ask for.
 */
#pragma once

#include "base/util.h"

#define OFS_SHA256_SIZE 32

struct ofs_sha256; /* a hash under way */

struct ofs_sha256 *ofs_sha256_create(void);
void ofs_sha256_destroy(struct ofs_sha256 *h);

/* 0 or -EIO, which libcrypto returns only when it is broken itself. */
int ofs_sha256_update(struct ofs_sha256 *h, const void *data, size_t len);

/* Writes the digest and makes `h` ready for the next content. */
int ofs_sha256_final(struct ofs_sha256 *h, uint8_t ret[OFS_SHA256_SIZE]);

/* The digest of one buffer. */
int ofs_sha256(const void *data, size_t len, uint8_t ret[OFS_SHA256_SIZE]);

/* Lower-case hex, `ret` has room for 65 bytes. */
void ofs_sha256_hex(const uint8_t sha[OFS_SHA256_SIZE], char ret[2 * OFS_SHA256_SIZE + 1]);

/* HMAC-SHA-256: what nobody can make who does not have the key. 0 or -EIO as above. */
int ofs_hmac(const void *key, size_t key_len, const void *data, size_t len,
	     uint8_t ret[OFS_SHA256_SIZE]);

#define OFS_MD5_SIZE 16

int ofs_md5(const void *data, size_t len, uint8_t ret[OFS_MD5_SIZE]);

/* XXH3-64. The seed is the place of the bytes, so that bytes from elsewhere never pass. */
uint64_t ofs_checksum(const void *data, size_t len, uint64_t seed);
