/* SPDX-License-Identifier: MIT */
#include "remote/s3_xml.h"

#include <stdio.h>

/* S3 nests four elements. */
#define DEPTH_MAX 16

struct name {
	const char *at; /* points into the document */
	size_t len;
};

struct reader {
	const char *p, *end;
	const char *root; /* the name of the root */
	bool had_root;
	struct name open[DEPTH_MAX]; /* the open elements, from the root */
	size_t depth;
	struct ofs_buf text; /* decoded text of the innermost element */
	/* Called at the end of each element. A nonzero return ends the reading. */
	int (*leave)(void *arg, const struct reader *r, const char *text);
	void *arg;
};

/* True if the element that ends has the path `path`, such as "a/b/c" from the root. */
static bool is_at(const struct reader *r, const char *path)
{
	for (size_t i = 0; i < r->depth; i++) {
		const struct name *name = &r->open[i];

		if (strncmp(path, name->at, name->len) != 0 ||
		    path[name->len] != (i + 1 < r->depth ? '/' : '\0'))
			return false;
		path += name->len + 1;
	}
	return r->depth > 0;
}

static bool skip_blanks(struct reader *r)
{
	const char *start = r->p;

	while (r->p < r->end && *r->p && strchr(" \t\r\n", *r->p))
		r->p++;
	return r->p > start;
}

static bool has(const struct reader *r, const char *text)
{
	size_t len = strlen(text);

	return (size_t)(r->end - r->p) >= len && memcmp(r->p, text, len) == 0;
}

/* Moves after the next `text`. False: there is none, and the reader is at the end. */
static bool skip_past(struct reader *r, const char *text)
{
	const char *hit = memmem(r->p, (size_t)(r->end - r->p), text, strlen(text));

	r->p = hit ? hit + strlen(text) : r->end;
	return hit;
}

static bool take_name(struct reader *r, struct name *ret)
{
	const char *start = r->p;

	while (r->p < r->end && *r->p && !strchr(" \t\r\n/<>=\"'&!", *r->p))
		r->p++;
	*ret = (struct name){ start, (size_t)(r->p - start) };
	return r->p > start;
}

/* ---- text */

