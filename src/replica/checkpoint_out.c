/* SPDX-License-Identifier: MIT */
#include "replica/checkpoint_out.h"

#include <fcntl.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"

#define PAGE 1024u
#define PART_RAW ((size_t)8 << 20) /* bytes of pages or drafts in a part */
#define PACK_LEAST (UINT64_C(8) << 20) /* bytes for an object before a checkpoint */
#define PACK_MOST (UINT64_C(16) << 20)
#define SPOOL "remote/spool"
#define LOG_MAX 512 /* objects of the log that are remembered */
#define CHAIN_MAX 64 /* parts, before the index is sent whole again */

void ofs_checkpoint_out_finish(struct ofs_checkpoint_out *out)
{
	json_decref(out->chain);
	free(out->unsettled_key);
	ofs_buf_finish(&out->unsettled);
	ofs_garbage_finish(&out->garbage);
	free(out->log);
}

void ofs_checkpoint_out_begin(struct ofs_checkpoint_out *out, uint32_t epoch)
{
	json_decref(out->chain);
	out->chain = NULL;
	out->epoch = epoch;
	out->newest = out->parts = out->packs = 0;
	out->whole = out->added = 0;
	out->passed = true;
	free(out->unsettled_key);
	out->unsettled_key = NULL;
	ofs_garbage_finish(&out->garbage);
	ofs_checkpoint_out_forget_log(out);
}

void ofs_checkpoint_out_note_log(struct ofs_checkpoint_out *out, const struct ofs_log_place *before)
{
	if (out->nlog == LOG_MAX)
		memmove(out->log, out->log + 1, --out->nlog * sizeof(*out->log));
	*ofs_append(out->log, out->nlog, out->cap_log) = *before;
}

void ofs_checkpoint_out_forget_log(struct ofs_checkpoint_out *out)
{
	out->nlog = 0;
}

/* ---- frames */

struct frame_list {
	struct ofs_index_frame *at;
	size_t n, cap;
	uint64_t bytes;
};

static int note_frame(void *arg, const struct ofs_index_frame *f)
{
	struct frame_list *l = arg;

	*ofs_append(l->at, l->n, l->cap) = *f;
	l->bytes += f->stored;
	return 0;
}

/* An object of frames being made. */
struct pack_object {
	struct ofs_index_object object;
	struct ofs_index_extent *extents;
	size_t n, cap;
	struct ofs_buf bytes;
};

static void pack_object_finish(struct pack_object *p)
{
	free(p->extents);
	ofs_buf_finish(&p->bytes);
	*p = (struct pack_object){ 0 };
}

static void add_extent(struct pack_object *p, const struct ofs_index_frame *f, uint64_t at)
{
	struct ofs_index_extent *last = p->n ? &p->extents[p->n - 1] : NULL;

	if (last && last->pack == f->pack && last->off + last->len == f->off)
		last->len += f->stored;
	else
		*ofs_append(p->extents, p->n, p->cap) =
			(struct ofs_index_extent){ f->pack, f->off, f->stored, at };
}

/*
 * Fills one object with frames of `l` from *i on. Frames that are damaged here are left out. Those
 * that the disk does not read have to wait for a later checkpoint, since a bad sector must not hold
 * up everything else.
 * -ENOENT: a frame was given back meanwhile; with `gone` it is left out as well.
 */
static int fill_object(struct ofs_checkpoint_out *out, const struct frame_list *l, size_t *i,
		       bool gone, struct pack_object *p, struct ofs_error *err)
{
	for (; *i < l->n && p->bytes.len < PACK_MOST; ++*i) {
		const struct ofs_index_frame *f = &l->at[*i];
		uint64_t at = p->bytes.len;
		int r = ofs_store_copy_frame(out->store, f, &p->bytes);

		if (r == 0)
			add_extent(p, f, at);
		else if (r == -EIO || r == -OFS_EREAD)
			ofs_log(LOG_ERR, "packs/%08x.pack: the frame at %llu is not sent: %s",
				f->pack, (unsigned long long)f->off, strerror(EIO));
		else if (r != -ENOENT || !gone)
			return ofs_error_set(err, -r, "packs/%08x.pack cannot be read: %s", f->pack,
					     strerror(-r));
		out->passed = out->passed || r == -OFS_EREAD;
	}
	p->object = (struct ofs_index_object){ .epoch = out->epoch, .size = p->bytes.len };
	return 0;
}

