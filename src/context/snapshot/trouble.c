/* SPDX-License-Identifier: MIT */
#include "context/snapshot/trouble.h"

#include <string.h>

#include "base/util.h"
#include "context/json/span.h"
#include "context/snapshot/prose.h"

#define LINE_MAX_CHARS 180
/* JSON that is larger is looked at as any other text. */
#define JSON_MAX 65536
/* Lines at either end among which an exit code is looked for. */
#define EDGE_LINES 4
#define SCAN_MAX 400 /* bytes of a line that are looked at */

/* How well a line tells what failed. */
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

struct search {
	struct line best;
	enum telling telling;
	bool traceback; /* its last line is still to come */
	/* What the text has anywhere: what it has not need not be looked for in each line. */
	bool compiles, counts, codes;
};

static bool begins(struct line l, const char *with)
{
	return l.len && *l.p == *with && l.len >= strlen(with) &&
	       memcmp(l.p, with, strlen(with)) == 0;
}

static bool ends(struct line l, const char *with)
{
	size_t n = strlen(with);

	return l.len >= n && l.p[l.len - 1] == with[n - 1] && memcmp(l.p + l.len - n, with, n) == 0;
}

static const char *find(struct line l, const char *what)
{
	return memmem(l.p, l.len, what, strlen(what));
}

/* ---- what single lines say */

static bool is_name(char c)
{
	return ofs_prose_is_word(c) || c == '_' || c == '.';
}

/* "module.NameError: what" or, `bare`, "KeyboardInterrupt". */
static bool is_exception(struct line l, bool bare)
{
	static const char *const kinds[] = { "Error",	"Exception", "Interrupt", "Exit",
					     "Failure", "Failed",    "Warning" };
	size_t n = 0;

	if (!l.len || ofs_prose_is_digit(l.p[0]))
		return false;
	while (n < l.len && is_name(l.p[n]))
		n++;
	if (n == l.len ? !bare : l.p[n] != ':')
		return false;
	if (n < l.len && n + 1 < l.len && l.p[n + 1] != ' ')
		return false;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds) - !bare; i++) {
		if (ends((struct line){ l.p, n }, kinds[i]))
			return bare || n > strlen(kinds[i]) || i == 0;
	}
	return bare && n < l.len; /* of any name */
}

/* "path/file.c:12:3: error: what" */
static bool is_compiler_error(struct line l)
{
	const char *at = find(l, ": error: ");

	if (!at)
		at = find(l, ": fatal error: ");
	return at && at > l.p &&
	       (ofs_prose_is_digit(at[-1]) || !memchr(l.p, ' ', (size_t)(at - l.p)));
}

static bool says_error(struct line l, bool compiles)
{
	static const char *const starts[] = {
		"error:",
		"Error:",
		"ERROR:",
		"Error ",
		"error[",
		"fatal:",
		"FATAL:",
		"Fatal error",
		"panic:",
		"npm ERR!",
		"ERROR tests",
		"ERROR in ",
		"Your proposed edit has introduced",
		"make: ***",
		"Unhandled ",
		"Uncaught ",
		"SyntaxError",
		"Segmentation fault",
		"ninja: build stopped",
		"Command timed out",
		"EXECUTION TIMED OUT",
		"Killed",
		"<tool_use_error>",
		"error: ",
		"thread '",
		"AssertionError",
		"E   ",
		"Text not found",
		"No replacement was performed",
		"Access denied",
		"Permission denied",
	};
	static const char *const stops[] = { ": No such file or directory",
					     ": command not found",
					     ": Permission denied",
					     ": not found",
					     ": Is a directory",
					     ": Not a directory",
					     "No such file or directory",
					     "Segmentation fault (core dumped)" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(starts); i++) {
		if (begins(l, starts[i]))
			return !begins(l, "thread '") || find(l, "panicked") != NULL;
	}
	if (!ofs_prose_is_word(l.p[0]) && l.p[0] != '/' && l.p[0] != '.')
		return false;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(stops); i++) {
		if (ends(l, stops[i]))
			return true;
	}
	return compiles && is_compiler_error(l);
}

