/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "embed/embed.h"
#include "scratch.h"

#define DIMS 4
#define TOKENS 9

#define BERT                                                                        \
	"\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"          \
	"\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true}," \
	"\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}"
#define VOCAB                                                                             \
	"\"vocab\":{\"[PAD]\":0,\"[UNK]\":1,\"hello\":2,\"wor\":3,\"##ld\":4,\"cafe\":5," \
	"\"\xe4\xb8\xad\":6,\",\":7,\"##s\":8}"
#define MODEL(vocab)                                                 \
	"\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\"," \
	"\"continuing_subword_prefix\":\"##\",\"max_input_chars_per_word\":12," vocab "}"
#define TOKENIZER "{" BERT "," MODEL(VOCAB) "}"

/* One for each token. Special and unknown tokens must not count. */
static const float vectors[TOKENS][DIMS] = {
	{ 8, 8, 8, 8 }, { 9, 9, 9, 9 },	 { 1, 0, 0, 0 },  { 0, 1, 0, 0 },    { 0, 0, 1, 0 },
	{ 0, 0, 0, 1 }, { -1, 0, 0, 0 }, { 0, -1, 0, 0 }, { 0, 0, -0.5, 0 },
};

static char dir[SCRATCH_SIZE];
static struct ofs_embedder *embedder;
static struct ofs_error err;

static void init(void)
{
	scratch_dir(dir);
}

