/* SPDX-License-Identifier: MIT */
/*
 * Objects of a remote that somebody else has written: any bytes, and well-formed objects with any
 * header and body, read as a manifest, as a part of one, and as an object of the log. An input is
 * the length of the header (2 bytes), the header and the body.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "replica/manifest.h"

static struct ofs_buf made; /* stands under `names` and all names with p */

static const char *const names[] = { "ckpt/00000001/00000001", "epoch/00000001", "store",
				     "wal/00000001/00000001" };

/* ---- stubs for the library */

int ofs_bucket_open(const struct ofs_remote_access *access, int64_t timeout,
		    const atomic_bool *cancel, struct ofs_error *err, struct ofs_bucket **ret)
{
	return -EACCES;
}

void ofs_bucket_close(struct ofs_bucket *b)
{
}

struct ofs_s3 *ofs_bucket_s3(struct ofs_bucket *b)
{
	return NULL;
}

int ofs_bucket_create(struct ofs_bucket *b, const char *key, const void *data, size_t len,
		      struct ofs_error *err)
{
	return -EACCES;
}

int ofs_bucket_get(struct ofs_bucket *b, const char *key, size_t max, struct ofs_buf *ret,
		   struct ofs_error *err)
{
	bool there = *key == 'p';

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		there = there || strcmp(key, names[i]) == 0;
	if (!there)
		return -ENOENT;
	ofs_buf_append(ret, made.data, made.len);
	return 0;
}

int ofs_s3_list(struct ofs_s3 *s, const char *prefix, const char *after,
		int (*fn)(void *arg, const char *key, uint64_t size), void *arg,
		struct ofs_error *err)
{
	return 0;
}

int ofs_s3_probe(struct ofs_s3 *s, struct ofs_error *err)
{
	return -EACCES;
}

/* ---- inputs */

static void decode_any(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	OFS_FREE uint8_t *bytes = size ? fuzz_copy(data, size) : fuzz_copy("", 1);
	int r = ofs_remote_object_decode(bytes, size, &o);

	FUZZ_ASSERT(r == -EBADMSG || r == -EPROTONOSUPPORT || (r == 0 && json_is_object(o.header)));
}

static int make(struct fuzz_input *in)
{
	size_t want = fuzz_u16(in), len = fuzz_at_most(want, in->left);
	json_auto_t *header = json_loadb((const char *)fuzz_take(in, len), len, 0, NULL);

	made.len = 0;
	if (!json_is_object(header))
		return -EBADMSG;
	return ofs_remote_object_encode(header, in->at, in->left, &made);
}

static void decode_changed(const uint8_t *body, size_t len)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };

	FUZZ_ASSERT(ofs_remote_object_decode(made.data, made.len, &o) == 0);
	FUZZ_ASSERT(o.body.len == len && (!len || memcmp(o.body.data, body, len) == 0));
	ofs_remote_object_finish(&o);
	made.data[len % made.len] ^= 1;
	FUZZ_ASSERT(ofs_remote_object_decode(made.data, made.len, &o) == -EBADMSG);
	made.data[len % made.len] ^= 1;
}

static void read_log(struct ofs_lineage *l)
{
	const struct ofs_log_place at = { .epoch = 1 };
	struct ofs_link link = { 0 };
	int r = ofs_lineage_next(l, &at, NULL, &link);

	FUZZ_ASSERT(r == -EBADMSG || (r == 0 && link.from <= link.to));
	FUZZ_ASSERT(r < 0 || link.kind != OFS_LINK_DATA || link.log.len == link.to - link.from);
	ofs_link_finish(&link);
}

static void read_manifest(struct ofs_lineage *l)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };
	struct ofs_manifest_target target = { .index_fd = memfd_create("index", MFD_CLOEXEC),
					      .journal_fd = -1,
					      .drafts = true };
	int r = ofs_manifest_newest(l, 1, NULL, &m);

	FUZZ_ASSERT(r == -EBADMSG || r == -ENOENT || r == 0);
	if (r == 0) {
		FUZZ_ASSERT(m.at.epoch == 1 && m.log.seq <= m.at.seq && m.log.lsn <= m.at.lsn);
		ofs_manifest_fetch(l, &m, &target, NULL);
	}
	close(target.index_fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_input in = { data, size };
	struct ofs_lineage lineage = { .uuid = { 0 } };

	decode_any(data, size);
	if (make(&in) == 0) {
		decode_changed(in.at, in.left);
		read_log(&lineage);
		if (ofs_lineage_read_store(&lineage, NULL) == 0)
			memset(lineage.uuid, 0, sizeof(lineage.uuid));
		read_manifest(&lineage);
	}
	ofs_buf_finish(&made);
	return 0;
}