/* "- E999 SyntaxError: invalid syntax": what a linter says below a line that says less. */
static bool is_lint(struct line l)
{
	return l.len > 8 && begins(l, "- ") && l.p[2] >= 'A' && l.p[2] <= 'Z' &&
	       ofs_prose_is_digit(l.p[3]) && ofs_prose_is_digit(l.p[4]) &&
	       ofs_prose_is_digit(l.p[5]) && l.p[6] == ' ';
}

/* "=== 2 failed, 10 passed in 1.2s ===", "Failed: 3" */
static bool counts_failures(struct line l, bool counts)
{
	const char *at = counts ? find(l, " failed") : NULL;
	const char *p;

	if (begins(l, "FAILED") || begins(l, "FAIL:") || begins(l, "FAIL ") ||
	    begins(l, "--- FAIL") || begins(l, "not ok "))
		return true;
	if (!at || at == l.p || !ofs_prose_is_digit(at[-1]))
		return false;
	for (p = at; p > l.p && ofs_prose_is_digit(p[-1]); p--)
		;
	return *p != '0';
}

/* "exit code: 1", "<returncode>1</returncode>", "exited with status 2" */
static bool has_exit_code(struct line l)
{
	static const char *const words[] = { "exit code", "exit status",      "returncode",
					     "exit_code", "exited with code", "exited with status",
					     "exitcode",  "return code" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		const char *p = ofs_prose_find(l.p, l.len, words[i]), *end = l.p + l.len;

		if (!p)
			continue;
		p += strlen(words[i]);
		while (p < end && strchr(": >=\"", *p) && *p)
			p++;
		if (p < end && *p == '-')
			p++;
		if (p < end && *p >= '1' && *p <= '9')
			return true;
	}
	return false;
}

/* ---- texts */

static void consider(struct search *s, struct line l, enum telling telling, bool last)
{
	if (telling < s->telling || (telling == s->telling && !last))
		return;
	s->best = l;
	s->telling = telling;
}

static void look_at_line(struct search *s, struct line l, bool shown, bool edge, bool first)
{
	if (s->traceback) {
		/* Its lines are indented. */
		if (ofs_prose_is_blank(l.p[0]) || l.p[0] == '|')
			return;
		s->traceback = false;
		if (is_exception(l, true)) {
			consider(s, l, RAISED, true);
			return;
		}
	}
	if (begins(l, "Traceback (most recent call last)")) {
		s->traceback = !shown;
		return;
	}
	if (edge && s->codes && has_exit_code(l))
		consider(s, l, CODE, false);
	if (s->telling == SAYS && begins(s->best, "Your proposed edit") && is_lint(l))
		consider(s, l, SAYS, true);
	if (shown ? !first : ofs_prose_is_blank(l.p[0]))
		return;
	if (is_exception(l, false))
		consider(s, l, SAYS, true);
	else if (says_error(l, s->compiles))
		consider(s, l, SAYS, false);
	else if (!shown && counts_failures(l, s->counts))
		consider(s, l, COUNT, false);
}

static void search_text(struct search *s, const char *text, size_t len, bool shown)
{
	const struct line all = { text, len };
	const char *end = text + len, *tail = end;
	size_t number = 0;

	s->compiles = find(all, "error: ");
	s->counts = find(all, " failed");
	s->codes = find(all, "ode") || find(all, "status") || find(all, "ODE") ||
		   find(all, "STATUS") || find(all, "Status");

	for (size_t lines = 0; tail > text && lines <= EDGE_LINES; lines++) {
		const char *eol = memrchr(text, '\n', (size_t)(tail - text));

		tail = eol ? eol : text;
	}
	for (const char *p = text; p < end; number++) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		struct line l = { p, (size_t)((eol ? eol : end) - p) };

		p = eol ? eol + 1 : end;
		if (l.len && l.p[l.len - 1] == '\r')
			l.len--;
		l.len = OFS_MIN(l.len, (size_t)SCAN_MAX);
		if (l.len)
			look_at_line(s, l, shown, number < EDGE_LINES || l.p >= tail, number == 0);
	}
}

/* An exit code says less than what comes before it. */
static struct line line_before(const char *text, struct line code)
{
	const char *p = code.p;
	struct line best = code;

	while (p > text && best.p == code.p) {
		const char *eol = p - 1;
		const char *start = memrchr(text, '\n', (size_t)(eol - text));

		start = start ? start + 1 : text;
		for (const char *c = start; c < eol; c++) {
			if (ofs_prose_is_word(*c))
				best = (struct line){ start, (size_t)(eol - start) };
		}
		p = start;
	}
	return best;
}

