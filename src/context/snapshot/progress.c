/* SPDX-License-Identifier: MIT */
#include "context/snapshot/progress.h"

#include <strings.h>

#include "context/snapshot/prose.h"

#define LINE_CHARS 160
/* Longer lines are not summaries. */
#define LINE_BYTES 400
/* Searched at the end of an output, where test runners print totals. */
#define TESTS_BYTES 4096
#define HASH_MIN 7
#define HASH_MAX 40

static bool is_word(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) >= n && strncasecmp(p, word, n) == 0 &&
	       (p + n == end || !ofs_prose_is_word(p[n]));
}

/* Returns whether a line has a number before a word for tests. */
static bool counts_tests(const char *p, const char *end)
{
	static const char *const words[] = { "passed",	 "failed",  "failures", "failure",
					     "tests",	 "test",    "passing",	"failing",
					     "examples", "example", "specs",	"assertions" };

	for (bool number = false; p < end; p++) {
		if (ofs_prose_is_digit(*p)) {
			number = true;
			while (p + 1 < end && ofs_prose_is_digit(p[1]))
				p++;
		} else if (*p != ' ') {
			for (size_t i = 0; number && i < OFS_ARRAY_SIZE(words); i++)
				if (is_word(p, end, words[i]))
					return true;
			number = false;
		}
	}
	return false;
}

bool ofs_progress_tests(const char *text, size_t len, struct ofs_buf *ret_line)
{
	const char *end = text + len;

	text = end - OFS_MIN(len, (size_t)TESTS_BYTES);
	while (end > text) {
		const char *p = memrchr(text, '\n', (size_t)(end - text));

		p = p ? p + 1 : text;
		if (end - p <= LINE_BYTES && counts_tests(p, end)) {
			while (p < end && strchr("= \t-", *p))
				p++;
			while (end > p && strchr("= \t\r-", end[-1]))
				end--;
			ofs_prose_argument(p, (size_t)(end - p), LINE_CHARS, ret_line);
			return true;
		}
		end = p > text ? p - 1 : text;
	}
	return false;
}

/* Appends the commit of "[main 1a2b3c4] Fix the parser" or "[main (root-commit) 1a2b3c4] Begin". */
static bool take_commit(const char *p, const char *end, struct ofs_buf *ret)
{
	const char *close = memchr(p, ']', (size_t)(end - p)), *hash;

	if (*p != '[' || !close || close + 2 >= end || close[1] != ' ')
		return false;
	for (hash = close; hash > p && strchr("0123456789abcdef", hash[-1]);)
		hash--;
	if (close - hash < HASH_MIN || close - hash > HASH_MAX || hash[-1] != ' ' || hash - p < 3)
		return false;
	ofs_buf_append(ret, hash, (size_t)(close - hash));
	ofs_buf_append_str(ret, " ");
	ofs_prose_argument(close + 2, (size_t)(end - close - 2), LINE_CHARS, ret);
	return true;
}

bool ofs_progress_commit(const char **p, const char *end, struct ofs_buf *ret)
{
	while (*p < end) {
		const char *line = *p, *eol = memchr(line, '\n', (size_t)(end - line));

		eol = eol ? eol : end;
		*p = eol < end ? eol + 1 : end;
		if (eol > line && take_commit(line, eol, ret))
			return true;
	}
	return false;
}

size_t ofs_progress_announces(const char *line, size_t len)
{
	static const char *const openings[] = { "now ",	  "next, ", "then ",  "first, ", "ok, ",
						"okay, ", "so ",    "good, ", "great, " };
	static const char *const announcements[] = { "let me ", "let's ",	 "i'll ",
						     "i will ", "i'm going to ", "i need to " };
	size_t at = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(openings); i++) {
		size_t n = strlen(openings[i]);

		if (len - at > n && strncasecmp(line + at, openings[i], n) == 0) {
			at += n;
			i = SIZE_MAX; /* start over, as in "Good, now" */
		}
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(announcements); i++) {
		size_t n = strlen(announcements[i]);

		if (len - at > n && strncasecmp(line + at, announcements[i], n) == 0) {
			at += n;
			if (len - at > 4 && strncasecmp(line + at, "now ", 4) == 0)
				at += 4;
			return at;
		}
	}
	return 0;
}

size_t ofs_progress_said(const char *line, size_t len)
{
	for (size_t i = 1; i + 1 < len; i++) {
		if (line[i] == ' ' && strchr(".!:", line[i - 1]) && line[i - 1] &&
		    ofs_progress_announces(line + i + 1, len - i - 1))
			return i;
	}
	return len;
}
