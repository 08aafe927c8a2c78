/* SPDX-License-Identifier: MIT */
#include "base/redact.h"

#include <limits.h>
#include <pthread.h>

#include "base/redact_rules.h"
#include "base/text.h"
#include "base/util.h"

/* Set at start, before any thread exists. */
static bool redact_enabled = true;

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Length of the longest mark. */
#define MARK_MAX 48

static pthread_once_t begins_once = PTHREAD_ONCE_INIT;
static struct redact_begins begins;

/*
 * The rules between the token groups and the keyword rule, with the bytes that may start each
 * (NULL: any byte). A Discord token starts with a decimal number in base64, whose first three bytes
 * can only be these.
 */
static const struct {
	redact_rule_fn find;
	const char *begins[REDACT_BEGINS];
} rules[] = {
	{ redact_key, { "-", "-", "-" } },
	{ redact_key_rest, { "\n", NULL, NULL } },
	{ redact_url_password, { ":", "/", "/" } },
	{ redact_dsn_password, { "@", "tu", "cn" } },
	{ redact_assigned, { ":=|>", NULL, NULL } },
	{ redact_assigned, { ",", " ", "\"'" } },
	{ redact_option, { "-", "-", LETTERS } },
	{ redact_entry, { "\n", LETTERS "$#", NULL } },
	{ redact_quoted, { " \t", "\"'", NULL } },
	{ redact_setter, { "(", "\"'", NULL } },
	{ redact_discord, { "MNO", "DTjz", "AEIMQUYcgk" } },
};

_Static_assert(REDACT_GROUPS + OFS_ARRAY_SIZE(rules) <= REDACT_KEYWORDS, "a bit for each rule");

static unsigned int lowest(uint64_t bits)
{
	return (unsigned int)__builtin_ctzll(bits);
}

/* Visits only the bits that are set, as every run of a tool builds the tables again. */
void redact_begins_add(struct redact_begins *to, unsigned int rule,
		       const struct redact_bytes of[REDACT_BEGINS])
{
	uint64_t low[REDACT_BEGINS] = { 0 };

	for (size_t i = 0; i < REDACT_BEGINS; i++) {
		for (unsigned int part = 0; part < OFS_ARRAY_SIZE(of->bits); part++) {
			for (uint64_t c = of[i].bits[part]; c; c &= c - 1)
				to->byte[i][64 * part + lowest(c)] |= UINT64_C(1) << rule;
			low[i] |= of[i].bits[part];
		}
	}
	for (uint64_t a = low[0]; a; a &= a - 1)
		for (uint64_t b = low[1]; b; b &= b - 1)
			to->all[lowest(a)][lowest(b)] |= low[2];
}

static void begins_init(void)
{
	redact_name_init();
	redact_token_begins(&begins);
	redact_context_begins(&begins);
	for (unsigned int rule = 0; rule < OFS_ARRAY_SIZE(rules); rule++) {
		struct redact_bytes of[REDACT_BEGINS] = { 0 };

		for (size_t i = 0; i < REDACT_BEGINS; i++) {
			const char *c = rules[rule].begins[i];

			if (!c)
				memset(&of[i], 0xff, sizeof(of[i]));
			while (c && *c)
				redact_bytes_add(&of[i], *c++);
		}
		redact_begins_add(&begins, REDACT_GROUPS + rule, of);
	}
}

void ofs_redact_set_enabled(bool on)
{
	redact_enabled = on;
}

void ofs_redact_scan_init(struct ofs_redact_scan *s, const char *text, size_t len)
{
	*s = (struct ofs_redact_scan){ .text = text, .len = len, .word_start = SIZE_MAX };
}

static bool try_rule(struct ofs_redact_scan *s, unsigned int rule, size_t at,
		     struct ofs_secret *ret)
{
	if (rule < REDACT_GROUPS)
		return redact_token(s, rule, at, ret);
	if (rule == REDACT_KEYWORDS)
		return redact_context(s, at, ret);
	return rules[rule - REDACT_GROUPS].find(s, at, ret);
}

struct best {
	struct ofs_secret secret;
	unsigned int rule;
};

/*
 * Keeps the secret that starts first, or that of the earlier rule if two start in the same place: a
 * token says more than the name that it is assigned to.
 */
static void keep_best(struct best *best, const struct ofs_secret *found, unsigned int rule)
{
	if (found->start < best->secret.start ||
	    (found->start == best->secret.start && rule < best->rule))
		*best = (struct best){ *found, rule };
}

static void keep_custom(struct ofs_redact_scan *s, struct best *best)
{
	const struct redact_spans *c = s->custom;

	while (c && s->next_custom < c->n && c->at[s->next_custom].start < s->at)
		s->next_custom++;
	if (c && s->next_custom < c->n)
		keep_best(best, &c->at[s->next_custom], REDACT_RULES);
}

/*
 * Returns the first offset in [at, end) where a rule may start, and sets *ret_rules to these rules.
 * There must be REDACT_BEGINS bytes at each offset.
 */