static int send_object(struct ofs_checkpoint_out *out, struct pack_object *p, struct ofs_error *err)
{
	OFS_FREE char *key = ofs_key_pack(out->epoch, ++out->packs);

	p->object.number = out->packs;
	out->sent++;
	/* The number is never used again, whatever the outcome. */
	return ofs_bucket_create(out->lineage->bucket, key, p->bytes.data, p->bytes.len, err);
}

int ofs_checkpoint_out_frames(struct ofs_checkpoint_out *out, struct ofs_error *err)
{
	struct frame_list l = { 0 };
	size_t i = 0;
	int r = ofs_store_list_unsent(out->store, note_frame, &l);

	while (r == 0 && l.bytes >= PACK_LEAST) {
		OFS_CLEANUP(pack_object_finish) struct pack_object p = { 0 };
		size_t first = i;

		r = fill_object(out, &l, &i, true, &p, err);
		for (; first < i; first++)
			l.bytes -= l.at[first].stored;
		if (r == 0 && p.n)
			r = send_object(out, &p, err);
		if (r == 0 && p.n)
			r = ofs_store_put_object(out->store, &p.object, p.extents, p.n);
	}
	free(l.at);
	return r;
}

/* ---- the snapshot */

struct part {
	const char *kind; /* kind: "pages" or "drafts" */
	uint64_t off, len; /* range in the spool */
};

struct snapshot {
	struct ofs_checkpoint_out *out;
	int spool;
	uint64_t size;
	struct part *parts;
	size_t n, cap;
	struct ofs_buf pages, drafts; /* the parts being made */
	struct frame_list frames;
	/* the log is needed from here on; all zero: from the manifest's place */
	struct ofs_log_place log;
	struct ofs_snapshot snap;
};

static void snapshot_finish(struct snapshot *s)
{
	ofs_io_close(&s->spool);
	free(s->parts);
	free(s->frames.at);
	ofs_buf_finish(&s->pages);
	ofs_buf_finish(&s->drafts);
}

/* Appends a part to the spool. */
static int flush(struct snapshot *s, const char *kind, struct ofs_buf *raw)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf object = OFS_BUF_INIT;
	json_t *header;
	int r;

	if (!raw->len)
		return 0;
	header = json_pack("{s:s}", "kind", kind);
	r = ofs_remote_object_encode(header, raw->data, raw->len, &object);
	json_decref(header);
	if (r == 0)
		r = ofs_io_pwrite(s->spool, object.data, object.len, s->size);
	if (r < 0)
		return r;
	*ofs_append(s->parts, s->n, s->cap) = (struct part){ kind, s->size, object.len };
	s->size += object.len;
	raw->len = 0;
	return 0;
}

/* Format: u32 number of the first page, u32 number of pages, the pages. */
static int take_pages(void *arg, uint32_t first, uint32_t n, const uint8_t *pages)
{
	struct snapshot *s = arg;
	uint8_t head[8];

	ofs_put_le32(head, first);
	ofs_put_le32(head + 4, n);
	ofs_buf_append(&s->pages, head, sizeof(head));
	ofs_buf_append(&s->pages, pages, (size_t)n * PAGE);
	return s->pages.len < PART_RAW ? 0 : flush(s, "pages", &s->pages);
}

/*
 * Avoids sending data of drafts that are in recently sent log: chooses the oldest object of the log
 * from which at least a quarter of the log is such data, so that nobody has to fetch much more than
 * that.
 */
