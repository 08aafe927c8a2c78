/* SPDX-License-Identifier: MIT */
#include "tree/search/query.h"

#include <time.h>

#include "base/clock.h"
#include "base/fold.h"
#include "base/quantity.h"
#include "tree/core/place.h"

/* Weights, relative to 1 for a whole word. */
#define WEIGHT_PART 0.4
#define WEIGHT_GRAM 0.5

enum filter {
	FILTER_TIER,
	FILTER_CATEGORY,
	FILTER_TASK,
	FILTER_TAG,
	FILTER_AGENT,
	FILTER_AFTER,
	FILTER_BEFORE,
	FILTER_WHY,
	FILTERS
};

static const char *const filter_names[FILTERS] = { "tier",  "category", "task",	  "tag",
						   "agent", "after",	"before", "why" };

struct parser {
	const char *at;
	int64_t now;
	struct ofs_error *err;
	struct ofs_query *query;
	struct ofs_words *words;
	struct ofs_buf plain;
	const char *text; /* source of the words being taken */
	uint32_t taken; /* the query's words taken from it, as bits */
	const char *row, *row_end; /* adjacent words without operators: their text, */
	size_t row_len; /* their number */
	uint32_t row_words; /* and the query's words in it, as bits */
};

/* A word as typed, without its leading '-' or '+'. */
struct word {
	const char *text;
	size_t len;
	bool quoted, required, exclude;
};

static void wanted_finish(struct ofs_wanted *w)
{
	for (size_t i = 0; i < w->n; i++)
		free(w->list[i]);
	free(w->list);
}

void ofs_query_destroy(struct ofs_query *q)
{
	if (!q)
		return;
	for (size_t i = 0; i < q->wanted + q->unwanted; i++)
		free(q->terms[i].text);
	for (size_t i = 0; i < q->nwishes; i++)
		free(q->wishes[i].term.text);
	wanted_finish(&q->categories);
	wanted_finish(&q->tasks);
	wanted_finish(&q->tags);
	wanted_finish(&q->agents);
	free(q->plain);
	free(q);
}

bool ofs_wanted_has(const struct ofs_wanted *w, const char *value)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->list[i], value) == 0)
			return true;
	return !w->n;
}

static bool is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool has_word(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (ofs_fold_is_word(text[i]))
			return true;
	return false;
}

/* ---- filters */

/* Reads "2026-01-31" or "2026-01-31T12:00:00Z". */
static bool read_date(const char *text, int64_t *ret)
{
	const char *format = strchr(text, 'T') ? "%Y-%m-%dT%H:%M:%SZ" : "%Y-%m-%d";
	char again[] = "2026-01-31T12:00:00Z";
	size_t len = strlen(text);
	struct tm tm = { 0 };
	time_t s;

	if ((len != strlen("2026-01-31") && len != strlen(again)) || !strptime(text, format, &tm))
		return false;
	s = timegm(&tm);
	/* timegm() normalises a date that does not exist, so that it no longer equals the text. */
	return strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &tm) &&
	       strncmp(again, text, len) == 0 &&
	       !__builtin_mul_overflow((int64_t)s, OFS_NS_PER_S, ret);
}

/* Reads "30m", "6h" or "7d" as a time before `now`. */
static bool read_age(const char *text, int64_t now, int64_t *ret)
{
	static const struct ofs_quantity age = { OFS_UNIT_S, 0, INT64_MAX / OFS_NS_PER_S, NULL,
						 true };
	uint64_t seconds;

	return ofs_quantity_parse(&age, text, &seconds) &&
	       !__builtin_sub_overflow(now, (int64_t)seconds * OFS_NS_PER_S, ret);
}

bool ofs_query_time(const char *text, int64_t now, int64_t *ret)
{
	return read_date(text, ret) || read_age(text, now, ret);
}

