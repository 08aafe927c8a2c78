/* SPDX-License-Identifier: MIT */
#include "pack/frame.h"

#include "codec/hash.h"
#include "pack/frame_buffer.h"

static const char pack_magic[8] = "OFSPACK";

static uint64_t frame_seed(uint32_t pack, uint64_t off)
{
	return off * UINT64_C(0x9e3779b97f4a7c15) + pack * UINT64_C(0xd6e8feb86659fd93);
}

static size_t frame_payload_at(size_t table_len)
{
	return OFS_FRAME_HEAD + table_len + OFS_FRAME_CHECK;
}

/* Reads one number of the chunk table. NULL: none is left, or it is not in its shortest form. */
static const uint8_t *table_get(const uint8_t *p, const uint8_t *end, uint32_t *ret)
{
	uint32_t value = 0;

	for (unsigned int i = 0; i < OFS_FRAME_CHUNK_MAX && p < end; i++) {
		value |= (uint32_t)(*p & 0x7f) << (7 * i);
		if (*p++ & 0x80)
			continue;
		*ret = value;
		return value && (i == 0 || p[-1]) ? p : NULL;
	}
	return NULL;
}

static uint8_t *table_put(uint8_t *p, uint32_t value)
{
	for (; value >= 0x80; value >>= 7)
		*p++ = (uint8_t)(value | 0x80);
	*p++ = (uint8_t)value;
	return p;
}

/* The lengths of the chunks must add up to the length of the content. */
static bool frame_table_is_sound(const struct ofs_frame_info *info)
{
	const uint8_t *p = info->table, *end = p + info->table_len;
	uint64_t sum = 0;
	uint32_t len;

	for (uint16_t i = 0; i < info->chunks; i++, sum += len) {
		p = table_get(p, end, &len);
		if (!p)
			return false;
	}
	return p == end && sum == info->raw;
}

void ofs_frame_lengths(const struct ofs_frame_info *info, uint32_t *ret)
{
	const uint8_t *p = info->table;

	for (uint16_t i = 0; i < info->chunks; i++)
		p = table_get(p, info->table + info->table_len, &ret[i]);
}

int ofs_frame_parse_head(const void *bytes, size_t len, uint32_t pack, uint64_t off,
			 struct ofs_frame_info *ret)
{
	const uint8_t *p = bytes;
	struct ofs_frame_info info;
	size_t payload_at;

	if (len < OFS_FRAME_HEAD || ofs_get_le32(p) != OFS_FRAME_MAGIC)
		return -EIO;
	info.format = ofs_get_le16(p + 4);
	info.chunks = ofs_get_le16(p + 6);
	info.payload = ofs_get_le32(p + 8);
	info.raw = ofs_get_le32(p + 12);
	info.table_len = ofs_get_le32(p + 16);
	info.checksum = ofs_get_le64(p + 24);
	info.table = p + OFS_FRAME_HEAD;
	payload_at = frame_payload_at(info.table_len);
	if (len < payload_at)
		return -EIO;
	if (ofs_checksum(p, payload_at - OFS_FRAME_CHECK, frame_seed(pack, off)) !=
	    ofs_get_le64(p + payload_at - OFS_FRAME_CHECK))
		return -EIO;
	if (info.chunks == 0 || info.raw > OFS_FRAME_RAW_MAX || info.payload > info.raw ||
	    !frame_table_is_sound(&info))
		return -EIO;
	info.stored = (uint32_t)ofs_align_up(payload_at + info.payload, OFS_FRAME_ALIGN);
	*ret = info;
	return 0;
}

int ofs_frame_parse(const void *bytes, size_t len, uint32_t pack, uint64_t off,
		    struct ofs_frame_info *ret)
{
	struct ofs_frame_info info;
	int r = ofs_frame_parse_head(bytes, len, pack, off, &info);

	if (r < 0)
		return r;
	if (len < info.stored)
		return -EIO;
	*ret = info;
	return 0;
}

static int frame_expand(const struct ofs_frame_info *info, const uint8_t *payload, uint8_t *ret)
{
	switch (info->format) {
	case OFS_FRAME_PLAIN:
		if (info->payload != info->raw)
			return -EIO;
		memcpy(ret, payload, info->raw);
		return 0;
	case OFS_FRAME_ZSTD:
		return ofs_decompress(payload, info->payload, ret, info->raw);
	default:
		return -EIO;
	}
}

int ofs_frame_decode(const void *bytes, size_t len, uint32_t pack, uint64_t off,
		     struct ofs_frame_info *ret_info, uint8_t **ret_content)
{
	struct ofs_frame_info info;
	uint8_t *content;
	int r = ofs_frame_parse(bytes, len, pack, off, &info);

	if (r < 0)
		return r;
	content = ofs_frame_buffer_get(info.raw);
	if (!content)
		return -ENOMEM;
	r = frame_expand(&info, (const uint8_t *)bytes + frame_payload_at(info.table_len), content);
	if (r == 0 && ofs_checksum(content, info.raw, frame_seed(pack, off)) != info.checksum)
		r = -EIO;
	if (r < 0) {
		ofs_frame_buffer_put(content, info.raw);
		return r;
	}
	*ret_info = info;
	*ret_content = content;
	return 0;
}

