/* SPDX-License-Identifier: MIT */
#include "base/words.h"

#include <libstemmer.h>

#include "base/alloc.h"
#include "base/fold.h"
#include "base/text.h"

#define STEM_MIN 3 /* letters; shorter words are kept whole */
#define STEM_MAX 24
#define KNOWN 2048 /* entries in the cache of stems */
#define PARTS_MAX 12 /* a name with more parts is random text */
#define PART_MIN 2 /* letters; a shorter part is not a word */

/* The kind of a character. A word is a run of characters of the same kind. */
enum script {
	SCRIPT_NONE, /* separates words */
	SCRIPT_LATIN, /* Latin letters, and digits */
	SCRIPT_DENSE, /* no blanks between words */
	SCRIPT_OTHER
};

struct known {
	char word[STEM_MAX], stem[STEM_MAX];
	uint8_t word_len, stem_len;
};

struct ofs_words {
	struct sb_stemmer *stemmer;
	struct known known[KNOWN];
};

struct ofs_words *ofs_words_create(void)
{
	struct ofs_words *w = ofs_alloc(sizeof(*w));

	w->stemmer = sb_stemmer_new("english", "UTF_8");
	if (!w->stemmer)
		ofs_out_of_memory();
	return w;
}

void ofs_words_destroy(struct ofs_words *w)
{
	if (!w)
		return;
	sb_stemmer_delete(w->stemmer);
	free(w);
}

/* ---- stems */

static uint32_t hash(const char *text, size_t len)
{
	uint32_t h = 2166136261u;

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)text[i]) * 16777619u;
	return h ^ h >> 15;
}

static bool is_english(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] < 'a' || text[i] > 'z')
			return false;
	return len >= STEM_MIN && len < STEM_MAX;
}

/* Replaces a folded word (text and length) by its stem, which is valid until the next call. */
static void stem(struct ofs_words *w, const char **text, size_t *len)
{
	struct known *k;
	const sb_symbol *s;

	if (!is_english(*text, *len))
		return;
	k = &w->known[hash(*text, *len) % KNOWN];
	if (k->word_len != *len || memcmp(k->word, *text, *len) != 0) {
		s = sb_stemmer_stem(w->stemmer, (const sb_symbol *)*text, (int)*len);
		if (!s)
			ofs_out_of_memory();
		memcpy(k->word, *text, *len);
		k->word_len = (uint8_t)*len;
		k->stem_len =
			(uint8_t)OFS_MIN((size_t)sb_stemmer_length(w->stemmer), sizeof(k->stem));
		memcpy(k->stem, s, k->stem_len);
	}
	*text = k->stem;
	*len = k->stem_len;
}

/* ---- characters */

static bool is_in(uint32_t c, const uint32_t (*ranges)[2], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (c >= ranges[i][0] && c <= ranges[i][1])
			return true;
	return false;
}

static enum script script_of(uint32_t c)
{
	static const uint32_t none[][2] = {
		{ 0x80, 0xa9 },	    { 0xab, 0xb4 },	{ 0xb6, 0xb9 },	      { 0xbb, 0xbf },
		{ 0x37e, 0x37e },   { 0x387, 0x387 },	{ 0x60c, 0x60d },     { 0x61b, 0x61f },
		{ 0x66a, 0x66d },   { 0x6d4, 0x6d4 },	{ 0x964, 0x965 },     { 0xd7, 0xd7 },
		{ 0xf7, 0xf7 },	    { 0x2000, 0x2bff }, { 0x2e00, 0x2e7f },   { 0x3000, 0x3004 },
		{ 0x3008, 0x3020 }, { 0x3030, 0x3030 }, { 0x30fb, 0x30fb },   { 0xd800, 0xf8ff },
		{ 0xfe00, 0xfe6f }, { 0xfeff, 0xff0f }, { 0xff1a, 0xff20 },   { 0xff3b, 0xff40 },
		{ 0xff5b, 0xff65 }, { 0xffe0, 0xffff }, { 0x1f000, 0x1fbff }, { 0xe0000, 0x10ffff },
	};
	static const uint32_t dense[][2] = {
		{ 0xe00, 0xeff },   { 0x1000, 0x109f }, { 0x1100, 0x11ff }, { 0x1780, 0x17ff },
		{ 0x2e80, 0x2fdf }, { 0x3005, 0x3007 }, { 0x3021, 0x302f }, { 0x3031, 0xa4cf },
		{ 0xac00, 0xd7af }, { 0xf900, 0xfaff }, { 0xff66, 0xffdf }, { 0x20000, 0x3ffff },
	};

