/* SPDX-License-Identifier: MIT */
#include "replica/manifest.h"

#include <stdio.h>

#include "base/text.h"
#include "index/index.h"
#include "io/file.h"
#include "journal/transfer.h"
#include "pack/pack.h"

#define PAGE 1024u
#define PACK_LEAP 65536u
#define INO_LEAP (UINT64_C(1) << 24)

void ofs_manifest_finish(struct ofs_manifest *m)
{
	ofs_remote_object_finish(&m->object);
	free(m->key);
	*m = (struct ofs_manifest){ 0 };
}

static int number(const json_t *o, const char *name, uint64_t max, uint64_t *ret)
{
	json_t *n = json_object_get(o, name);

	if (!json_is_integer(n) || json_integer_value(n) < 0 ||
	    (uint64_t)json_integer_value(n) > max)
		return -EBADMSG;
	*ret = (uint64_t)json_integer_value(n);
	return 0;
}

/* ---- finding a manifest */

int ofs_manifest_read(struct ofs_lineage *l, uint32_t epoch, uint32_t n, struct ofs_error *err,
		      struct ofs_manifest *ret)
{
	OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { .n = n };
	uint64_t e, seq, lsn, log_seq, log_lsn;
	const json_t *header, *log;
	int r;

	m.key = ofs_key_checkpoint(epoch, n);
	r = ofs_lineage_read(l, m.key, err, &m.object);
	if (r < 0)
		return r;
	header = m.object.header;
	log = json_object_get(header, "log");
	if (number(header, "epoch", UINT32_MAX, &e) < 0 || e != epoch ||
	    number(header, "seq", UINT32_MAX, &seq) < 0 ||
	    number(header, "lsn", INT64_MAX, &lsn) < 0 ||
	    number(log, "seq", seq, &log_seq) < 0 || number(log, "lsn", lsn, &log_lsn) < 0 ||
	    number(header, "pages", UINT32_MAX, &m.pages) < 0)
		return ofs_error_set(err, EBADMSG, "%s is not a valid checkpoint", m.key);
	m.at = (struct ofs_log_place){ epoch, (uint32_t)seq, lsn };
	m.log = (struct ofs_log_place){ epoch, (uint32_t)log_seq, log_lsn };
	*ret = ofs_steal(m);
	return 0;
}

/* Returns 1 if the log has the place of the manifest, 0 if not: then the manifest is void. */
static int is_sound(struct ofs_lineage *l, const struct ofs_manifest *m, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_link_finish) struct ofs_link link = { 0 };
	struct ofs_log_place before = { m->at.epoch, m->at.seq - 1, 0 };
	int r = m->at.seq ? ofs_lineage_next(l, &before, err, &link)
			  : ofs_lineage_read_epoch(l, m->at.epoch, err, &link);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return link.to == m->at.lsn && (link.kind != OFS_LINK_FENCE || !m->at.seq) &&
	       (link.kind != OFS_LINK_BASE || link.checkpoint <= m->n);
}

static int note_newest(void *arg, const char *key, uint64_t size)
{
	unsigned int epoch, n;
	int end = 0;

	if (sscanf(key, "ckpt/%8x/%8x%n", &epoch, &n, &end) == 2 && !key[end])
		*(uint32_t *)arg = OFS_MAX(*(uint32_t *)arg, n);
	return 0;
}

/*
 * Sets *ret to the last manifest of an epoch, by a listing (maybe old) and then number by number.
 */
static int last_number(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err, uint32_t *ret)
{
	OFS_FREE char *prefix = ofs_format("ckpt/%08x/0", epoch); /* excludes parts */
	int r;

	*ret = 0;
	r = ofs_s3_list(ofs_bucket_s3(l->bucket), prefix, NULL, note_newest, ret, err);
	while (r == 0) {
		OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest next = { 0 };

		r = ofs_manifest_read(l, epoch, *ret + 1, err, &next);
		if (r == 0)
			++*ret;
	}
	return r == -ENOENT ? 0 : r;
}

