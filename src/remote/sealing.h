/* SPDX-License-Identifier: MIT */
/*
 * Sealing objects with a key, so that whoever stores them can neither read nor change them. A
 * sealed object is one or more blocks, version 1:
 *
 *   offset  size
 *        0     7  "OFSseal"
 *        7     1  version, 1                \
 *        8     8  id of the key             | the head, the same in all blocks of an object
 *       16    16  salt: random              /
 *       32     P  ciphertext of as many bytes
 *     32+P    16  tag
 *
 * All blocks but the last hold 65536 bytes of the content. The last one, which always exists, holds
 * the rest, then 0x80 and zeros up to a multiple of 1024, so the size of an object does not reveal
 * the exact length of its content.
 *
 *   id of the key     = the first 8 bytes of HMAC-SHA-256(key, bytes 0 to 7)
 *   key of the object = HMAC-SHA-256(key, head | name)
 *   block             = AES-256-GCM(key of the object, nonce, additional data: head | name)
 *   nonce             = 8 bytes: number of the block, from 0; 4 bytes: 1 for the last one, else 0
 *
 * Numbers are little-endian. The name is the object's key below the location's prefix. No two
 * sealings share a salt, so none share a key, even when racing hosts seal different content under
 * one name. A block can be neither moved within its object, nor omitted at the end, nor used under
 * another name or in another sealing. An old object cannot be distinguished from a new one of the
 * same name.
 *
 * Errors of reading, described in `err` on one line:
 *   -ENOKEY           it is sealed, and there is no key
 *   -EKEYREJECTED     it is sealed with another key
 *   -EBADMSG          it is damaged, not sealed, or made by somebody without the key
 *   -EPROTONOSUPPORT  it was sealed by a newer version
 *   -EIO              libcrypto is broken; -EOPNOTSUPP: libcrypto is missing
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

#define OFS_SEAL_KEY_SIZE 32

struct ofs_seal_key; /* constant, so any number of threads may use it */

/*
 * Loads a key from a file or, if that is NULL, from the output of a command (secret.h): 32 raw
 * bytes or, possibly between blanks, 64 hexadecimal digits or base64. -EACCES: there is no usable
 * key; -EOPNOTSUPP: libcrypto is missing (aead.h). `err` gives the reason.
 */
int ofs_seal_key_load(const char *file, const char *command, struct ofs_error *err,
		      struct ofs_seal_key **ret);

struct ofs_seal_key *ofs_seal_key_create(const uint8_t bytes[OFS_SEAL_KEY_SIZE]);

/* Wipes it. NULL is allowed. */
void ofs_seal_key_destroy(struct ofs_seal_key *k);

/* Bytes of a sealed object with `len` bytes of content. */
uint64_t ofs_sealed_size(uint64_t len);

/*
 * Appends the sealed object. Sealing the same content again gives different bytes, so a caller that
 * sends an object again must keep them. 0; -EIO: there are no random numbers, or libcrypto is
 * broken; -EOPNOTSUPP: libcrypto is missing.
 */
int ofs_seal(const struct ofs_seal_key *k, const char *name, const void *data, size_t len,
	     struct ofs_buf *ret);

/*
 * Replaces `bytes`, which may be anything, by the content sealed in it. Without a key (NULL), bytes
 * that are not sealed stay as they are. After an error `bytes` is empty.
 */
int ofs_unseal(const struct ofs_seal_key *k, const char *name, struct ofs_buf *bytes,
	       struct ofs_error *err);

/*
 * Finds the bytes of a sealed object that hold [at, at + len) of its content, which has `size`
 * bytes. The range must lie within the content.
 */
void ofs_sealed_range(uint64_t size, uint64_t at, uint64_t len, uint64_t *ret_at,
		      uint64_t *ret_len);

/*
 * Reads that range from those bytes, which are overwritten. -EBADMSG also if the content has
 * another size and these bytes show it.
 */
int ofs_unseal_range(const struct ofs_seal_key *k, const char *name, uint64_t size, uint64_t at,
		     uint64_t len, void *sealed, void *ret, struct ofs_error *err);