	if (c < 0x80)
		return ofs_fold_is_name((char)c) ? SCRIPT_LATIN : SCRIPT_NONE;
	if (c == OFS_FOLD_INVALID || is_in(c, none, OFS_ARRAY_SIZE(none)))
		return SCRIPT_NONE;
	if (c < 0x370 || (c >= 0x1e00 && c < 0x1f00))
		return SCRIPT_LATIN;
	return is_in(c, dense, OFS_ARRAY_SIZE(dense)) ? SCRIPT_DENSE : SCRIPT_OTHER;
}

bool ofs_words_is_dense(uint32_t c)
{
	return c >= 0x80 && script_of(c) == SCRIPT_DENSE;
}

bool ofs_words_separates(uint32_t c)
{
	return script_of(c) == SCRIPT_NONE;
}

/* ---- a run of characters of one script */

struct run {
	struct ofs_words *words;
	const char *text;
	size_t at, end;
	ofs_word_fn fn;
	void *arg;
};

static void tell(const struct run *r, const char *text, size_t len, size_t at, size_t end,
		 enum ofs_word_kind kind)
{
	struct ofs_word word = { text, OFS_MIN(len, (size_t)OFS_WORD_MAX), at, end, kind };

	r->fn(r->arg, &word);
}

static void tell_stem(const struct run *r, const char *text, size_t len, size_t at, size_t end,
		      enum ofs_word_kind kind)
{
	stem(r->words, &text, &len);
	tell(r, text, len, at, end, kind);
}

/* The parts of a name: their offsets in its folded text, which has no '_', and in the text. */
struct parts {
	char folded[OFS_WORD_MAX + 4];
	size_t len;
	size_t start[PARTS_MAX + 1], at[PARTS_MAX + 1], end[PARTS_MAX + 1];
	size_t n; /* PARTS_MAX + 1: too many */
};

/* True if a part ends before `i`. */
static bool ends(const struct run *r, size_t i)
{
	uint32_t c = '_';

	if (i < r->end)
		ofs_fold_decode(r->text + i, r->end - i, &c);
	return c == '_' || ofs_fold_is_capital(c);
}

/* True if a part begins at text[i]: getUser|Id, HTTP|Server, get_|user, user|IDs. */
static bool begins(const struct run *r, size_t i, uint32_t c, bool after_capital)
{
	uint32_t next = '_';

	if (i == r->at || r->text[i - 1] == '_')
		return true;
	if (!ofs_fold_is_capital(c))
		return false;
	if (!after_capital)
		return true;
	i += ofs_fold_decode(r->text + i, r->end - i, &c);
	if (i < r->end)
		ofs_fold_decode(r->text + i, r->end - i, &next);
	return next > '_' && !ofs_fold_is_diacritic(next) && !ofs_fold_is_capital(next) &&
	       !(next == 's' && ends(r, i + 1));
}

static void part(const struct run *r, struct parts *p)
{
	bool after_capital = false;
	size_t i = r->at, n;
	uint32_t c;

	p->n = p->len = 0;
	while (i < r->end && p->len < OFS_WORD_MAX) {
		if (r->text[i] == '_') {
			i++;
			continue;
		}
		n = ofs_fold_decode(r->text + i, r->end - i, &c);
		if (begins(r, i, c, after_capital)) {
			if (p->n > PARTS_MAX)
				return;
			p->start[p->n] = p->len;
			p->at[p->n++] = i;
		}
		after_capital = ofs_fold_is_diacritic(c) ? after_capital : ofs_fold_is_capital(c);
		p->len += ofs_fold(r->text + i, n, p->folded + p->len);
		i += n;
		if (p->n)
			p->end[p->n - 1] = i;
	}
}

/* Parts of about one letter are not words: Xk3_9aQ. */
static bool is_readable(const struct parts *p)
{
	return p->n <= PARTS_MAX && p->len >= 2 * p->n;
}

static void take_latin(const struct run *r)
{
	struct parts p;
	size_t len;

	part(r, &p);
	if (!p.len)
		return;
	if (p.n == 1) {
		tell_stem(r, p.folded, p.len, r->at, r->end, OFS_WORD_PLAIN);
		return;
	}
	tell(r, p.folded, p.len, r->at, r->end, OFS_WORD_NAME);
	for (size_t i = 0; i < p.n && is_readable(&p); i++) {
		len = (i + 1 < p.n ? p.start[i + 1] : p.len) - p.start[i];
		if (len >= PART_MIN)
			tell_stem(r, p.folded + p.start[i], len, p.at[i], p.end[i], OFS_WORD_PART);
	}
}

