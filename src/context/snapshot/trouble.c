/* SPDX-License-Identifier: MIT */
#include "context/snapshot/trouble.h"

#include <ctype.h>

#include "context/json/span.h"
#include "context/snapshot/prose.h"
#include "context/json/args.h"

#define LINE_MAX_CHARS 180
#define JSON_MAX 65536 /* larger JSON is searched like other text */
#define SCAN_MAX 400 /* bytes of a line that are searched */
#define TEXTS "message error detail stderr reason output stdout"

/* How well a line describes a failure. */
enum telling {
	NOTHING,
	CODE, /* an exit code */
	COUNT, /* "FAILED", "2 failed" */
	SAYS, /* "error: ..." */
	RAISED, /* the last line of a traceback */
};

struct line {
	const char *p;
	size_t len;
};

/* How harnesses and tools start a text that replaces an answer. */
/* clang-format off */
static const char *const starts[] = {
	"Error:", "Error executing", "Error calling", "Error occurred", "Error running",
	"Error reading", "Error writing", "Error while", "Error - ", "Exception:", "fatal:",
	"panic:", "<error>", "<tool_use_error>", "Invalid tool", "Unknown tool", "No such tool",
	"Tool execution failed", "Tool call failed", "MCP error ", "API Error:",
	"Permission denied", "File not found", "File does not exist", "File has not been read",
	"No such file or directory",
	"Failed to ", "Command failed", "Command timed out", "Request timed out",
	"Your proposed edit has introduced new syntax error",
	"Traceback (most recent call last)",
	/* By users and hooks. */
	"The user doesn't want to ", "The user rejected", "The user denied", "The user declined",
	"User rejected", "User denied", "User declined", "The tool use was rejected",
	"Request interrupted by user", "[Request interrupted by user", "Permission to use ",
	"Pre-commit validation failed",
};
/* clang-format on */

static bool begins(struct line l, const char *with)
{
	return l.len >= strlen(with) && memcmp(l.p, with, strlen(with)) == 0;
}

static bool ends(struct line l, const char *with)
{
	size_t n = strlen(with);

	return l.len >= n && memcmp(l.p + l.len - n, with, n) == 0;
}

static const char *find(struct line l, const char *what)
{
	return memmem(l.p, l.len, what, strlen(what));
}

/* Matches "error: ...", "x.c:3:1: error: ...", "module.NameError: ...", "bash: foo: not found". */
static bool says_error(struct line l)
{
	static const char *const words[] = { "rror:",  "RROR:",	 "xception:",
					     "fatal:", "panic:", "rror[" };
	static const char *const stops[] = { "o such file or directory", ": command not found",
					     "ermission denied", ": not found", "(core dumped)" };
	/* "error[E0308]: mismatched types" has a colon as well. */
	bool colon = memchr(l.p, ':', l.len);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words) && colon; i++) {
		const char *at = find(l, words[i]);

		/* Only one word or a position in a file may precede it. */
		if (at && (!memchr(l.p, ' ', (size_t)(at - l.p)) ||
			   find((struct line){ l.p, (size_t)(at - l.p) }, ": ")))
			return true;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(stops); i++) {
		if (ends(l, stops[i]))
			return true;
	}
	return false;
}

/* Matches "FAILED tests/a.py" and "=== 2 failed, 10 passed in 1.2s ===". */
static bool counts_failures(struct line l)
{
	const char *at = find(l, " failed"), *p = at;

	if (begins(l, "FAIL") || begins(l, "not ok "))
		return true;
	while (p && p > l.p && ofs_prose_is_digit(p[-1]))
		p--;
	return p != at && *p != '0';
}

/* Matches "exit code: 1" and "exited with status 2". */
static bool has_exit_code(struct line l)
{
	static const char *const words[] = { "xit code", "xit status", "eturncode",
					     "xited with code", "xited with status" };

	if (!find(l, "xit") && !find(l, words[2]))
		return false;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		const char *p = find(l, words[i]), *end = l.p + l.len;

		for (p = p ? p + strlen(words[i]) : end; p < end && strchr(": >=", *p) && *p;)
			p++;
		if (p < end && *p >= '1' && *p <= '9')
			return true;
	}
	return false;
}

static enum telling tell(struct line l, bool shown)
{
	if (says_error(l))
		return SAYS;
	if (shown)
		return NOTHING;
	if (counts_failures(l))
		return COUNT;
	return has_exit_code(l) ? CODE : NOTHING;
}

/* Finds the first of the most telling lines; for an exit code, the line before it. */
static enum telling search(const char *text, size_t len, bool shown, struct line *ret)
{
	const char *end = text + len, *eol;
	enum telling best = NOTHING;
	bool traceback = false;
	struct line last = { 0 };