void ofs_frame_build_finish(struct ofs_frame_build *b)
{
	ofs_buf_finish(&b->raw);
	ofs_buf_finish(&b->bytes);
}

/* Concatenates the chunks into the content. */
static int build_join(struct ofs_frame_build *b, const struct ofs_frame_chunk *chunks, size_t n)
{
	uint64_t raw = 0;

	if (n == 0 || n > OFS_FRAME_CHUNKS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++) {
		if (chunks[i].len == 0)
			return -EINVAL;
		raw += chunks[i].len;
	}
	if (raw > OFS_FRAME_RAW_MAX)
		return -EINVAL;
	b->raw.len = 0;
	ofs_buf_reserve(&b->raw, raw);
	for (size_t i = 0; i < n; i++)
		ofs_buf_append(&b->raw, chunks[i].data, chunks[i].len);
	return 0;
}

/* Builds the head of the frame, without the fields that depend on the payload and the place. */
static void build_head(struct ofs_frame_build *b, const struct ofs_frame_chunk *chunks, size_t n)
{
	size_t room = frame_payload_at(OFS_FRAME_CHUNK_MAX * n);
	uint8_t *table, *end;

	b->bytes.len = 0;
	ofs_buf_reserve(&b->bytes, room);
	memset(b->bytes.data, 0, room);
	table = end = b->bytes.data + OFS_FRAME_HEAD;
	for (size_t i = 0; i < n; i++)
		end = table_put(end, chunks[i].len);
	ofs_put_le32(b->bytes.data, OFS_FRAME_MAGIC);
	ofs_put_le16(b->bytes.data + 6, (uint16_t)n);
	ofs_put_le32(b->bytes.data + 12, (uint32_t)b->raw.len);
	ofs_put_le32(b->bytes.data + 16, (uint32_t)(end - table));
	b->bytes.len = frame_payload_at((size_t)(end - table));
}

int ofs_frame_build(struct ofs_frame_build *b, struct ofs_compressor *c, int level,
		    const struct ofs_frame_chunk *chunks, size_t n)
{
	static const uint8_t zeros[OFS_FRAME_ALIGN];
	uint16_t format = OFS_FRAME_ZSTD;
	size_t payload_at;
	int r = build_join(b, chunks, n);

	if (r == 0)
		build_head(b, chunks, n);
	if (r < 0)
		return r;
	payload_at = b->bytes.len;
	r = ofs_compress_bare(c, level, b->raw.data, b->raw.len, &b->bytes);
	if (r < 0)
		return r;
	if (b->bytes.len - payload_at >= b->raw.len) {
		format = OFS_FRAME_PLAIN;
		b->bytes.len = payload_at;
		ofs_buf_append(&b->bytes, b->raw.data, b->raw.len);
	}
	ofs_put_le16(b->bytes.data + 4, format);
	ofs_put_le32(b->bytes.data + 8, (uint32_t)(b->bytes.len - payload_at));
	ofs_buf_append(&b->bytes, zeros,
		       ofs_align_up(b->bytes.len, OFS_FRAME_ALIGN) - b->bytes.len);
	return 0;
}

void ofs_frame_place(struct ofs_frame_build *b, uint32_t pack, uint64_t off)
{
	uint64_t seed = frame_seed(pack, off);
	uint8_t *p = b->bytes.data;
	size_t check_at = frame_payload_at(ofs_get_le32(p + 16)) - OFS_FRAME_CHECK;

	ofs_put_le64(p + 24, ofs_checksum(b->raw.data, b->raw.len, seed));
	ofs_put_le64(p + check_at, ofs_checksum(p, check_at, seed));
}

void ofs_pack_header_encode(uint8_t ret[OFS_PACK_HEADER], const uint8_t uuid[16], uint32_t pack)
{
	memset(ret, 0, OFS_PACK_HEADER);
	memcpy(ret, pack_magic, sizeof(pack_magic));
	ofs_put_le32(ret + 8, OFS_PACK_FORMAT);
	ofs_put_le32(ret + 12, pack);
	memcpy(ret + 16, uuid, 16);
	ofs_put_le64(ret + 56, ofs_checksum(ret, 56, 0));
}

int ofs_pack_header_check(const uint8_t header[OFS_PACK_HEADER], const uint8_t uuid[16],
			  uint32_t pack)
{
	if (memcmp(header, pack_magic, sizeof(pack_magic)) != 0 ||
	    ofs_get_le64(header + 56) != ofs_checksum(header, 56, 0))
		return -EIO;
	if (ofs_get_le32(header + 8) != OFS_PACK_FORMAT || ofs_get_le32(header + 12) != pack ||
	    memcmp(header + 16, uuid, 16) != 0)
		return -EINVAL;
	return 0;
}
