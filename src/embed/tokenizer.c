/* SPDX-License-Identifier: MIT */
#include "embed/tokenizer.h"

#include <jansson.h>

#include "base/text.h"
#include "embed/vocabulary.h"
#include "embed/pretokenizer.h"

/* Default for the largest number of characters in a word. */
#define WORD_CHARS 100
#define UNKNOWN_NONE UINT32_MAX

struct ofs_tokenizer {
	struct ofs_pretokenizer_rules rules;
	struct ofs_vocabulary words; /* tokens that may start a word */
	struct ofs_vocabulary rests; /* tokens that may continue one, without their prefix */
	uint32_t unknown; /* the id of the unknown token, which is never returned */
	uint32_t size;
	size_t word_chars; /* longer words are unknown */
	size_t text_chars; /* characters of a text that are read */
};

/* A file being read. */
struct reader {
	struct ofs_tokenizer *t;
	const char *name;
	struct ofs_error *err;
	const char *prefix;
	const char *unknown;
	size_t lengths[OFS_VOCABULARY_WORD_MAX + 1]; /* number of tokens by their characters */
	size_t count; /* of tokens */
};

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

#define CLEANUP_JSON OFS_CLEANUP(cleanup_json)

static int fail(const struct reader *r, const char *what)
{
	return ofs_error_set(r->err, EBADMSG, "'%s': %s", r->name, what);
}

/* Reports "WHAT is 'KIND', but only SUPPORTED is supported". */
static int fail_kind(const struct reader *r, const char *what, const char *kind,
		     const char *supported)
{
	OFS_FREE char *shown = ofs_text_shown(kind ? kind : "?");

	return ofs_error_set(r->err, EBADMSG, "'%s': %s is '%.60s', but only %s is supported",
			     r->name, what, shown, supported);
}

static const char *kind_of(const json_t *object)
{
	return json_string_value(json_object_get(object, "type"));
}

static bool is_kind(const json_t *object, const char *kind)
{
	const char *found = kind_of(object);

	return found && strcmp(found, kind) == 0;
}

/* ---- the vocabulary */

static int add_token(struct reader *r, const char *token, const json_t *id)
{
	struct ofs_tokenizer *t = r->t;
	json_int_t n = json_is_integer(id) ? json_integer_value(id) : -1;
	size_t len = strlen(token), prefix = strlen(r->prefix), chars = 0;

	if (n < 0 || n >= INT32_MAX)
		return fail(r, "a token has an id that is not a number from 0 to 2147483646");
	for (size_t i = 0; i < len; i++)
		chars += ((uint8_t)token[i] & 0xc0) != 0x80;
	r->lengths[OFS_MIN(chars, OFS_VOCABULARY_WORD_MAX)]++;
	r->count++;
	t->size = OFS_MAX(t->size, (uint32_t)n + 1);
	if (r->unknown && strcmp(token, r->unknown) == 0)
		t->unknown = (uint32_t)n;
	ofs_vocabulary_add(&t->words, token, len, (uint32_t)n);
	if (strncmp(token, r->prefix, prefix) == 0)
		ofs_vocabulary_add(&t->rests, token + prefix, len - prefix, (uint32_t)n);
	return 0;
}

/* As in model2vec: the median length of a token times the largest number of tokens. */
static size_t text_chars(const struct reader *r)
{
	size_t below = 0, chars = 0;

	while (chars < OFS_VOCABULARY_WORD_MAX && below + r->lengths[chars] <= r->count / 2)
		below += r->lengths[chars++];
	return OFS_MAX(chars, 1) * OFS_TOKENIZER_IDS;
}

static int read_vocabulary(struct reader *r, json_t *vocabulary, const json_t *added)
{
	size_t n = json_object_size(vocabulary), i;
	const char *token;
	json_t *id;
	int e;

	if (!n)
		return fail(r, "model.vocab is not an object with tokens");
	if (n + json_array_size(added) > OFS_TOKENIZER_WORDS)
		return fail(r, "there are more than 2000000 tokens");
	ofs_vocabulary_init(&r->t->words, n + json_array_size(added));
	ofs_vocabulary_init(&r->t->rests, n + json_array_size(added));
	json_object_foreach(vocabulary, token, id)
	{
		e = add_token(r, token, id);
		if (e < 0)
			return e;
	}
	json_array_foreach(added, i, id)
	{
		token = json_string_value(json_object_get(id, "content"));
		if (!token || json_is_true(json_object_get(id, "special")) ||
		    json_object_get(vocabulary, token))
			continue;
		e = add_token(r, token, json_object_get(id, "id"));
		if (e < 0)
			return e;
	}
	r->t->text_chars = text_chars(r);
	return 0;
}

