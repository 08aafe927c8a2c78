/* SPDX-License-Identifier: MIT */
#include "context/snapshot/prose.h"

#include <string.h>

#include "base/util.h"

/* ---- words */

/* Whether `phrase` (lower case) stands at p; "'" is also the typographic one. Returns its length in the text, or 0. */
static size_t match_phrase(const char *p, const char *end, const char *phrase)
{
	const char *start = p;

	for (; *phrase; phrase++) {
		if (p == end)
			return 0;
		if (*phrase == '\'' && end - p >= 3 && memcmp(p, "\xe2\x80\x99", 3) == 0)
			p += 3;
		else if (ofs_prose_lower(*p) == *phrase)
			p++;
		else
			return 0;
	}
	return p < end && ofs_prose_is_word(p[-1]) && ofs_prose_is_word(*p) ? 0
									    : (size_t)(p - start);
}

const char *ofs_prose_find(const char *text, size_t len, const char *word)
{
	const char *end = text + len;

	for (const char *p = text; p < end; p++) {
		if (ofs_prose_lower(*p) == *word && (p == text || !ofs_prose_is_word(p[-1])) &&
		    match_phrase(p, end, word))
			return p;
	}
	return NULL;
}

bool ofs_prose_begins(const char *text, size_t len, const char *word)
{
	return match_phrase(text, text + len, word) > 0;
}

/* ---- what sentences say */

enum {
	REMAINS = 1, /* something is still to be done */
	REQUESTS = 2, /* somebody wants something done */
	ASKS = 4, /* an answer is waited for */
	OFFERS = 8, /* it is said out of politeness */
};

