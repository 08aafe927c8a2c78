/* SPDX-License-Identifier: MIT */
#include "context/snapshot/named.h"

#include <ctype.h>

#include "codec/hash.h"
#include "context/snapshot/prose.h"

#define BEGIN "[offloaded] "
#define REF " (ref "
#define CLOSING "(detailed result is stored in "
#define WHAT_CHARS 120
#define NAME_MIN 8 /* bytes */
#define NAME_LEN_MAX 160
#define NAMES_MAX 4096 /* that were used */
#define UNUSED_MAX 40

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
static void note_pointer(struct ofs_digest *d, uint64_t order, const char *p, const char *end)
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
		ofs_digest_refer(d, order, ofs_buf_str(&path), path.len, ofs_buf_str(&what),
				 what.len);
	}
}

void ofs_named_pointers(struct ofs_digest *d, uint64_t order, const char *text, size_t len)
{
	const char *end = text + len, *p = ofs_named_pointer(text, len);

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

static bool is_edge(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '/';
}

/* True if a string is a path, an identifier or a number rather than a word. */
static bool is_name(const char *p, size_t len)
{
	size_t hyphens = 0, capitals = 0;

	for (size_t i = 0; i < len; i++) {
		hyphens += p[i] == '-';
		capitals += isupper((unsigned char)p[i]) && i;
		if (isdigit((unsigned char)p[i]) || strchr("_/.:@#%+~", p[i]))
			return true;
	}
	return hyphens > 1 || capitals;
}

/* The next name at or after *p, which is moved past it. NULL: there is none. */
static const char *next_name(const char **p, const char *end, size_t *ret_len)
{
	while (*p < end) {
		const char *start = *p, *stop;

		if (!is_edge(*start)) {
			++*p;
			continue;
		}
		while (*p < end && (is_edge(**p) || strchr(".:@#%+~-", **p)) && **p)
			++*p;
		for (stop = *p; stop > start && !is_edge(stop[-1]);)
			stop--;
		*ret_len = (size_t)(stop - start);
		if (*ret_len >= NAME_MIN && *ret_len <= NAME_LEN_MAX && is_name(start, *ret_len))
			return start;
	}
	return NULL;
}

void ofs_named_use(struct ofs_named *n, uint64_t order, const char *text, size_t len)
{
	const char *p = text, *name;
	size_t name_len;

	while (n->n < NAMES_MAX && (name = next_name(&p, text + len, &name_len))) {
		uint64_t hash = ofs_checksum(name, name_len, 0);

		if (ofs_map_get(&n->by_hash, hash))
			continue;
		*ofs_append(n->list, n->n, n->cap) =
			(struct ofs_named_string){ ofs_strndup(name, name_len), order };
		ofs_map_put(&n->by_hash, hash, (void *)(uintptr_t)n->n);
	}
}

void ofs_named_in_result(const struct ofs_named *n, struct ofs_digest *d, uint64_t order,
			 const char *text, size_t len)
{
	const char *p = text, *name;
	size_t name_len;

	if (ofs_named_pointer(text, len) == text)
		p = line_end(text, text + len); /* what it is, which the reference tells */
	while ((name = next_name(&p, text + len, &name_len))) {
		size_t number = (size_t)(uintptr_t)ofs_map_get(&n->by_hash,
							       ofs_checksum(name, name_len, 0));

		if (memmem(name, name_len, "refs/", 5))
			continue;
		if (number)
			ofs_digest_add(d, OFS_TOPIC_NAMES, OFS_WORTH_SOME,
				       n->list[number - 1].order, name, name_len);
		else if (d->topics[OFS_TOPIC_NAMES].n < UNUSED_MAX)
			ofs_digest_add(d, OFS_TOPIC_NAMES, OFS_WORTH_LITTLE, order, name, name_len);
	}
}