	for (const char *p = text; p < end; p = eol + 1) {
		struct line l = { p, 0 };
		enum telling telling;

		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		l.len = OFS_MIN((size_t)(eol - p), (size_t)SCAN_MAX);
		if (!l.len || ofs_prose_is_blank(*p))
			continue;
		if (traceback) {
			*ret = l;
			best = RAISED;
			traceback = false;
			continue;
		}
		traceback = !shown && begins(l, "Traceback (most recent call last)");
		telling = traceback ? NOTHING : tell(l, shown);
		if (telling > best) {
			*ret = telling == CODE && last.len ? last : l;
			best = telling;
		}
		if (shown) /* only the start counts */
			break;
		last = l;
	}
	return best;
}

/* ---- JSON */

static bool is_word(struct ofs_span s, const char *word)
{
	return s.len == strlen(word) && memcmp(s.p, word, s.len) == 0;
}

/* Returns whether an object's members report a failure. */
static bool says_failed(struct ofs_span object)
{
	struct ofs_span error = ofs_args_find(object, "error");
	struct ofs_span code = ofs_args_find(object, "exitcode returncode");
	long long n = 0;

	if (ofs_span_is_object(error) || (ofs_span_is_string(error) && error.len > 2) ||
	    is_word(error, "true"))
		return true;
	if (code.p && ofs_span_integer(code, &n) && n)
		return true;
	return is_word(ofs_args_find(object, "success ok"), "false") ||
	       is_word(ofs_args_find(object, "iserror"), "true") ||
	       ofs_span_is(ofs_args_find(object, "status"), "error");
}

/* Matches "EISDIR: ..." and "ENOENT: ...". */
static bool is_errno(const char *text, size_t len)
{
	size_t n = 1;

	while (n < len && text[n] >= 'A' && text[n] <= 'Z')
		n++;
	return *text == 'E' && n > 3 && n + 1 < len && text[n] == ':' && text[n + 1] == ' ';
}

/* Matches "ValueError: ..." and "java.io.IOException: ...". */
static bool is_exception(const char *text, size_t len)
{
	struct line word = { text, 0 };

	while (word.len < len && (isalnum((unsigned char)text[word.len]) || text[word.len] == '_' ||
				  text[word.len] == '.'))
		word.len++;
	return word.len + 1 < len && text[word.len] == ':' && text[word.len + 1] == ' ' &&
	       (ends(word, "Error") || ends(word, "Exception"));
}

bool ofs_trouble_begins(const char *text, size_t len)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(starts); i++) {
		if (ofs_scan_begins(text, len, starts[i]))
			return true;
	}
	return len && (is_errno(text, len) || is_exception(text, len));
}

static bool search_object(struct ofs_span object, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span error = ofs_args_find(object, "error"), said;
	struct line line;

	if (!says_failed(object) && !says_failed(ofs_args_find(object, "metadata")))
		return false;
	said = ofs_span_is_string(error) && error.len > 2
		       ? error
		       : ofs_args_find(ofs_span_is_object(error) ? error : object, TEXTS);
	if (!ofs_span_is_string(said)) {
		ofs_prose_line(object.p, object.len, LINE_MAX_CHARS, out);
		return true;
	}
	ofs_span_decode(said, &text);
	line = (struct line){ ofs_buf_str(&text), text.len };
	search(line.p, line.len, false, &line);
	ofs_prose_line(line.p, line.len, LINE_MAX_CHARS, out);
	return true;
}

static size_t line_length(const char *text, size_t len)
{
	const char *eol = memchr(text, '\n', len);

	return eol ? (size_t)(eol - text) : len;
}

bool ofs_trouble_find(const char *text, size_t len, bool shown, struct ofs_buf *ret_line)
{
	struct ofs_span value;
	struct line line;
	size_t first = 0;

	while (first < len && ofs_prose_is_blank(text[first]))
		first++;
	if (first < len && text[first] == '{' && len <= JSON_MAX && !shown &&
	    ofs_span_parse(text, len, NULL, &value) == 0)
		return search_object(value, ret_line);
	if (search(text, len, shown, &line) == NOTHING) {
		/* Indented lines are part of a listing. */
		if (shown || (first && text[first - 1] != '\n') ||
		    !ofs_trouble_begins(text + first, len - first))
			return false;
		line.p = text + first;
		line.len = line_length(line.p, len - first);
	}
	ofs_prose_line(line.p, line.len, LINE_MAX_CHARS, ret_line);
	return true;
}