static void finish(void)
{
	char command[80];

	ofs_embedder_close(embedder);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(embed_static, .init = init, .fini = finish);

/* ---- writing models */

static void write_file(const char *name, const void *data, size_t len)
{
	char path[80];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	out = fopen(path, "w");
	cr_assert_not_null(out);
	cr_assert_eq(fwrite(data, 1, len, out), len);
	cr_assert_eq(fclose(out), 0);
}

static void write_tokenizer(const char *json)
{
	write_file("tokenizer.json", json, strlen(json));
}

static void write_tensors(const char *header, const void *data, size_t len)
{
	struct ofs_buf file = OFS_BUF_INIT;
	uint8_t size[8];

	ofs_put_le64(size, strlen(header));
	ofs_buf_append(&file, size, sizeof(size));
	ofs_buf_append_str(&file, header);
	ofs_buf_append(&file, data, len);
	write_file("model.safetensors", file.data, file.len);
	ofs_buf_finish(&file);
}

#define F32_HEADER "{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[9,4],\"data_offsets\":[0,144]}}"

static void write_model(void)
{
	write_tokenizer(TOKENIZER);
	write_tensors(F32_HEADER, vectors, sizeof(vectors));
}

static int open_embedder(void)
{
	const struct ofs_embed_settings s = { .model = dir };

	ofs_embedder_close(embedder);
	embedder = NULL;
	memset(&err, 0, sizeof(err));
	return ofs_embedder_open(&s, &err, &embedder);
}

static void open_model(void)
{
	cr_assert_eq(open_embedder(), 0, "%s", err.text);
}

/* ---- embedding */

static void embed(const char *text, size_t len, int8_t ret[DIMS])
{
	const struct ofs_embed_text texts[] = { { text, len } };
	struct ofs_buf out = OFS_BUF_INIT;

	cr_assert_eq(ofs_embed(embedder, texts, 1, 0, &out, &err), 0, "%s", err.text);
	cr_assert_eq(out.len, DIMS);
	memcpy(ret, out.data, DIMS);
	ofs_buf_finish(&out);
}

static void expect_of(const char *text, size_t len, int a, int b, int c, int d)
{
	int8_t v[DIMS];

	embed(text, len, v);
	cr_expect(v[0] == a && v[1] == b && v[2] == c && v[3] == d,
		  "'%s': %d %d %d %d, not %d %d %d %d", text, v[0], v[1], v[2], v[3], a, b, c, d);
}

static void expect(const char *text, int a, int b, int c, int d)
{
	expect_of(text, strlen(text), a, b, c, d);
}

static void expect_failure(int code, const char *words)
{
	cr_expect_eq(open_embedder(), -code, "not '%s' but '%s'", words, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strchr(err.text, '\n'), "%s", err.text);
	cr_expect_null(embedder);
}

/* ---- words */

Test(embed_static, words_and_their_parts)
{
	write_model();
	open_model();
	cr_expect_eq(ofs_embedder_dims(embedder), DIMS);
	cr_expect(ofs_embedder_is_local(embedder));
	expect("hello", 127, 0, 0, 0);
	expect("world", 0, 127, 127, 0);
	expect("worlds", 0, 127, 64, 0);
	expect(" HELLO,\tworld\n", 127, 0, 127, 0);
	expect("wor,ld", 0, 0, 0, 0);
	expect("hello hello cafe", 127, 0, 0, 64);
}

Test(embed_static, unknown_words_do_not_count)
{
	write_model();
	open_model();
	expect("", 0, 0, 0, 0);
	expect("xyz", 0, 0, 0, 0);
	expect("worldx hello", 127, 0, 0, 0);
	expect("[UNK] [PAD] hello", 127, 0, 0, 0);
	/* The longest word allowed, and one character more. */
	expect("worldsssssss hello", 51, 51, -127, 0);
	expect("worldssssssss hello", 127, 0, 0, 0);
}

Test(embed_static, other_writing)
{
	write_model();
	open_model();
	expect("Caf\xc3\xa9", 0, 0, 0, 127);
	expect("cafe\xcc\x81", 0, 0, 0, 127);
	expect("\xc7\xa8\xc3\xa9llo", 0, 0, 0, 0);
	expect("h\xc3\xa9llo", 127, 0, 0, 0);
	expect("H\xc3\x88LLO", 127, 0, 0, 0);
	/* Each Chinese character is a word. */
	expect("\xe4\xb8\xadhello\xe4\xb8\xad", -127, 0, 0, 0);
	/* A soft hyphen, a NUL and bytes that are not UTF-8. */
	expect("hel\xc2\xadlo", 127, 0, 0, 0);
	expect_of("hel\0lo", 6, 127, 0, 0, 0);
	expect("hel\xfflo\xe4\xb8", 127, 0, 0, 0);
	/* A no-break space and a dash split words. */
	expect("hello\xc2\xa0"
	       "cafe\xe2\x80\x94hello",
	       127, 0, 0, 64);
}

Test(embed_static, hangul_comes_apart)
{
	/* U+D55C decomposes into U+1112 U+1161 U+11AB. */
	write_model();
	write_tokenizer("{" BERT "," MODEL("\"vocab\":{\"\xe1\x84\x92\":2,\"##\xe1\x85\xa1\":3,"
					   "\"##\xe1\x86\xab\":4}") "}");
	open_model();
	expect("\xed\x95\x9c", 127, 127, 127, 0);
	expect("\xed\x95\x98", 127, 127, 0, 0);
}

Test(embed_static, the_normalizer_is_as_it_is_said)
{
	write_model();
	write_tokenizer(
		"{\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":false,"
		"\"handle_chinese_chars\":false,\"lowercase\":false},"
		"\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," MODEL(
			"\"vocab\":{\"Hello\":2,\"caf\xc3\xa9\":3,\"\xe4\xb8\xadhello\":4}") "}");
	open_model();
	expect("hello", 0, 0, 0, 0);
	expect("Hello caf\xc3\xa9 cafe", 127, 127, 0, 0);
	expect("\xe4\xb8\xadhello", 0, 0, 127, 0);
	write_tokenizer(
		"{\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"}," MODEL(
			"\"vocab\":{\"Hello\":2}") "}");
	open_model();
	expect("Hello hello", 127, 0, 0, 0);
}

Test(embed_static, tokens_that_were_added)
{
	write_model();
	write_tokenizer("{\"added_tokens\":[{\"id\":2,\"content\":\"zig\",\"special\":false},"
			"{\"id\":3,\"content\":\"zag\",\"special\":true}]," BERT
			"," MODEL("\"vocab\":{\"cafe\":5}") "}");
	open_model();
	expect("zig zag cafe", 127, 0, 0, 127);
}

Test(embed_static, an_old_file_names_no_type)
{
	write_model();
	write_tokenizer("{" BERT ",\"model\":{\"continuing_subword_prefix\":\"##\"," VOCAB "}}");
	open_model();
	expect("hello", 127, 0, 0, 0);
}

Test(embed_static, only_the_start_of_a_long_text_counts)
{
	static char text[4096];
	size_t len = 0;

	write_model();
	open_model();
	for (size_t i = 0; i < 512; i++, len += 3)
		memcpy(text + len, "\xe4\xb8\xad", 3);
	strcpy(text + len, "cafe");
	expect(text, -127, 0, 0, 0);
	/* The median token has 4 characters, so 4 * 512 characters are read. */
	memset(text, ' ', sizeof(text));
	memcpy(text + 2044, "cafehello", 10);
	expect(text, 0, 0, 0, 127);
}

