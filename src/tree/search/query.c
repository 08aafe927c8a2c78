/* SPDX-License-Identifier: MIT */
#include "tree/search/query.h"

#include <time.h>

#include "base/clock.h"
#include "base/quantity.h"
#include "base/text.h"
#include "tree/core/place.h"
#include "tree/search/fold.h"

#define SHORT 3 /* what is shorter and has neither letter nor digit cannot be looked for */

enum filter {
	FILTER_TIER,
	FILTER_CATEGORY,
	FILTER_TASK,
	FILTER_TAG,
	FILTER_AFTER,
	FILTER_BEFORE,
	FILTERS
};

static const char *const filter_names[FILTERS] = { "tier", "category", "task",
						   "tag",  "after",    "before" };

struct parser {
	const char *at;
	int64_t now;
	struct ofs_error *err;
	struct ofs_query *query;
	bool filtered; /* there was a filter */
	const char *dropped; /* the first term that was too short, and its length; NULL: none */
	size_t dropped_len;
};

/* A word of the query, without its leading "-". */
struct word {
	const char *text;
	size_t len;
	bool quoted, exclude;
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
	wanted_finish(&q->categories);
	wanted_finish(&q->tasks);
	wanted_finish(&q->tags);
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

/* "2026-01-31" or "2026-01-31T12:00:00Z". */
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
	/* timegm() turns a date that does not exist into another one. */
	return strftime(again, sizeof(again), "%Y-%m-%dT%H:%M:%SZ", &tm) &&
	       strncmp(again, text, len) == 0 &&
	       !__builtin_mul_overflow((int64_t)s, OFS_NS_PER_S, ret);
}

/* "30m", "6h", "7d": a time before `now`. */
static bool read_age(const char *text, int64_t now, int64_t *ret)
{
	static const struct ofs_quantity age = { OFS_UNIT_S, 0, INT64_MAX / OFS_NS_PER_S, NULL,
						 true };
	uint64_t seconds;

	return ofs_quantity_parse(&age, text, &seconds) &&
	       !__builtin_sub_overflow(now, (int64_t)seconds * OFS_NS_PER_S, ret);
}

static int take_time(struct parser *p, enum filter filter, const char *value)
{
	struct ofs_query *q = p->query;
	int64_t when;

	if (!read_date(value, &when) && !read_age(value, p->now, &when))
		return ofs_error_set(p->err, EINVAL,
				     "'%s:%s' is no time: give a date (2026-01-31), a time "
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
			     "there is no tier '%s': it is working, long-term or archive", value);
}

static int take_filter(struct parser *p, enum filter filter, const struct word *w)
{
	OFS_FREE char *value = ofs_strndup(w->text, w->len);
	struct ofs_wanted *to;

	if (!w->len)
		return ofs_error_set(p->err, EINVAL, "'%s:' needs a value right after it",
				     filter_names[filter]);
	p->filtered = true;
	switch (filter) {
	case FILTER_TIER:
		return take_tier(p, value);
	case FILTER_AFTER:
	case FILTER_BEFORE:
		return take_time(p, filter, value);
	default:
		break;
	}
	to = filter == FILTER_CATEGORY ? &p->query->categories
	     : filter == FILTER_TASK   ? &p->query->tasks
				       : &p->query->tags;
	*ofs_append(to->list, to->n, to->cap) = ofs_steal(value);
	return 0;
}

/* The filter whose name and colon start `text`; FILTERS: none. "tag::x" is not a filter. */
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