static ofs_lsn choose_log(void *arg, const struct ofs_journal_data *data, size_t n)
{
	struct snapshot *s = arg;
	const struct ofs_checkpoint_out *out = s->out;
	ofs_lsn end = n ? data[n - 1].pos + data[n - 1].len : 0;
	uint64_t bytes = 0;
	size_t i = n;

	s->log = (struct ofs_log_place){ 0 };
	for (size_t k = out->nlog; k-- > 0;) {
		ofs_lsn from = out->log[k].lsn;

		for (; i > 0 && data[i - 1].pos >= from; i--)
			bytes += i < n && data[i].pos == data[i - 1].pos ? 0 : data[i - 1].len;
		if (from < end && bytes >= (end - from) / 4)
			s->log = out->log[k];
	}
	return s->log.lsn ? s->log.lsn : UINT64_MAX;
}

/* Format: u64 segment, u64 position, u64 length, the data. */
static int take_draft(void *arg, ofs_lsn segment, const struct ofs_journal_data *data,
		      const void *bytes)
{
	struct snapshot *s = arg;
	uint8_t head[24];

	ofs_put_le64(head, segment);
	ofs_put_le64(head + 8, data->pos);
	ofs_put_le64(head + 16, data->len);
	ofs_buf_append(&s->drafts, head, sizeof(head));
	ofs_buf_append(&s->drafts, bytes, data->len);
	return s->drafts.len < PART_RAW ? 0 : flush(s, "drafts", &s->drafts);
}

static int take_frame(void *arg, const struct ofs_index_frame *f)
{
	struct snapshot *s = arg;

	return note_frame(&s->frames, f);
}

/* Sends the parts and appends them to `chain` (pages) or `drafts`. */
static int send_parts(struct snapshot *s, json_t *chain, json_t *drafts, struct ofs_error *err)
{
	struct ofs_checkpoint_out *out = s->out;
	int r = 0;

	for (size_t i = 0; i < s->n && r == 0; i++) {
		const struct part *p = &s->parts[i];
		OFS_FREE uint8_t *bytes = malloc(p->len);
		OFS_FREE char *key = ofs_key_part(out->epoch, ++out->parts);

		out->sent++;
		r = bytes ? ofs_io_pread_exact(s->spool, bytes, p->len, p->off) : -ENOMEM;
		if (r == 0)
			r = ofs_bucket_create(out->lineage->bucket, key, bytes, p->len, err);
		if (r == 0)
			json_array_append_new(strcmp(p->kind, "pages") == 0 ? chain : drafts,
					      json_pack("{s:s, s:I}", "key", key, "size",
							(json_int_t)p->len));
	}
	return r;
}

static json_t *describe_object(const struct pack_object *p)
{
	json_t *extents = json_array();

	for (size_t i = 0; i < p->n; i++)
		json_array_append_new(extents,
				      json_pack("[I, I, I, I]", (json_int_t)p->extents[i].pack,
						(json_int_t)p->extents[i].off,
						(json_int_t)p->extents[i].len,
						(json_int_t)p->extents[i].at));
	return json_pack("{s:I, s:I, s:I, s:o}", "epoch", (json_int_t)p->object.epoch, "number",
			 (json_int_t)p->object.number, "size", (json_int_t)p->object.size,
			 "extents", extents);
}

/* Sends the frames of the snapshot that no object holds yet. */
static int send_rest(struct snapshot *s, struct pack_object **objects, size_t *n, json_t *ret,
		     struct ofs_error *err)
{
	size_t i = 0, cap = 0;
	int r = 0;

