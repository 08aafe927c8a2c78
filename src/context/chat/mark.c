/* SPDX-License-Identifier: MIT */
#include "context/chat/mark.h"

#include <stdio.h>

#include "base/util.h"

#define BEGIN "[offloaded] "
#define REF " (ref "
#define CLOSING "(detailed result is stored in "
#define BRIEF_LINES_MAX 240 /* bytes of the preview in a brief pointer */
#define REF_MIN 6
#define INSTRUCTION \
	"Results named like this are stored. Read what is needed: cat PATH:1-60, grep -n WORD PATH"

static const char ref_digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* The parts of a pointer that can be undone. */
struct parts {
	const char *text;
	size_t len;
	size_t title; /* length of the first part, up to the code's end */
	size_t closing; /* where the closing line begins */
	struct ofs_mark mark;
};

static bool begins(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

bool ofs_mark_is_pointer(const void *text, size_t len)
{
	return begins(text, len, BEGIN);
}

/* The last place of `word` in a text; SIZE_MAX: nowhere. */
static size_t find_last(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = len + 1 >= n + 1 ? len - n + 1 : 0; i-- > 0;) {
		if (memcmp(text + i, word, n) == 0)
			return i;
	}
	return SIZE_MAX;
}

/* "ja-9f86d081)" */
static bool parse_code(const char *p, size_t len, struct ofs_mark *mark)
{
	char name[OFS_LITERAL_NAME_MAX];
	const char *dash = memchr(p, '-', OFS_MIN(len, sizeof(name)));
	size_t n = dash ? (size_t)(dash - p) : 0;

	if (!n || n >= sizeof(name) || len != n + 1 + OFS_MARK_HASH + 1 || p[len - 1] != ')')
		return false;
	memcpy(name, p, n);
	name[n] = '\0';
	memcpy(mark->hash, dash + 1, OFS_MARK_HASH);
	mark->hash[OFS_MARK_HASH] = '\0';
	if (strspn(mark->hash, "0123456789abcdef") != OFS_MARK_HASH)
		return false;
	mark->raw = strcmp(name, "raw") == 0;
	return mark->raw || ofs_literal_style_parse(name, &mark->style);
}

/* "k3f9x2, ja-9f86d081)" */
static bool parse_ref(const char *p, size_t len, struct ofs_mark *mark)
{
	size_t n = 0;

	while (n < len && n <= OFS_MARK_REF_MAX && p[n] && strchr(ref_digits, p[n]))
		n++;
	if (n < REF_MIN || n > OFS_MARK_REF_MAX || len < n + 2 || p[n] != ',' || p[n + 1] != ' ')
		return false;
	memcpy(mark->ref, p, n);
	mark->ref[n] = '\0';
	return parse_code(p + n + 2, len - n - 2, mark);
}

/* The closing line names the same ref. */
static bool check_closing(const struct parts *p)
{
	const char *path = p->text + p->closing + strlen(CLOSING), *end = p->text + p->len - 1;
	size_t n = strlen(p->mark.ref);

	return end >= path && *end == ')' && (size_t)(end - path) > n &&
	       end[-(ssize_t)n - 1] == '/' && memcmp(end - n, p->mark.ref, n) == 0 &&
	       !memchr(path, '\n', (size_t)(end - path));
}

static bool take_apart(const char *text, size_t len, struct parts *ret)
{
	struct parts p = { .text = text, .len = len };
	const char *eol;
	size_t line, ref;

	if (!begins(text, len, BEGIN))
		return false;
	p.closing = find_last(text, len, CLOSING);
	if (p.closing == SIZE_MAX || !p.closing)
		return false;
	eol = memchr(text, '\n', p.closing);
	line = eol ? (size_t)(eol - text) : p.closing - 1; /* or all of it is one line */
	ref = find_last(text, line, REF);
	if (ref == SIZE_MAX ||
	    !parse_ref(text + ref + strlen(REF), line - ref - strlen(REF), &p.mark))
		return false;
	p.title = line;
	if (!check_closing(&p))
		return false;
	*ret = p;
	return true;
}

bool ofs_mark_find(const void *text, size_t len, struct ofs_mark *ret)
{
	struct parts p;

	if (!take_apart(text, len, &p))
		return false;
	*ret = p.mark;
	return true;
}

void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX])
{
	char name[OFS_LITERAL_NAME_MAX] = "raw";

	if (!mark->raw)
		ofs_literal_style_name(&mark->style, name);
	snprintf(ret, OFS_MARK_CODE_MAX, "%s-%s", name, mark->hash);
}

void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out)
{
	ofs_buf_printf(out, "%s" CLOSING "%s)", pointer, path);
}

/* Bytes of a brief pointer after its title: how to read it, and the start of the preview. */
static size_t brief_length(const struct parts *p)
{
	const char *start = p->text + p->title + 1, *end = p->text + p->closing, *eol = start;
	const char *limit;

	eol = memchr(start, '\n', (size_t)(end - start));
	if (!eol)
		return 0;
	limit = eol + 1 + BRIEF_LINES_MAX;
	for (;;) {
		const char *next = memchr(eol + 1, '\n', (size_t)(end - eol - 1));

		if (!next || next >= limit || begins(eol + 1, (size_t)(end - eol - 1), INSTRUCTION))
			break;
		eol = next;
	}
	return (size_t)(eol + 1 - start);
}

void ofs_mark_shrink(const void *text, size_t len, enum ofs_mark_detail detail, bool instruct,
		     struct ofs_buf *out)
{
	struct parts p;
	bool known = take_apart(text, len, &p), line, full;
	size_t brief;

	if (detail == OFS_MARK_FULL && memmem(text, len, INSTRUCTION, strlen(INSTRUCTION)))
		instruct = false;
	if (!known || (detail == OFS_MARK_FULL && !instruct)) {
		ofs_buf_append(out, text, len);
		return;
	}
	line = p.text[p.title] != '\n';
	full = detail == OFS_MARK_FULL && !line;
	brief = detail == OFS_MARK_BRIEF && !line ? brief_length(&p) : 0;
	ofs_buf_append(out, p.text, p.title);
	if (full)
		ofs_buf_append(out, p.text + p.title, p.closing - p.title);
	else if (brief)
		ofs_buf_append(out, p.text + p.title, 1 + brief);
	else
		ofs_buf_append_str(out, instruct ? "\n" : " ");
	if (instruct)
		ofs_buf_append_str(out, INSTRUCTION "\n");
	ofs_buf_append(out, p.text + p.closing, p.len - p.closing);
}