Test(embed_static, many_texts)
{
	static const struct ofs_embed_text texts[] = { { "hello", 5 }, { "", 0 }, { "cafe", 4 } };
	static const int8_t expected[3][DIMS] = { { 127, 0, 0, 0 }, { 0 }, { 0, 0, 0, 127 } };
	struct ofs_buf out = OFS_BUF_INIT;

	write_model();
	open_model();
	ofs_buf_append_str(&out, "x");
	cr_expect_eq(ofs_embed(embedder, texts, 3, INT64_MAX, &out, &err), 0);
	cr_assert_eq(out.len, 1 + sizeof(expected));
	cr_expect_arr_eq(out.data + 1, expected, sizeof(expected));
	cr_expect_eq(ofs_embed(embedder, texts, 3, ofs_clock_monotonic(), &out, &err), -ETIMEDOUT);
	cr_expect_str_eq(err.text, "time ran out with 3 of 3 texts left");
	cr_expect_eq(out.len, 1 + sizeof(expected));
	cr_expect_eq(ofs_embed(embedder, texts, 0, 0, &out, &err), 0);
	ofs_buf_finish(&out);
}

/* ---- types of numbers */

static void expect_same_vectors(void)
{
	open_model();
	expect("hello", 127, 0, 0, 0);
	expect("worlds", 0, 127, 64, 0);
	expect("\xe4\xb8\xad,", -127, -127, 0, 0);
}

static void write_typed(const char *dtype, size_t size, const void *data)
{
	char header[128];

	snprintf(header, sizeof(header),
		 "{\"embeddings\":{\"dtype\":\"%s\",\"shape\":[9,4],\"data_offsets\":[0,%zu]}} ",
		 dtype, size * TOKENS * DIMS);
	write_tensors(header, data, size * TOKENS * DIMS);
	expect_same_vectors();
}

Test(embed_static, types_of_numbers)
{
	uint16_t half[TOKENS * DIMS], brain[TOKENS * DIMS];
	double wide[TOKENS * DIMS];
	int8_t narrow[TOKENS * DIMS];

	write_tokenizer(TOKENIZER);
	for (size_t i = 0; i < TOKENS * DIMS; i++) {
		float x = vectors[i / DIMS][i % DIMS];
		uint32_t bits;

		memcpy(&bits, &x, 4);
		brain[i] = htole16((uint16_t)(bits >> 16));
		half[i] = htole16((uint16_t)(x == 0	  ? 0
					     : x == 1	  ? 0x3c00
					     : x == -1	  ? 0xbc00
					     : x == -0.5f ? 0xb800
							  : 0x4880));
		wide[i] = x;
		narrow[i] = (int8_t)(2 * x);
	}
	write_typed("F16", 2, half);
	write_typed("BF16", 2, brain);
	write_typed("F64", 8, wide);
	write_typed("I8", 1, narrow);
	write_typed("F32", 4, vectors);
}

Test(embed_static, halves_of_all_sizes)
{
	/* 65504, 2^-24, -2^-14, infinity. */
	static const uint16_t half[] = { 0x7bff, 1, 0x8400, 0x7c00 };
	/* 2^-14 and the denormal 1023 / 2^24, which is slightly less. */
	static const uint16_t small[] = { 0x0400, 0x03ff, 0x8001, 0 };

	write_tokenizer("{" BERT "," MODEL("\"vocab\":{\"a\":0}") "}");
	write_tensors("{\"embeddings\":{\"dtype\":\"F16\",\"shape\":[1,4],\"data_offsets\":[0,8]}}",
		      half, sizeof(half));
	open_model();
	expect("a", 127, 0, 0, 0);
	write_tensors("{\"embeddings\":{\"dtype\":\"F16\",\"shape\":[1,4],\"data_offsets\":[0,8]}}",
		      small, sizeof(small));
	open_model();
	expect("a", 127, 127, 0, 0);
}

Test(embed_static, numbers_that_are_none_count_as_zero)
{
	const float odd[2][DIMS] = { { NAN, INFINITY, 2, -1 }, { 3e38f, -3e38f, 1e-45f, 0 } };
	const float tiny[2][DIMS] = { { 1e-45f, 0, 0, -1e-45f }, { 0 } };

	write_tokenizer("{" BERT "," MODEL("\"vocab\":{\"a\":0,\"b\":1}") "}");
	write_tensors(
		"{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]}}", odd,
		sizeof(odd));
	open_model();
	expect("a", 0, 0, 127, -64);
	expect("b", 127, -127, 0, 0);
	expect("b b", 0, 0, 127, 0);
	write_tensors(
		"{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]}}",
		tiny, sizeof(tiny));
	open_model();
	expect("a", 127, 0, 0, -127);
	expect("b", 0, 0, 0, 0);
}

