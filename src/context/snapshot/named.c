/* SPDX-License-Identifier: MIT */
#include "context/snapshot/named.h"

#include <string.h>

#include "base/util.h"
#include "context/snapshot/prose.h"

#define BEGIN "[offloaded] "
#define REF " (ref "
#define CLOSING "(detailed result is stored in "
#define WHAT_CHARS 120
#define VALUE_MAX 100 /* bytes of an identifier */
#define URL_MAX 180
#define DEPTH_MAX 4
#define HASH_MIN 7
#define HASH_MAX 40
#define COMMIT_CHARS 120

static const char *find(const char *p, const char *end, const char *what)
{
	return memmem(p, (size_t)(end - p), what, strlen(what));
}

static const char *line_end(const char *p, const char *end)
{
	const char *eol = memchr(p, '\n', (size_t)(end - p));

	return eol ? eol : end;
}

/* ---- pointers */

const char *ofs_named_pointer(const char *text, size_t len)
{
	return find(text, text + len, BEGIN);
}

/* Where the tree begins in ".offload/cache/shell/x.txt". */
static size_t mount_length(const char *p, size_t len)
{
	static const char *const tops[] = { "cache/", "tasks/", "persistent/", "archive/" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++) {
		const char *at = find(p, p + len, tops[i]);

		if (at && (at == p || at[-1] == '/'))
			return (size_t)(at - p);
	}
	return 0;
}

/* The title of a pointer, from `p` up to `ref` (" (ref "): "WHAT" or "WHAT -> FILE". */
static void make_path(const char *p, const char *ref, const char *name, size_t name_len,
		      const char **ret_what_end, struct ofs_buf *ret)
{
	const char *arrow = NULL;

	for (const char *at = p; (at = find(at, ref, " -> ")); at++)
		arrow = at;
	*ret_what_end = arrow ? arrow : ref;
	if (arrow)
		ofs_buf_append(ret, arrow + 4, mount_length(arrow + 4, (size_t)(ref - arrow - 4)));
	ofs_buf_append_str(ret, "refs/");
	ofs_buf_append(ret, name, name_len);
}

/* The path that a pointer ends with. */
static bool closing_path(const char *p, const char *end, const char *name, size_t name_len,
			 struct ofs_buf *ret)
{
	const char *at = find(p, end, CLOSING), *close;

	if (!at)
		return false;
	at += strlen(CLOSING);
	close = memchr(at, ')', (size_t)(line_end(at, end) - at));
	if (!close || (size_t)(close - at) <= name_len ||
	    memcmp(close - name_len, name, name_len) != 0 || close[-(ssize_t)name_len - 1] != '/')
		return false;
	ofs_buf_append(ret, at, (size_t)(close - at));
	return true;
}

/* The pointer whose title begins at p; another may begin at `end`. */
static void note_pointer(struct ofs_digest *d, const char *p, const char *end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT, what = OFS_BUF_INIT;
	const char *eol = line_end(p, end), *ref = NULL, *name, *what_end;
	size_t n = 0;

	for (const char *at = p; (at = find(at, eol, REF)); at++)
		ref = at;
	if (!ref)
		return;
	name = ref + strlen(REF);
	while (name + n < eol &&
	       (ofs_prose_is_digit(name[n]) || (name[n] >= 'a' && name[n] <= 'z')))
		n++;
	if (!n)
		return;
	make_path(p, ref, name, n, &what_end, &path);
	if (find(p, end, CLOSING)) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf closing = OFS_BUF_INIT;

		if (closing_path(p, end, name, n, &closing)) {
			struct ofs_buf made = path;

			path = closing;
			closing = made;
		}
	}
	if (ofs_prose_is_line((const char *)path.data, path.len)) {
		ofs_prose_line(p, (size_t)(what_end - p), WHAT_CHARS, &what);
		ofs_digest_refer(d, (const char *)path.data, path.len, (const char *)what.data,
				 what.len);
	}
}

void ofs_named_pointers(struct ofs_digest *d, const char *text, size_t len)
{
	const char *end = text + len, *p = ofs_named_pointer(text, len);

	while (p) {
		const char *title = p + strlen(BEGIN), *next = find(title, end, BEGIN);

		note_pointer(d, title, next ? next : end);
		p = next;
	}
}

/* ---- identifiers */

static void note(struct ofs_digest *d, enum ofs_worth worth, const struct ofs_buf *text)
{
	ofs_digest_add(d, OFS_TOPIC_REFERENCES, ofs_digest_key(text->data, text->len), worth,
		       text->data, text->len);
}

static bool name_ends(struct ofs_span key, const char *end)
{
	size_t n = strlen(end);

	return key.len >= n + 2 && memcmp(key.p + key.len - 1 - n, end, n) == 0;
}

static bool is_id_name(struct ofs_span key)
{
	static const char *const ends[] = { "_id",   "Id",	"ID",	  "_ids",     "uuid",
					    "_key",  "url",	"commit", "sha",      "branch",
					    "email", "_number", "slug",	  "username", "number",
					    "Ids",   "repo" };

	if (ofs_span_is(key, "id"))
		return true;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(ends); i++) {
		if (name_ends(key, ends[i]))
			return true;
	}
	return false;
}