static const struct phrase {
	const char *text;
	unsigned char decides;
	unsigned char also;
} phrases[] = {
	{ "add", 0, REQUESTS },
	{ "added", OFS_PROSE_FINDS, 0 },
	{ "already", OFS_PROSE_FINDS, 0 },
	{ "also", 0, REQUESTS },
	{ "appears", OFS_PROSE_FINDS, 0 },
	{ "as suspected", OFS_PROSE_DECIDES, 0 },
	{ "because", OFS_PROSE_FINDS, 0 },
	{ "been", OFS_PROSE_FINDS, 0 },
	{ "book", 0, REQUESTS },
	{ "can i", 0, REQUESTS },
	{ "can you", 0, REQUESTS },
	{ "cannot", OFS_PROSE_FINDS, 0 },
	{ "can't", OFS_PROSE_FINDS, 0 },
	{ "caused by", OFS_PROSE_DECIDES, 0 },
	{ "change", 0, REQUESTS },
	{ "chose", OFS_PROSE_DECIDES, 0 },
	{ "completed", OFS_PROSE_DECIDES, 0 },
	{ "confirm", OFS_PROSE_FINDS, 0 },
	{ "confirmed", OFS_PROSE_DECIDES, 0 },
	{ "confirms", OFS_PROSE_DECIDES, 0 },
	{ "could you", 0, REQUESTS },
	{ "created", OFS_PROSE_FINDS, 0 },
	{ "decided", OFS_PROSE_DECIDES, 0 },
	{ "do not", 0, REQUESTS },
	{ "don't", 0, REQUESTS },
	{ "due to", OFS_PROSE_DECIDES, 0 },
	{ "feel free", 0, OFFERS },
	{ "fix", 0, REQUESTS },
	{ "fixed", OFS_PROSE_DECIDES, 0 },
	{ "fixes", OFS_PROSE_DECIDES, 0 },
	{ "found", OFS_PROSE_FINDS, 0 },
	{ "going to", OFS_PROSE_INTENDS, 0 },
	{ "has been", OFS_PROSE_DECIDES, 0 },
	{ "have been", OFS_PROSE_DECIDES, 0 },
	{ "help me", 0, REQUESTS },
	{ "i changed", OFS_PROSE_DECIDES, 0 },
	{ "i need", 0, REQUESTS },
	{ "i want", 0, REQUESTS },
	{ "i will", OFS_PROSE_INTENDS, 0 },
	{ "i'd like", 0, REQUESTS },
	{ "i'd prefer", 0, REQUESTS },
	{ "i'll", OFS_PROSE_INTENDS, 0 },
	{ "i'm unable", OFS_PROSE_DECIDES, 0 },
	{ "i've", OFS_PROSE_FINDS, 0 },
	{ "implement", 0, REQUESTS },
	{ "implemented", OFS_PROSE_DECIDES, 0 },
	{ "instead", OFS_PROSE_FINDS, REQUESTS },
	{ "it works", OFS_PROSE_DECIDES, 0 },
	{ "leads to", OFS_PROSE_FINDS, 0 },
	{ "left to do", 0, REMAINS },
	{ "let me", OFS_PROSE_INTENDS, 0 },
	{ "let me know", 0, ASKS },
	{ "let us", OFS_PROSE_INTENDS, 0 },
	{ "let's", OFS_PROSE_INTENDS, REQUESTS },
	{ "likely", OFS_PROSE_FINDS, 0 },
	{ "looks like", OFS_PROSE_FINDS, 0 },
	{ "make", 0, REQUESTS },
	{ "must", OFS_PROSE_FINDS, REQUESTS },
	{ "need to", OFS_PROSE_INTENDS, REQUESTS },
	{ "needs to", OFS_PROSE_FINDS, REQUESTS },
	{ "next step", 0, REMAINS },
	{ "next steps", 0, REMAINS },
	{ "no longer", OFS_PROSE_DECIDES, 0 },
	{ "not yet", 0, REMAINS },
	{ "now passes", OFS_PROSE_DECIDES, 0 },
	{ "now works", OFS_PROSE_DECIDES, 0 },
	{ "pass", OFS_PROSE_FINDS, 0 },
	{ "passed", OFS_PROSE_FINDS, 0 },
	{ "please", 0, REQUESTS },
	{ "please confirm", 0, ASKS },
	{ "please provide", 0, ASKS },
	{ "prefer", OFS_PROSE_FINDS, REQUESTS },
	{ "remaining", 0, REMAINS },
	{ "remains", 0, REMAINS },
	{ "remove", 0, REQUESTS },
	{ "removed", OFS_PROSE_FINDS, 0 },
	{ "renamed", OFS_PROSE_FINDS, 0 },
	{ "replaced", OFS_PROSE_FINDS, 0 },
	{ "resolved", OFS_PROSE_DECIDES, 0 },
	{ "root cause", OFS_PROSE_DECIDES, 0 },
	{ "seems", OFS_PROSE_FINDS, 0 },
	{ "should", OFS_PROSE_FINDS, REQUESTS },
	{ "still have to", 0, REMAINS },
	{ "still need", 0, REMAINS },
	{ "still needs", 0, REMAINS },
	{ "still to do", 0, REMAINS },
	{ "successfully", OFS_PROSE_DECIDES, 0 },
	{ "suggests", OFS_PROSE_FINDS, 0 },
	{ "the bug is", OFS_PROSE_DECIDES, 0 },
	{ "the cause", OFS_PROSE_DECIDES, 0 },
	{ "the culprit", OFS_PROSE_DECIDES, 0 },
	{ "the fix", OFS_PROSE_DECIDES, 0 },
	{ "the issue is", OFS_PROSE_DECIDES, 0 },
	{ "the problem is", OFS_PROSE_DECIDES, 0 },
	{ "the solution", OFS_PROSE_DECIDES, 0 },
	{ "to fix", OFS_PROSE_FINDS, 0 },
	{ "todo", 0, REMAINS },
	{ "turns out", OFS_PROSE_DECIDES, 0 },
	{ "unable to", OFS_PROSE_DECIDES, 0 },
	{ "update", 0, REQUESTS },
	{ "updated", OFS_PROSE_FINDS, 0 },
	{ "use", 0, REQUESTS },
	{ "verified", OFS_PROSE_DECIDES, 0 },
	{ "we need", OFS_PROSE_FINDS, REQUESTS },
	{ "we see", OFS_PROSE_FINDS, 0 },
	{ "we should", OFS_PROSE_FINDS, REQUESTS },
	{ "we will", OFS_PROSE_INTENDS, 0 },
	{ "we'll", OFS_PROSE_INTENDS, 0 },
	{ "we've", OFS_PROSE_FINDS, 0 },
	{ "were able to", OFS_PROSE_DECIDES, 0 },
	{ "will use", OFS_PROSE_DECIDES, 0 },
	{ "would like", 0, REQUESTS },
};

