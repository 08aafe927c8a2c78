/* SPDX-License-Identifier: MIT */
/* The user's own rules: PCRE2 patterns with the same conditions as in gitleaks. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <math.h>
#include <pcre2.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/redact_rules.h"
#include "base/util.h"

#define KIND_MAX 36

/* A rule with keywords is tried this far around each, and to the end of the line. */
#define KEYWORD_BEFORE ((size_t)1 << 10)
#define KEYWORD_AFTER ((size_t)4 << 10)
#define LINE_REST ((size_t)1 << 10)

/* Limit of one match in PCRE2's units; a pattern that needs more finds nothing. */
#define MATCH_LIMIT 200000

struct custom {
	char kind[KIND_MAX + 1];
	atomic_bool is_ready; /* JIT compilation has been tried */
	pcre2_code *code;
	unsigned int group;
	double entropy;
	struct ofs_redact_words stopwords;
	pcre2_code **allowed;
	size_t n_allowed;
	bool has_keywords;
};

struct keyword {
	char *text; /* in lower case */
	size_t rule;
	size_t next; /* next keyword with the same first two bytes, counted from 1; 0 if none */
};

/* Set at start, before any thread exists. */
static struct custom *customs;
static size_t n_customs, cap_customs;
static struct keyword *keywords;
static size_t n_keywords, cap_keywords;
static size_t first_keyword[256][256]; /* by the first two bytes; numbered as `next` */

/* ---- adding */

void ofs_redact_words_add(struct ofs_redact_words *words, const char *word)
{
	*ofs_append(words->at, words->n, words->cap) = ofs_strdup(word);
}

void ofs_redact_words_finish(struct ofs_redact_words *words)
{
	while (words->n)
		free(words->at[--words->n]);
	free(words->at);
	*words = (struct ofs_redact_words){ 0 };
}

static pcre2_code *compile(const char *id, const char *regex, struct ofs_error *err)
{
	char message[128];
	PCRE2_SIZE at;
	int code;
	pcre2_code *re = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
				       PCRE2_DOLLAR_ENDONLY, &code, &at, NULL);

	if (re)
		return re;
	pcre2_get_error_message(code, (PCRE2_UCHAR *)message, sizeof(message));
	ofs_error_set(err, EINVAL, "rule '%s': the regex is wrong at character %zu: %s", id, at + 1,
		      message);
	return NULL;
}

static void add_keyword(const char *word, size_t rule)
{
	struct keyword k = { .text = ofs_strdup(word), .rule = rule };
	size_t *first;

	for (char *c = k.text; *c; c++)
		*c = redact_fold(*c);
	first = &first_keyword[(uint8_t)k.text[0]][(uint8_t)k.text[1]];
	k.next = *first;
	*ofs_append(keywords, n_keywords, cap_keywords) = k;
	*first = n_keywords;
}

int ofs_redact_add_rule(const struct ofs_redact_custom *rule, struct ofs_error *err)
{
	struct custom c = { .group = rule->group, .entropy = rule->entropy };
	uint32_t groups = 0;

	c.code = compile(rule->id, rule->regex, err);
	if (!c.code)
		return -EINVAL;
	pcre2_pattern_info(c.code, PCRE2_INFO_CAPTURECOUNT, &groups);
	if (rule->group > groups) {
		pcre2_code_free(c.code);
		return ofs_error_set(err, EINVAL, "rule '%s': the regex has no group %u", rule->id,
				     rule->group);
	}
	snprintf(c.kind, sizeof(c.kind), "%s", rule->id);
	for (char *p = c.kind; *p; p++)
		if (!redact_is(*p, REDACT_URLSAFE))
			*p = '-';
	c.allowed = ofs_alloc((rule->allowed.n + 1) * sizeof(pcre2_code *));
	for (; c.n_allowed < rule->allowed.n; c.n_allowed++) {
		c.allowed[c.n_allowed] = compile(rule->id, rule->allowed.at[c.n_allowed], err);
		if (!c.allowed[c.n_allowed])
			return -EINVAL; /* leaks, but the program ends */
	}
	for (size_t i = 0; i < rule->stopwords.n; i++)
		ofs_redact_words_add(&c.stopwords, rule->stopwords.at[i]);
	c.has_keywords = rule->keywords.n;
	for (size_t i = 0; i < rule->keywords.n; i++)
		c.has_keywords = c.has_keywords && strlen(rule->keywords.at[i]) >= 2;
	for (size_t i = 0; c.has_keywords && i < rule->keywords.n; i++)
		add_keyword(rule->keywords.at[i], n_customs);
	*ofs_append(customs, n_customs, cap_customs) = c;
	return 0;
}

/* ---- finding */

/* Returns the entropy in bits per byte. */
static double entropy_of(const char *text, size_t len)
{
	size_t count[256] = { 0 };
	double sum = 0;

	for (size_t i = 0; i < len; i++)
		count[(uint8_t)text[i]]++;
	for (size_t i = 0; i < 256; i++)
		if (count[i])
			sum -= (double)count[i] * log2((double)count[i] / (double)len);
	return len ? sum / (double)len : 0;
}

static bool has_word(const char *text, size_t len, const char *word)
{
	for (size_t i = 0; i < len; i++)
		if (redact_fold(text[i]) == redact_fold(word[0]) &&
		    strncasecmp(text + i, word, OFS_MIN(strlen(word), len - i)) == 0 &&
		    strlen(word) <= len - i)
			return true;
	return false;
}

