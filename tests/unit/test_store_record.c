/* SPDX-License-Identifier: MIT */
/* Journal records of the store: valid ones are read back, all others are refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/stat.h>

#include <offloadfs/tree.h>

#include "base/util.h"
#include "store/record.h"

static const struct ofs_record samples[] = {
	{ .type = OFS_RECORD_CREATE,
	  .time = 1700000000123456789,
	  .ino = 42,
	  .dir = 1,
	  .mode = S_IFREG | 0640,
	  .uid = 1000,
	  .gid = UINT32_MAX,
	  .rdev = UINT64_C(0x1122334455667788),
	  .name = "file",
	  .text = "" },
	{ .type = OFS_RECORD_CREATE,
	  .time = INT64_MIN,
	  .ino = UINT64_MAX,
	  .dir = UINT64_MAX - 1,
	  .mode = S_IFLNK | 0777,
	  .name = "\xff\n",
	  .text = "../somewhere else" },
	{ .type = OFS_RECORD_LINK, .time = INT64_MAX, .ino = 7, .dir = 8, .name = "hard" },
	{ .type = OFS_RECORD_UNLINK, .time = -1, .ino = 7, .dir = 8, .name = "h" },
	{ .type = OFS_RECORD_RENAME,
	  .time = 5,
	  .dir = 3,
	  .newdir = 4,
	  .flags = RENAME_EXCHANGE,
	  .name = "from",
	  .text = "to" },
	{ .type = OFS_RECORD_WRITE, .time = 6, .ino = 9, .size = (UINT64_C(1) << 44) - 1 },
	{ .type = OFS_RECORD_SETATTR,
	  .time = 7,
	  .ino = 9,
	  .flags = OFS_SET_SIZE | OFS_SET_MTIME,
	  .mode = 0600,
	  .uid = 1,
	  .gid = 2,
	  .size = 12345,
	  .atime = -5,
	  .mtime = 1700000000000000001 },
	{ .type = OFS_RECORD_SETXATTR,
	  .time = 8,
	  .ino = 10,
	  .name = "user.title",
	  .value = "a\0b",
	  .value_len = 3 },
	{ .type = OFS_RECORD_SETXATTR, .time = 8, .ino = 10, .name = "user.empty" },
	{ .type = OFS_RECORD_REMOVEXATTR, .time = 9, .ino = 10, .name = "user.title" },
	{ .type = OFS_RECORD_ZERO,
	  .time = 10,
	  .ino = 11,
	  .size = UINT64_C(1) << 43,
	  .len = 7,
	  .flags = OFS_ZERO_GROW },
	{ .type = OFS_RECORD_COPY,
	  .time = 11,
	  .ino = 12,
	  .from = 13,
	  .size = 262144,
	  .from_off = UINT64_C(1) << 40,
	  .len = 1000 },
	{ .type = OFS_RECORD_EXPIRE,
	  .time = 12,
	  .ino = 14,
	  .dir = 15,
	  .name = "old",
	  .value = "{\0}",
	  .value_len = 3 },
	{ .type = OFS_RECORD_EXPIRE, .time = 12, .ino = 14, .dir = 15, .name = "bare" },
	{ .type = OFS_RECORD_LEDGER,
	  .time = 13,
	  .dir = 20000,
	  .from_off = 1,
	  .size = 5000,
	  .from = 300,
	  .len = UINT64_C(1) << 33,
	  .name = "run\t\t" },
};

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static void expect_same(const struct ofs_record *a, const struct ofs_record *b)
{
	cr_assert_eq(a->type, b->type);
	cr_assert_eq(a->time, b->time);
	cr_assert_eq(a->ino, b->ino);
	cr_assert_eq(a->dir, b->dir);
	cr_assert_eq(a->newdir, b->newdir);
	cr_assert_eq(a->flags, b->flags);
	cr_assert_eq(a->from, b->from);
	cr_assert_eq(a->from_off, b->from_off);
	cr_assert_eq(a->len, b->len);
	cr_assert_eq(a->value_len, b->value_len);
	cr_assert(!a->value_len || memcmp(a->value, b->value, a->value_len) == 0);
	cr_assert_eq(a->mode, b->mode);
	cr_assert_eq(a->uid, b->uid);
	cr_assert_eq(a->gid, b->gid);
	cr_assert_eq(a->rdev, b->rdev);
	cr_assert_eq(a->size, b->size);
	cr_assert_eq(a->atime, b->atime);
	cr_assert_eq(a->mtime, b->mtime);
	cr_assert(same_text(a->name, b->name));
	cr_assert(same_text(a->text, b->text));
}

/* Decodes from a copy of exactly `len` bytes, so that a sanitizer notices reads beyond it. */
static int decode(uint8_t type, const uint8_t *body, size_t len)
{
	OFS_FREE uint8_t *copy = malloc(len ? len : 1);
	struct ofs_record r = { .type = 99 };
	int e;

	memcpy(copy, body, len);
	e = ofs_record_decode(type, copy, len, &r);
	if (e < 0)
		cr_assert_eq(r.type, 99, "an output of a decode that failed");
	return e;
}

Test(store_record, every_type_comes_back)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(samples); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
		struct ofs_record r;

		cr_assert_eq(ofs_record_encode(&samples[i], &body), 0);
		cr_assert_eq(ofs_record_decode(samples[i].type, body.data, body.len, &r), 0,
			     "sample %zu", i);
		expect_same(&samples[i], &r);
	}
}

