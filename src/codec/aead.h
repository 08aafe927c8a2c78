/* SPDX-License-Identifier: MIT */
/*
 * AES-256-GCM, by the system's libcrypto: what nobody can read, or change unnoticed, who does not
 * have the key.
 */
#pragma once

#include "base/util.h"

#define OFS_AEAD_KEY_SIZE 32
#define OFS_AEAD_NONCE_SIZE 12
#define OFS_AEAD_TAG_SIZE 16

/* What sealing and opening must have in common. */
struct ofs_aead {
	uint8_t key[OFS_AEAD_KEY_SIZE];
	uint8_t nonce[OFS_AEAD_NONCE_SIZE]; /* another one for all that a key seals */
	const void *also; /* bytes that are not sealed, but must be the same; borrowed */
	size_t also_len;
};

/*
 * True if there is a libcrypto. It is looked for when it is first needed: its ciphers, linked in,
 * would be 4 MB more and a quarter of the time that a tool takes to start.
 */
bool ofs_aead_is_possible(void);

/*
 * Encrypts up to INT_MAX bytes in place. 0; -EOPNOTSUPP: there is no libcrypto; -EIO: it is broken.
 */
int ofs_aead_seal(const struct ofs_aead *a, void *data, size_t len,
		  uint8_t ret_tag[OFS_AEAD_TAG_SIZE]);

/*
 * Decrypts in place. 0; -EBADMSG: it was not sealed so, or was changed; else as above. After
 * an error `data` is zeros.
 */
int ofs_aead_open(const struct ofs_aead *a, void *data, size_t len,
		  const uint8_t tag[OFS_AEAD_TAG_SIZE]);