/* ---- JSON */

static bool is_true(struct ofs_span s)
{
	return s.len == 4 && memcmp(s.p, "true", 4) == 0;
}

static bool is_false(struct ofs_span s)
{
	return s.len == 5 && memcmp(s.p, "false", 5) == 0;
}

static bool append_string(struct ofs_span s, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	size_t before = out->len;

	if (!ofs_span_is_string(s))
		return false;
	ofs_span_decode(s, &text);
	ofs_prose_line((const char *)text.data, text.len, LINE_MAX_CHARS, out);
	return out->len > before;
}

/* The first of the members that is a string with something in it. */
static bool append_member(struct ofs_span object, const char *const names[], size_t n,
			  struct ofs_buf *out)
{
	for (size_t i = 0; i < n; i++) {
		if (append_string(ofs_span_member(object, names[i]), out))
			return true;
	}
	return false;
}

static const char *const messages[] = { "message", "error",  "detail", "stderr",
					"reason",  "output", "stdout" };

/* Whether a member says by its name and value that something failed. */
static bool tells_failure(struct ofs_span name, struct ofs_span value)
{
	static const char *const codes[] = { "exit_code", "exitCode", "returncode", "return_code" };
	long long code;

	if (is_false(value))
		return ofs_span_is(name, "success") || ofs_span_is(name, "ok");
	if (is_true(value))
		return ofs_span_is(name, "isError");
	if (ofs_span_is_string(value))
		return ofs_span_is(value, "error") && ofs_span_is(name, "status");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(codes); i++) {
		if (ofs_span_is(name, codes[i]) && ofs_span_integer(value, &code) && code)
			return true;
	}
	return false;
}

/* What an object says of how it went. */
struct outcome {
	bool failed;
	struct ofs_span error, metadata;
};

static struct outcome read_outcome(struct ofs_span object)
{
	struct ofs_span_cursor cursor = ofs_span_enter(object);
	struct ofs_span name, value;
	struct outcome o = { 0 };

	while (ofs_span_is_object(object) && ofs_span_next_member(&cursor, &name, &value)) {
		o.failed |= tells_failure(name, value);
		if (ofs_span_is(name, "error"))
			o.error = value;
		else if (ofs_span_is(name, "metadata"))
			o.metadata = value;
	}
	return o;
}

static bool append_error(struct ofs_span object, struct ofs_span error, struct ofs_buf *out)
{
	if (ofs_span_is_string(error) && error.len > 2)
		return append_string(error, out);
	if (ofs_span_is_object(error))
		return append_member(error, messages, OFS_ARRAY_SIZE(messages), out);
	return is_true(error) && append_member(object, messages, OFS_ARRAY_SIZE(messages), out);
}

static bool search_object(struct ofs_span object, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct outcome o = read_outcome(object);
	struct ofs_span output;
	size_t before = out->len;

	if (append_error(object, o.error, out))
		return true;
	if (!o.failed && !read_outcome(o.metadata).failed)
		return false;
	output = ofs_span_member(object, "output");
	if (ofs_span_is_string(output)) {
		ofs_span_decode(output, &text);
		if (text.len && ofs_trouble_find((const char *)text.data, text.len, false, out))
			return true;
	}
	if (append_member(object, messages, OFS_ARRAY_SIZE(messages), out))
		return true;
	ofs_prose_line(object.p, object.len, LINE_MAX_CHARS, out);
	return out->len > before;
}

bool ofs_trouble_find(const char *text, size_t len, bool shown, struct ofs_buf *ret_line)
{
	struct search s = { 0 };
	struct ofs_span value;

	const char *first = text;

	while (first < text + len && ofs_prose_is_blank(*first))
		first++;
	if (first == text + len)
		return false;
	if (*first == '{' && len <= JSON_MAX && !shown &&
	    ofs_span_parse(text, len, NULL, &value) == 0)
		return search_object(value, ret_line);
	search_text(&s, text, len, shown);
	if (s.telling == NOTHING)
		return false;
	if (s.telling == CODE)
		s.best = line_before(text, s.best);
	ofs_prose_line(s.best.p, s.best.len, LINE_MAX_CHARS, ret_line);
	return true;
}