/* Finds the newest sound manifest of an epoch. */
static int newest_in(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
		     struct ofs_manifest *ret)
{
	uint32_t n;
	int sound, r = last_number(l, epoch, err, &n);

	for (; r == 0 && n; n--) {
		OFS_CLEANUP(ofs_manifest_finish) struct ofs_manifest m = { 0 };

		r = ofs_manifest_read(l, epoch, n, err, &m);
		sound = r == 0 ? is_sound(l, &m, err) : r;
		if (sound > 0)
			*ret = ofs_steal(m);
		if (sound)
			return sound < 0 ? sound : 0;
	}
	return r < 0 ? r : -ENOENT;
}

int ofs_manifest_newest(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			struct ofs_manifest *ret)
{
	int r = -ENOENT;

	for (; epoch && r == -ENOENT; epoch--)
		r = newest_in(l, epoch, err, ret);
	if (r == -ENOENT)
		return ofs_error_set(err, ENOENT, "the remote has no checkpoint yet");
	return r;
}

/* ---- fetching parts */

static int put_pages(const struct ofs_manifest_target *to, const struct ofs_buf *body)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < body->len) {
		uint64_t first, len;

		if (body->len - at < 8)
			return -EBADMSG;
		first = ofs_get_le32(body->data + at);
		len = (uint64_t)ofs_get_le32(body->data + at + 4) * PAGE;
		at += 8;
		if (!first || len > body->len - at)
			return -EBADMSG;
		r = ofs_io_pwrite(to->index_fd, body->data + at, len, (first - 1) * PAGE);
		at += len;
	}
	return r;
}

static int put_draft(const struct ofs_lineage *l, const struct ofs_manifest_target *to,
		     const uint8_t *head, const uint8_t *bytes, size_t len)
{
	struct ofs_journal_data d = { ofs_get_le64(head + 8), (uint32_t)len };

	return ofs_journal_import_data(to->journal_fd, l->uuid, ofs_get_le64(head), &d, bytes);
}

static int put_drafts(const struct ofs_lineage *l, const struct ofs_manifest_target *to,
		      const struct ofs_buf *body)
{
	size_t at = 0;
	int r = 0;

	while (r == 0 && at < body->len) {
		const uint8_t *head = body->data + at;
		uint64_t len = body->len - at < 24 ? UINT64_MAX : ofs_get_le64(head + 16);

		at += 24;
		if (len > OFS_JOURNAL_DATA_MAX || len > body->len - at)
			return -EBADMSG;
		r = put_draft(l, to, head, body->data + at, len);
		at += len;
	}
	return r;
}

struct fetch {
	struct ofs_lineage *lineage;
	const struct ofs_manifest_target *to;
	uint64_t done, total;
	struct ofs_error *err;
};

static const char *part_key(const json_t *part)
{
	return json_string_value(json_object_get(part, "key"));
}

static int fetch_part(struct fetch *f, const json_t *part, bool pages)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	const char *key = part_key(part);
	int r = key ? ofs_lineage_read(f->lineage, key, f->err, &o)
		    : ofs_error_set(f->err, EBADMSG, "the checkpoint names a part without a key");

	if (r < 0)
		return r == -ENOENT ? ofs_error_set(f->err, EBADMSG, "%s is missing", key) : r;
	r = pages ? put_pages(f->to, &o.body) : put_drafts(f->lineage, f->to, &o.body);
	if (r < 0)
		return ofs_error_set(f->err, -r, "%s cannot be used: %s", key, strerror(-r));
	f->done += (uint64_t)json_integer_value(json_object_get(part, "size"));
	if (f->to->progress)
		f->to->progress(f->to->arg, f->done, f->total);
	return 0;
}

static int fetch_parts(struct fetch *f, const json_t *parts, size_t skip, bool pages)
{
	int r = 0;

	for (size_t i = skip; i < json_array_size(parts); i++) {
		const char *key = part_key(json_array_get(parts, i));

		if (key)
			ofs_lineage_expect(f->lineage, key);
	}
	for (size_t i = skip; i < json_array_size(parts) && r == 0; i++)
		r = fetch_part(f, json_array_get(parts, i), pages);
	return r;
}