Test(embed_static, weights_and_a_mapping)
{
	struct {
		float vectors[2][DIMS];
		float weights[3];
		int32_t mapping[3];
		int64_t long_mapping[3];
	} data = { { { 1, 0, 0, 0 }, { 0, 1, 0, 0 } }, { 1, 0.5f, NAN }, { 0, 1, 1 }, { 0, 0, 1 } };

	write_tokenizer("{" BERT "," MODEL("\"vocab\":{\"a\":0,\"b\":1,\"c\":2}") "}");
	write_tensors(
		"{\"__metadata__\":{\"format\":\"pt\"},"
		"\"embedding.weight\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]},"
		"\"weights\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[32,44]},"
		"\"mapping\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[44,56]}}",
		&data, sizeof(data));
	open_model();
	expect("a b", 127, 64, 0, 0);
	expect("c", 0, 0, 0, 0);
	write_tensors("{\"embeddings\":{\"dtype\":\"F32\",\"shape\":[2,4],\"data_offsets\":[0,32]},"
		      "\"mapping\":{\"dtype\":\"I64\",\"shape\":[3],\"data_offsets\":[56,80]}}",
		      &data, sizeof(data));
	open_model();
	expect("a b c", 127, 64, 0, 0);
}

/* ---- the id */

Test(embed_static, the_id_stands_for_the_content)
{
	float other[TOKENS][DIMS];
	char id[64], moved[SCRATCH_SIZE];

	write_model();
	open_model();
	cr_expect_eq(strncmp(ofs_embedder_id(embedder), "static:", 7), 0);
	cr_expect_str_eq(strrchr(ofs_embedder_id(embedder), ':'), ":4");
	snprintf(id, sizeof(id), "%s", ofs_embedder_id(embedder));
	snprintf(moved, sizeof(moved), "%.*sY", (int)strlen(dir) - 1, dir);
	cr_assert_eq(rename(dir, moved), 0);
	strcpy(dir, moved);
	open_model();
	cr_expect_str_eq(ofs_embedder_id(embedder), id);
	memcpy(other, vectors, sizeof(other));
	other[8][3] = 1;
	write_tensors(F32_HEADER, other, sizeof(other));
	open_model();
	cr_expect_str_neq(ofs_embedder_id(embedder), id);
	write_tensors(F32_HEADER, vectors, sizeof(vectors));
	write_tokenizer(TOKENIZER " ");
	open_model();
	cr_expect_str_neq(ofs_embedder_id(embedder), id);
}

Test(embed_static, a_model_that_changes_is_not_used)
{
	const struct ofs_embed_text text = { "hello", 5 };
	struct ofs_buf out = OFS_BUF_INIT;

	write_model();
	open_model();
	write_file("model.safetensors", "", 0);
	cr_expect_eq(ofs_embed(embedder, &text, 1, 0, &out, &err), -ESTALE);
	cr_expect_not_null(strstr(err.text, "model.safetensors' has changed while it was in use"));
	cr_expect_eq(out.len, 0);
}

Test(embed_static, one_that_is_replaced_is_used_as_it_was)
{
	char from[80], to[80];

	write_model();
	open_model();
	write_file("new", "", 0);
	snprintf(from, sizeof(from), "%s/new", dir);
	snprintf(to, sizeof(to), "%s/model.safetensors", dir);
	cr_assert_eq(rename(from, to), 0);
	expect("hello", 127, 0, 0, 0);
}

/* ---- malformed files */

Test(embed_static, files_that_are_missing)
{
	char path[80];

	expect_failure(ENOENT, "/model.safetensors': No such file or directory");
	write_tensors(F32_HEADER, vectors, sizeof(vectors));
	expect_failure(ENOENT, "/tokenizer.json': No such file or directory");
	snprintf(path, sizeof(path), "%s/tokenizer.json", dir);
	cr_assert_eq(mkfifo(path, 0600), 0);
	expect_failure(EINVAL, "/tokenizer.json' is not a regular file");
	cr_assert_eq(unlink(path), 0);
	write_file("tokenizer.json", "", 0);
	cr_assert_eq(truncate(path, (64 << 20) + 1), 0);
	expect_failure(EBADMSG, "/tokenizer.json' is larger than 64 MiB");
}

