/* SPDX-License-Identifier: MIT */
#include "remote/sealing.h"

#include <ctype.h>
#include <sys/random.h>

#include "codec/aead.h"
#include "codec/base64.h"
#include "codec/hash.h"
#include "remote/secret.h"

#define BLOCK 65536u
#define PAD 1024u
#define ID_SIZE 8u
#define SALT_AT 16u
#define HEAD 32u
#define OVERHEAD (HEAD + OFS_AEAD_TAG_SIZE)

static const uint8_t magic[8] = "OFSseal\1"; /* with the version */

struct ofs_seal_key {
	uint8_t bytes[OFS_SEAL_KEY_SIZE];
	uint8_t id[ID_SIZE];
};

/* ---- keys */

struct ofs_seal_key *ofs_seal_key_create(const uint8_t bytes[OFS_SEAL_KEY_SIZE])
{
	struct ofs_seal_key *k = ofs_alloc(sizeof(*k));
	uint8_t mac[OFS_SHA256_SIZE] = { 0 };

	memcpy(k->bytes, bytes, sizeof(k->bytes));
	ofs_hmac(k->bytes, sizeof(k->bytes), magic, sizeof(magic), mac);
	memcpy(k->id, mac, sizeof(k->id));
	return k;
}

void ofs_seal_key_destroy(struct ofs_seal_key *k)
{
	if (k)
		explicit_bzero(k, sizeof(*k));
	free(k);
}

static bool parse_hex(const char *text, uint8_t ret[OFS_SEAL_KEY_SIZE])
{
	char byte[3] = { 0 };

	for (size_t i = 0; i < OFS_SEAL_KEY_SIZE; i++) {
		memcpy(byte, text + 2 * i, 2);
		if (!isxdigit((unsigned char)byte[0]) || !isxdigit((unsigned char)byte[1]))
			return false;
		ret[i] = (uint8_t)strtoul(byte, NULL, 16);
	}
	return true;
}