static size_t next_begin(const unsigned char *text, size_t at, size_t end, uint64_t *ret_rules)
{
	for (; at < end; at++) {
		if (!(begins.all[text[at] % 64][text[at + 1] % 64] >> text[at + 2] % 64 & 1))
			continue;
		*ret_rules = begins.byte[0][text[at]] & begins.byte[1][text[at + 1]] &
			     begins.byte[2][text[at + 2]];
		if (*ret_rules >> REDACT_KEYWORDS &&
		    !redact_first_keyword[redact_keyword_hash((const char *)text + at)])
			*ret_rules ^= UINT64_C(1) << REDACT_KEYWORDS;
		if (*ret_rules)
			break;
	}
	return at;
}

bool ofs_redact_scan_next(struct ofs_redact_scan *s, struct ofs_secret *ret)
{
	struct best best = { { .start = SIZE_MAX }, REDACT_RULES + 1 };
	size_t at = s->at, end = s->len < REDACT_BEGINS ? 0 : s->len - REDACT_BEGINS + 1;
	struct ofs_secret found;
	uint64_t begun;

	if (!redact_enabled || !s->len)
		return false;
	pthread_once(&begins_once, begins_init);
	if (!at && redact_key_rest(s, 0, &found))
		keep_best(&best, &found, REDACT_GROUPS);
	if (!at && redact_entry(s, 0, &found))
		keep_best(&best, &found, REDACT_RULES);
	if (redact_context_rest(s, at, &found))
		keep_best(&best, &found, REDACT_RULES);
	/* Another rule may start before the secret found, as at the user name of a URL. */
	for (; at < end; at++) {
		at = next_begin((const unsigned char *)s->text, at, end, &begun);
		if (at == end)
			break;
		for (; begun; begun &= begun - 1) {
			unsigned int rule = (unsigned int)__builtin_ctzll(begun);

			if (try_rule(s, rule, at, &found))
				keep_best(&best, &found, rule);
		}
		if (best.secret.start < end)
			end = best.secret.start + 1;
	}
	keep_custom(s, &best);
	if (best.secret.start == SIZE_MAX) {
		s->at = s->len;
		return false;
	}
	s->at = best.secret.start + best.secret.len;
	*ret = best.secret;
	return true;
}

/* Appends a mark for each line of the secret. */
static void append_marks(struct ofs_buf *out, const char *text, const struct ofs_secret *secret)
{
	const char *line = text + secret->start, *end = line + secret->len, *newline;

	for (;;) {
		ofs_buf_printf(out, REDACT_MARK "%s]", secret->kind);
		newline = memchr(line, '\n', (size_t)(end - line));
		if (!newline)
			return;
		ofs_buf_append(out, "\n", 1);
		line = newline + 1;
	}
}

/*
 * Returns the length of the invisible sequence at `p`, or 0: a terminal escape sequence, a control
 * character that does not end a line, or a character without width.
 */
static size_t unseen(const char *p, size_t len)
{
	const unsigned char *u = (const unsigned char *)p;
	int n = *u < 0x80 ? ofs_text_escape(p, len) : ofs_text_utf8(u, len);

	if (*u >= 0x80)
		return n > 0 && ofs_text_is_hidden(ofs_text_code_point(u, n)) ? (size_t)n : 0;
	if (n <= 0 && *u == '\r')
		n = len > 1 && p[1] != '\n';
	else if (n <= 0)
		n = (*u && *u < ' ' && *u != '\t' && *u != '\n') || *u == 0x7f;
	return (size_t)n;
}

/* True for bytes that may start an invisible sequence. */
static bool may_be_unseen(unsigned char c)
{
	return c >= 0x7f || (c < ' ' && c && c != '\t' && c != '\n');
}

#define EACH_BYTE(c) (UINT64_C(0x0101010101010101) * (c))

/* False if no byte of eight may start an invisible sequence. May be true in other cases. */
static bool word_may_be_unseen(const char *text)
{
	uint64_t word;

	memcpy(&word, text, sizeof(word));
	return (word | (word - EACH_BYTE(' ')) | (word + EACH_BYTE(1))) & EACH_BYTE(0x80);
}

static bool has_unseen(const char *text, size_t len)
{
	size_t i = 0, end;

	while (i < len) {
		end = OFS_MIN(len, i + sizeof(uint64_t));
		if (end - i == sizeof(uint64_t) && !word_may_be_unseen(text + i))
			i = end;
		for (; i < end; i++)
			if (may_be_unseen((unsigned char)text[i]) && unseen(text + i, len - i))
				return true;
	}
	return false;
}

/* An offset in a text, and the corresponding one in the text without invisible sequences. */
struct place {
	size_t at, plain;
};

static size_t skip_unseen(const char *text, size_t len, size_t at)
{
	size_t n;

	while (at < len && (n = unseen(text + at, len - at)))
		at += n;
	return at;
}

/* Advances `place` to just after the byte before `plain`, and not past what is unseen after it. */
static size_t advance(const char *text, size_t len, struct place *place, size_t plain)
{
	for (; place->plain < plain; place->plain++)
		place->at = skip_unseen(text, len, place->at) + 1;
	return place->at;
}