/* Reports each `n` consecutive characters and, with `last`, the last character alone. */
static void take_grams(const struct run *r, size_t n, bool last)
{
	char folded[4 * 4];
	size_t at[4], start[4], count = 0, len = 0;

	for (size_t i = r->at; i < r->end;) {
		uint32_t c;
		size_t size = ofs_fold_decode(r->text + i, r->end - i, &c), took;

		took = ofs_fold(r->text + i, size, folded + len);
		if (took && count == n) {
			memmove(folded, folded + start[1], len + took - start[1]);
			len -= start[1];
			for (size_t k = 1; k < n; k++) {
				start[k - 1] = start[k] - start[1];
				at[k - 1] = at[k];
			}
			count--;
		}
		if (took) {
			start[count] = len;
			at[count++] = i;
			len += took;
		}
		i += size;
		if (took && count == n)
			tell(r, folded, len, at[0], i, OFS_WORD_GRAM);
	}
	if (last && count)
		tell(r, folded + start[count - 1], len - start[count - 1], at[count - 1], r->end,
		     OFS_WORD_GRAM);
}

static void take_other(const struct run *r)
{
	char folded[OFS_WORD_MAX];
	size_t len = OFS_MIN(r->end - r->at, sizeof(folded));

	while (len && len < r->end - r->at && ((unsigned char)r->text[r->at + len] & 0xc0) == 0x80)
		len--;
	len = ofs_fold(r->text + r->at, len, folded);
	if (!len)
		return;
	tell(r, folded, len, r->at, r->end, OFS_WORD_PLAIN);
	take_grams(r, 3, false);
}

static void take_run(const struct run *r, enum script script)
{
	switch (script) {
	case SCRIPT_LATIN:
		take_latin(r);
		break;
	case SCRIPT_DENSE:
		take_grams(r, 2, true);
		break;
	case SCRIPT_OTHER:
		take_other(r);
		break;
	case SCRIPT_NONE:
		break;
	}
}

static size_t escape_len(const char *text, size_t len)
{
	return len > 1 && text[1] == '[' ? (size_t)OFS_MAX(ofs_text_escape(text, len), 1) : 1;
}

void ofs_words_each(struct ofs_words *w, const char *text, size_t len, ofs_word_fn fn, void *arg)
{
	struct run r = { .words = w, .text = text, .fn = fn, .arg = arg };
	enum script script = SCRIPT_NONE, next;
	size_t i, n;
	uint32_t c;

	for (i = 0; i < len; i += n) {
		c = (unsigned char)text[i];
		n = c == OFS_TEXT_ESC ? escape_len(text + i, len - i)
		    : c < 0x80	      ? 1
				      : ofs_fold_decode(text + i, len - i, &c);
		/* A combining diacritic belongs to the character before it. */
		next = ofs_fold_is_diacritic(c) ? script : script_of(c);
		if (next == script)
			continue;
		r.end = i;
		take_run(&r, script);
		r.at = i;
		script = next;
	}
	r.end = len;
	take_run(&r, script);
}

/* ---- common words */

static int compare(const void *a, const void *b)
{
	return strcmp(a, *(const char *const *)b);
}

bool ofs_words_is_common(const char *word, size_t len)
{
	static const char *const common[] = {
		"a",	 "about",   "after",   "all",	 "also",  "am",	     "an",   "and",
		"any",	 "are",	    "as",      "at",	 "be",	  "because", "been", "before",
		"being", "but",	    "by",      "can",	 "could", "d",	     "did",  "didn",
		"do",	 "does",    "doesn",   "doing",	 "don",	  "done",    "for",  "from",
		"get",	 "gets",    "getting", "go",	 "going", "got",     "had",  "has",
		"hasn",	 "have",    "haven",   "having", "he",	  "her",     "here", "hers",
		"him",	 "his",	    "how",     "i",	 "if",	  "in",	     "into", "is",
		"isn",	 "it",	    "its",     "just",	 "like",  "ll",	     "m",    "me",
		"might", "more",    "most",    "my",	 "no",	  "not",     "now",  "of",
		"on",	 "or",	    "our",     "out",	 "over",  "own",     "re",   "s",
		"she",	 "should",  "so",      "some",	 "such",  "t",	     "than", "that",
		"the",	 "their",   "them",    "then",	 "there", "these",   "they", "this",
		"those", "through", "to",      "too",	 "under", "until",   "up",   "us",
		"ve",	 "very",    "was",     "wasn",	 "we",	  "were",    "what", "when",
		"where", "which",   "while",   "who",	 "whom",  "why",     "will", "with",
		"won",	 "would",   "you",     "your",
	};
	char text[OFS_WORD_MAX + 1];

	len = OFS_MIN(len, (size_t)OFS_WORD_MAX);
	memcpy(text, word, len);
	text[len] = 0;
	return bsearch(text, common, OFS_ARRAY_SIZE(common), sizeof(*common), compare) != NULL;
}