static bool parse_base64(const char *text, size_t len, uint8_t ret[OFS_SEAL_KEY_SIZE])
{
	OFS_CLEANUP(ofs_secret_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	char padded[44];
	bool done;

	memcpy(padded, text, len);
	memset(padded + len, '=', sizeof(padded) - len);
	done = ofs_base64_decode(padded, sizeof(padded), &bytes) && bytes.len == OFS_SEAL_KEY_SIZE;
	if (done)
		memcpy(ret, bytes.data, bytes.len);
	explicit_bzero(padded, sizeof(padded));
	return done;
}

static bool parse_key(const struct ofs_buf *from, uint8_t ret[OFS_SEAL_KEY_SIZE])
{
	const char *text = (const char *)from->data;
	size_t len = from->len;

	if (len == OFS_SEAL_KEY_SIZE) {
		memcpy(ret, text, len);
		return true;
	}
	while (len && isspace((unsigned char)*text)) {
		text++;
		len--;
	}
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	if (len == 2 * OFS_SEAL_KEY_SIZE)
		return parse_hex(text, ret);
	return (len == 43 || len == 44) && parse_base64(text, len, ret);
}

int ofs_seal_key_load(const char *file, const char *command, struct ofs_error *err,
		      struct ofs_seal_key **ret)
{
	OFS_CLEANUP(ofs_secret_finish) struct ofs_buf text = OFS_BUF_INIT;
	uint8_t bytes[OFS_SEAL_KEY_SIZE];
	int r = file ? ofs_secret_read_file(file, err, &text)
		     : ofs_secret_run(command, "the key command", err, &text);

	if (r < 0)
		return r;
	if (!ofs_aead_is_possible())
		return ofs_error_set(
			err, EOPNOTSUPP,
			"libcrypto cannot be loaded, so nothing can be sealed; install "
			"libssl3");
	if (file && !r)
		return ofs_error_set(err, EACCES, "the key file '%s' does not exist", file);
	if (!parse_key(&text, bytes))
		return ofs_error_set(
			err, EACCES,
			"%s%s%s gives no key: it must be 32 bytes, raw, in base64 or as "
			"64 hexadecimal digits; make one with: head -c 32 /dev/urandom "
			"| base64",
			file ? "the file '" : "the key command", file ? file : "", file ? "'" : "");
	*ret = ofs_seal_key_create(bytes);
	explicit_bzero(bytes, sizeof(bytes));
	return 0;
}

/* ---- blocks */

/* What all blocks of an object share. */
struct sealed {
	struct ofs_aead aead;
	struct ofs_buf bound; /* the head and the name */
};

static void sealed_finish(struct sealed *s)
{
	explicit_bzero(&s->aead, sizeof(s->aead));
	ofs_buf_finish(&s->bound);
}

/* `s` must be zero-initialized. */
static int sealed_init(struct sealed *s, const struct ofs_seal_key *k, const uint8_t head[HEAD],
		       const char *name)
{
	ofs_buf_append(&s->bound, head, HEAD);
	ofs_buf_append_str(&s->bound, name);
	s->aead.also = s->bound.data;
	s->aead.also_len = s->bound.len;
	return ofs_hmac(k->bytes, sizeof(k->bytes), s->bound.data, s->bound.len, s->aead.key);
}

static void choose_nonce(struct sealed *s, uint64_t number, bool last)
{
	ofs_put_le64(s->aead.nonce, number);
	ofs_put_le32(s->aead.nonce + 8, last);
}

/* The size of the last block for `len` bytes, fewer than BLOCK. */
static size_t padded(size_t len)
{
	return ofs_align_up(len + 1, PAD);
}

uint64_t ofs_sealed_size(uint64_t len)
{
	return len / BLOCK * (BLOCK + OVERHEAD) + padded(len % BLOCK) + OVERHEAD;
}

static int append_block(struct sealed *s, uint64_t number, const void *data, size_t len,
			struct ofs_buf *out)
{
	bool last = len < BLOCK;
	size_t whole = last ? padded(len) : BLOCK;
	uint8_t *at;

	ofs_buf_append(out, s->bound.data, HEAD);
	ofs_buf_reserve(out, whole + OFS_AEAD_TAG_SIZE);
	at = out->data + out->len;
	if (len)
		memcpy(at, data, len);
	if (last) {
		memset(at + len, 0, whole - len);
		at[len] = 0x80;
	}
	out->len += whole + OFS_AEAD_TAG_SIZE;
	choose_nonce(s, number, last);
	return ofs_aead_seal(&s->aead, at, whole, at + whole);
}

int ofs_seal(const struct ofs_seal_key *k, const char *name, const void *data, size_t len,
	     struct ofs_buf *ret)
{
	OFS_CLEANUP(sealed_finish) struct sealed s = { .bound = OFS_BUF_INIT };
	const uint8_t *p = data;
	uint8_t head[HEAD];
	int r;

	memcpy(head, magic, sizeof(magic));
	memcpy(head + sizeof(magic), k->id, ID_SIZE);
	if (getrandom(head + SALT_AT, HEAD - SALT_AT, 0) != HEAD - SALT_AT)
		return -EIO;
	r = sealed_init(&s, k, head, name);
	ofs_buf_reserve(ret, ofs_sealed_size(len));
	for (uint64_t i = 0; r == 0 && i <= len / BLOCK; i++)
		r = append_block(&s, i, p + i * BLOCK, OFS_MIN(len - i * BLOCK, BLOCK), ret);
	return r;
}

/* ---- reading */

static int tell(const char *name, int r, struct ofs_error *err)
{
	switch (r) {
	case -ENOKEY:
		return ofs_error_set(err, ENOKEY, "%s is sealed, and no key was given", name);
	case -EKEYREJECTED:
		return ofs_error_set(err, EKEYREJECTED, "%s is sealed with another key", name);
	case -EPROTONOSUPPORT:
		return ofs_error_set(err, EPROTONOSUPPORT, "%s was sealed by a newer offloadfs",
				     name);
	case -ENOMSG:
		return ofs_error_set(err, EBADMSG,
				     "%s is not sealed: it was written without the key", name);
	case -EBADMSG:
		return ofs_error_set(err, EBADMSG,
				     "%s is damaged, or was changed by somebody without the key",
				     name);
	default:
		return ofs_error_set(err, -r, "%s cannot be unsealed: libcrypto fails", name);
	}
}

/* Gives the errors of reading, and -ENOMSG: not sealed. */
static int check_head(const struct ofs_seal_key *k, const uint8_t *bytes, size_t len)
{
	if (len < HEAD || memcmp(bytes, magic, sizeof(magic) - 1) != 0)
		return -ENOMSG;
	if (!k)
		return -ENOKEY;
	if (bytes[sizeof(magic) - 1] != magic[sizeof(magic) - 1])
		return -EPROTONOSUPPORT;
	return memcmp(bytes + sizeof(magic), k->id, ID_SIZE) == 0 ? 0 : -EKEYREJECTED;
}

/*
 * Decrypts a block of `len` bytes in place, after its head. Returns the length of its content, or
 * -errno.
 */
static ssize_t open_block(struct sealed *s, uint64_t number, bool last, uint8_t *block, size_t len)
{
	uint8_t *data = block + HEAD;
	size_t n = len - OVERHEAD, end = n;
	int r;

	if (len < OVERHEAD || memcmp(block, s->bound.data, HEAD) != 0 ||
	    (last ? n % PAD != 0 : n != BLOCK))
		return -EBADMSG;
	choose_nonce(s, number, last);
	r = ofs_aead_open(&s->aead, data, n, data + n);
	if (r < 0 || !last)
		return r < 0 ? r : (ssize_t)n;
	while (end && !data[end - 1])
		end--;
	return end && data[end - 1] == 0x80 && padded(end - 1) == n ? (ssize_t)end - 1 : -EBADMSG;
}

static int unseal(const struct ofs_seal_key *k, const char *name, struct ofs_buf *bytes)
{
	OFS_CLEANUP(sealed_finish) struct sealed s = { .bound = OFS_BUF_INIT };
	size_t len = bytes->len, to = 0, size;
	uint8_t *p = bytes->data;
	ssize_t n;
	int r = check_head(k, p, len);

	if (r == 0)
		r = sealed_init(&s, k, p, name);
	if (r < 0)
		return r;
	for (uint64_t i = 0; len; i++, p += size, len -= size) {
		size = OFS_MIN(len, BLOCK + OVERHEAD);
		n = open_block(&s, i, size == len, p, size);
		if (n < 0)
			return (int)n;
		memmove(bytes->data + to, p + HEAD, (size_t)n);
		to += (size_t)n;
	}
	bytes->len = to;
	return 0;
}

int ofs_unseal(const struct ofs_seal_key *k, const char *name, struct ofs_buf *bytes,
	       struct ofs_error *err)
{
	int r = unseal(k, name, bytes);

	if (r == 0 || (r == -ENOMSG && !k))
		return 0;
	bytes->len = 0;
	return tell(name, r, err);
}

void ofs_sealed_range(uint64_t size, uint64_t at, uint64_t len, uint64_t *ret_at, uint64_t *ret_len)
{
	uint64_t end = ofs_align_up(at + len, BLOCK) / BLOCK * (BLOCK + OVERHEAD);

	*ret_at = at / BLOCK * (BLOCK + OVERHEAD);
	*ret_len = len ? OFS_MIN(end, ofs_sealed_size(size)) - *ret_at : 0;
}

static int unseal_range(const struct ofs_seal_key *k, const char *name, uint64_t size, uint64_t at,
			uint64_t len, uint8_t *p, uint8_t *ret)
{
	OFS_CLEANUP(sealed_finish) struct sealed s = { .bound = OFS_BUF_INIT };
	uint64_t part;
	size_t n, from;
	ssize_t there;
	int r = check_head(k, p, HEAD);

	if (r == 0)
		r = sealed_init(&s, k, p, name);
	for (uint64_t i = at / BLOCK; r == 0 && len; i++) {
		bool last = i == size / BLOCK;

		n = last ? size % BLOCK : BLOCK;
		part = (last ? padded(n) : BLOCK) + OVERHEAD;
		there = open_block(&s, i, last, p, part);
		if (there != (ssize_t)n)
			return there < 0 ? (int)there : -EBADMSG;
		from = at % BLOCK;
		n = OFS_MIN(n - from, len);
		memcpy(ret, p + HEAD + from, n);
		p += part;
		ret += n;
		at += n;
		len -= n;
	}
	return r;
}

int ofs_unseal_range(const struct ofs_seal_key *k, const char *name, uint64_t size, uint64_t at,
		     uint64_t len, void *sealed, void *ret, struct ofs_error *err)
{
	int r = len ? unseal_range(k, name, size, at, len, sealed, ret) : 0;

	return r < 0 ? tell(name, r, err) : 0;
}
