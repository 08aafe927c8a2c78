/* SPDX-License-Identifier: MIT */
/*
 * AES-256-GCM, by the system's libcrypto. Without the key, sealed bytes can be neither read nor
 * changed unnoticed.
 */
#pragma once

#include "base/util.h"

#define OFS_AEAD_KEY_SIZE 32
#define OFS_AEAD_NONCE_SIZE 12
#define OFS_AEAD_TAG_SIZE 16

/* Must be the same for sealing and opening. */
struct ofs_aead {
	uint8_t key[OFS_AEAD_KEY_SIZE];
	uint8_t nonce[OFS_AEAD_NONCE_SIZE]; /* never used twice with the same key */
	const void *also; /* authenticated but not encrypted; borrowed */
	size_t also_len;
};

/*
 * True if libcrypto is available. It is loaded on first use: linked in, its ciphers would add 4 MB
 * and a quarter to the time that a tool takes to start.
 */
bool ofs_aead_is_possible(void);

/*
 * Encrypts up to INT_MAX bytes in place. 0; -EOPNOTSUPP: there is no libcrypto; -EIO: libcrypto
 * failed, or there are too many bytes.
 */
int ofs_aead_seal(const struct ofs_aead *a, void *data, size_t len,
		  uint8_t ret_tag[OFS_AEAD_TAG_SIZE]);

/*
 * Decrypts in place. 0; -EBADMSG: not sealed with this key, nonce and `also`, or changed since;
 * else as above. After an error `data` is all zeros.
 */
int ofs_aead_open(const struct ofs_aead *a, void *data, size_t len,
		  const uint8_t tag[OFS_AEAD_TAG_SIZE]);
