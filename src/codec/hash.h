/* SPDX-License-Identifier: MIT */
/*
 * SHA-256 (libcrypto) names content, XXH3-64 (libxxhash) detects damage, and MD5 is for foreign
 * protocols that require it.
 */
#pragma once

#include "base/util.h"

#define OFS_SHA256_SIZE 32

struct ofs_sha256; /* a digest being computed */

struct ofs_sha256 *ofs_sha256_create(void);
void ofs_sha256_destroy(struct ofs_sha256 *h);

/* Returns 0 or -EIO, which means that libcrypto itself is broken. */
int ofs_sha256_update(struct ofs_sha256 *h, const void *data, size_t len);

/* Writes the digest and makes `h` ready for the next content. 0 or -EIO. */
int ofs_sha256_final(struct ofs_sha256 *h, uint8_t ret[OFS_SHA256_SIZE]);

/* The digest of one buffer. 0 or -EIO. */
int ofs_sha256(const void *data, size_t len, uint8_t ret[OFS_SHA256_SIZE]);

/* Writes lower-case hex and a NUL. */
void ofs_sha256_hex(const uint8_t sha[OFS_SHA256_SIZE], char ret[2 * OFS_SHA256_SIZE + 1]);

/* HMAC-SHA-256: nobody without the key can compute it. 0 or -EIO. */
int ofs_hmac(const void *key, size_t key_len, const void *data, size_t len,
	     uint8_t ret[OFS_SHA256_SIZE]);

#define OFS_MD5_SIZE 16

/* 0 or -EIO. */
int ofs_md5(const void *data, size_t len, uint8_t ret[OFS_MD5_SIZE]);

/*
 * XXH3-64. The seed is the position of the bytes, so that bytes from another position do not pass.
 */
uint64_t ofs_checksum(const void *data, size_t len, uint64_t seed);