	while (i < s->frames.n && r == 0) {
		OFS_CLEANUP(pack_object_finish) struct pack_object p = { 0 };

		r = fill_object(s->out, &s->frames, &i, false, &p, err);
		if (r == -ENOENT)
			r = ofs_error_set(err, EAGAIN, "the disk was full, so frames were evicted");
		if (r == 0 && p.n)
			r = send_object(s->out, &p, err);
		if (r < 0 || !p.n)
			continue;
		json_array_append_new(ret, describe_object(&p));
		ofs_buf_finish(&p.bytes);
		*ofs_append(*objects, *n, cap) = ofs_steal(p);
	}
	return r;
}

/* Sends the manifest whose outcome is not known yet. */
static int settle(struct ofs_checkpoint_out *out, struct ofs_error *err)
{
	int r = ofs_lineage_put(out->lineage, out->unsettled_key, &out->unsettled, err);

	/* It may exist all the same, so no other manifest may have its number. */
	if (r < 0)
		return r;
	free(out->unsettled_key);
	out->unsettled_key = NULL;
	out->newest++;
	return 0;
}

static int send_manifest(struct ofs_checkpoint_out *out, const struct snapshot *s,
			 const struct ofs_log_place *at, const char *writer, json_t *chain,
			 json_t *drafts, json_t *objects, struct ofs_error *err)
{
	json_t *manifest = json_pack(
		"{s:s, s:I, s:s, s:I, s:I, s:I, s:{s:I, s:I}, s:I, s:I, s:O, s:O, s:O}", "kind",
		"checkpoint", "n", (json_int_t)out->newest + 1, "writer", writer, "epoch",
		(json_int_t)at->epoch, "seq", (json_int_t)at->seq, "lsn", (json_int_t)at->lsn,
		"log", "seq", (json_int_t)s->log.seq, "lsn", (json_int_t)s->log.lsn, "pages",
		(json_int_t)s->snap.pages, "time", (json_int_t)ofs_clock_wall(), "chain", chain,
		"drafts", drafts, "objects", objects);
	int r;

	if (!manifest)
		ofs_out_of_memory();
	out->unsettled.len = 0;
	r = ofs_remote_object_encode(manifest, NULL, 0, &out->unsettled);
	json_decref(manifest);
	if (r < 0)
		return r;
	out->unsettled_key = ofs_key_checkpoint(out->epoch, out->newest + 1);
	return settle(out, err);
}

static int note_highest(void *arg, const struct ofs_index_object *o)
{
	*(uint64_t *)arg = OFS_MAX(*(uint64_t *)arg, o->id);
	return 0;
}

/*
 * Enters objects listed by the manifest into the index, so they are not sent again and may be
 * evicted.
 */
static int note_objects(struct ofs_checkpoint_out *out, const struct pack_object *objects, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++)
		r = ofs_store_put_object(out->store, &objects[i].object, objects[i].extents,
					 objects[i].n);
	/* It may be lower than before, and ids may be reused. */
	out->durable = 0;
	return r < 0 ? r : ofs_store_list_objects(out->store, note_highest, &out->durable);
}

static int note_needed(void *arg, const struct ofs_index_object *o)
{
	ofs_anchor_add(arg, o->epoch, o->number);
	return 0;
}

/* No later manifest needs log from before the place that this one needs. */
static void drop_log(struct ofs_checkpoint_out *out, const struct ofs_log_place *at)
{
	size_t i = 0;

	while (i < out->nlog && out->log[i].lsn < at->lsn)
		i++;
	if (i)
		memmove(out->log, out->log + i, (out->nlog -= i) * sizeof(*out->log));
}

/* Tells garbage collection what this manifest needs. */
static void note_anchor(struct ofs_checkpoint_out *out, const struct ofs_log_place *at,
			json_t *drafts, const struct pack_object *objects, size_t n,
			struct ofs_anchor *a)
{
	drop_log(out, at);
	a->at = *at;
	a->n = out->newest;
	a->parts = out->parts;
	a->packs = out->packs;
	a->chain = json_incref(out->chain);
	a->drafts = json_incref(drafts);
	for (size_t i = 0; i < n; i++)
		ofs_anchor_add(a, objects[i].object.epoch, objects[i].object.number);
	ofs_garbage_note_manifest(&out->garbage, a);
}