static void append_plain(struct ofs_buf *out, const char *text, size_t len)
{
	for (size_t at = 0; (at = skip_unseen(text, len, at)) < len; at++)
		ofs_buf_append(out, text + at, 1);
}

/* Adds the secrets of `seen`, `text` with or without invisible sequences, by offset in `text`. */
static void find_seen(const char *text, size_t len, const char *seen, size_t seen_len,
		      struct redact_spans *found)
{
	struct ofs_redact_scan scan;
	struct redact_spans custom = { 0 };
	struct ofs_secret secret;
	struct place place = { 0 };

	ofs_redact_scan_init(&scan, seen, seen_len);
	if (redact_enabled)
		redact_custom_find(seen, seen_len, &custom);
	scan.custom = &custom;
	while (ofs_redact_scan_next(&scan, &secret)) {
		if (seen != text) {
			size_t end = secret.start + secret.len;

			advance(text, len, &place, secret.start);
			secret.start = place.at = skip_unseen(text, len, place.at);
			secret.len = advance(text, len, &place, end) - secret.start;
		}
		*ofs_append(found->at, found->n, found->cap) = secret;
	}
	free(custom.at);
}

static int compare_starts(const void *a, const void *b)
{
	const struct ofs_secret *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts the spans and merges those that overlap. */
static void unite(struct redact_spans *spans)
{
	size_t n = 0;

	if (spans->n)
		qsort(spans->at, spans->n, sizeof(*spans->at), compare_starts);
	for (size_t i = 0; i < spans->n; i++) {
		struct ofs_secret *last = n ? &spans->at[n - 1] : NULL, next = spans->at[i];

		if (last && next.start < last->start + last->len)
			last->len = OFS_MAX(last->len, next.start + next.len - last->start);
		else
			spans->at[n++] = next;
	}
	spans->n = n;
}

static void append_redacted(struct ofs_buf *out, const char *text, size_t len,
			    const struct redact_spans *spans, size_t *ret_at)
{
	size_t done = 0, at = *ret_at;

	for (size_t i = 0; i < spans->n; i++) {
		const struct ofs_secret *secret = &spans->at[i];

		ofs_buf_append(out, text + done, secret->start - done);
		done = secret->start + secret->len;
		if (at >= secret->start)
			*ret_at = out->len;
		append_marks(out, text, secret);
		if (at >= done)
			*ret_at = out->len + (at - done);
	}
	ofs_buf_append(out, text + done, len - done);
}

/* Each mark may expose another secret: it may end a word, or stand where a rule looks back. */
#define ROUNDS_MAX 8

/*
 * An invisible character may end a word, or split a token that is whole once the character is
 * removed. So secrets are searched both with and without them, until none is found.
 */
int ofs_redact_text_at(struct ofs_buf *out, const char *text, size_t len, size_t *at)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf done = OFS_BUF_INIT;
	int n = 0;

	for (int round = 0; round < ROUNDS_MAX; round++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf plain = OFS_BUF_INIT;
		struct redact_spans found = { 0 };
		struct ofs_buf next = OFS_BUF_INIT;

		find_seen(text, len, text, len, &found);
		if (has_unseen(text, len)) {
			append_plain(&plain, text, len);
			find_seen(text, len, (const char *)plain.data, plain.len, &found);
			unite(&found);
		}
		if (!found.n)
			break;
		append_redacted(&next, text, len, &found, at);
		n += (int)OFS_MIN(found.n, (size_t)(INT_MAX - n));
		free(found.at);
		ofs_buf_finish(&done);
		done = next;
		text = (const char *)done.data;
		len = done.len;
	}
	ofs_buf_append(out, text, len);
	return n;
}

int ofs_redact_text(struct ofs_buf *out, const char *text, size_t len)
{
	return ofs_redact_text_at(out, text, len, &(size_t){ 0 });
}

char *ofs_redact_string(const char *text)
{
	struct ofs_buf out = OFS_BUF_INIT;

	ofs_redact_text(&out, text, strlen(text));
	ofs_buf_append(&out, "", 1);
	return (char *)out.data;
}

size_t ofs_redact_cut(const char *text, size_t len, size_t limit)
{
	size_t at, end;

	if (len <= limit)
		return len;
	for (end = limit; end && ((unsigned char)text[end] & 0xc0) == 0x80 && limit - end < 3;)
		end--;
	/* A mark that starts before the end must also end before it. */
	for (at = end; at && end - at < MARK_MAX;) {
		if (text[--at] == ']')
			break;
		if (text[at] == '[' && redact_has(text, len, at, REDACT_MARK, false))
			return at;
	}
	return end;
}

void ofs_redact_line(char *line, size_t size)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	size_t len = strnlen(line, size - 1);

	line[len] = '\0';
	if (ofs_redact_text(&out, line, len) == 0)
		return;
	len = ofs_redact_cut((const char *)out.data, out.len, size - 1);
	memcpy(line, out.data, len);
	line[len] = '\0';
}
