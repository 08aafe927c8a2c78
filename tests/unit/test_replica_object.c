/* SPDX-License-Identifier: MIT */
#include "replica/remote_object.h"

#include <criterion/criterion.h>
#include <errno.h>

#include "codec/hash.h"
#include "codec/zstd.h"

#define HEAD 32u

static struct ofs_buf bytes;
static struct ofs_remote_object object;

static void finish(void)
{
	ofs_buf_finish(&bytes);
	ofs_remote_object_finish(&object);
}

TestSuite(replica_object, .fini = finish);

static void encode(const void *body, size_t len)
{
	json_auto_t *header = json_pack("{s:s, s:i}", "kind", "x", "n", 7);

	bytes.len = 0;
	cr_assert_eq(ofs_remote_object_encode(header, body, len, &bytes), 0);
}

static int decode(void)
{
	ofs_remote_object_finish(&object);
	return ofs_remote_object_decode(bytes.data, bytes.len, &object);
}

/* Corrects the checksum, as an attacker who can write any object would. */
static void seal(void)
{
	bytes.len -= OFS_SHA256_SIZE;
	cr_assert_eq(ofs_sha256(bytes.data, bytes.len, bytes.data + bytes.len), 0);
	bytes.len += OFS_SHA256_SIZE;
}

Test(replica_object, what_was_encoded_comes_back)
{
	static uint8_t body[100000];
	const size_t sizes[] = { 0, 1, 3, 1000, sizeof(body) };

	for (size_t noise = 0; noise < 2; noise++) {
		for (size_t i = 0; i < sizeof(body) && noise; i++)
			body[i] = (uint8_t)(i * i * 2654435761u >> 13);
		for (size_t i = 0; i < OFS_ARRAY_SIZE(sizes); i++) {
			encode(body, sizes[i]);
			cr_assert_eq(decode(), 0);
			cr_expect_eq(object.body.len, sizes[i]);
			cr_expect(!sizes[i] || memcmp(object.body.data, body, sizes[i]) == 0);
			cr_expect_eq(json_integer_value(json_object_get(object.header, "n")), 7);
		}
	}
}

Test(replica_object, it_is_appended)
{
	json_auto_t *header = json_object();

	ofs_buf_append_str(&bytes, "before");
	cr_assert_eq(ofs_remote_object_encode(header, "abc", 3, &bytes), 0);
	cr_assert_eq(memcmp(bytes.data, "before", 6), 0);
	cr_assert_eq(ofs_remote_object_decode(bytes.data + 6, bytes.len - 6, &object), 0);
	cr_expect_eq(object.body.len, 3);
}

Test(replica_object, any_bit_that_is_another_is_found)
{
	encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
	for (size_t bit = 0; bit < 8 * bytes.len; bit++) {
		bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
		cr_expect_eq(decode(), -EBADMSG, "bit %zu", bit);
		bytes.data[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
	for (size_t len = 0; len < bytes.len; len++)
		cr_expect_eq(ofs_remote_object_decode(bytes.data, len, &object), -EBADMSG);
	cr_expect_eq(decode(), 0);
}

Test(replica_object, another_version_is_told_from_damage)
{
	encode("abc", 3);
	ofs_put_le32(bytes.data + 8, OFS_REMOTE_VERSION + 1);
	seal();
	cr_expect_eq(decode(), -EPROTONOSUPPORT);
}

static void set(uint32_t header, uint64_t stored, uint64_t body)
{
	encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
	ofs_put_le32(bytes.data + 12, header);
	ofs_put_le64(bytes.data + 16, stored);
	ofs_put_le64(bytes.data + 24, body);
	seal();
}

Test(replica_object, hostile_lengths)
{
	uint32_t header;
	uint64_t stored;

	encode("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 64);
	header = ofs_get_le32(bytes.data + 12);
	stored = ofs_get_le64(bytes.data + 16);
	cr_assert_lt(stored, 64u);
	set(header, stored, 64);
	cr_expect_eq(decode(), 0);
	set(header, stored, 63);
	cr_expect_eq(decode(), -EBADMSG, "it expands to more");
	set(header, stored, 65);
	cr_expect_eq(decode(), -EBADMSG, "it expands to less");
	set(header, stored, stored - 1);
	cr_expect_eq(decode(), -EBADMSG);
	set(header, stored, OFS_REMOTE_BODY_MAX + 1);
	cr_expect_eq(decode(), -EBADMSG);
	set(header, stored, UINT64_MAX);
	cr_expect_eq(decode(), -EBADMSG);
	set(header + 1, stored, 64);
	cr_expect_eq(decode(), -EBADMSG);
	set(header + 1, stored - 1, 64);
	cr_expect_eq(decode(), -EBADMSG, "no JSON");
	set(UINT32_MAX, stored, 64);
	cr_expect_eq(decode(), -EBADMSG);
	set(header, UINT64_MAX - header + 1, 64);
	cr_expect_eq(decode(), -EBADMSG);
	set(0, header + stored, 64);
	cr_expect_eq(decode(), -EBADMSG, "no header");
}

/* A wrong expanded size is refused without using more memory than it states. */
Test(replica_object, a_bomb_is_bounded)
{
	static uint8_t zeros[1 << 20];
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf small = OFS_BUF_INIT;
	uint8_t head[HEAD];

	encode(zeros, sizeof(zeros));
	ofs_put_le64(bytes.data + 24, OFS_REMOTE_BODY_MAX);
	seal();
	cr_expect_eq(decode(), -EBADMSG);
	ofs_put_le64(bytes.data + 24, sizeof(zeros) / 2);
	seal();
	cr_expect_eq(decode(), -EBADMSG);
	/* A header with the same member twice. */
	memcpy(head, bytes.data, HEAD);
	ofs_buf_append(&small, head, HEAD);
	ofs_buf_append_str(&small, "{\"a\":1,\"a\":2}");
	ofs_put_le32(small.data + 12, 13);
	ofs_put_le64(small.data + 16, 0);
	ofs_put_le64(small.data + 24, 0);
	ofs_buf_append(&small, zeros, OFS_SHA256_SIZE);
	ofs_buf_finish(&bytes);
	bytes = ofs_buf_steal(&small);
	seal();
	cr_expect_eq(decode(), -EBADMSG);
}