static bool append_code_point(unsigned long c, struct ofs_buf *out)
{
	uint8_t b[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

	if (!c || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return false;
	for (size_t i = n - 1; i > 0; i--, c >>= 6)
		b[i] = (uint8_t)(0x80 | (c & 0x3f));
	b[0] = (uint8_t)(n == 1 ? c : (0xf00 >> n & 0xff) | c);
	ofs_buf_append(out, b, n);
	return true;
}

/* Decodes the entity at a '&'. */
static bool take_entity(struct reader *r)
{
	static const struct {
		const char *name;
		char c;
	} known[] = { { "&lt;", '<' },
		      { "&gt;", '>' },
		      { "&amp;", '&' },
		      { "&quot;", '"' },
		      { "&apos;", '\'' } };
	char number[10];
	const char *semicolon = memchr(r->p, ';', OFS_MIN((size_t)(r->end - r->p), 11));
	bool hex;
	size_t len;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(known); i++) {
		if (!has(r, known[i].name))
			continue;
		ofs_buf_append(&r->text, &known[i].c, 1);
		r->p += strlen(known[i].name);
		return true;
	}
	if (!semicolon || !has(r, "&#"))
		return false;
	hex = r->p[2] == 'x';
	r->p += hex ? 3 : 2;
	len = r->p < semicolon ? (size_t)(semicolon - r->p) : 0;
	memcpy(number, r->p, len);
	number[len] = '\0';
	r->p = semicolon + 1;
	return len && strspn(number, hex ? "0123456789abcdefABCDEF" : "0123456789") == len &&
	       append_code_point(strtoul(number, NULL, hex ? 16 : 10), &r->text);
}

/* ---- elements */

static int leave(struct reader *r)
{
	int result = r->leave(r->arg, r, ofs_buf_str(&r->text));

	r->text.len = 0;
	r->depth--;
	return result;
}

/* Reads a start tag after its '<'. */
static int enter(struct reader *r)
{
	struct name name, attribute;
	char quote[2] = { 0 };

	if (r->depth == DEPTH_MAX || (!r->depth && r->had_root) || !take_name(r, &name))
		return -EBADMSG;
	r->open[r->depth++] = name;
	if (r->depth == 1 && !is_at(r, r->root))
		return -EBADMSG;
	r->had_root = true;
	r->text.len = 0;
	while (skip_blanks(r) && !has(r, ">") && !has(r, "/>")) {
		if (!take_name(r, &attribute) || (!has(r, "=\"") && !has(r, "='")))
			return -EBADMSG;
		*quote = r->p[1];
		r->p += 2;
		if (!skip_past(r, quote))
			return -EBADMSG;
	}
	if (has(r, "/>")) {
		r->p += 2;
		return leave(r);
	}
	return has(r, ">") && r->p++ ? 0 : -EBADMSG;
}

/* Reads the markup at a '<'. */
static int take_markup(struct reader *r)
{
	const struct name *open = r->depth ? &r->open[r->depth - 1] : NULL;
	struct name name;

	if (has(r, "<!--"))
		return skip_past(r, "-->") ? 0 : -EBADMSG;
	if (has(r, "<?"))
		return skip_past(r, "?>") ? 0 : -EBADMSG;
	if (!has(r, "</")) {
		r->p++;
		return enter(r);
	}
	r->p += 2;
	if (!open || !take_name(r, &name) || name.len != open->len ||
	    memcmp(name.at, open->at, name.len) != 0)
		return -EBADMSG;
	skip_blanks(r);
	if (!has(r, ">"))
		return -EBADMSG;
	r->p++;
	return leave(r);
}

/* Reads a document with one root. Only entities that stand for single characters are expanded. */
static int read_document(const void *xml, size_t len, const char *root,
			 int (*fn)(void *arg, const struct reader *r, const char *text), void *arg)
{
	struct reader r = { .root = root, .leave = fn, .arg = arg, .text = OFS_BUF_INIT };
	int result = 0;

	r.p = len ? xml : "";
	r.end = r.p + len;
	if (has(&r, "\xef\xbb\xbf"))
		r.p += 3;
	while (result == 0 && r.p < r.end) {
		if (*r.p == '<') {
			result = take_markup(&r);
		} else if (!r.depth) {
			result = skip_blanks(&r) ? 0 : -EBADMSG;
		} else if (*r.p == '&') {
			result = take_entity(&r) ? 0 : -EBADMSG;
		} else if (!*r.p) {
			result = -EBADMSG;
		} else {
			ofs_buf_append(&r.text, r.p++, 1);
		}
	}
	ofs_buf_finish(&r.text);
	return result ? result : r.had_root && !r.depth ? 0 : -EBADMSG;
}

static void keep(char *to, size_t size, const char *text)
{
	snprintf(to, size, "%s", text);
}

/* ---- refusals */

static int leave_refusal(void *arg, const struct reader *r, const char *text)
{
	struct ofs_s3_refusal *refusal = arg;

	if (is_at(r, "Error/Code"))
		keep(refusal->code, sizeof(refusal->code), text);
	else if (is_at(r, "Error/Message"))
		keep(refusal->message, sizeof(refusal->message), text);
	else if (is_at(r, "Error/Region"))
		keep(refusal->region, sizeof(refusal->region), text);
	return 0;
}

int ofs_s3_xml_refusal(const void *xml, size_t len, struct ofs_s3_refusal *ret)
{
	struct ofs_s3_refusal refusal = { 0 };
	int r = read_document(xml, len, "Error", leave_refusal, &refusal);

	if (r == 0)
		*ret = refusal;
	return r;
}

/* ---- lists */

struct list {
	int (*fn)(void *arg, const char *key, uint64_t size);
	void *arg;
	struct ofs_s3_page *page;
	struct ofs_buf key; /* of the object being read */
	uint64_t size;
	bool has_key, has_size;
	bool has_end; /* IsTruncated has been read */
};

static bool parse_size(const char *text, uint64_t *ret)
{
	size_t len = strlen(text);

	if (!len || len > 18 || strspn(text, "0123456789") != len)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static int leave_object(struct list *l)
{
	bool whole = l->has_key && l->has_size;

	l->has_key = l->has_size = false;
	return whole ? l->fn(l->arg, ofs_buf_str(&l->key), l->size) : -EBADMSG;
}

static int leave_list(void *arg, const struct reader *r, const char *text)
{
	struct list *l = arg;

	if (is_at(r, "ListBucketResult/Contents/Key")) {
		l->key.len = 0;
		ofs_buf_append_str(&l->key, text);
		l->has_key = true;
	} else if (is_at(r, "ListBucketResult/Contents/Size")) {
		l->has_size = parse_size(text, &l->size);
		return l->has_size ? 0 : -EBADMSG;
	} else if (is_at(r, "ListBucketResult/Contents")) {
		return leave_object(l);
	} else if (is_at(r, "ListBucketResult/IsTruncated")) {
		l->has_end = true;
		l->page->truncated = strcmp(text, "true") == 0;
		return l->page->truncated || strcmp(text, "false") == 0 ? 0 : -EBADMSG;
	} else if (is_at(r, "ListBucketResult/NextContinuationToken")) {
		l->page->token.len = 0;
		ofs_buf_append_str(&l->page->token, text);
	}
	return 0;
}

int ofs_s3_xml_list(const void *xml, size_t len,
		    int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		    struct ofs_s3_page *ret)
{
	struct list l = { .fn = fn, .arg = arg, .page = ret };
	int r;

	ret->truncated = false;
	ret->token.len = 0;
	r = read_document(xml, len, "ListBucketResult", leave_list, &l);
	ofs_buf_finish(&l.key);
	if (r == 0 && (!l.has_end || (ret->truncated && !ret->token.len)))
		return -EBADMSG;
	return r;
}

/* ---- deletions */

struct deleted {
	bool failed;
	struct ofs_buf *key; /* of the first failure */
	struct ofs_s3_refusal *refusal;
	/* The failure being read. */
	struct ofs_buf its_key;
	struct ofs_s3_refusal its;
};

static int leave_deleted(void *arg, const struct reader *r, const char *text)
{
	struct deleted *d = arg;

	if (is_at(r, "DeleteResult/Error/Key")) {
		d->its_key.len = 0;
		ofs_buf_append_str(&d->its_key, text);
	} else if (is_at(r, "DeleteResult/Error/Code")) {
		keep(d->its.code, sizeof(d->its.code), text);
	} else if (is_at(r, "DeleteResult/Error/Message")) {
		keep(d->its.message, sizeof(d->its.message), text);
	} else if (is_at(r, "DeleteResult/Error")) {
		if (!d->failed && strcmp(d->its.code, "NoSuchKey") != 0) {
			d->failed = true;
			d->key->len = 0;
			ofs_buf_append(d->key, d->its_key.data, d->its_key.len);
			*d->refusal = d->its;
		}
		d->its_key.len = 0;
		d->its = (struct ofs_s3_refusal){ 0 };
	}
	return 0;
}

int ofs_s3_xml_deleted(const void *xml, size_t len, struct ofs_buf *ret_key,
		       struct ofs_s3_refusal *ret)
{
	struct deleted d = { .key = ret_key, .refusal = ret };
	int r = read_document(xml, len, "DeleteResult", leave_deleted, &d);

	ofs_buf_finish(&d.its_key);
	return r < 0 ? r : d.failed;
}
