/* SPDX-License-Identifier: MIT */
#include "replica/remote_object.h"

#include "codec/hash.h"
#include "codec/zstd.h"

#define HEAD 32u
#define LEVEL 3

static const char magic[8] = "OFSobjct";

void ofs_remote_object_finish(struct ofs_remote_object *o)
{
	json_decref(o->header);
	ofs_buf_finish(&o->body);
	*o = (struct ofs_remote_object){ 0 };
}

static int append_body(const void *body, size_t len, struct ofs_buf *ret)
{
	struct ofs_compressor *c = len ? ofs_compressor_create() : NULL;
	size_t start = ret->len;
	int r = len ? ofs_compress_bare(c, LEVEL, body, len, ret) : 0;

	ofs_compressor_destroy(c);
	if (r < 0)
		return r;
	if (ret->len - start >= len) {
		ret->len = start;
		ofs_buf_append(ret, body, len);
	}
	return 0;
}

int ofs_remote_object_encode(const json_t *header, const void *body, size_t len,
			     struct ofs_buf *ret)
{
	OFS_FREE char *text = json_dumps(header, JSON_COMPACT | JSON_SORT_KEYS);
	size_t start = ret->len, text_len = text ? strlen(text) : 0;
	uint8_t head[HEAD] = { 0 }, sha[OFS_SHA256_SIZE];
	int r;

	if (!text)
		ofs_out_of_memory();
	ofs_buf_append(ret, head, sizeof(head));
	ofs_buf_append(ret, text, text_len);
	r = append_body(body, len, ret);
	if (r < 0)
		return r;
	memcpy(head, magic, sizeof(magic));
	ofs_put_le32(head + 8, OFS_REMOTE_VERSION);
	ofs_put_le32(head + 12, (uint32_t)text_len);
	ofs_put_le64(head + 16, ret->len - start - HEAD - text_len);
	ofs_put_le64(head + 24, len);
	memcpy(ret->data + start, head, sizeof(head));
	r = ofs_sha256(ret->data + start, ret->len - start, sha);
	if (r == 0)
		ofs_buf_append(ret, sha, sizeof(sha));
	return r;
}

static int read_body(const uint8_t *bytes, uint64_t stored, uint64_t len, struct ofs_buf *ret)
{
	if (ofs_buf_try_reserve(ret, len) < 0)
		return -ENOMEM;
	if (stored == len)
		ofs_buf_append(ret, bytes, len);
	else if (ofs_decompress(bytes, stored, ret->data, len) < 0)
		return -EBADMSG;
	ret->len = len;
	return 0;
}

int ofs_remote_object_decode(const void *bytes, size_t len, struct ofs_remote_object *ret)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	const uint8_t *p = bytes;
	uint8_t sha[OFS_SHA256_SIZE];
	uint64_t header, stored, body;
	int r;

	if (len < HEAD + sizeof(sha) || memcmp(p, magic, sizeof(magic)) != 0)
		return -EBADMSG;
	r = ofs_sha256(p, len - sizeof(sha), sha);
	if (r < 0)
		return r;
	if (memcmp(sha, p + len - sizeof(sha), sizeof(sha)) != 0)
		return -EBADMSG;
	if (ofs_get_le32(p + 8) != OFS_REMOTE_VERSION)
		return -EPROTONOSUPPORT;
	header = ofs_get_le32(p + 12);
	stored = ofs_get_le64(p + 16);
	body = ofs_get_le64(p + 24);
	len -= HEAD + sizeof(sha);
	if (header > len || stored != len - header || body < stored || body > OFS_REMOTE_BODY_MAX)
		return -EBADMSG;
	o.header = json_loadb((const char *)p + HEAD, header, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(o.header))
		return -EBADMSG;
	r = read_body(p + HEAD + header, stored, body, &o.body);
	if (r == 0)
		*ret = ofs_steal(o);
	return r;
}
