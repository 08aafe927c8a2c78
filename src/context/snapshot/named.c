/* SPDX-License-Identifier: MIT */
#include "context/snapshot/named.h"

#include "base/name.h"
#include "codec/hash.h"
#include "context/chat/mark.h"
#include "context/snapshot/prose.h"

#define BEGIN "[offloaded] "
#define REF " (ref "
#define WHAT_CHARS 160 /* room for the size as well, so that a title is not cut twice */
#define NAMES_MAX 4096 /* limit of used names */
#define UNUSED_MAX 40 /* with so many names, unused ones are no longer added */

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

/* Appends the path in the text that ends with refs/REF, or else "refs/REF" itself. */
static void find_path(const char *p, const char *end, const char *ref, size_t ref_len,
		      struct ofs_buf *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf tail = OFS_BUF_INIT;
	const char *at, *start;

	ofs_buf_printf(&tail, "refs/%.*s", (int)ref_len, ref);
	at = memmem(p, (size_t)(end - p), tail.data, tail.len);
	if (!at) {
		ofs_buf_append(ret, tail.data, tail.len);
		return;
	}
	for (start = at; start > p && !strchr(" \n'", start[-1]);)
		start--;
	ofs_buf_append(ret, start, (size_t)(at + tail.len - start));
}

/* Adds the pointer whose title starts at p; `end` is where the next pointer starts. */
static void note_pointer(struct ofs_digest *d, uint64_t order, const char *p, const char *end)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT, what = OFS_BUF_INIT;
	const char *eol = line_end(p, end), *ref = NULL, *name;
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
	find_path(ref, end, name, n, &path);
	if (ofs_prose_is_line((const char *)path.data, path.len)) {
		ofs_prose_argument(p, (size_t)(ref - p), WHAT_CHARS, &what);
		ofs_digest_refer(d, order, ofs_buf_str(&path), path.len, ofs_buf_str(&what),
				 what.len);
	}
}

void ofs_named_pointers(struct ofs_digest *d, uint64_t order, const char *text, size_t len)
{
	const char *end = text + len, *p = find(text, end, BEGIN);

	while (p) {
		const char *title = p + strlen(BEGIN), *next = find(title, end, BEGIN);

		note_pointer(d, order, title, next ? next : end);
		p = next;
	}
}

/* ---- names */

void ofs_named_finish(struct ofs_named *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->list[i].text);
	free(n->list);
	ofs_map_finish(&n->by_hash);
}

void ofs_named_use(struct ofs_named *n, uint64_t order, const char *text, size_t len)
{
	const char *p = text, *name;
	size_t name_len;

	while (n->n < NAMES_MAX && (name = ofs_name_next(&p, text + len, &name_len))) {
		uint64_t hash = ofs_checksum(name, name_len, 0);

		if (ofs_map_get(&n->by_hash, hash))
			continue;
		*ofs_append(n->list, n->n, n->cap) =
			(struct ofs_named_string){ ofs_strndup(name, name_len), order };
		ofs_map_put(&n->by_hash, hash, (void *)(uintptr_t)n->n);
	}
}

/* Returns the length of a name in a pointer's index without its line number: "parse_frame:212". */
static size_t without_line(const char *name, size_t len)
{
	size_t n = len;

	while (n && ofs_prose_is_digit(name[n - 1]))
		n--;
	return n > 1 && n < len && name[n - 1] == ':' ? n - 1 : len;
}

void ofs_named_in_result(const struct ofs_named *n, struct ofs_digest *d, uint64_t order,
			 const char *text, size_t len)
{
	bool stored = ofs_mark_may_be(text, len);
	const char *p = text, *name;
	size_t name_len;

	if (stored)
		p = line_end(text, text + len); /* skip the title, which the reference has */
	while ((name = ofs_name_next(&p, text + len, &name_len))) {
		size_t number;

		if (stored)
			name_len = without_line(name, name_len);
		number = (size_t)(uintptr_t)ofs_map_get(&n->by_hash,
							ofs_checksum(name, name_len, 0));
		if (!number && d->topics[OFS_TOPIC_NAMES].n >= UNUSED_MAX)
			continue;
		if (memmem(name, name_len, "refs/", 5))
			continue;
		if (number)
			ofs_digest_add(d, OFS_TOPIC_NAMES, OFS_WORTH_SOME,
				       n->list[number - 1].order, name, name_len);
		else
			ofs_digest_add(d, OFS_TOPIC_NAMES, OFS_WORTH_LITTLE, order, name, name_len);
	}
}