static int take_time(struct parser *p, enum filter filter, const char *value)
{
	struct ofs_query *q = p->query;
	int64_t when;

	if (!ofs_query_time(value, p->now, &when))
		return ofs_error_set(p->err, EINVAL,
				     "'%s:%s' is not a time: give a date (2026-01-31), a time "
				     "(2026-01-31T12:00:00Z) or an age (30m, 6h, 7d)",
				     filter_names[filter], value);
	q->by_time = true;
	if (filter == FILTER_AFTER)
		q->after = q->after == INT64_MIN ? when : OFS_MIN(q->after, when);
	else
		q->before = q->before == INT64_MAX ? when : OFS_MAX(q->before, when);
	return 0;
}

static int take_tier(struct parser *p, const char *value)
{
	for (int i = 0; i < OFS_TIERS; i++)
		if (strcmp(value, ofs_tier_names[i]) == 0) {
			p->query->tiers |= 1u << i;
			return 0;
		}
	return ofs_error_set(p->err, EINVAL,
			     "there is no tier '%s': give working, long-term or archive", value);
}

static int take_filter(struct parser *p, enum filter filter, const struct word *w)
{
	OFS_FREE char *value = ofs_strndup(w->text, w->len);
	struct ofs_wanted *to;

	if (!w->len)
		return ofs_error_set(p->err, EINVAL, "'%s:' needs a value right after it",
				     filter_names[filter]);
	p->query->filtered = p->query->filtered || filter != FILTER_WHY;
	switch (filter) {
	case FILTER_TIER:
		return take_tier(p, value);
	case FILTER_AFTER:
	case FILTER_BEFORE:
		return take_time(p, filter, value);
	case FILTER_WHY:
		p->query->why = strcmp(value, "yes") == 0;
		return 0;
	default:
		break;
	}
	to = filter == FILTER_CATEGORY ? &p->query->categories
	     : filter == FILTER_TASK   ? &p->query->tasks
	     : filter == FILTER_AGENT  ? &p->query->agents
				       : &p->query->tags;
	*ofs_append(to->list, to->n, to->cap) = ofs_steal(value);
	return 0;
}

/* Returns the filter whose name and colon start `text`, or FILTERS. "tag::x" is not a filter. */
static enum filter find_filter(const char *text, size_t *ret_len)
{
	int i;

	for (i = 0; i < FILTERS; i++) {
		*ret_len = strlen(filter_names[i]);
		if (strncmp(text, filter_names[i], *ret_len) == 0 && text[*ret_len] == ':' &&
		    text[*ret_len + 1] != ':')
			break;
	}
	*ret_len += 1;
	return (enum filter)i;
}

/* ---- terms */

/* Replaces runs of blanks by one, and removes those at either end. Returns the new length. */
static size_t squeeze(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (!is_space(text[i]))
			text[n++] = text[i];
		else if (n && text[n - 1] != ' ')
			text[n++] = ' ';
	}
	return n && text[n - 1] == ' ' ? n - 1 : n;
}

void ofs_query_add_form(struct ofs_query *q, size_t word, enum ofs_form_kind kind, const char *text,
			size_t len)
{
	struct ofs_form *f = &q->forms[q->nforms];

	if (!len || q->nforms == OFS_QUERY_FORMS)
		return;
	f->len = (uint8_t)OFS_MIN(len, sizeof(f->text));
	memcpy(f->text, text, f->len);
	f->word = (uint8_t)word;
	f->kind = kind;
	q->starting[(unsigned char)text[0]] |= UINT64_C(1) << q->nforms++;
}

/* Folds the word as written in the text, without leading '_'. Returns the length. */
static size_t fold_word(const char *text, const struct ofs_word *word, char folded[OFS_WORD_MAX])
{
	size_t at = word->at;

	while (at < word->end && text[at] == '_')
		at++;
	return ofs_fold(text + at, OFS_MIN(word->end - at, (size_t)OFS_WORD_MAX), folded);
}

static bool starts_so(const struct ofs_form *f, const char *text, const struct ofs_word *word)
{
	char folded[OFS_WORD_MAX];

	return fold_word(text, word, folded) >= f->len && memcmp(folded, f->text, f->len) == 0;
}