/* True if [start, end) overlaps a mark, which never contains a secret. */
static bool touches_mark(const char *text, size_t len, size_t start, size_t end)
{
	size_t from =
		start > KIND_MAX + sizeof(REDACT_MARK) ? start - KIND_MAX - sizeof(REDACT_MARK) : 0;

	for (size_t i = from; i < end; i++)
		if (redact_has(text, len, i, REDACT_MARK, false) &&
		    (i >= start || !memchr(text + i, ']', start - i)))
			return true;
	return false;
}

static bool is_allowed(const struct custom *c, const char *text, size_t len,
		       pcre2_match_context *limits)
{
	bool found = false;

	for (size_t i = 0; i < c->stopwords.n; i++)
		if (has_word(text, len, c->stopwords.at[i]))
			return true;
	for (size_t i = 0; i < c->n_allowed && !found; i++) {
		pcre2_match_data *data = pcre2_match_data_create_from_pattern(c->allowed[i], NULL);

		found = data &&
			pcre2_match(c->allowed[i], (PCRE2_SPTR)text, len, 0, 0, data, limits) > 0;
		pcre2_match_data_free(data);
	}
	return found;
}

/* Sets [*start, *end) to the group that is the secret. */
static void find_group(const struct custom *c, const PCRE2_SIZE *at, int n, size_t *start,
		       size_t *end)
{
	int group = (int)c->group;

	for (int i = 1; !c->group && !group && i < n; i++)
		if (at[2 * i] != PCRE2_UNSET && at[2 * i] < at[2 * i + 1])
			group = i;
	if (group >= n || at[2 * group] == PCRE2_UNSET)
		group = 0;
	*start = at[2 * group];
	*end = at[2 * group + 1];
}

/* JIT compilation takes a hundred times as long as compilation, and most rules are never tried. */
static void make_ready(struct custom *c)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

	if (atomic_load(&c->is_ready))
		return;
	pthread_mutex_lock(&lock);
	if (!c->is_ready)
		pcre2_jit_compile(c->code, PCRE2_JIT_COMPLETE);
	atomic_store(&c->is_ready, true);
	pthread_mutex_unlock(&lock);
}

struct find {
	const char *text;
	size_t len;
	pcre2_match_context *limits;
	size_t *next; /* for each rule, the end of the text in which it was tried */
	struct redact_spans *found;
};

/* Tries a rule in [from, end). */
static void find_within(struct find *f, struct custom *c, size_t from, size_t end)
{
	pcre2_match_data *data = pcre2_match_data_create_from_pattern(c->code, NULL);
	struct redact_spans *to = f->found;
	int n;

	make_ready(c);
	while (data && from < end &&
	       (n = pcre2_match(c->code, (PCRE2_SPTR)f->text, end, from, PCRE2_NOTEMPTY, data,
				f->limits)) > 0) {
		const PCRE2_SIZE *at = pcre2_get_ovector_pointer(data);
		struct ofs_secret s = { .kind = c->kind };
		size_t after;

		find_group(c, at, n, &s.start, &after);
		s.len = after - s.start;
		from = OFS_MAX(at[1], from + 1);
		if (s.len && !touches_mark(f->text, f->len, s.start, after) &&
		    (c->entropy <= 0 || entropy_of(f->text + s.start, s.len) >= c->entropy) &&
		    !is_allowed(c, f->text + s.start, s.len, f->limits))
			*ofs_append(to->at, to->n, to->cap) = s;
	}
	pcre2_match_data_free(data);
}

/* Tries a rule on the lines around its keyword at `at`. */
static void find_around(struct find *f, size_t rule, size_t at)
{
	size_t from = OFS_MAX(at - OFS_MIN(at, KEYWORD_BEFORE), f->next[rule]);
	size_t end = OFS_MIN(at + KEYWORD_AFTER, f->len);
	const char *newline = memchr(f->text + end, '\n', OFS_MIN(f->len - end, LINE_REST));

	end = newline ? (size_t)(newline - f->text) : OFS_MIN(end + LINE_REST, f->len);
	find_within(f, &customs[rule], from, end);
	f->next[rule] = end;
}

static void find_keywords(struct find *f)
{
	for (size_t i = 0; i + 1 < f->len; i++) {
		size_t k = first_keyword[(uint8_t)redact_fold(f->text[i])]
					[(uint8_t)redact_fold(f->text[i + 1])];

		for (; k; k = keywords[k - 1].next)
			if (i >= f->next[keywords[k - 1].rule] &&
			    redact_has(f->text, f->len, i, keywords[k - 1].text, true))
				find_around(f, keywords[k - 1].rule, i);
	}
}

static int compare_spans(const void *a, const void *b)
{
	const struct ofs_secret *x = a, *y = b;

	return x->start != y->start ? (x->start < y->start ? -1 : 1)
				    : (x->len < y->len) - (x->len > y->len);
}

void redact_custom_find(const char *text, size_t len, struct redact_spans *ret)
{
	struct find f = { .text = text, .len = len, .found = ret };

	if (!n_customs)
		return;
	f.limits = pcre2_match_context_create(NULL);
	if (!f.limits)
		ofs_out_of_memory();
	pcre2_set_match_limit(f.limits, MATCH_LIMIT);
	f.next = ofs_alloc(n_customs * sizeof(*f.next));
	find_keywords(&f);
	for (size_t i = 0; i < n_customs; i++)
		if (!customs[i].has_keywords)
			find_within(&f, &customs[i], 0, len);
	free(f.next);
	pcre2_match_context_free(f.limits);
	if (ret->n)
		qsort(ret->at, ret->n, sizeof(*ret->at), compare_spans);
}