static int read_model(struct reader *r, const json_t *model, const json_t *added)
{
	const json_t *chars = json_object_get(model, "max_input_chars_per_word");
	const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));

	if (!json_is_object(model))
		return fail(r, "'model' is missing or not an object");
	/* Older files lack the type. */
	if (kind_of(model) ? !is_kind(model, "WordPiece") : !prefix)
		return fail_kind(r, "the type of the tokenizer's model", kind_of(model),
				 "WordPiece");
	r->prefix = prefix ? prefix : "##";
	r->unknown = json_string_value(json_object_get(model, "unk_token"));
	r->t->unknown = UNKNOWN_NONE;
	r->t->word_chars = WORD_CHARS;
	if (chars && (!json_is_integer(chars) || json_integer_value(chars) < 1))
		return fail(r, "model.max_input_chars_per_word is not a positive integer");
	if (chars)
		r->t->word_chars = (size_t)json_integer_value(chars);
	return read_vocabulary(r, json_object_get(model, "vocab"), added);
}

/* ---- normalizer and pre-tokenizer */

/* Sets *ret to the flag, or to `preset` if it is null or missing. */
static int read_flag(const struct reader *r, const json_t *object, const char *key, bool preset,
		     bool *ret)
{
	const json_t *value = json_object_get(object, key);

	if (value && !json_is_boolean(value) && !json_is_null(value))
		return ofs_error_set(r->err, EBADMSG,
				     "'%s': normalizer.%s is neither true nor false", r->name, key);
	*ret = json_is_boolean(value) ? json_is_true(value) : preset;
	return 0;
}

static int read_rules(struct reader *r, const json_t *root)
{
	const json_t *normalizer = json_object_get(root, "normalizer");
	const json_t *words = json_object_get(root, "pre_tokenizer");
	struct ofs_pretokenizer_rules *rules = &r->t->rules;
	int e;

	if (!is_kind(words, "BertPreTokenizer"))
		return fail_kind(r, "the type of the pre_tokenizer", kind_of(words),
				 "BertPreTokenizer");
	if (!normalizer || json_is_null(normalizer))
		return 0;
	if (!is_kind(normalizer, "BertNormalizer"))
		return fail_kind(r, "the type of the normalizer", kind_of(normalizer),
				 "BertNormalizer");
	e = read_flag(r, normalizer, "clean_text", true, &rules->clean);
	if (e == 0)
		e = read_flag(r, normalizer, "handle_chinese_chars", true, &rules->part_ideographs);
	if (e == 0)
		e = read_flag(r, normalizer, "lowercase", true, &rules->lower);
	if (e == 0)
		e = read_flag(r, normalizer, "strip_accents", rules->lower, &rules->strip_accents);
	return e;
}

int ofs_tokenizer_create(const void *json, size_t len, const char *name, struct ofs_error *err,
			 struct ofs_tokenizer **ret)
{
	json_error_t error;
	CLEANUP_JSON json_t *root = json_loadb(json, len, JSON_REJECT_DUPLICATES, &error);
	struct reader r = { .name = name, .err = err };
	int e;

	if (!root) {
		OFS_FREE char *shown = ofs_text_shown(error.text);

		return ofs_error_set(err, EBADMSG, "'%s' cannot be read as JSON: %s (line %d)",
				     name, shown, error.line);
	}
	r.t = ofs_alloc(sizeof(*r.t));
	e = read_model(&r, json_object_get(root, "model"), json_object_get(root, "added_tokens"));
	if (e == 0)
		e = read_rules(&r, root);
	if (e < 0)
		ofs_tokenizer_destroy(r.t);
	else
		*ret = r.t;
	return e;
}

void ofs_tokenizer_destroy(struct ofs_tokenizer *t)
{
	if (!t)
		return;
	ofs_vocabulary_finish(&t->words);
	ofs_vocabulary_finish(&t->rests);
	free(t);
}

uint32_t ofs_tokenizer_size(const struct ofs_tokenizer *t)
{
	return t->size;
}

/* ---- texts */

struct run {
	const struct ofs_tokenizer *t;
	uint32_t *ids;
	size_t n;
};

/* Cuts a word into the longest tokens from its start on. If a part matches none, drops the word. */
static int add_word(void *arg, const char *word, size_t len, size_t chars)
{
	struct run *run = arg;
	const struct ofs_tokenizer *t = run->t;
	const struct ofs_vocabulary *v = &t->words;
	size_t n = run->n;
	uint32_t id;

	if (chars > t->word_chars)
		return 0;
	for (size_t used; len; word += used, len -= used, v = &t->rests) {
		used = ofs_vocabulary_find(v, word, len, &id);
		if (!used)
			return 0;
		if (id != t->unknown && n < OFS_TOKENIZER_IDS)
			run->ids[n++] = id;
	}
	run->n = n;
	return n == OFS_TOKENIZER_IDS;
}

size_t ofs_tokenizer_run(const struct ofs_tokenizer *t, const char *text, size_t len,
			 uint32_t ret[OFS_TOKENIZER_IDS])
{
	struct run run = { t, ret, 0 };

	ofs_pretokenize(&t->rules, text, len, t->text_chars, add_word, &run);
	return run.n;
}