static uint64_t size_of(const json_t *parts)
{
	uint64_t sum = 0;
	json_t *p;
	size_t i;

	json_array_foreach ((json_t *)parts, i, p)
		sum += (uint64_t)json_integer_value(json_object_get(p, "size"));
	return sum;
}

int ofs_manifest_fetch(struct ofs_lineage *l, const struct ofs_manifest *m,
		       const struct ofs_manifest_target *to, struct ofs_error *err)
{
	const json_t *chain = json_object_get(m->object.header, "chain");
	const json_t *drafts = json_object_get(m->object.header, "drafts");
	struct fetch f = { .lineage = l,
			   .to = to,
			   .total = size_of(chain) + size_of(drafts),
			   .err = err };
	int r = fetch_parts(&f, chain, to->skip, true);

	if (r == 0 && to->drafts)
		r = fetch_parts(&f, drafts, 0, false);
	if (r < 0)
		return r;
	r = ofs_io_truncate(to->index_fd, m->pages * PAGE);
	if (r == 0)
		r = ofs_io_sync(to->index_fd);
	return r < 0 ? ofs_error_set(err, -r, "the index cannot be written: %s", strerror(-r)) : 0;
}

/* ---- the index */

static int put_object(struct ofs_index *ix, const json_t *o)
{
	json_t *list = json_object_get(o, "extents"), *e;
	struct ofs_index_object object = { 0 };
	OFS_FREE struct ofs_index_extent *extents =
		ofs_alloc((json_array_size(list) + 1) * sizeof(*extents));
	uint64_t epoch, n;
	size_t i;

	if (number(o, "epoch", UINT32_MAX, &epoch) < 0 || number(o, "number", UINT32_MAX, &n) < 0 ||
	    number(o, "size", INT64_MAX, &object.size) < 0)
		return -EBADMSG;
	object.epoch = (uint32_t)epoch;
	object.number = (uint32_t)n;
	json_array_foreach (list, i, e) {
		json_int_t pack, off, len, at;

		if (json_unpack(e, "[I, I, I, I]", &pack, &off, &len, &at) < 0)
			return -EBADMSG;
		extents[i] = (struct ofs_index_extent){ (uint32_t)pack, (uint64_t)off,
							(uint64_t)len, (uint64_t)at };
	}
	return ofs_index_put_object(ix, &object, extents, json_array_size(list));
}

static int edit_index(struct ofs_index *ix, const json_t *objects, uint64_t leaps)
{
	struct ofs_index_meta meta;
	size_t i;
	json_t *o;
	int r = ofs_index_get_meta(ix, &meta);

	if (r == 0 && leaps > (UINT32_MAX - meta.pack) / PACK_LEAP)
		r = -EFBIG;
	if (r == 0)
		r = ofs_index_begin(ix);
	if (r < 0)
		return r;
	json_array_foreach ((json_t *)objects, i, o)
		if (r == 0)
			r = put_object(ix, o);
	meta.pack += (uint32_t)leaps * PACK_LEAP;
	meta.next_ino += leaps * INO_LEAP;
	meta.pack_size = OFS_PACK_HEADER;
	if (r == 0)
		r = ofs_index_put_meta(ix, &meta);
	return ofs_index_end(ix, r);
}

static int note_highest(void *arg, const struct ofs_index_object *o)
{
	*(uint64_t *)arg = o->id;
	return 0;
}

int ofs_manifest_finish_index(const struct ofs_manifest *m, const char *path, uint64_t leaps,
			      uint64_t *ret_durable, struct ofs_error *err)
{
	struct ofs_index *ix;
	int r = ofs_index_open(path, NULL, err, &ix);

	if (r < 0)
		return r;
	*ret_durable = 0;
	r = edit_index(ix, json_object_get(m->object.header, "objects"), leaps);
	if (r == 0)
		r = ofs_index_list_objects(ix, note_highest, ret_durable);
	ofs_index_close(ix);
	return r < 0 ? ofs_error_set(err, -r, "the index cannot be built: %s", strerror(-r)) : 0;
}
