/* SPDX-License-Identifier: MIT */
#include "tree/search/finder.h"

#include <endian.h>

#include "base/fold.h"

#define RUN_MAX 128 /* bytes on either side of a match that are searched for the word's ends */
#define PLAIN_MAX (OFS_FINDER_BLOCK + RUN_MAX)
#define LANES 16

typedef uint8_t lanes __attribute__((vector_size(LANES)));

/* A string contained in words of the query. */
struct literal {
	const char *text; /* folded */
	size_t len;
	uint32_t words; /* the words that contain it, as bits */
	uint8_t first_case, last_case; /* 0x20 if that character is a letter */
	bool ascii;
	bool starts; /* the words start with it */
};

struct ofs_finder {
	const struct ofs_query *query;
	struct ofs_words *words;
	struct literal literals[3 * OFS_QUERY_FORMS];
	size_t n;
	char texts[OFS_QUERY_FORMS][OFS_WORD_MAX]; /* of literals that are not part of their form */
	uint32_t unsought;

	/* A block's runs of characters that need folding or have '_', and each byte's source. */
	char plain[PLAIN_MAX + 4];
	uint16_t source[PLAIN_MAX + 4];

	size_t from, to; /* only words that start there count */
	const char *run; /* the run of characters whose words are being read */
	size_t run_at, run_len;
	bool cut_before, cut_after; /* its first, or last, word may continue outside it */
	uint32_t found;
};

static uint8_t case_of(char c)
{
	return c >= 'a' && c <= 'z' ? 0x20 : 0;
}

/*
 * Drops an ending that stemming changes: "happi" is the stem of "happy", "hope" of "hoping",
 * "capabl" of "capability", "die" of "dying".
 */
static size_t literal_len(const char *text, size_t len)
{
	const char *last = text + len - 1;

	if (len > 2 && last[-1] == 'i' && *last == 'e')
		return len - 2;
	return len - (len > 1 && (strchr("eiy", *last) || (last[-1] == 'b' && *last == 'l')));
}

