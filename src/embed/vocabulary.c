/* SPDX-License-Identifier: MIT */
#include "embed/vocabulary.h"

struct vocabulary_slot {
	uint32_t hash;
	uint32_t at; /* offset of the word in `texts` */
	uint32_t len; /* 0: the slot is free */
	uint32_t id;
};

void ofs_vocabulary_init(struct ofs_vocabulary *v, size_t n)
{
	size_t slots = 16;

	while (slots < 2 * n)
		slots *= 2;
	*v = (struct ofs_vocabulary){ .mask = slots - 1 };
	v->slots = ofs_alloc(slots * sizeof(*v->slots));
}

void ofs_vocabulary_finish(struct ofs_vocabulary *v)
{
	free(v->slots);
	v->slots = NULL;
	ofs_buf_finish(&v->texts);
}

/* FNV-1a, since it yields the hashes of all prefixes of a text in one pass. */
#define HASH_START UINT64_C(0xcbf29ce484222325)

static uint64_t hash_byte(uint64_t hash, char byte)
{
	return (hash ^ (uint8_t)byte) * UINT64_C(0x100000001b3);
}

static uint32_t hash_end(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/* Returns the word's slot, or the free slot where it belongs. */
static struct vocabulary_slot *find_slot(const struct ofs_vocabulary *v, const char *word,
					 size_t len, uint32_t hash)
{
	struct vocabulary_slot *slot;

	for (size_t i = hash & v->mask;; i = (i + 1) & v->mask) {
		slot = &v->slots[i];
		if (!slot->len)
			return slot;
		if (slot->hash == hash && slot->len == len &&
		    memcmp(v->texts.data + slot->at, word, len) == 0)
			return slot;
	}
}

void ofs_vocabulary_add(struct ofs_vocabulary *v, const char *word, size_t len, uint32_t id)
{
	uint64_t hash = HASH_START;
	struct vocabulary_slot *slot;

	if (!len || len > OFS_VOCABULARY_WORD_MAX)
		return;
	for (size_t i = 0; i < len; i++)
		hash = hash_byte(hash, word[i]);
	slot = find_slot(v, word, len, hash_end(hash));
	if (slot->len)
		return;
	*slot = (struct vocabulary_slot){ hash_end(hash), (uint32_t)v->texts.len, (uint32_t)len,
					  id };
	ofs_buf_append(&v->texts, word, len);
	v->longest = OFS_MAX(v->longest, len);
}

size_t ofs_vocabulary_find(const struct ofs_vocabulary *v, const char *text, size_t len,
			   uint32_t *ret_id)
{
	uint32_t hashes[OFS_VOCABULARY_WORD_MAX + 1];
	size_t n = OFS_MIN(len, v->longest);
	uint64_t hash = HASH_START;

	for (size_t i = 0; i < n; i++) {
		hash = hash_byte(hash, text[i]);
		hashes[i + 1] = hash_end(hash);
	}
	for (; n; n--) {
		const struct vocabulary_slot *slot;

		if (n < len && ((uint8_t)text[n] & 0xc0) == 0x80)
			continue; /* inside a character */
		slot = find_slot(v, text, n, hashes[n]);
		if (slot->len) {
			*ret_id = slot->id;
			return n;
		}
	}
	return 0;
}
