/* SPDX-License-Identifier: MIT */
#include "journal/wal_record.h"

#include "codec/hash.h"

#define RECORD_MAGIC UINT32_C(0x7253464f) /* "OFSr" */
#define RECORD_SUMMED 40u /* bytes of the header that its checksum covers */

uint64_t ofs_wal_key(const uint8_t uuid[16])
{
	return ofs_checksum(uuid, 16, 0);
}

static uint64_t record_data_room(const struct ofs_wal_record *r)
{
	return r->data_len ? (uint64_t)OFS_WAL_SUM + r->data_len : 0;
}

uint64_t ofs_wal_size(const struct ofs_wal_record *r)
{
	return ofs_align_up(OFS_WAL_HEADER + (uint64_t)r->body_len + record_data_room(r),
			    OFS_WAL_ALIGN);
}

ofs_lsn ofs_wal_data_pos(const struct ofs_wal_record *r)
{
	return r->lsn + OFS_WAL_HEADER + r->body_len + OFS_WAL_SUM;
}

uint64_t ofs_wal_data_hash(uint64_t key, const void *data, size_t len)
{
	return ofs_checksum(data, len, key);
}

uint64_t ofs_wal_data_sum(uint64_t key, uint64_t hash, ofs_lsn pos)
{
	uint8_t raw[8];

	ofs_put_le64(raw, hash);
	return ofs_checksum(raw, sizeof(raw), pos ^ key);
}

static uint64_t record_header_sum(const uint8_t *raw, const void *body, size_t body_len,
				  uint64_t seed)
{
	return ofs_checksum(body, body_len, ofs_checksum(raw, RECORD_SUMMED, seed));
}

void ofs_wal_encode(const struct ofs_wal_record *r, const void *body, uint64_t key,
		    uint8_t ret[OFS_WAL_HEADER])
{
	memset(ret, 0, OFS_WAL_HEADER);
	ofs_put_le32(ret, RECORD_MAGIC);
	ret[4] = r->type;
	ofs_put_le32(ret + 8, r->body_len);
	ofs_put_le32(ret + 12, r->data_len);
	ofs_put_le64(ret + 16, r->lsn);
	ofs_put_le64(ret + 24, r->durable);
	ofs_put_le64(ret + 32, r->data_sum);
	ofs_put_le64(ret + RECORD_SUMMED, record_header_sum(ret, body, r->body_len, r->lsn ^ key));
}

bool ofs_wal_decode(const uint8_t raw[OFS_WAL_HEADER], ofs_lsn lsn, struct ofs_wal_record *ret)
{
	struct ofs_wal_record r = {
		.type = raw[4],
		.body_len = ofs_get_le32(raw + 8),
		.data_len = ofs_get_le32(raw + 12),
		.lsn = ofs_get_le64(raw + 16),
		.durable = ofs_get_le64(raw + 24),
		.data_sum = ofs_get_le64(raw + 32),
	};

	if (ofs_get_le32(raw) != RECORD_MAGIC || !r.type || r.lsn != lsn || r.durable > lsn ||
	    r.body_len > OFS_JOURNAL_BODY_MAX || r.data_len > OFS_JOURNAL_DATA_MAX)
		return false;
	*ret = r;
	return true;
}

bool ofs_wal_verify(const uint8_t raw[OFS_WAL_HEADER], const void *body, size_t body_len,
		    ofs_lsn lsn, uint64_t key)
{
	return record_header_sum(raw, body, body_len, lsn ^ key) ==
	       ofs_get_le64(raw + RECORD_SUMMED);
}