/* The phrases that begin with a letter are from its number on; they are in order. */
static size_t first_phrase(char letter)
{
	size_t low = 0, high = OFS_ARRAY_SIZE(phrases);

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (phrases[middle].text[0] < letter)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Each letter that a phrase begins with is a bit. */
#define LETTER(c) (1u << ((c) - 'a'))
#define LETTERS                                                                              \
	(LETTER('a') | LETTER('b') | LETTER('c') | LETTER('d') | LETTER('f') | LETTER('g') | \
	 LETTER('h') | LETTER('i') | LETTER('l') | LETTER('m') | LETTER('n') | LETTER('p') | \
	 LETTER('r') | LETTER('s') | LETTER('t') | LETTER('u') | LETTER('v') | LETTER('w'))

static void judge_word(struct ofs_sentence *s, const char *p)
{
	char letter = ofs_prose_lower(*p);
	char second = s->len > 1 && p + 1 < s->p + s->len ? ofs_prose_lower(p[1]) : ' ';

	for (size_t i = first_phrase(letter);
	     i < OFS_ARRAY_SIZE(phrases) && phrases[i].text[0] == letter; i++) {
		if (phrases[i].text[1] != second && phrases[i].text[1] != '\'')
			continue;
		if (!match_phrase(p, s->p + s->len, phrases[i].text))
			continue;
		s->decides = OFS_MAX(s->decides, (unsigned)phrases[i].decides);
		s->remains |= (phrases[i].also & REMAINS) != 0;
		s->requests |= (phrases[i].also & REQUESTS) != 0;
		s->asks |= (phrases[i].also & ASKS) != 0;
		s->offers |= (phrases[i].also & OFFERS) != 0;
	}
}

static void judge(struct ofs_sentence *s)
{
	const char *p = s->p, *end = s->p + s->len;

	while (p < end) {
		char c = ofs_prose_lower(*p);

		if (c >= 'a' && c <= 'z' && (LETTERS & LETTER(c)))
			judge_word(s, p);
		while (p < end && (ofs_prose_is_word(*p) || *p == '\''))
			p++;
		while (p < end && !ofs_prose_is_word(*p))
			p++;
	}
}

/* ---- sentences */

#define FENCE "```"

/* Tags with something for machines between them. */
static const char *const tags[] = {
	"command",
	"execute_bash",
	"execute_ipython",
	"function_calls",
	"tool_call",
	"tool_code",
	"bash",
	"state_snapshot",
	"function",
	"invoke",
	"system-reminder",
	"environment_context",
	"environment_details",
	"slice",
};

struct ofs_prose ofs_prose_enter(const char *text, size_t len)
{
	return (struct ofs_prose){ text, text + len };
}

static const char *line_end(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return eol ? eol : end;
}

/* Behind the closing tag of the block that begins at p; NULL: none begins there. */
static const char *skip_tag(const char *p, const char *end)
{
	if (end - p < 3 || *p != '<')
		return NULL;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tags); i++) {
		size_t n = strlen(tags[i]);
		char closing[32] = "</";
		const char *close;

		if ((size_t)(end - p) < n + 2 || memcmp(p + 1, tags[i], n) != 0 ||
		    !strchr("> =", p[1 + n]) || !p[1 + n])
			continue;
		memcpy(closing + 2, tags[i], n);
		closing[2 + n] = '>';
		close = memmem(p, (size_t)(end - p), closing, n + 3);
		return close ? close + n + 3 : end;
	}
	return NULL;
}