Test(embed_static, no_model_is_named)
{
	const struct ofs_embed_settings s = { .model = "" };

	cr_expect_eq(ofs_embedder_open(&s, &err, &embedder), -EINVAL);
	cr_expect_str_eq(err.text, "no model is named for search by meaning");
}

Test(embed_static, headers_that_cannot_be)
{
	static const uint8_t long_header[] = { 100, 0, 0, 0, 0, 0, 0, 0, '{', '}' };
	static const uint8_t huge_header[] = { 255, 255, 255, 255, 255, 255, 255, 255, '{', '}' };

	write_model();
	write_file("model.safetensors", "", 0);
	expect_failure(EBADMSG, "/model.safetensors' is too short to be a safetensors file");
	write_file("model.safetensors", "1234567", 7);
	expect_failure(EBADMSG, "is too short");
	write_file("model.safetensors", long_header, sizeof(long_header));
	expect_failure(EBADMSG, "its header would have 100 bytes, which is more than the file has");
	write_file("model.safetensors", huge_header, sizeof(huge_header));
	expect_failure(EBADMSG, "which is more than 1 MiB");
}

/* The entry of a tensor in the header. */
#define TENSOR(name, dtype, shape, offsets) \
	"\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define GOOD TENSOR("embeddings", "F32", "[9,4]", "[0,144]")

Test(embed_static, tensors_that_cannot_be)
{
	static const struct {
		const char *header;
		const char *why;
	} cases[] = {
		{ "{", "its header is not JSON" },
		{ "[]", "its header is not JSON: not an object" },
		{ "{\"a\":1,\"a\":2}", "duplicate" },
		{ "{}", "there is no tensor 'embeddings'" },
		{ "{\"embeddings\":7}", "of type '?'" },
		{ "{" TENSOR("embeddings", "U8\\n", "[9,4]", "[0,144]") "}",
		  "the tensor 'embeddings' has numbers of type 'U8^J', which is not supported" },
		{ "{" TENSOR("embeddings", "F32", "[36]", "[0,144]") "}",
		  "must have 2 dimensions" },
		{ "{" TENSOR("embeddings", "F32", "[9,4,1]", "[0,144]") "}",
		  "must have 2 dimensions" },
		{ "{" TENSOR("embeddings", "F32", "[0,4]", "[0,0]") "}", "of at least 1" },
		{ "{" TENSOR("embeddings", "F32", "[-9,-4]", "[0,144]") "}", "of at least 1" },
		{ "{" TENSOR("embeddings", "F32", "[9,4.0]", "[0,144]") "}", "of at least 1" },
		{ "{" TENSOR("embeddings", "F32", "[9,4]", "[0,143]") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[9,4]", "[1,145]") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[9,4]", "[144,0]") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[9,4]", "7") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[4611686018427387905,4]", "[0,16]") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[4611686018427387904,4]", "[0,0]") "}",
		  "has offsets that do not match" },
		{ "{" TENSOR("embeddings", "F32", "[8,4]", "[0,128]") "}",
		  "has vectors for 8 tokens, but tokenizer.json has ids up to 8" },
		{ "{" GOOD "," TENSOR("weights", "F32", "[8]", "[0,32]") "}",
		  "has weights for 8 tokens, but tokenizer.json has ids up to 8" },
		{ "{" GOOD "," TENSOR("weights", "F32", "[9,1]", "[0,36]") "}",
		  "the tensor 'weights' must have 1 dimension of" },
		{ "{" GOOD "," TENSOR("mapping", "I32", "[9]", "[0,36]") "}",
		  "the tensor 'mapping' names missing vectors" },
		{ "{" GOOD "," TENSOR("mapping", "F32", "[9]", "[0,36]") "}",
		  "names missing vectors" },
		{ "{" GOOD "," TENSOR("mapping", "I64", "[9]", "[0,36]") "}",
		  "the tensor 'mapping' has offsets that do not match" },
	};

	write_tokenizer(TOKENIZER);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		write_tensors(cases[i].header, vectors, sizeof(vectors));
		expect_failure(EBADMSG, cases[i].why);
		cr_expect_not_null(strstr(err.text, "/model.safetensors'"), "%s", err.text);
	}
}

Test(embed_static, vectors_that_are_too_long)
{
	static float data[5000];

	write_tokenizer("{" BERT "," MODEL("\"vocab\":{\"a\":0}") "}");
	write_tensors("{" TENSOR("embeddings", "F32", "[1,5000]", "[0,20000]") "}", data,
		      sizeof(data));
	expect_failure(EBADMSG, "vectors have 5000 numbers, which is more than 4096");
}