/* Whether at most a letter is missing or replaced, or two adjacent ones are swapped. */
static bool is_typo(const char *a, size_t a_len, const char *b, size_t b_len)
{
	size_t i = 0, rest;

	if (a_len < b_len)
		return is_typo(b, b_len, a, a_len);
	if (a_len > b_len + 1)
		return false;
	while (i < b_len && a[i] == b[i])
		i++;
	if (i == a_len)
		return true;
	rest = b_len - i;
	if (a_len > b_len)
		return memcmp(a + i + 1, b + i, rest) == 0;
	return memcmp(a + i + 1, b + i + 1, rest - 1) == 0 ||
	       (rest > 1 && a[i] == b[i + 1] && a[i + 1] == b[i] &&
		memcmp(a + i + 2, b + i + 2, rest - 2) == 0);
}

static bool is_of(const struct ofs_form *f, const char *text, const struct ofs_word *word)
{
	char folded[OFS_WORD_MAX];

	switch (f->kind) {
	case OFS_FORM_START:
		return starts_so(f, text, word);
	case OFS_FORM_TYPO:
		return is_typo(f->text, f->len, word->text, word->len) ||
		       is_typo(f->text, f->len, folded, fold_word(text, word, folded));
	case OFS_FORM_WORD:
		break;
	}
	return f->len == word->len && memcmp(f->text, word->text, f->len) == 0;
}

uint32_t ofs_query_match(const struct ofs_query *q, const char *text, const struct ofs_word *word)
{
	uint64_t left = q->starting[(unsigned char)word->text[0]];
	uint32_t words = 0;

	for (; left; left &= left - 1) {
		const struct ofs_form *f = &q->forms[__builtin_ctzll(left)];

		if (is_of(f, text, word))
			words |= UINT32_C(1) << f->word;
	}
	return words;
}

static struct ofs_query_word read_query_word(const struct parser *p, const struct ofs_word *word)
{
	struct ofs_query_word w = { .weight = 1, .in_order = word->kind != OFS_WORD_NAME };
	size_t len = OFS_MIN(word->end - word->at, sizeof(w.typed));

	w.typed_len = (uint8_t)ofs_fold(p->text + word->at, len, w.typed);
	if (w.typed_len == 1 || ofs_words_is_common(w.typed, w.typed_len))
		w.weight = OFS_WEIGHT_COMMON;
	else if (word->kind == OFS_WORD_PART)
		w.weight = WEIGHT_PART;
	else if (word->kind == OFS_WORD_GRAM)
		w.weight = WEIGHT_GRAM;
	return w;
}

/* Returns the number of the query's word with this form, or `nwords`. */
static size_t find_word(const struct ofs_query *q, const char *text, size_t len)
{
	for (size_t i = 0; i < q->nforms; i++)
		if (q->forms[i].kind == OFS_FORM_WORD && q->forms[i].len == len &&
		    memcmp(q->forms[i].text, text, len) == 0)
			return q->forms[i].word;
	return q->nwords;
}

/* Leaves out words that exceed OFS_QUERY_WORDS; common ones already beyond half of that. */
static void take_word(void *arg, const struct ofs_word *word)
{
	struct parser *p = arg;
	struct ofs_query *q = p->query;
	struct ofs_query_word w = read_query_word(p, word);
	size_t i = find_word(q, word->text, word->len);

	if (i < q->nwords) {
		q->words[i].weight = OFS_MAX(q->words[i].weight, w.weight);
		p->taken |= UINT32_C(1) << i;
		return;
	}
	if (i == OFS_QUERY_WORDS || (i >= OFS_QUERY_WORDS / 2 && w.weight == OFS_WEIGHT_COMMON))
		return;
	p->taken |= UINT32_C(1) << i;
	q->words[q->nwords++] = w;
	ofs_query_add_form(q, i, OFS_FORM_WORD, word->text, word->len);
}