static size_t count_chars(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

/* Runs of blanks become one, and none stays at either end. */
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

static int add_term(struct parser *p, enum ofs_term_kind kind, const struct word *w)
{
	struct ofs_query *q = p->query;
	struct ofs_term term = { .kind = kind }, *to;

	if (q->wanted + q->unwanted == OFS_TERMS_MAX)
		return ofs_error_set(p->err, EINVAL, "there are more than %d terms", OFS_TERMS_MAX);
	term.text = ofs_alloc(w->len + 1);
	term.len = squeeze(term.text, ofs_fold(w->text, w->len, term.text));
	term.text[term.len] = 0;
	term.chars = count_chars(term.text, term.len);
	if (term.chars < SHORT && !has_word(term.text, term.len)) {
		free(term.text);
		if (!p->dropped) {
			p->dropped = w->text;
			p->dropped_len = w->len;
		}
		return 0;
	}
	to = &q->terms[q->wanted + q->unwanted];
	if (w->exclude) {
		q->unwanted++;
	} else {
		/* The first of the unwanted makes room. */
		*to = q->terms[q->wanted];
		to = &q->terms[q->wanted++];
	}
	*to = term;
	return 0;
}

static int take_term(struct parser *p, struct word *w)
{
	if (w->quoted)
		return w->len ? add_term(p, OFS_TERM_PHRASE, w)
			      : ofs_error_set(p->err, EINVAL, "there is nothing in the quotes");
	if (w->len > 1 && w->text[w->len - 1] == '*' && has_word(w->text, w->len)) {
		w->len--;
		return add_term(p, OFS_TERM_PREFIX, w);
	}
	if (strspn(w->text, "*") >= w->len)
		return ofs_error_set(p->err, EINVAL,
				     "'*' needs the start of a word right before it");
	return add_term(p, OFS_TERM_TEXT, w);
}

/* ---- words */

/* A quoted word, or one that ends at a blank. */
static int read_word(struct parser *p, struct word *ret)
{
	const char *end;

	ret->quoted = p->at[0] == '"';
	if (!ret->quoted) {
		ret->text = p->at;
		while (*p->at && !is_space(*p->at))
			p->at++;
		ret->len = (size_t)(p->at - ret->text);
		return 0;
	}
	ret->text = p->at + 1;
	end = strchr(ret->text, '"');
	if (!end)
		return ofs_error_set(p->err, EINVAL, "a quote is not closed: %.100s", p->at);
	ret->len = (size_t)(end - ret->text);
	p->at = end + 1;
	return 0;
}

/* "-x" leaves x out, while "--x" and "->" stand for themselves. */
static bool is_exclusion(const char *at)
{
	return at[0] == '-' && (at[1] == '"' || ofs_fold_is_name(at[1]));
}

static int take_word(struct parser *p)
{
	struct word w = { .exclude = is_exclusion(p->at) };
	enum filter filter;
	size_t len;
	int r;

	p->at += w.exclude;
	filter = find_filter(p->at, &len);
	if (filter == FILTERS) {
		r = read_word(p, &w);
		return r < 0 ? r : take_term(p, &w);
	}
	if (w.exclude)
		return ofs_error_set(p->err, EINVAL,
				     "'-%s:' cannot be left out: name what is wanted instead",
				     filter_names[filter]);
	p->at += len;
	r = read_word(p, &w);
	return r < 0 ? r : take_filter(p, filter, &w);
}

/* There must be something to look for. */
static int check(const struct parser *p)
{
	const struct ofs_query *q = p->query;

	if (q->wanted)
		return 0;
	if (q->unwanted)
		return ofs_error_set(p->err, EINVAL,
				     "it only says what to leave out: add what to look for");
	if (p->dropped)
		return ofs_error_set(p->err, EINVAL,
				     "'%.*s' is too short to be looked for: give a word, or at "
				     "least %d characters",
				     (int)p->dropped_len, p->dropped, SHORT);
	if (!p->filtered)
		return ofs_error_set(p->err, EINVAL, "it is empty: give words to look for");
	return 0;
}

int ofs_query_parse(const char *text, int64_t now, struct ofs_error *err, struct ofs_query **ret)
{
	struct parser p = { .at = text, .now = now, .err = err };
	int r = 0;

	p.query = ofs_alloc(sizeof(*p.query));
	p.query->after = INT64_MIN;
	p.query->before = INT64_MAX;
	if (!ofs_text_is_utf8(text))
		r = ofs_error_set(err, EINVAL, "it is not UTF-8");
	while (r == 0) {
		while (is_space(*p.at))
			p.at++;
		if (!*p.at)
			break;
		r = take_word(&p);
	}
	if (r == 0)
		r = check(&p);
	if (r < 0)
		ofs_query_destroy(p.query);
	else
		*ret = p.query;
	return r;
}
