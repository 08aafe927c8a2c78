/* SPDX-License-Identifier: MIT */
/*
 * Sealing objects with a key, so that whoever keeps them can neither read nor change them. A sealed
 * object is one or more blocks, version 1:
 *
 *   offset  size
 *        0     7  "OFSseal"
 *        7     1  version, 1                \
 *        8     8  id of the key             | the head, the same in all blocks of an object
 *       16    16  salt: random              /
 *       32     P  ciphertext of as many bytes
 *     32+P    16  tag
 *
 * All blocks but the last hold 65536 bytes of the content. The last one, which is always there,
 * holds the rest, fewer than that, then 0x80 and zeros up to a multiple of 1024: so an object tells
 * its length no more precisely.
 *
 *   id of the key     = the first 8 bytes of HMAC-SHA-256(key, bytes 0 to 7)
 *   key of the object = HMAC-SHA-256(key, head | name)
 *   block             = AES-256-GCM(key of the object, nonce, additional data: head | name)
 *   nonce             = 8 bytes: number of the block, from 0; 4 bytes: 1 for the last one, else 0
 *
 * Numbers are little-endian. The name is the object's key below the location's prefix. No two
 * sealings share a salt, so none share a key, even when hosts that race seal different content under
 * one name. A block can be neither moved in its object, nor left out at the end, nor taken to another
 * name or sealing. An old object cannot be told from a new one of the same name.
 *
 * Errors of reading, told in `err` on one line:
 *   -ENOKEY        it is sealed, and there is no key
 *   -EKEYREJECTED  it is sealed with another key
 *   -EBADMSG       it is damaged or was made by somebody without the key; also when it is not sealed
 *   -EPROTONOSUPPORT  it was sealed by a newer version
 *   -EIO           libcrypto is broken; -EOPNOTSUPP: there is none
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

#define OFS_SEAL_KEY_SIZE 32

struct ofs_seal_key; /* constant: for any number of threads */

/*
 * Loads a key from a file or, if that is NULL, from what a command prints (secret.h): 32 bytes as
 * they are or, with blanks around, 64 hexadecimal digits or base64. -EACCES: it cannot be had;
 * -EOPNOTSUPP: there is no libcrypto (aead.h); with the reason in `err`.
 */
int ofs_seal_key_load(const char *file, const char *command, struct ofs_error *err,
		      struct ofs_seal_key **ret);

struct ofs_seal_key *ofs_seal_key_create(const uint8_t bytes[OFS_SEAL_KEY_SIZE]);

/* Wipes it; NULL is allowed. */
void ofs_seal_key_destroy(struct ofs_seal_key *k);

/* Bytes of a sealed object whose content has `len`. */
uint64_t ofs_sealed_size(uint64_t len);

/*
 * Appends the sealed object. Sealing anew gives other bytes: whoever sends an object again must keep
 * them. 0; -EIO: there are no random numbers, or libcrypto is broken; -EOPNOTSUPP: there is none.
 */
int ofs_seal(const struct ofs_seal_key *k, const char *name, const void *data, size_t len,
	     struct ofs_buf *ret);

/*
 * Replaces any bytes at all by the content that is sealed in them. Without a key (NULL) what is not
 * sealed is left as it is. After an error `bytes` is empty.
 */
int ofs_unseal(const struct ofs_seal_key *k, const char *name, struct ofs_buf *bytes,
	       struct ofs_error *err);

/*
 * The bytes of a sealed object that hold [at, at + len) of its content, which lies within the `size`
 * bytes of that.
 */
void ofs_sealed_range(uint64_t size, uint64_t at, uint64_t len, uint64_t *ret_at,
		      uint64_t *ret_len);

/*
 * Reads that range from those bytes, which are overwritten. -EBADMSG also if the content has another
 * size and that shows in them.
 */
int ofs_unseal_range(const struct ofs_seal_key *k, const char *name, uint64_t size, uint64_t at,
		     uint64_t len, void *sealed, void *ret, struct ofs_error *err);
