/* SPDX-License-Identifier: MIT */
#include "context/chat/mark.h"

#include <stdio.h>

#include "codec/hash.h"

#define BEGIN "[offloaded] "
#define REF " (ref "
#define CLOSING "(detailed result is stored in "
#define REF_MIN 6

/* The parts of a reversible pointer. */
struct parts {
	const char *text;
	size_t len;
	size_t title; /* length of the first part, including the code */
	size_t closing; /* where the closing line starts */
	struct ofs_mark mark;
};

static bool begins(const char *text, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(text, with, strlen(with)) == 0;
}

bool ofs_mark_may_be(const void *text, size_t len)
{
	return begins(text, len, BEGIN);
}

/* Returns the last position of `word` in a text, or SIZE_MAX. */
static size_t find_last(const char *text, size_t len, const char *word)
{
	const char *last = NULL;

	for (const char *p = text; (p = memmem(p, (size_t)(text + len - p), word, strlen(word)));
	     p++)
		last = p;
	return last ? (size_t)(last - text) : SIZE_MAX;
}

/* Reads "k3f9x2, ja-9f86d081-k2m4x9)". */
static bool parse_ref(const char *p, size_t len, struct ofs_mark *mark)
{
	char text[OFS_MARK_REF_MAX + OFS_MARK_CODE_MAX + 4], style[OFS_LITERAL_NAME_MAX];
	int end = 0;

	if (len >= sizeof(text))
		return false;
	snprintf(text, sizeof(text), "%.*s", (int)len, p);
	sscanf(text, "%8[0-9a-z],%*1[ ]%15[a-z]-%8[0-9a-f]-%6[0-9a-z])%n", mark->ref, style,
	       mark->hash, mark->tag, &end);
	if ((size_t)end != len || !end || strlen(mark->ref) < REF_MIN ||
	    strlen(mark->hash) != OFS_MARK_HASH || strlen(mark->tag) != OFS_MARK_TAG)
		return false;
	mark->raw = strcmp(style, "raw") == 0;
	return mark->raw || ofs_literal_style_parse(style, &mark->style);
}

/* Returns whether the closing line has the same ref. */
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
	line = eol ? (size_t)(eol - text) : p.closing - 1; /* or the pointer is a single line */
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

bool ofs_mark_read(const void *text, size_t len, struct ofs_mark *ret)
{
	struct parts p;

	if (!take_apart(text, len, &p))
		return false;
	*ret = p.mark;
	return true;
}

void ofs_mark_sign(const char *key, const void *said, size_t len, char ret[OFS_MARK_TAG + 1])
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	uint8_t mac[OFS_SHA256_SIZE];

	if (ofs_hmac(key, strlen(key), said, len, mac) < 0)
		abort(); /* libcrypto is broken */
	for (int i = 0; i < OFS_MARK_TAG; i++) /* slightly uneven, which does no harm */
		ret[i] = digits[mac[i] % (sizeof(digits) - 1)];
	ret[OFS_MARK_TAG] = '\0';
}

bool ofs_mark_tag(const void *text, size_t len, const char *key, char ret[OFS_MARK_TAG + 1],
		  size_t *ret_at)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	struct parts p;
	size_t end;

	if (!take_apart(text, len, &p))
		return false;
	end = p.title - 1; /* the parenthesis after the tag */
	*ret_at = end - OFS_MARK_TAG;
	ofs_buf_append(&said, p.text, *ret_at);
	ofs_buf_append(&said, p.text + end, len - end);
	ofs_mark_sign(key, said.data, said.len, ret);
	return true;
}

void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX])
{
	char name[OFS_LITERAL_NAME_MAX] = "raw";

	if (!mark->raw)
		ofs_literal_style_name(&mark->style, name);
	snprintf(ret, OFS_MARK_CODE_MAX, "%s-%s-%s", name, mark->hash, mark->tag);
}

void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out)
{
	size_t len = strlen(pointer);

	ofs_buf_append(out, pointer, len);
	if (len && pointer[len - 1] != '\n')
		ofs_buf_append_str(out, " ");
	ofs_buf_printf(out, CLOSING "%s)", path);
}

void ofs_mark_shrink(const void *text, size_t len, struct ofs_buf *out)
{
	struct parts p;

	if (!take_apart(text, len, &p)) {
		ofs_buf_append(out, text, len);
		return;
	}
	ofs_buf_append(out, p.text, p.title);
	ofs_buf_append_str(out, " ");
	ofs_buf_append(out, p.text + p.closing, p.len - p.closing);
}
