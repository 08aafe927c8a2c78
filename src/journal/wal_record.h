/* SPDX-License-Identifier: MIT */
/*
 * The format of a record in the log, version 1. All numbers are little-endian. Records start at
 * multiples of 8 and never span segments.
 *
 *   offset  size
 *        0     4  magic "OFSr"
 *        4     1  type, 1 to 255
 *        5     3  zero
 *        8     4  body length B, at most OFS_JOURNAL_BODY_MAX
 *       12     4  data length D, at most OFS_JOURNAL_DATA_MAX
 *       16     8  LSN of this record
 *       24     8  durable: everything before this LSN was known to be synced when the record was
 *                 written; never beyond the record itself
 *       32     8  data checksum, 0 without data
 *       40     8  header checksum
 *       48     B  body
 *     48+B     8  data checksum again  \ only when D > 0; the data's position is the LSN of
 *     56+B     D  data                 / its first byte
 *        .     .  zeros up to a multiple of 8
 *
 * With X(bytes, seed) = XXH3-64 and key = X(uuid of the store, 0):
 *   header checksum = X(body, X(bytes 0 to 39, LSN xor key))
 *   data checksum   = X(X(data, key) as 8 bytes, position of the data xor key)
 * So bytes from another place or store never pass, nor does content that imitates records. The copy
 * of the data checksum in the header ties the data to this record. The copy before the data allows
 * the data to be verified by its position and length alone.
 */
#pragma once

#include "journal/journal.h"

#define OFS_WAL_ALIGN 8u
#define OFS_WAL_HEADER 48u
#define OFS_WAL_SUM OFS_JOURNAL_SUM /* the checksum before the data */

struct ofs_wal_record {
	uint8_t type;
	uint32_t body_len;
	uint32_t data_len;
	ofs_lsn lsn;
	ofs_lsn durable;
	uint64_t data_sum;
};

/* The seed of the checksums of a store's log. */
uint64_t ofs_wal_key(const uint8_t uuid[16]);

/* Bytes in the log, padding included. */
uint64_t ofs_wal_size(const struct ofs_wal_record *r);

/* Position of the first data byte; meaningful only with data. */
ofs_lsn ofs_wal_data_pos(const struct ofs_wal_record *r);

/* The part of the data checksum that does not depend on the position, and the whole checksum. */
uint64_t ofs_wal_data_hash(uint64_t key, const void *data, size_t len);
uint64_t ofs_wal_data_sum(uint64_t key, uint64_t hash, ofs_lsn pos);

void ofs_wal_encode(const struct ofs_wal_record *r, const void *body, uint64_t key,
		    uint8_t ret[OFS_WAL_HEADER]);

/*
 * Decodes a header that claims to lie at `lsn`. False: its fields are impossible. They must not be
 * trusted before ofs_wal_verify() has checked the body as well.
 */
bool ofs_wal_decode(const uint8_t raw[OFS_WAL_HEADER], ofs_lsn lsn, struct ofs_wal_record *ret);
bool ofs_wal_verify(const uint8_t raw[OFS_WAL_HEADER], const void *body, size_t body_len,
		    ofs_lsn lsn, uint64_t key);
