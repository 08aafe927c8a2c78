/* SPDX-License-Identifier: MIT */
#include "store/record.h"

#include "base/util.h"

/*
 * Body, little-endian: time i64, ino u64, then by type:
 *   CREATE  dir u64, mode u32, uid u32, gid u32, rdev u64, name, text
 *   LINK    dir u64, name
 *   UNLINK  dir u64, name
 *   RENAME  dir u64, newdir u64, flags u32, name, text
 *   WRITE   offset u64
 *   SETATTR flags u32, mode u32, uid u32, gid u32, size u64, atime i64, mtime i64
 *   SETXATTR    name, value
 *   REMOVEXATTR name
 *   ZERO    offset u64, length u64, flags u32
 *   COPY    offset u64, from u64, its offset u64, length u64
 *   EXPIRE  dir u64, name, value
 * A string is its length as u16, its bytes and a NUL; a value its length as u32 and its bytes.
 */

static void put32(struct ofs_buf *b, uint32_t v)
{
	ofs_put_le32(b->data + b->len, v);
	b->len += 4;
}

static void put64(struct ofs_buf *b, uint64_t v)
{
	ofs_put_le64(b->data + b->len, v);
	b->len += 8;
}

static void put_str(struct ofs_buf *b, const char *s)
{
	size_t len = s ? strlen(s) : 0;

	ofs_put_le16(b->data + b->len, (uint16_t)len);
	if (len)
		memcpy(b->data + b->len + 2, s, len);
	b->data[b->len + 2 + len] = 0;
	b->len += 3 + len;
}

static void put_value(struct ofs_buf *b, const void *value, uint32_t len)
{
	put32(b, len);
	if (len)
		memcpy(b->data + b->len, value, len);
	b->len += len;
}

int ofs_record_encode(const struct ofs_record *r, struct ofs_buf *out)
{
	size_t name = r->name ? strlen(r->name) : 0, text = r->text ? strlen(r->text) : 0;

	if (name > UINT16_MAX || text > UINT16_MAX)
		return -ENAMETOOLONG;
	ofs_buf_reserve(out, 96 + name + text + r->value_len);
	put64(out, (uint64_t)r->time);
	put64(out, r->ino);
	switch (r->type) {
	case OFS_RECORD_CREATE:
		put64(out, r->dir);
		put32(out, r->mode);
		put32(out, r->uid);
		put32(out, r->gid);
		put64(out, r->rdev);
		put_str(out, r->name);
		put_str(out, r->text);
		return 0;
	case OFS_RECORD_LINK:
	case OFS_RECORD_UNLINK:
		put64(out, r->dir);
		put_str(out, r->name);
		return 0;
	case OFS_RECORD_RENAME:
		put64(out, r->dir);
		put64(out, r->newdir);
		put32(out, r->flags);
		put_str(out, r->name);
		put_str(out, r->text);
		return 0;
	case OFS_RECORD_WRITE:
		put64(out, r->size);
		return 0;
	case OFS_RECORD_SETATTR:
		put32(out, r->flags);
		put32(out, r->mode);
		put32(out, r->uid);
		put32(out, r->gid);
		put64(out, r->size);
		put64(out, (uint64_t)r->atime);
		put64(out, (uint64_t)r->mtime);
		return 0;
	case OFS_RECORD_SETXATTR:
		put_str(out, r->name);
		put_value(out, r->value, r->value_len);
		return 0;
	case OFS_RECORD_ZERO:
		put64(out, r->size);
		put64(out, r->len);
		put32(out, r->flags);
		return 0;
	case OFS_RECORD_COPY:
		put64(out, r->size);
		put64(out, r->from);
		put64(out, r->from_off);
		put64(out, r->len);
		return 0;
	case OFS_RECORD_REMOVEXATTR:
		put_str(out, r->name);
		return 0;
	case OFS_RECORD_EXPIRE:
		put64(out, r->dir);
		put_str(out, r->name);
		put_value(out, r->value, r->value_len);
		return 0;
	}
	return -EINVAL;
}

/* A cursor that turns bad once it would pass the end; reads then give zeros. */
struct reader {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static const uint8_t *take(struct reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (r->bad || n > r->left) {
		r->bad = true;
		return NULL;
	}
	r->at += n;
	r->left -= n;
	return at;
}

static uint32_t get32(struct reader *r)
{
	const uint8_t *p = take(r, 4);

	return p ? ofs_get_le32(p) : 0;
}

static uint64_t get64(struct reader *r)
{
	const uint8_t *p = take(r, 8);

	return p ? ofs_get_le64(p) : 0;
}

static const char *get_str(struct reader *r)
{
	const uint8_t *p = take(r, 2);
	size_t len = p ? ofs_get_le16(p) : 0;
	const char *s = (const char *)take(r, len + 1);

	if (!s || strnlen(s, len + 1) != len) {
		r->bad = true;
		return "";
	}
	return s;
}

int ofs_record_decode(uint8_t type, const void *body, size_t len, struct ofs_record *ret)
{
	struct reader in = { .at = body, .left = len };
	struct ofs_record r = { .type = type };

	r.time = (int64_t)get64(&in);
	r.ino = get64(&in);
	switch (type) {
	case OFS_RECORD_CREATE:
		r.dir = get64(&in);
		r.mode = get32(&in);
		r.uid = get32(&in);
		r.gid = get32(&in);
		r.rdev = get64(&in);
		r.name = get_str(&in);
		r.text = get_str(&in);
		break;
	case OFS_RECORD_LINK:
	case OFS_RECORD_UNLINK:
		r.dir = get64(&in);
		r.name = get_str(&in);
		break;
	case OFS_RECORD_RENAME:
		r.dir = get64(&in);
		r.newdir = get64(&in);
		r.flags = get32(&in);
		r.name = get_str(&in);
		r.text = get_str(&in);
		break;
	case OFS_RECORD_WRITE:
		r.size = get64(&in);
		break;
	case OFS_RECORD_SETATTR:
		r.flags = get32(&in);
		r.mode = get32(&in);
		r.uid = get32(&in);
		r.gid = get32(&in);
		r.size = get64(&in);
		r.atime = (int64_t)get64(&in);
		r.mtime = (int64_t)get64(&in);
		break;
	case OFS_RECORD_SETXATTR:
		r.name = get_str(&in);
		r.value_len = get32(&in);
		r.value = take(&in, r.value_len);
		break;
	case OFS_RECORD_ZERO:
		r.size = get64(&in);
		r.len = get64(&in);
		r.flags = get32(&in);
		break;
	case OFS_RECORD_COPY:
		r.size = get64(&in);
		r.from = get64(&in);
		r.from_off = get64(&in);
		r.len = get64(&in);
		break;
	case OFS_RECORD_REMOVEXATTR:
		r.name = get_str(&in);
		break;
	case OFS_RECORD_EXPIRE:
		r.dir = get64(&in);
		r.name = get_str(&in);
		r.value_len = get32(&in);
		r.value = take(&in, r.value_len);
		break;
	default:
		return -EUCLEAN;
	}
	if (in.bad || in.left)
		return -EUCLEAN;
	*ret = r;
	return 0;
}