static void take_words(struct parser *p, const char *text, size_t len)
{
	p->text = text;
	p->taken = 0;
	ofs_words_each(p->words, text, len, take_word, p);
}

/* The term's text is allocated, for the caller to free. */
static struct ofs_term make_term(enum ofs_term_kind kind, const char *text, size_t len)
{
	struct ofs_term term = { .kind = kind, .text = ofs_alloc(len + 1) };

	term.len = squeeze(term.text, ofs_fold(text, len, term.text));
	term.text[term.len] = 0;
	return term;
}

static int add_term(struct parser *p, enum ofs_term_kind kind, const struct word *w)
{
	struct ofs_query *q = p->query;
	struct ofs_term term, *to;

	if (q->wanted + q->unwanted == OFS_TERMS_MAX)
		return ofs_error_set(p->err, EINVAL, "there are more than %d terms", OFS_TERMS_MAX);
	term = make_term(kind, w->text, w->len);
	if (!term.len) {
		free(term.text);
		return 0;
	}
	to = &q->terms[q->wanted + q->unwanted];
	if (w->exclude) {
		q->unwanted++;
	} else {
		/* Moves the first unwanted term to the end to make room. */
		*to = q->terms[q->wanted];
		to = &q->terms[q->wanted++];
	}
	*to = term;
	return 0;
}

/* Adds a wish, unless there is only one word: any occurrence of that is as written. */
static void add_wish(struct parser *p, const char *text, size_t len, uint32_t words)
{
	struct ofs_query *q = p->query;

	if (q->nwishes < OFS_WISHES_MAX && words & (words - 1))
		q->wishes[q->nwishes++] =
			(struct ofs_wish){ make_term(OFS_TERM_PHRASE, text, len), words };
}

static void end_row(struct parser *p)
{
	if (p->row_len > 1)
		add_wish(p, p->row, (size_t)(p->row_end - p->row), p->row_words);
	p->row_len = p->row_words = 0;
}

/* Handles a word without operators, after take_words() of it. */
static void take_plain(struct parser *p, const struct word *w)
{
	struct ofs_query *q = p->query;

	for (size_t i = 0; i < q->nwords; i++)
		q->has_plain = q->has_plain ||
			       (p->taken >> i & 1 && q->words[i].weight > OFS_WEIGHT_COMMON);
	add_wish(p, w->text, w->len, p->taken);
	if (!p->row_len++)
		p->row = w->text;
	p->row_end = w->text + w->len;
	p->row_words |= p->taken;
}

/* Whether the last character belongs to a script whose words are pairs of characters. */
static bool ends_dense(const char *text, size_t len)
{
	size_t at = len - 1;
	uint32_t c;

	while (at && ((unsigned char)text[at] & 0xc0) == 0x80)
		at--;
	ofs_fold_decode(text + at, len - at, &c);
	return ofs_words_is_dense(c);
}

/* Only the last word of "std::vec*" is a prefix, without its leading '_'. */
static void take_start(struct parser *p, const struct word *w)
{
	struct ofs_query *q = p->query;
	char folded[OFS_WORD_MAX];
	size_t at = w->len, len, word;

	if (!ends_dense(w->text, w->len))
		while (at && ofs_fold_is_name(w->text[at - 1]))
			at--;
	take_words(p, w->text, at);
	while (at < w->len && w->text[at] == '_')
		at++;
	len = OFS_MIN(w->len - at, sizeof(folded));
	word = q->nwords;
	if (!len || word == OFS_QUERY_WORDS)
		return;
	q->words[q->nwords++] = (struct ofs_query_word){ .weight = 1, .in_order = true };
	ofs_query_add_form(q, word, OFS_FORM_START, folded, ofs_fold(w->text + at, len, folded));
}