static int send_snapshot(struct ofs_checkpoint_out *out, struct snapshot *s,
			 struct ofs_checkpoint_request *rq, struct ofs_anchor *anchor,
			 struct ofs_error *err)
{
	json_t *chain = s->snap.changed ? json_deep_copy(out->chain) : json_array();
	json_t *drafts = json_array(), *objects = json_array();
	struct pack_object *sent = NULL;
	struct ofs_log_place at;
	size_t n = 0;
	/* If nothing was new, the place may be one header further: that of an empty segment. */
	int r = rq->send_log(rq->arg, s->snap.meta.checkpoint, &at, err);

	if (!s->log.lsn)
		s->log = at;
	if (r == 0)
		r = send_rest(s, &sent, &n, objects, err);
	if (r == 0)
		r = send_parts(s, chain, drafts, err);
	if (r == 0)
		r = send_manifest(out, s, &at, rq->writer, chain, drafts, objects, err);
	if (r == 0) {
		json_decref(out->chain);
		out->chain = json_incref(chain);
		out->whole = s->snap.changed ? out->whole : s->size;
		out->added = s->snap.changed ? out->added + s->size : 0;
		rq->lsn = at.lsn;
		note_anchor(out, &s->log, drafts, sent, n, anchor);
		r = note_objects(out, sent, n);
	}
	for (size_t i = 0; i < n; i++)
		pack_object_finish(&sent[i]);
	free(sent);
	json_decref(chain);
	json_decref(drafts);
	json_decref(objects);
	return r;
}

/* The index is sent whole if the changes since have reached half of its size, or many parts. */
static bool is_whole_due(const struct ofs_checkpoint_out *out)
{
	return !out->chain || out->added > out->whole / 2 ||
	       json_array_size(out->chain) > CHAIN_MAX;
}

static int make_spool(struct ofs_checkpoint_out *out, int *ret)
{
	int fd = ofs_io_open(out->dirfd, SPOOL, O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (fd < 0)
		return fd;
	*ret = fd;
	return ofs_io_unlink(out->dirfd, SPOOL);
}

static int take_snapshot(struct snapshot *s, struct ofs_error *err)
{
	int r = make_spool(s->out, &s->spool);

	s->snap = (struct ofs_snapshot){ .changed = !is_whole_due(s->out),
					 .passed = s->out->passed,
					 .page_run = take_pages,
					 .has_log = choose_log,
					 .draft = take_draft,
					 .frame = take_frame,
					 .arg = s };
	if (r == 0)
		r = ofs_store_begin_snapshot(s->out->store, &s->snap);
	return r < 0 ? ofs_error_set(err, -r, "the index cannot be copied: %s", strerror(-r)) : 0;
}

int ofs_checkpoint_out_make(struct ofs_checkpoint_out *out, struct ofs_checkpoint_request *rq,
			    struct ofs_error *err)
{
	OFS_CLEANUP(snapshot_finish) struct snapshot s = { .out = out, .spool = -1 };
	OFS_CLEANUP(ofs_anchor_finish) struct ofs_anchor anchor = { 0 };
	int r = out->unsettled_key ? settle(out, err) : 0;

	if (r == 0 && ofs_garbage_wants_anchor(&out->garbage))
		r = ofs_store_list_objects(out->store, note_needed, &anchor);
	if (r == 0)
		r = take_snapshot(&s, err);
	if (r < 0)
		return r;
	r = flush(&s, "pages", &s.pages);
	if (r == 0)
		r = flush(&s, "drafts", &s.drafts);
	out->passed = false;
	if (r == 0)
		r = send_snapshot(out, &s, rq, &anchor, err);
	out->passed = out->passed || (r < 0 && s.snap.passed);
	ofs_store_end_snapshot(out->store, r == 0);
	return r;
}