Test(store_record, encoding_appends)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_record r;

	ofs_buf_append_str(&body, "head");
	cr_assert_eq(ofs_record_encode(&samples[0], &body), 0);
	cr_assert_eq(memcmp(body.data, "head", 4), 0);
	cr_assert_eq(ofs_record_decode(OFS_RECORD_CREATE, body.data + 4, body.len - 4, &r), 0);
	expect_same(&samples[0], &r);
}

Test(store_record, the_bytes_on_disk_never_change)
{
	static const char want[] = "\1\0\0\0\0\0\0\0" /* time */
				   "\2\0\0\0\0\0\0\0" /* ino */
				   "\3\0\0\0\0\0\0\0" /* dir */
				   "\4\0\0\0\0\0\0\0" /* newdir */
				   "\2\0\0\0" /* flags */
				   "\2\0ab\0"
				   "\1\0c"; /* with the NUL of this literal */
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_record r = { .type = 4,
				.time = 1,
				.ino = 2,
				.dir = 3,
				.newdir = 4,
				.flags = 2,
				.name = "ab",
				.text = "c" };

	cr_assert_eq(ofs_record_encode(&r, &body), 0);
	cr_assert_eq(body.len, sizeof(want));
	cr_assert_eq(memcmp(body.data, want, sizeof(want)), 0);
}

Test(store_record, every_truncation_is_refused)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(samples); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;

		cr_assert_eq(ofs_record_encode(&samples[i], &body), 0);
		for (size_t len = 0; len < body.len; len++)
			cr_assert_eq(decode(samples[i].type, body.data, len), -EUCLEAN,
				     "sample %zu of %zu bytes", i, len);
		ofs_buf_append(&body, "", 1);
		cr_assert_eq(decode(samples[i].type, body.data, body.len), -EUCLEAN,
			     "a byte too many");
	}
}

/* Returns the offset of the first string's length in a body, or 0 if the type has no string. */
static size_t name_at(uint8_t type)
{
	switch (type) {
	case OFS_RECORD_CREATE:
		return 16 + 8 + 12 + 8;
	case OFS_RECORD_LINK:
	case OFS_RECORD_UNLINK:
	case OFS_RECORD_EXPIRE:
		return 16 + 8;
	case OFS_RECORD_RENAME:
		return 16 + 16 + 4;
	case OFS_RECORD_SETXATTR:
	case OFS_RECORD_REMOVEXATTR:
		return 16;
	case OFS_RECORD_LEDGER:
		return 16 + 40;
	default:
		return 0;
	}
}

static void try_lengths(const struct ofs_record *r, struct ofs_buf *body, size_t at)
{
	uint16_t right = ofs_get_le16(body->data + at);

	for (uint32_t len = 0; len <= UINT16_MAX; len++) {
		if (len == right)
			continue;
		ofs_put_le16(body->data + at, (uint16_t)len);
		cr_assert_eq(decode(r->type, body->data, body->len), -EUCLEAN, "type %u length %u",
			     r->type, len);
	}
	ofs_put_le16(body->data + at, right);
	cr_assert_eq(decode(r->type, body->data, body->len), 0);
}

Test(store_record, every_wrong_length_is_refused)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(samples); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
		size_t at = name_at(samples[i].type);

		if (!at)
			continue;
		cr_assert_eq(ofs_record_encode(&samples[i], &body), 0);
		try_lengths(&samples[i], &body, at);
		if (samples[i].type == OFS_RECORD_CREATE || samples[i].type == OFS_RECORD_RENAME)
			try_lengths(&samples[i], &body, at + 3 + strlen(samples[i].name));
	}
}

Test(store_record, a_nul_inside_a_string_is_refused)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;

	cr_assert_eq(ofs_record_encode(&samples[2], &body), 0);
	body.data[name_at(OFS_RECORD_LINK) + 3] = 0;
	cr_assert_eq(decode(OFS_RECORD_LINK, body.data, body.len), -EUCLEAN);
}

Test(store_record, flipped_bits_never_read_outside)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(samples); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;

		cr_assert_eq(ofs_record_encode(&samples[i], &body), 0);
		for (size_t bit = 0; bit < body.len * 8; bit++) {
			body.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
			for (unsigned int type = 0; type < 256; type++)
				decode((uint8_t)type, body.data, body.len);
			body.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

Test(store_record, unknown_types_are_refused)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_record r = samples[0];

	cr_assert_eq(ofs_record_encode(&r, &body), 0);
	for (unsigned int type = 0; type < 256; type++) {
		if (type >= OFS_RECORD_CREATE && type <= OFS_RECORD_LAST)
			continue;
		cr_assert_eq(decode((uint8_t)type, body.data, body.len), -EUCLEAN);
		r.type = (uint8_t)type;
		cr_assert_eq(ofs_record_encode(&r, &body), -EINVAL);
	}
}

Test(store_record, strings_end_at_what_a_length_can_say)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_record r = { .type = OFS_RECORD_CREATE, .name = "l" }, back;
	static char text[UINT16_MAX + 2];

	memset(text, 't', sizeof(text) - 1);
	r.text = text;
	cr_assert_eq(ofs_record_encode(&r, &body), -ENAMETOOLONG);
	cr_assert_eq(body.len, 0);
	text[UINT16_MAX] = 0;
	cr_assert_eq(ofs_record_encode(&r, &body), 0);
	cr_assert_eq(ofs_record_decode(r.type, body.data, body.len, &back), 0);
	cr_assert_str_eq(back.text, text);
}
