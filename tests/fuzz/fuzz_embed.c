/* SPDX-License-Identifier: MIT */
/*
 * The files of a static model: the lengths of tokenizer.json and of a text (2 bytes each), these
 * two, and model.safetensors. A refusal is explained on one line that names a file. An accepted
 * model gives vectors whose largest number is 127, or zeros.
 */
#include "embed/embed.h"
#include "embed/static_model.h"
#include "fuzz.h"

static void check_vector(const int8_t *v, size_t dims)
{
	int max = 0;

	for (size_t i = 0; i < dims; i++)
		max = OFS_MAX(max, abs(v[i]));
	FUZZ_ASSERT(max == 0 || max == 127);
}

static void check_texts(const struct ofs_static_model *m, const char *text, size_t len)
{
	const struct ofs_embed_text texts[] = { { text, len }, { "", 0 }, { text, len / 2 } };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	size_t dims = ofs_static_model_dims(m), n = OFS_ARRAY_SIZE(texts);
	struct ofs_error err;
	const int8_t *v;

	FUZZ_ASSERT(dims && dims <= OFS_EMBED_DIMS_MAX);
	FUZZ_ASSERT(strncmp(ofs_static_model_id(m), "static:", 7) == 0);
	FUZZ_ASSERT(ofs_static_model_embed(m, texts, n, 0, &out, &err) == 0);
	FUZZ_ASSERT(out.len == n * dims);
	v = (const int8_t *)out.data;
	for (size_t i = 0; i < n; i++)
		check_vector(v + i * dims, dims);
	FUZZ_ASSERT(ofs_embed_cosine(v, v + dims, (unsigned int)dims) == 0);
	FUZZ_ASSERT(ofs_embed_cosine(v, v, (unsigned int)dims) <= 1.0001f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	size_t tokenizer_len = fuzz_u16(&in), text_len = fuzz_u16(&in);
	OFS_FREE char *tokenizer = NULL, *text = NULL;
	OFS_FREE uint8_t *tensors = NULL;
	struct ofs_static_model *m = NULL;
	struct ofs_error err = { "" };
	int r;

	tokenizer_len = fuzz_at_most(tokenizer_len, in.left);
	tokenizer = fuzz_copy(fuzz_take(&in, tokenizer_len), tokenizer_len);
	text_len = fuzz_at_most(text_len, in.left);
	text = fuzz_copy(fuzz_take(&in, text_len), text_len);
	tensors = fuzz_copy(in.at, in.left);
	r = ofs_static_model_create(tensors, in.left, tokenizer, tokenizer_len, "dir", &err, &m);
	if (r < 0) {
		FUZZ_ASSERT(r == -EBADMSG && strncmp(err.text, "'dir/", 5) == 0);
		FUZZ_ASSERT(!strchr(err.text, '\n'));
		return 0;
	}
	check_texts(m, text, text_len);
	ofs_static_model_close(m);
	return 0;
}