#define OF_KIND(kind) "{" BERT ",\"model\":{\"type\":\"" kind "\"}}"

Test(embed_static, tokenizers_that_cannot_be)
{
	static const struct {
		const char *json;
		const char *why;
	} cases[] = {
		{ "", "cannot be read as JSON" },
		{ "{\"model\":{\n\n", "(line 3)" },
		{ "[]", "'model' is missing or not an object" },
		{ OF_KIND("Unigram"), "the type of the tokenizer's model is 'Unigram', but only "
				      "WordPiece is supported" },
		{ OF_KIND("BPE"), "is 'BPE', but only WordPiece is supported" },
		{ OF_KIND("\\u001b[2J\\n"), "is '^J', but only" },
		{ "{\"model\":{}}", "is '?', but only" },
		{ OF_KIND("WordPiece"), "model.vocab is not an object with tokens" },
		{ "{" BERT "," MODEL("\"vocab\":{}") "}", "vocab is not an object with tokens" },
		{ "{" BERT "," MODEL("\"vocab\":[\"a\"]") "}", "model.vocab is not an object" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\":-1}") "}", "a token has an id that is not" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\":\"1\"}") "}",
		  "a token has an id that is not" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\":2147483647}") "}", "a token has an id" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\":99999999999999999999}") "}", "too big" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\":1,\"a\":2}") "}", "duplicate" },
		{ "{" BERT "," MODEL("\"vocab\":{\"a\\u0000\":1}") "}", "cannot be read as JSON" },
		{ "{\"added_tokens\":[{\"content\":\"b\"}]," BERT "," MODEL(VOCAB) "}",
		  "a token has an id that is not a number from 0 to 2147483646" },
		{ "{" BERT ",\"model\":{\"type\":\"WordPiece\",\"max_input_chars_per_word\":0}}",
		  "model.max_input_chars_per_word is not a positive integer" },
		{ "{" MODEL(VOCAB) "}", "the type of the pre_tokenizer is '?', but only "
					"BertPreTokenizer is supported" },
		{ "{\"pre_tokenizer\":{\"type\":\"Metaspace\"}," MODEL(VOCAB) "}",
		  "the type of the pre_tokenizer is 'Metaspace'" },
		{ "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
		  "\"normalizer\":{\"type\":\"NFC\"}," MODEL(VOCAB) "}",
		  "the type of the normalizer is 'NFC', but only BertNormalizer is supported" },
		{ "{\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
		  "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":1}," MODEL(VOCAB) "}",
		  "normalizer.lowercase is neither true nor false" },
	};

	write_model();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		write_tokenizer(cases[i].json);
		expect_failure(EBADMSG, cases[i].why);
		cr_expect_not_null(strstr(err.text, "/tokenizer.json'"), "%s", err.text);
	}
}

/* ---- comparing */

Test(embed_static, cosines)
{
	static int8_t a[OFS_EMBED_DIMS_MAX + 1], b[OFS_EMBED_DIMS_MAX + 1];
	unsigned int seed = 7;

	cr_expect_eq(ofs_embed_cosine(a, b, 256), 0);
	for (size_t i = 0; i < sizeof(a); i++) {
		seed = seed * 1103515245 + 12345;
		a[i] = (int8_t)(seed >> 16);
		b[i] = (int8_t)(seed >> 24);
	}
	cr_expect_eq(ofs_embed_cosine(a, b, 0), 0);
	for (unsigned int dims = 1; dims <= OFS_EMBED_DIMS_MAX;
	     dims = dims < 40 ? dims + 1 : dims * 2) {
		double ab = 0, aa = 0, bb = 0;

		/* At an odd address. */
		for (size_t i = 1; i <= dims; i++) {
			ab += a[i] * b[i];
			aa += a[i] * a[i];
			bb += b[i] * b[i];
		}
		cr_expect_float_eq(ofs_embed_cosine(a + 1, b + 1, dims), ab / sqrt(aa * bb), 1e-6);
	}
	memset(a, -128, sizeof(a));
	cr_expect_float_eq(ofs_embed_cosine(a, a, OFS_EMBED_DIMS_MAX), 1, 1e-6);
	memset(b, 127, sizeof(b));
	cr_expect_float_eq(ofs_embed_cosine(a, b, OFS_EMBED_DIMS_MAX), -1, 1e-6);
}
