/* SPDX-License-Identifier: MIT */
/* Bodies of journal records: decoding any bytes, and encoding any record. */
#include "fuzz.h"
#include "store/record.h"

static void check_encodes_to(const struct ofs_record *r, const void *body, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	FUZZ_ASSERT(ofs_record_encode(r, &out) == 0);
	FUZZ_ASSERT(out.len == len && memcmp(out.data, body, len) == 0);
}

/* Any body that can be decoded is encoded to the same bytes again. */
static void check_body(struct fuzz_input *in)
{
	uint8_t type = fuzz_u8(in);
	size_t len = in->left;
	OFS_FREE uint8_t *body = fuzz_copy(in->at, len);
	struct ofs_record r;
	int e = ofs_record_decode(type, body, len, &r);

	FUZZ_ASSERT(e == 0 || e == -EUCLEAN);
	if (e == 0)
		check_encodes_to(&r, body, len);
}

/* Takes up to `max` bytes of the input, as far as it has them. To be freed. */
static char *take_string(struct fuzz_input *in, size_t max)
{
	size_t n = fuzz_at_most(fuzz_u16(in), max);
	char *s;

	n = fuzz_at_most(n, in->left);
	s = fuzz_alloc(n + 1);
	memcpy(s, in->at, n);
	fuzz_take(in, n);
	s[n] = 0;
	return s;
}

static void check_record(struct fuzz_input *in)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	OFS_FREE uint8_t *body = NULL;
	OFS_FREE char *name = NULL;
	OFS_FREE char *text = NULL;
	OFS_FREE uint8_t *value = NULL;
	struct ofs_record back, r = { 0 };

	r.type = fuzz_u8(in);
	r.time = (int64_t)fuzz_u64(in);
	r.ino = fuzz_u64(in);
	r.dir = fuzz_u64(in);
	r.newdir = fuzz_u64(in);
	r.flags = (uint32_t)fuzz_u64(in);
	r.mode = fuzz_u16(in);
	r.uid = fuzz_u16(in);
	r.gid = fuzz_u16(in);
	r.rdev = fuzz_u64(in);
	r.size = fuzz_u64(in);
	r.atime = (int64_t)fuzz_u64(in);
	r.mtime = (int64_t)fuzz_u64(in);
	r.name = name = take_string(in, 255);
	r.text = text = take_string(in, 4095);
	/* Short inputs leave these zero or empty. */
	r.from = fuzz_u64(in);
	r.from_off = fuzz_u64(in);
	r.len = fuzz_u64(in);
	r.value_len = (uint32_t)in->left;
	r.value = value = fuzz_copy(in->at, in->left);
	if (ofs_record_encode(&r, &out) != 0) {
		FUZZ_ASSERT(r.type < OFS_RECORD_CREATE || r.type > OFS_RECORD_LAST);
		return;
	}
	body = fuzz_copy(out.data, out.len);
	FUZZ_ASSERT(ofs_record_decode(r.type, body, out.len, &back) == 0);
	FUZZ_ASSERT(back.type == r.type && back.time == r.time && back.ino == r.ino);
	check_encodes_to(&back, body, out.len);
	if (out.len)
		FUZZ_ASSERT(ofs_record_decode(r.type, body, out.len - 1, &back) == -EUCLEAN);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };

	if (fuzz_u8(&in) % 2)
		check_record(&in);
	else
		check_body(&in);
	return 0;
}