static bool is_ascii(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

static void add_literal(struct ofs_finder *f, uint8_t word, const char *text, size_t len,
			bool starts)
{
	f->literals[f->n++] = (struct literal){
		.text = text,
		.len = len,
		.words = UINT32_C(1) << word,
		.first_case = case_of(text[0]),
		.last_case = case_of(text[len - 1]),
		.ascii = is_ascii(text, len),
		.starts = starts,
	};
}

/* Adds the literal of a prefix, without '_', which names may have anywhere. */
static void add_start(struct ofs_finder *f, const struct ofs_form *form, char *text)
{
	size_t len = 0;

	for (size_t i = 0; i < form->len; i++)
		if (form->text[i] != '_')
			text[len++] = form->text[i];
	if (len)
		add_literal(f, form->word, text, len, true);
}

/* A typo leaves one half of the word intact, or swaps the two letters where the halves meet. */
static void add_typo(struct ofs_finder *f, const struct ofs_form *form, char *text)
{
	size_t half = form->len / 2u;

	if (!half) {
		add_literal(f, form->word, form->text, form->len, true);
		return;
	}
	add_literal(f, form->word, form->text, half, true);
	add_literal(f, form->word, form->text + half,
		    literal_len(form->text + half, form->len - half), false);
	memcpy(text, form->text, form->len);
	text[half - 1] = form->text[half];
	text[half] = form->text[half - 1];
	add_literal(f, form->word, text, literal_len(text, form->len), true);
}

static void add_form(struct ofs_finder *f, const struct ofs_form *form, char *text)
{
	size_t len = form->len;

	switch (form->kind) {
	case OFS_FORM_WORD:
		add_literal(f, form->word, form->text, len > 2 ? literal_len(form->text, len) : len,
			    true);
		break;
	case OFS_FORM_START:
		add_start(f, form, text);
		break;
	case OFS_FORM_TYPO:
		add_typo(f, form, text);
		break;
	}
}

/* Returns the common words, as bits; 0 if there are no others. */
static uint32_t common_words(const struct ofs_query *q)
{
	uint32_t common = 0;

	for (size_t i = 0; i < q->nwords; i++)
		if (q->words[i].weight <= OFS_WEIGHT_COMMON)
			common |= UINT32_C(1) << i;
	return common == ofs_query_words(q) ? 0 : common;
}

struct ofs_finder *ofs_finder_create(const struct ofs_query *q)
{
	struct ofs_finder *f = ofs_alloc(sizeof(*f));

	f->query = q;
	f->words = ofs_words_create();
	f->unsought = common_words(q);
	for (size_t i = 0; i < q->nforms; i++)
		if (!(f->unsought >> q->forms[i].word & 1))
			add_form(f, &q->forms[i], f->texts[i]);
	return f;
}

uint32_t ofs_finder_unsought(const struct ofs_finder *f)
{
	return f->unsought;
}

void ofs_finder_destroy(struct ofs_finder *f)
{
	if (!f)
		return;
	ofs_words_destroy(f->words);
	free(f);
}

/* ---- strings */

static lanes load(const char *p)
{
	lanes v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Returns the first lane that is set, or LANES. */
static size_t first_set(lanes v)
{
	uint64_t halves[2];

	memcpy(halves, &v, sizeof(v));
	if (halves[0])
		return (size_t)__builtin_ctzll(le64toh(halves[0])) / 8;
	return halves[1] ? 8 + (size_t)__builtin_ctzll(le64toh(halves[1])) / 8 : LANES;
}

static bool matches(const struct literal *l, const char *text)
{
	for (size_t i = 0; i < l->len; i++)
		if (((uint8_t)text[i] | case_of(l->text[i])) != (uint8_t)l->text[i])
			return false;
	return true;
}

/* Returns the next match that starts in [at, end), or SIZE_MAX. `len` is that of the whole text. */
static size_t find(const struct literal *l, const char *text, size_t len, size_t at, size_t end)
{
	const lanes first = (lanes){ 0 } + (uint8_t)l->text[0];
	const lanes last = (lanes){ 0 } + (uint8_t)l->text[l->len - 1];
	const lanes first_case = (lanes){ 0 } + l->first_case;
	const lanes last_case = (lanes){ 0 } + l->last_case;
	size_t skip;

	if (len < l->len)
		return SIZE_MAX;
	end = OFS_MIN(end, len - l->len + 1);
	for (; at < end; at++) {
		for (skip = LANES; skip == LANES && at < end && at + l->len - 1 + LANES <= len;
		     at += skip) {
			const char *p = text + at;

			skip = first_set((lanes)((load(p) | first_case) == first) &
					 (lanes)((load(p + l->len - 1) | last_case) == last));
		}
		if (at < end && matches(l, text + at))
			return at;
	}
	return SIZE_MAX;
}

/* ---- words */

static void take_word(void *arg, const struct ofs_word *word)
{
	struct ofs_finder *f = arg;
	size_t at = f->run_at + word->at;

	if (at >= f->from && at < f->to && !(f->cut_before && !word->at) &&
	    !(f->cut_after && word->end == f->run_len))
		f->found |= ofs_query_match(f->query, f->run, word);
}

/* Finds the words in the run of name characters around `hit`. */
static void read_run(struct ofs_finder *f, const char *text, size_t len, size_t hit)
{
	size_t from = hit, to = hit;

	while (from && hit - from < RUN_MAX && ofs_fold_is_name(text[from - 1]) &&
	       !ofs_text_ends_escape(text, from))
		from--;
	while (to < len && to - hit < RUN_MAX && ofs_fold_is_name(text[to]))
		to++;
	f->cut_before = from && hit - from == RUN_MAX && ofs_fold_is_name(text[from - 1]);
	f->cut_after = to < len && ofs_fold_is_name(text[to]);
	f->run = text + from;
	f->run_at = from;
	f->run_len = to - from;
	ofs_words_each(f->words, f->run, f->run_len, take_word, f);
}

/* Whether the character may be a letter beyond ASCII, rather than a symbol. */
static bool is_letter(const unsigned char *p, size_t left)
{
	unsigned char next = left > 1 ? p[1] : 0;

	switch (p[0]) {
	case 0xc2:
		return next == 0xaa || next == 0xb5 || next == 0xba;
	case 0xe2:
		return next >= 0xb0;
	case 0xf0:
		return next != 0x9f;
	default:
		return p[0] > 0xc2;
	}
}

/* Returns the offset of the next '_' or letter beyond ASCII, or `len`. */
static size_t next_odd(const char *text, size_t len, size_t at)
{
	size_t skip;

	for (; at < len; at++) {
		for (skip = LANES; skip == LANES && at + LANES <= len; at += skip) {
			lanes v = load(text + at);

			skip = first_set((lanes)(v == '_') | (lanes)(v >= 0xc2));
		}
		if (at < len &&
		    (text[at] == '_' || is_letter((const unsigned char *)text + at, len - at)))
			return at;
	}
	return len;
}

/*
 * Sets `plain` to the runs of name characters with '_' or characters beyond ASCII, folded, without
 * '_' and with a blank after each. Returns its length.
 */
static size_t make_plain(struct ofs_finder *f, const char *text, size_t len)
{
	size_t n = 0, i, used, took;
	uint32_t c;
	char a;

	for (size_t at = 0; (at = next_odd(text, len, at)) < len; at = i) {
		for (i = at; i && ofs_fold_is_name(text[i - 1]) && !ofs_text_ends_escape(text, i);)
			i--;
		for (; i < len && ofs_fold_is_name(text[i]); i += used) {
			a = text[i];
			if ((unsigned char)a < 0x80) {
				used = 1;
				f->plain[n] = (char)(a >= 'A' && a <= 'Z' ? a | 0x20 : a);
				f->source[n] = (uint16_t)i;
				n += a != '_';
				continue;
			}
			used = ofs_fold_decode(text + i, len - i, &c);
			took = ofs_fold(text + i, used, f->plain + n);
			for (; took; took--)
				f->source[n++] = (uint16_t)i;
		}
		f->plain[n] = ' ';
		f->source[n++] = (uint16_t)(i - 1);
	}
	return n;
}

/* Whether text[at] is inside a word, so that neither a word nor a part of a name starts there. */
static bool is_inside(const char *text, size_t at)
{
	char c = text[at], before = at ? text[at - 1] : ' ';

	return before != '_' && (unsigned char)before < 0x80 && ofs_fold_is_name(before) &&
	       !(c >= 'A' && c <= 'Z') && !ofs_text_ends_escape(text, at);
}

uint32_t ofs_finder_words(struct ofs_finder *f, const char *text, size_t len, size_t at, size_t end)
{
	/* A word that starts in the block may contain its literal only after the block's end. */
	size_t to = OFS_MIN(len, end + RUN_MAX), n, p;

	f->found = 0;
	f->from = at;
	f->to = end;
	for (size_t i = 0; i < f->n; i++) {
		const struct literal *l = &f->literals[i];

		for (p = at; l->ascii && !(f->found & l->words); p++) {
			p = find(l, text, len, p, to);
			if (p == SIZE_MAX)
				break;
			if (!l->starts || !is_inside(text, p))
				read_run(f, text, len, p);
		}
	}
	n = make_plain(f, text + at, to - at);
	for (size_t i = 0; i < f->n && n; i++) {
		const struct literal *l = &f->literals[i];

		for (p = 0; !(f->found & l->words); p++) {
			p = find(l, f->plain, n, p, n);
			if (p == SIZE_MAX)
				break;
			read_run(f, text, len, at + f->source[p]);
		}
	}
	return f->found;
}
