/* SPDX-License-Identifier: MIT */
#include "base/xattr.h"

#define HEAD 5u /* bytes of the two lengths */

bool ofs_xattr_next(const struct ofs_buf *list, size_t *at, struct ofs_xattr *ret)
{
	const uint8_t *p = list->data + *at;

	if (*at == list->len)
		return false;
	ret->name_len = p[0];
	ret->size = ofs_get_le32(p + 1);
	ret->name = (const char *)p + HEAD;
	ret->value = p + HEAD + ret->name_len;
	*at += HEAD + ret->name_len + ret->size;
	return true;
}

/* Compares as memcmp() does; a prefix of a name sorts before it. */
static int name_compare(const char *a, size_t alen, const char *b, size_t blen)
{
	int c = memcmp(a, b, OFS_MIN(alen, blen));

	if (c)
		return c;
	return alen < blen ? -1 : alen > blen;
}

bool ofs_xattr_is_list(const void *data, size_t len)
{
	const char *last = "";
	size_t last_len = 0, at = 0;
	const uint8_t *p = data;

	while (at < len) {
		size_t name_len = p[at], size;
		const char *name = (const char *)p + at + HEAD;

		if (len - at < HEAD + name_len)
			return false;
		size = ofs_get_le32(p + at + 1);
		at += HEAD + name_len;
		if (!name_len || memchr(name, 0, name_len) || size > OFS_XATTR_VALUE_MAX ||
		    size > len - at || name_compare(last, last_len, name, name_len) >= 0)
			return false;
		at += size;
		last = name;
		last_len = name_len;
	}
	return true;
}

/*
 * Sets [*ret_from, *ret_to) to the bytes of the attribute, or to an empty range at its place if
 * there is none. Returns true, and sets *ret, if it exists.
 */
static bool xattr_place(const struct ofs_buf *list, const char *name, size_t *ret_from,
			size_t *ret_to, struct ofs_xattr *ret)
{
	size_t len = strlen(name), at = 0, from = 0;
	struct ofs_xattr x;
	int c = 1;

	while (ofs_xattr_next(list, &at, &x)) {
		c = name_compare(x.name, x.name_len, name, len);
		if (c >= 0)
			break;
		from = at;
	}
	*ret_from = from;
	*ret_to = c == 0 ? at : from;
	if (c == 0)
		*ret = x;
	return c == 0;
}

bool ofs_xattr_find(const struct ofs_buf *list, const char *name, struct ofs_xattr *ret)
{
	size_t from, to;

	return xattr_place(list, name, &from, &to, ret);
}

size_t ofs_xattr_room(const struct ofs_buf *list)
{
	struct ofs_xattr x;
	size_t at = 0, sum = 0;

	while (ofs_xattr_next(list, &at, &x))
		sum += x.name_len + x.size;
	return sum;
}

/* Replaces the bytes [from, to) by `len` uninitialised ones and returns their address. */
static uint8_t *list_splice(struct ofs_buf *list, size_t from, size_t to, size_t len)
{
	size_t tail = list->len - to;

	list->data = ofs_grow(list->data, &list->cap, from + len + tail, 1);
	if (tail)
		memmove(list->data + from + len, list->data + to, tail);
	list->len = from + len + tail;
	return list->data + from;
}

void ofs_xattr_set(struct ofs_buf *list, const char *name, const void *value, size_t size)
{
	size_t len = strlen(name), from, to;
	struct ofs_xattr old;
	uint8_t *p;

	xattr_place(list, name, &from, &to, &old);
	p = list_splice(list, from, to, HEAD + len + size);
	p[0] = (uint8_t)len;
	ofs_put_le32(p + 1, (uint32_t)size);
	memcpy(p + HEAD, name, len);
	if (size)
		memcpy(p + HEAD + len, value, size);
}

void ofs_xattr_remove(struct ofs_buf *list, const char *name)
{
	struct ofs_xattr old;
	size_t from, to;

	if (!xattr_place(list, name, &from, &to, &old))
		return;
	list_splice(list, from, to, 0);
	if (!list->len)
		ofs_buf_finish(list);
}
