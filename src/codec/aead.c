/* SPDX-License-Identifier: MIT */
#include "codec/aead.h"

#include <dlfcn.h>
#include <limits.h>
#include <openssl/evp.h>
#include <pthread.h>

#define CIPHER_FUNCTIONS(X)    \
	X(EVP_aes_256_gcm)     \
	X(EVP_CIPHER_CTX_new)  \
	X(EVP_CIPHER_CTX_free) \
	X(EVP_CIPHER_CTX_ctrl) \
	X(EVP_CipherInit_ex)   \
	X(EVP_CipherUpdate)    \
	X(EVP_CipherFinal_ex)

#define DECLARE(name) __typeof__(name) *name##_;

static struct {
	CIPHER_FUNCTIONS(DECLARE)
	bool found;
} lib;

static void lib_load(void)
{
	void *handle = dlopen("libcrypto.so.3", RTLD_NOW | RTLD_LOCAL);

	lib.found = handle;
#define LOOK_UP(name)                                                  \
	*(void **)&lib.name##_ = handle ? dlsym(handle, #name) : NULL; \
	lib.found = lib.found && lib.name##_;
	CIPHER_FUNCTIONS(LOOK_UP)
}

bool ofs_aead_is_possible(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, lib_load);
	return lib.found;
}

static void cipher_free(EVP_CIPHER_CTX **c)
{
	if (*c)
		lib.EVP_CIPHER_CTX_free_(*c);
}

/* Reads `tag` when opening, writes it when sealing. */
static int run(const struct ofs_aead *a, bool seal, uint8_t *data, size_t len, uint8_t *tag)
{
	OFS_CLEANUP(cipher_free) EVP_CIPHER_CTX *c = NULL;
	int n;

	if (!ofs_aead_is_possible())
		return -EOPNOTSUPP;
	c = lib.EVP_CIPHER_CTX_new_();
	if (!c)
		ofs_out_of_memory();
	if (len > INT_MAX || a->also_len > INT_MAX ||
	    lib.EVP_CipherInit_ex_(c, lib.EVP_aes_256_gcm_(), NULL, a->key, a->nonce, seal) != 1)
		return -EIO;
	if (!seal &&
	    lib.EVP_CIPHER_CTX_ctrl_(c, EVP_CTRL_AEAD_SET_TAG, OFS_AEAD_TAG_SIZE, tag) != 1)
		return -EIO;
	if (a->also_len && lib.EVP_CipherUpdate_(c, NULL, &n, a->also, (int)a->also_len) != 1)
		return -EIO;
	if (len && lib.EVP_CipherUpdate_(c, data, &n, data, (int)len) != 1)
		return -EIO;
	if (lib.EVP_CipherFinal_ex_(c, (uint8_t[EVP_MAX_BLOCK_LENGTH]){ 0 }, &n) != 1)
		return seal ? -EIO : -EBADMSG;
	if (seal && lib.EVP_CIPHER_CTX_ctrl_(c, EVP_CTRL_AEAD_GET_TAG, OFS_AEAD_TAG_SIZE, tag) != 1)
		return -EIO;
	return 0;
}

int ofs_aead_seal(const struct ofs_aead *a, void *data, size_t len,
		  uint8_t ret_tag[OFS_AEAD_TAG_SIZE])
{
	return run(a, true, data, len, ret_tag);
}

int ofs_aead_open(const struct ofs_aead *a, void *data, size_t len,
		  const uint8_t tag[OFS_AEAD_TAG_SIZE])
{
	int r = run(a, false, data, len, (uint8_t *)tag);

	if (r < 0 && len)
		memset(data, 0, len);
	return r;
}
