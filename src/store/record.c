/* SPDX-License-Identifier: MIT */
#include "store/record.h"

/* A string lies as its length (u16), its bytes and a NUL; a value as its length (u32) and bytes. */
enum kind {
	END,
	U32,
	U64,
	STRING,
	VALUE
};

struct field {
	uint8_t kind;
	uint8_t at; /* offset in struct ofs_record */
};

#define FIELD(kind, member)                               \
	{                                                 \
		kind, offsetof(struct ofs_record, member) \
	}
#define HEAD FIELD(U64, time), FIELD(U64, ino)
#define OWNER FIELD(U32, mode), FIELD(U32, uid), FIELD(U32, gid)
#define NAME FIELD(STRING, name)
#define TEXT FIELD(STRING, text)

/* The members of each type, in the order in which they lie on disk; little-endian. */
static const struct field layouts[][10] = {
	[OFS_RECORD_CREATE] = { HEAD, FIELD(U64, dir), OWNER, FIELD(U64, rdev), NAME, TEXT },
	[OFS_RECORD_LINK] = { HEAD, FIELD(U64, dir), NAME },
	[OFS_RECORD_UNLINK] = { HEAD, FIELD(U64, dir), NAME },
	[OFS_RECORD_RENAME] = { HEAD, FIELD(U64, dir), FIELD(U64, newdir), FIELD(U32, flags), NAME,
				TEXT },
	[OFS_RECORD_WRITE] = { HEAD, FIELD(U64, size) },
	[OFS_RECORD_SETATTR] = { HEAD, FIELD(U32, flags), OWNER, FIELD(U64, size),
				 FIELD(U64, atime), FIELD(U64, mtime) },
	[OFS_RECORD_SETXATTR] = { HEAD, NAME, FIELD(VALUE, value) },
	[OFS_RECORD_REMOVEXATTR] = { HEAD, NAME },
	[OFS_RECORD_ZERO] = { HEAD, FIELD(U64, size), FIELD(U64, len), FIELD(U32, flags) },
	[OFS_RECORD_COPY] = { HEAD, FIELD(U64, size), FIELD(U64, from), FIELD(U64, from_off),
			      FIELD(U64, len) },
	[OFS_RECORD_EXPIRE] = { HEAD, FIELD(U64, dir), NAME, FIELD(VALUE, value) },
	[OFS_RECORD_LEDGER] = { HEAD, FIELD(U64, dir), FIELD(U64, from_off), FIELD(U64, size),
				FIELD(U64, from), FIELD(U64, len), NAME },
};

/* NULL: not a type that this version writes. */
static const struct field *layout_of(uint8_t type)
{
	return type && type <= OFS_RECORD_LAST ? layouts[type] : NULL;
}

static size_t length_of(const char *s)
{
	return s ? strlen(s) : 0;
}

static uint8_t *put_bytes(uint8_t *p, const void *bytes, size_t len)
{
	if (len)
		memcpy(p, bytes, len);
	return p + len;
}

int ofs_record_encode(const struct ofs_record *r, struct ofs_buf *out)
{
	size_t name = length_of(r->name), text = length_of(r->text), len;
	const struct field *f = layout_of(r->type);
	uint8_t *p;

	if (!f)
		return -EINVAL;
	if (name > UINT16_MAX || text > UINT16_MAX)
		return -ENAMETOOLONG;
	ofs_buf_reserve(out, 96 + name + text + r->value_len);
	for (p = out->data + out->len; f->kind != END; f++) {
		const void *member = (const uint8_t *)r + f->at;

		if (f->kind == U32) {
			ofs_put_le32(p, *(const uint32_t *)member);
			p += 4;
		} else if (f->kind == U64) {
			ofs_put_le64(p, *(const uint64_t *)member);
			p += 8;
		} else if (f->kind == STRING) {
			len = length_of(*(const char *const *)member);
			ofs_put_le16(p, (uint16_t)len);
			p = put_bytes(p + 2, *(const char *const *)member, len);
			*p++ = 0;
		} else {
			ofs_put_le32(p, r->value_len);
			p = put_bytes(p + 4, r->value, r->value_len);
		}
	}
	out->len = (size_t)(p - out->data);
	return 0;
}

/* A cursor over the rest of a body. */
struct reader {
	const uint8_t *at;
	size_t left;
};

/* Returns the next `n` bytes and skips them; NULL: fewer are left. */
static const uint8_t *take(struct reader *r, size_t n)
{
	const uint8_t *at = r->at;

	if (n > r->left)
		return NULL;
	r->at += n;
	r->left -= n;
	return at;
}

static bool read_field(struct reader *in, const struct field *f, struct ofs_record *ret)
{
	static const size_t sizes[] = { [U32] = 4, [U64] = 8, [STRING] = 2, [VALUE] = 4 };
	const uint8_t *p = take(in, sizes[f->kind]), *bytes;
	void *member = (uint8_t *)ret + f->at;
	size_t len;

	if (!p)
		return false;
	switch ((enum kind)f->kind) {
	case U32:
		*(uint32_t *)member = ofs_get_le32(p);
		return true;
	case U64:
		*(uint64_t *)member = ofs_get_le64(p);
		return true;
	case STRING:
		len = ofs_get_le16(p);
		bytes = take(in, len + 1);
		*(const char **)member = (const char *)bytes;
		return bytes && strnlen((const char *)bytes, len + 1) == len;
	case VALUE:
		ret->value_len = ofs_get_le32(p);
		ret->value = take(in, ret->value_len);
		return ret->value;
	case END:
		break;
	}
	return false;
}

int ofs_record_decode(uint8_t type, const void *body, size_t len, struct ofs_record *ret)
{
	struct reader in = { .at = body, .left = len };
	const struct field *f = layout_of(type);
	struct ofs_record r = { .type = type };

	if (!f)
		return -EUCLEAN;
	for (; f->kind != END; f++)
		if (!read_field(&in, f, &r))
			return -EUCLEAN;
	if (in.left)
		return -EUCLEAN;
	*ret = r;
	return 0;
}
