/* SPDX-License-Identifier: MIT */
#include "client/content.h"

#include <ctype.h>
#include <jansson.h>
#include <strings.h>

#include "base/text.h"
#include "codec/hash.h"

#define CONTENT_CHUNK ((size_t)64 << 10)
/* Size of the head by which the kind is decided; similar to what git and grep examine. */
#define CONTENT_SAMPLE ((size_t)8 << 10)
/* Larger content is not parsed: its two ends decide whether it is JSON. */
#define CONTENT_JSON_MAX ((uint64_t)1 << 20)

static int content_read_lines(struct ofs_content *c, struct ofs_sha256 *hash, char *chunk)
{
	bool at_start = true;
	uint64_t off = 0;
	ssize_t n;

	while ((n = ofs_spool_read(c->spool, chunk, CONTENT_CHUNK, off)) > 0) {
		const char *p = chunk, *end = chunk + n;
		int r = ofs_sha256_update(hash, chunk, (size_t)n);

		if (r < 0)
			return r;
		while (p < end) {
			c->lines += at_start;
			p = memchr(p, '\n', (size_t)(end - p));
			at_start = p != NULL;
			p = p ? p + 1 : end;
		}
		off += (uint64_t)n;
	}
	return n < 0 ? (int)n : 0;
}

/* True if there is a NUL, or if more than a third of the bytes do not occur in text. */
static bool content_is_binary(const unsigned char *p, size_t len)
{
	size_t strange = 0;

	if (memchr(p, 0, len))
		return true;
	for (size_t i = 0; i < len;) {
		int n;

		if (p[i] >= ' ' && p[i] < 0x7f) { /* nearly always */
			i++;
			continue;
		}
		n = ofs_text_utf8(p + i, len - i);
		if (n == 0 || (n == 1 && iscntrl(p[i]) && !strchr("\t\n\v\f\r\b\a\x1b", p[i])))
			strange++;
		i += (size_t)OFS_MAX(n, 1);
	}
	return strange > len / 3;
}

static bool content_starts_with(const char *p, size_t len, const char *word)
{
	return len >= strlen(word) && strncasecmp(p, word, strlen(word)) == 0;
}

static bool content_is_diff(const char *p, size_t len)
{
	const char *eol;

	if (len >= 11 && memcmp(p, "diff --git ", 11) == 0)
		return true;
	if (len < 4 || memcmp(p, "--- ", 4) != 0)
		return false;
	eol = memchr(p, '\n', len);
	return eol && (size_t)(p + len - eol) > 5 && memcmp(eol + 1, "+++ ", 4) == 0;
}

/* Returns the last byte that is not white space, or 0 if the last 256 bytes are all white space. */
static char content_last_visible(const struct ofs_spool *spool)
{
	char tail[256];
	uint64_t off = spool->size > sizeof(tail) ? spool->size - sizeof(tail) : 0;
	ssize_t n = ofs_spool_read(spool, tail, sizeof(tail), off);

	while (n > 0 && isspace((unsigned char)tail[n - 1]))
		n--;
	return n > 0 ? tail[n - 1] : 0;
}

static bool content_is_json(const struct ofs_content *c, const char *p, size_t len)
{
	char last;
	json_t *value;
	OFS_FREE char *whole = NULL;
	const char *next = p + 1;

	if (!len || (p[0] != '{' && p[0] != '['))
		return false;
	last = content_last_visible(c->spool);
	if (last != (p[0] == '{' ? '}' : ']'))
		return false;
	if (c->size > CONTENT_JSON_MAX) {
		while (next < p + len && isspace((unsigned char)*next))
			next++;
		return next < p + len && strchr(p[0] == '{' ? "\"" : "{[\"", *next);
	}
	whole = ofs_realloc(NULL, 1, (size_t)c->size);
	if (ofs_spool_read(c->spool, whole, (size_t)c->size, 0) != (ssize_t)c->size)
		return false;
	value = json_loadb(whole, (size_t)c->size, 0, NULL);
	if (!value)
		return false;
	json_decref(value);
	return true;
}

static const char *content_ext(const struct ofs_content *c, const char *sample, size_t len)
{
	if (c->binary)
		return "bin";
	if (content_is_diff(sample, len))
		return "diff";
	while (len && isspace((unsigned char)*sample)) {
		sample++;
		len--;
	}
	if (content_starts_with(sample, len, "<!doctype html") ||
	    content_starts_with(sample, len, "<html"))
		return "html";
	return content_is_json(c, sample, len) ? "json" : "txt";
}

int ofs_content_scan(const struct ofs_spool *spool, struct ofs_content *ret)
{
	struct ofs_content c = { .spool = spool, .size = spool->size };
	struct ofs_sha256 *hash = ofs_sha256_create();
	OFS_FREE char *chunk = ofs_realloc(NULL, 1, CONTENT_CHUNK);
	uint8_t sha[OFS_SHA256_SIZE];
	ssize_t n;
	int r = hash ? 0 : -ENOMEM;

	if (r == 0)
		r = content_read_lines(&c, hash, chunk);
	if (r == 0)
		r = ofs_sha256_final(hash, sha);
	ofs_sha256_destroy(hash);
	if (r < 0)
		return r;
	ofs_sha256_hex(sha, c.sha256);
	n = ofs_spool_read(spool, chunk, CONTENT_SAMPLE, 0);
	if (n < 0)
		return (int)n;
	c.binary = content_is_binary((unsigned char *)chunk, (size_t)n);
	c.ext = content_ext(&c, chunk, (size_t)n);
	*ret = c;
	return 0;
}