/* Behind the code block that begins at p; NULL: none begins there. */
static const char *skip_fence(const char *p, const char *end)
{
	if (end - p < 3 || memcmp(p, FENCE, 3) != 0)
		return NULL;
	do {
		p = line_end(p, end);
		if (p == end)
			return end;
		p++;
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
	} while (end - p < 3 || memcmp(p, FENCE, 3) != 0);
	return line_end(p, end);
}

/* To where a sentence begins. */
static const char *skip_between(const char *p, const char *end)
{
	for (;;) {
		const char *behind;

		while (p < end && ofs_prose_is_blank(*p))
			p++;
		behind = skip_fence(p, end);
		if (!behind)
			behind = skip_tag(p, end);
		if (!behind)
			return p;
		p = behind;
	}
}

/* The length of "12. " or "12) " at p, or 0. */
static size_t number_length(const char *p, const char *end)
{
	const char *start = p;

	while (p < end && p - start < 3 && ofs_prose_is_digit(*p))
		p++;
	if (p == start || end - p < 2 || (*p != '.' && *p != ')') || p[1] != ' ')
		return 0;
	return (size_t)(p + 2 - start);
}

/* Full stop, question and exclamation mark of Chinese and Japanese. */
static bool is_wide_stop(const char *p, const char *end)
{
	return end - p >= 3 &&
	       (memcmp(p, "\xe3\x80\x82", 3) == 0 || memcmp(p, "\xef\xbc\x9f", 3) == 0 ||
		memcmp(p, "\xef\xbc\x81", 3) == 0);
}

/* Whether the stop at p ends a sentence: "e.g. this" and "fields.py" do not. */
static bool ends_here(const char *p, const char *start, const char *end)
{
	const char *next = p + 1;

	while (next < end && strchr("\"')*`", *next) && *next)
		next++;
	if (next < end && !ofs_prose_is_blank(*next))
		return false;
	if (*p != '.')
		return true;
	if (p - start >= 2 && p[-2] == '.' && ofs_prose_is_word(p[-1]))
		return false; /* "i.e." */
	return !(p - start >= 3 && memcmp(p - 3, " vs", 3) == 0);
}

/* A line of prose that was wrapped goes on with a small letter. */
static bool goes_on(const char *eol, const char *end)
{
	return end - eol > 1 && eol[1] >= 'a' && eol[1] <= 'z';
}

static const char *sentence_end(const char *start, const char *end)
{
	for (const char *p = start; p < end; p++) {
		/* Most bytes end nothing. */
		if ((unsigned char)*p > '?' && (unsigned char)*p < 0xe3)
			continue;
		if (*p == '\n' && !goes_on(p, end))
			return p;
		if ((*p == '.' || *p == '?' || *p == '!') && ends_here(p, start, end))
			return p + 1;
		if ((unsigned char)*p >= 0xe3 && is_wide_stop(p, end))
			return p + 3;
	}
	return end;
}

static bool asks(const struct ofs_sentence *s)
{
	size_t n = s->len;

	while (n && (ofs_prose_is_blank(s->p[n - 1]) || strchr("\"')*", s->p[n - 1])))
		n--;
	return n &&
	       (s->p[n - 1] == '?' || (n >= 3 && memcmp(s->p + n - 3, "\xef\xbc\x9f", 3) == 0));
}

bool ofs_prose_next(struct ofs_prose *prose, struct ofs_sentence *ret)
{
	for (;;) {
		struct ofs_sentence s = { 0 };
		const char *p = skip_between(prose->p, prose->end), *words;
		size_t number = number_length(p, prose->end);

		if (p == prose->end)
			return false;
		s.p = p + number;
		s.numbered = number > 0;
		prose->p = sentence_end(s.p, prose->end);
		s.len = (size_t)(prose->p - s.p);
		while (s.len && ofs_prose_is_blank(s.p[s.len - 1]))
			s.len--;
		for (words = s.p; words < prose->p && !ofs_prose_is_word(*words); words++)
			;
		if (words == prose->p)
			continue;
		s.asks = asks(&s);
		judge(&s);
		*ret = s;
		return true;
	}
}
