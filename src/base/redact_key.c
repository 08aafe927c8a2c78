/* SPDX-License-Identifier: MIT */
/*
 * Finds private keys in PEM, line by line. A line ends with a newline, with "\n" as written in a
 * string, or, if the whole key is on one line, with a blank. Programs and diffs may surround the
 * base64 of a line with quotes, a "+" or a number.
 */
#include "base/redact_rules.h"
#include "base/util.h"

#define DASHES "-----"
#define LABEL_MAX 48

/* Shortest full line: PEM has 64 characters, OpenSSH 70, and PGP may have 60. */
#define FULL_LINE 60

/* With less base64 the text only mentions a key, unless the text ends there. */
#define BODY_MIN 16

/* Longest header, such as "DEK-Info: ..." or "Comment: ..." */
#define HEADER_MAX 256

#define LINE_NUMBER_MAX 9

enum line_kind {
	LINE_OTHER,
	LINE_BLANK,
	LINE_HEADER,
	LINE_BODY,
	LINE_END
};

struct key_line {
	enum line_kind kind;
	size_t start, end; /* the part that belongs to the key */
	size_t next;
};

static bool ends_with(const char *text, size_t start, size_t end, const char *what)
{
	size_t n = strlen(what);

	return end - start >= n && !memcmp(text + end - n, what, n);
}

/*
 * Returns the length of `what` LABEL "PRIVATE KEY" [" BLOCK"] "-----", which starts or ends a key,
 * or 0 if it is not there.
 */
static size_t frame_len(const char *text, size_t len, size_t at, const char *what)
{
	size_t start, end;

	if (!redact_has(text, len, at, what, false))
		return 0;
	start = at + strlen(what);
	end = redact_run(text, start, OFS_MIN(len, start + LABEL_MAX),
			 REDACT_UPPER | REDACT_DIGIT | REDACT_SPACE);
	if (!redact_has(text, len, end, DASHES, false))
		return 0;
	at = end + strlen(DASHES) - at;
	if (ends_with(text, start, end, " BLOCK"))
		end -= strlen(" BLOCK");
	return ends_with(text, start, end, "PRIVATE KEY") ? at : 0;
}

/* Returns the length of the line break at `at`, or 0. */
static size_t break_len(const char *text, size_t len, size_t at)
{
	size_t end = at;

	if (at < len && (text[at] == '\n' || text[at] == '\r'))
		return 1;
	while (end < len && text[end] == '\\')
		end++;
	return end > at && end < len && (text[end] == 'n' || text[end] == 'r') ? end + 1 - at : 0;
}

/* Skips what programs put before a line. */
static size_t skip_lead(const char *text, size_t len, size_t at)
{
	size_t digits;

	while (at < len &&
	       (redact_is(text[at], REDACT_SPACE | REDACT_QUOTE) || text[at] == '>' ||
		text[at] == '|' || (text[at] == '+' && !redact_has(text, len, at, "+/", false))))
		at++;
	digits = redact_run(text, at, OFS_MIN(len, at + LINE_NUMBER_MAX), REDACT_DIGIT);
	if (digits > at && digits < len && redact_among(text[digits], "\t:|- "))
		at = redact_run(text, digits + 1, len, REDACT_SPACE);
	return at;
}

static bool is_header(const char *text, size_t len, size_t at)
{
	static const char *const names[] = { "Proc-Type:", "DEK-Info:", "Version:",
					     "Comment:",   "Charset:",	"Hash:" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		if (redact_has(text, len, at, names[i], false))
			return true;
	return false;
}

/*
 * Ends `line` at the line break after line->end, if only characters that end a string come between.
 */
static bool ends_line(const char *text, size_t len, struct key_line *line)
{
	size_t at = line->end, n;

	for (; at < len; at++) {
		n = break_len(text, len, at);
		if (!n && redact_is(text[at], REDACT_SPACE))
			n = line->end - line->start >= FULL_LINE ||
			    redact_has(text, len, at + 1, DASHES "END ", false);
		if (n) {
			line->next = at + n;
			return true;
		}
		if (!redact_is(text[at], REDACT_SPACE | REDACT_QUOTE) &&
		    !redact_among(text[at], ",;)+\\"))
			return false;
		while (text[at] == '\\' && at + 1 < len && text[at + 1] == '\\')
			at++;
	}
	line->next = len;
	return true;
}

static struct key_line read_line(const char *text, size_t len, size_t at)
{
	struct key_line line = { .start = skip_lead(text, len, at) };
	size_t n = frame_len(text, len, line.start, DASHES "END ");

	if (n) {
		line.kind = LINE_END;
		line.end = line.next = line.start + n;
		return line;
	}
	if (is_header(text, len, line.start)) {
		n = OFS_MIN(len, line.start + HEADER_MAX);
		for (line.end = line.start;
		     line.end < n && !redact_among(text[line.end], "\n\r\\");)
			line.end++;
		line.kind = ends_line(text, len, &line) ? LINE_HEADER : LINE_OTHER;
		return line;
	}
	line.end = redact_run(text, line.start, len, REDACT_ALNUM | REDACT_BASE64);
	if (ends_line(text, len, &line))
		line.kind = line.end > line.start ? LINE_BODY : LINE_BLANK;
	return line;
}

struct key_body {
	size_t end; /* end of its last line */
	size_t chars; /* characters of base64 */
	bool is_cut; /* the text ends inside the key */
};

static struct key_body read_body(const char *text, size_t len, size_t at)
{
	struct key_body body = { .end = at };
	struct key_line line;

	while (at < len) {
		line = read_line(text, len, at);
		if (line.kind == LINE_OTHER)
			return body;
		if (line.kind == LINE_BODY)
			body.chars += line.end - line.start;
		if (line.kind != LINE_BLANK)
			body.end = line.end;
		if (line.kind == LINE_END)
			return body;
		at = line.next;
	}
	body.is_cut = true;
	return body;
}

/* If this turns out not to be a key, little was read ahead and no other header was skipped. */
bool redact_key(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	size_t n = frame_len(s->text, s->len, at, DASHES "BEGIN ");
	struct key_body body;

	if (!n)
		return false;
	body = read_body(s->text, s->len, at + n);
	if (!body.is_cut && body.chars < BODY_MIN)
		return false;
	*ret = (struct ofs_secret){ at, body.end - at, REDACT_KEY_KIND };
	return true;
}

/* The first line of the text may be the end of a longer line. */
bool redact_key_rest(struct ofs_redact_scan *s, size_t at, struct ofs_secret *ret)
{
	bool is_first = at == 0 && !break_len(s->text, s->len, 0);
	size_t start = is_first ? 0 : at + 1;
	struct key_line first, line;

	if (start < s->no_key)
		return false;
	/* Most lines are too short. Checking this first is faster. */
	if (!is_first && (s->len - start < FULL_LINE || memchr(s->text + start, '\n', FULL_LINE)))
		return false;
	line = first = read_line(s->text, s->len, start);
	if (line.kind != LINE_BODY || (!is_first && line.end - line.start < FULL_LINE))
		return false;
	while (line.kind == LINE_BODY && line.next < s->len)
		line = read_line(s->text, s->len, line.next);
	if (line.kind != LINE_END) {
		s->no_key = line.start;
		return false;
	}
	*ret = (struct ofs_secret){ first.start, line.end - first.start, REDACT_KEY_KIND };
	return true;
}