static void note_id(struct ofs_digest *d, struct ofs_span key, struct ofs_span value)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, said = OFS_BUF_INIT;
	const struct ofs_item *known;

	if (value.len < 3 || value.len > VALUE_MAX || ofs_span_is_null(value) ||
	    (!ofs_span_is_string(value) && !ofs_prose_is_digit(*value.p)))
		return;
	if (!ofs_span_is_string(value) && name_ends(key, "umber"))
		return; /* of a line, of a page */
	if (ofs_span_is_string(value))
		ofs_span_decode(value, &said);
	else
		ofs_buf_append(&said, value.p, value.len);
	ofs_span_decode(key, &text);
	ofs_buf_append(&text, "=", 1);
	ofs_prose_line((const char *)said.data, said.len, VALUE_MAX, &text);
	/* What is used again and again is worth more. */
	known = ofs_digest_find(d, OFS_TOPIC_REFERENCES, ofs_digest_key(text.data, text.len));
	note(d,
	     !known		 ? OFS_WORTH_LITTLE
	     : known->times == 1 ? OFS_WORTH_SOME
				 : OFS_WORTH_MUCH,
	     &text);
}

static void note_ids(struct ofs_digest *d, struct ofs_span value, int depth)
{
	struct ofs_span_cursor cursor = ofs_span_enter(value), inner;
	struct ofs_span key, member, element;

	if (depth == DEPTH_MAX)
		return;
	if (ofs_span_is_array(value)) {
		while (ofs_span_next(&cursor, &element))
			note_ids(d, element, depth + 1);
		return;
	}
	while (ofs_span_is_object(value) && ofs_span_next_member(&cursor, &key, &member)) {
		if (!is_id_name(key) || ofs_span_is_object(member)) {
			note_ids(d, member, depth + 1);
			continue;
		}
		note_id(d, key, member);
		inner = ofs_span_enter(member);
		while (ofs_span_is_array(member) && ofs_span_next(&inner, &element))
			note_id(d, key, element);
	}
}

void ofs_named_args(struct ofs_digest *d, struct ofs_span args)
{
	note_ids(d, args, 0);
}

void ofs_named_result(struct ofs_digest *d, struct ofs_span object)
{
	struct ofs_span_cursor cursor = ofs_span_enter(object);
	struct ofs_span key, value;

	while (ofs_span_is_object(object) && ofs_span_next_member(&cursor, &key, &value)) {
		if (ofs_span_is_string(value) && is_id_name(key))
			note_id(d, key, value);
	}
}

/* ---- addresses and commits */

static bool is_url_char(char c)
{
	return (unsigned char)c > 0x20 && (unsigned char)c < 0x7f &&
	       !strchr("\"'`<>()[]{}|\\^*,", c);
}

/* Where the scheme begins that ends at p ("://"); NULL: it is no page. */
static const char *scheme_start(const char *text, const char *p)
{
	if (p - text >= 5 && memcmp(p - 5, "https", 5) == 0)
		return p - 5;
	return p - text >= 4 && memcmp(p - 4, "http", 4) == 0 ? p - 4 : NULL;
}

void ofs_named_urls(struct ofs_digest *d, const char *text, size_t len)
{
	const char *end = text + len, *p = text;

	while ((p = find(p, end, "://"))) {
		const char *start = scheme_start(text, p), *stop = p + 3;

		while (stop < end && is_url_char(*stop))
			stop++;
		while (stop > p + 3 && strchr(".,;:!?", stop[-1]))
			stop--;
		if (start && stop - p > 6 && stop - start <= URL_MAX)
			ofs_digest_add(d, OFS_TOPIC_REFERENCES,
				       ofs_digest_key(start, (size_t)(stop - start)),
				       OFS_WORTH_SOME, start, (size_t)(stop - start));
		p = stop;
	}
}

/* The length of a commit's hash at p, or 0. */
static size_t hash_length(const char *p, const char *end)
{
	size_t n = 0;

	while (p + n < end && n <= HASH_MAX &&
	       (ofs_prose_is_digit(p[n]) || (p[n] >= 'a' && p[n] <= 'f')))
		n++;
	return n >= HASH_MIN && n <= HASH_MAX ? n : 0;
}

void ofs_named_commit(struct ofs_digest *d, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf note_text = OFS_BUF_INIT;
	const char *end = text + len, *close, *hash;

	if (!len || *text != '[')
		return;
	end = line_end(text, end);
	close = find(text, end, "] ");
	if (!close)
		return;
	hash = memrchr(text, ' ', (size_t)(close - text));
	if (!hash || hash_length(hash + 1, close) != (size_t)(close - hash - 1))
		return;
	ofs_buf_printf(&note_text, "commit %.*s: ", (int)(close - hash - 1), hash + 1);
	ofs_prose_line(close + 2, (size_t)(end - close - 2), COMMIT_CHARS, &note_text);
	note(d, OFS_WORTH_MORE, &note_text);
}
