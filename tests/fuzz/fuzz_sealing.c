/* SPDX-License-Identifier: MIT */
/*
 * Objects put in the place of sealed ones without the key, and sealed ones that were changed. An
 * input is 8 bytes that say what to change, and the object.
 */
#include "fuzz.h"
#include "remote/sealing.h"

#define NAME "ckpt/00000001/00000001"
#define KEY "0123456789abcdef0123456789ABCDEF"

static void unseal_any(const struct ofs_seal_key *key, const uint8_t *data, size_t size)
{
	struct ofs_buf bytes = OFS_BUF_INIT;
	OFS_FREE uint8_t *range = NULL, *content = NULL;
	uint64_t at, len;
	int r;

	ofs_buf_append(&bytes, data, size);
	r = ofs_unseal(key, NAME, &bytes, NULL);
	FUZZ_ASSERT(r == 0 || (r < 0 && !bytes.len));
	FUZZ_ASSERT(r < 0 || !key || ofs_sealed_size(bytes.len) == size);
	ofs_buf_finish(&bytes);
	for (size_t n = 1; ofs_sealed_size(n) <= size; n = 2 * n + 1) {
		ofs_sealed_range(n, n / 2, n - n / 2, &at, &len);
		range = fuzz_copy(data + at, len);
		content = fuzz_alloc(n);
		ofs_unseal_range(key, NAME, n, n / 2, n - n / 2, range, content, NULL);
		free(ofs_steal(range));
		free(ofs_steal(content));
	}
}

static void unseal_changed(const struct ofs_seal_key *key, uint64_t change, const uint8_t *data,
			   size_t size)
{
	struct ofs_buf sealed = OFS_BUF_INIT, bytes = OFS_BUF_INIT;
	uint8_t bits = (uint8_t)(change >> 56);
	size_t at;

	FUZZ_ASSERT(ofs_seal(key, NAME, data, size, &sealed) == 0);
	at = change % sealed.len;
	ofs_buf_append(&bytes, sealed.data, sealed.len);
	sealed.data[at] ^= bits;
	FUZZ_ASSERT(ofs_unseal(key, NAME, &bytes, NULL) == 0 && bytes.len == size &&
		    (!size || memcmp(bytes.data, data, size) == 0));
	FUZZ_ASSERT(!bits || ofs_unseal(key, NAME, &sealed, NULL) < 0);
	ofs_buf_finish(&sealed);
	ofs_buf_finish(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct ofs_seal_key *key = ofs_seal_key_create((const uint8_t *)KEY);
	uint64_t change = fuzz_u64(&in);

	unseal_any(key, in.at, in.left);
	unseal_any(NULL, in.at, in.left);
	unseal_changed(key, change, in.at, in.left);
	ofs_seal_key_destroy(key);
	return 0;
}