/* A term that must occur also counts for the ranking. */
static int take_term(struct parser *p, struct word *w)
{
	bool is_start = false;

	for (; !w->quoted && w->len > 1 && w->text[w->len - 1] == '*'; w->len--)
		is_start = true;
	if (is_start && has_word(w->text, w->len)) {
		end_row(p);
		if (!w->exclude)
			take_start(p, w);
		return add_term(p, OFS_TERM_PREFIX, w);
	}
	if (!has_word(w->text, w->len))
		return 0;
	if (!w->exclude) {
		take_words(p, w->text, w->len);
		ofs_buf_append(&p->plain, w->text, w->len);
		ofs_buf_append(&p->plain, " ", 1);
	}
	if (!w->quoted && !w->required && !w->exclude)
		take_plain(p, w);
	if (w->quoted)
		return add_term(p, OFS_TERM_PHRASE, w);
	return w->required || w->exclude ? add_term(p, OFS_TERM_TEXT, w) : 0;
}

double ofs_query_weigh(const double weights[OFS_QUERY_WORDS], uint32_t words)
{
	double sum = 0;

	for (; words; words &= words - 1)
		sum += weights[__builtin_ctz(words)];
	return sum;
}

void ofs_query_count(uint64_t found[OFS_QUERY_WORDS], uint32_t words)
{
	for (; words; words &= words - 1)
		found[__builtin_ctz(words)]++;
}

/* ---- words */

/* Reads up to the closing quote, or without one up to a blank. */
static void read_word(struct parser *p, struct word *ret)
{
	const char *end = p->at[0] == '"' ? strchr(p->at + 1, '"') : NULL;

	ret->quoted = end;
	if (ret->quoted) {
		ret->text = p->at + 1;
		ret->len = (size_t)(end - ret->text);
		p->at = end + 1;
		return;
	}
	ret->text = p->at;
	while (*p->at && !is_space(*p->at))
		p->at++;
	ret->len = (size_t)(p->at - ret->text);
}

/* True for -x and +x (for -"x" and +"x", too); "--x", "->" and "+=" are plain text. */
static bool is_operator(const char *at, char sign)
{
	return at[0] == sign && (at[1] == '"' || ofs_fold_is_name(at[1]));
}

static int take_next(struct parser *p)
{
	struct word w = { .exclude = is_operator(p->at, '-'), .required = is_operator(p->at, '+') };
	enum filter filter;
	size_t len;

	p->at += w.exclude || w.required;
	filter = find_filter(p->at, &len);
	if (filter == FILTERS) {
		read_word(p, &w);
		if (w.quoted || w.required || w.exclude)
			end_row(p);
		return take_term(p, &w);
	}
	end_row(p);
	if (w.exclude)
		return ofs_error_set(p->err, EINVAL,
				     "'-%s:' is not supported: name what is wanted instead",
				     filter_names[filter]);
	p->at += len;
	read_word(p, &w);
	return take_filter(p, filter, &w);
}

static void parser_begin(struct parser *p)
{
	p->query = ofs_alloc(sizeof(*p->query));
	p->query->after = INT64_MIN;
	p->query->before = INT64_MAX;
	p->words = ofs_words_create();
}

int ofs_query_parse(const char *text, int64_t now, struct ofs_error *err, struct ofs_query **ret)
{
	struct parser p = { .at = text, .now = now, .err = err };
	int r = 0;

	if (!ofs_text_is_utf8(text))
		return ofs_error_set(err, EINVAL, "the query is not UTF-8");
	parser_begin(&p);
	while (r == 0) {
		while (is_space(*p.at))
			p.at++;
		if (!*p.at)
			break;
		r = take_next(&p);
	}
	end_row(&p);
	ofs_words_destroy(p.words);
	p.query->plain = ofs_buf_steal_str(&p.plain);
	if (r < 0)
		ofs_query_destroy(p.query);
	else
		*ret = p.query;
	return r;
}

struct ofs_query *ofs_query_of_words(const char *text, size_t len)
{
	struct parser p = { 0 };

	parser_begin(&p);
	take_words(&p, text, len);
	ofs_words_destroy(p.words);
	return p.query;
}
