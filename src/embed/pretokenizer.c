/* SPDX-License-Identifier: MIT */
#include "embed/pretokenizer.h"

#include "base/buf.h"
#include "base/text.h"
#include "embed/unicode.h"

#define INVALID 0xfffd

struct walk {
	const struct ofs_pretokenizer_rules *rules;
	ofs_pretoken_fn fn;
	void *arg;
	struct ofs_buf word; /* the current word, so far */
	size_t chars; /* characters in `word` */
	int ended; /* nonzero once fn() has returned that */
};

static void walk_finish(struct walk *w)
{
	ofs_buf_finish(&w->word);
}

static void append(struct walk *w, uint32_t c)
{
	uint8_t bytes[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (n == 1)
		bytes[0] = (uint8_t)c;
	for (size_t i = n; n > 1 && i-- > 0; c >>= 6)
		bytes[i] = (uint8_t)(i ? 0x80 | (c & 0x3f) : (0xf00u >> n & 0xf0) | c);
	ofs_buf_append(&w->word, bytes, n);
	w->chars++;
}

static void end_word(struct walk *w)
{
	if (w->chars && !w->ended)
		w->ended = w->fn(w->arg, (const char *)w->word.data, w->word.len, w->chars);
	w->word.len = 0;
	w->chars = 0;
}

static void put(struct walk *w, uint32_t c)
{
	bool alone = ofs_unicode_is_punctuation(c), space = ofs_unicode_is_space(c);

	if (alone || space)
		end_word(w);
	if (!space)
		append(w, c);
	if (alone)
		end_word(w);
}

static void put_letter(struct walk *w, uint32_t c)
{
	uint32_t bases[OFS_UNICODE_BASES] = { c };
	size_t n = w->rules->strip_accents ? ofs_unicode_bases(c, bases) : 1;

	for (size_t i = 0; i < n; i++)
		put(w, w->rules->lower ? ofs_unicode_lower(bases[i]) : bases[i]);
}

static void put_normal(struct walk *w, uint32_t c)
{
	bool ideograph = w->rules->part_ideographs && ofs_unicode_is_ideograph(c);

	if (w->rules->clean) {
		if (c == '\t' || c == '\n' || c == '\r')
			c = ' ';
		if (c == INVALID || ofs_unicode_is_control(c))
			return;
	}
	if (ideograph)
		end_word(w);
	put_letter(w, c);
	if (ideograph)
		end_word(w);
}

void ofs_pretokenize(const struct ofs_pretokenizer_rules *rules, const char *text, size_t len,
		     size_t max_chars, ofs_pretoken_fn fn, void *arg)
{
	OFS_CLEANUP(walk_finish) struct walk w = { .rules = rules, .fn = fn, .arg = arg };
	const unsigned char *p = (const unsigned char *)text, *end = p + len;

	for (; p < end && max_chars && !w.ended; max_chars--) {
		int n = ofs_text_utf8(p, (size_t)(end - p));

		put_normal(&w, n > 0 ? ofs_text_code_point(p, n) : INVALID);
		p += OFS_MAX(n, 1);
	}
	end_word(&w);
}
