/* SPDX-License-Identifier: MIT */
#include "replica/lineage.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/text.h"

#define STORE "store"
#define LOOK_TIMEOUT (20 * OFS_NS_PER_S)

static const char *const kinds[] = { "data", "base", "fence" };

char *ofs_key_wal(uint32_t epoch, uint32_t seq)
{
	return ofs_format("wal/%08x/%08x", epoch, seq);
}

char *ofs_key_epoch(uint32_t epoch)
{
	return ofs_format("epoch/%08x", epoch);
}

char *ofs_key_pack(uint32_t epoch, uint32_t number)
{
	return ofs_format("pack/%08x/%08x", epoch, number);
}

char *ofs_key_checkpoint(uint32_t epoch, uint32_t n)
{
	return ofs_format("ckpt/%08x/%08x", epoch, n);
}

char *ofs_key_part(uint32_t epoch, uint32_t number)
{
	return ofs_format("ckpt/%08x/part-%08x", epoch, number);
}

void ofs_link_finish(struct ofs_link *link)
{
	ofs_buf_finish(&link->log);
}

/* ---- objects */

int ofs_lineage_put(struct ofs_lineage *l, const char *key, const struct ofs_buf *bytes,
		    struct ofs_error *err)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf there = OFS_BUF_INIT;
	int r = ofs_bucket_create(l->bucket, key, bytes->data, bytes->len, err);

	if (r != -EEXIST && r != -EINPROGRESS)
		return r;
	/* An earlier attempt may have created it. */
	r = ofs_bucket_get(l->bucket, key, OFS_REMOTE_OBJECT_MAX, &there, err);
	if (r < 0)
		return r == -ENOENT ? ofs_error_set(err, EAGAIN,
						    "it is not known whether %s was created", key)
				    : r;
	if (there.len == bytes->len && memcmp(there.data, bytes->data, bytes->len) == 0)
		return 0;
	/* A damaged answer says nothing about what is there. */
	r = ofs_remote_object_decode(there.data, there.len, &o);
	return r == -EBADMSG ? ofs_error_set(err, EAGAIN, "%s arrived damaged", key)
			     : ofs_error_set(err, EEXIST, "%s exists already", key);
}

int ofs_lineage_read(struct ofs_lineage *l, const char *key, struct ofs_error *err,
		     struct ofs_remote_object *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	int r = -EBADMSG;

	if (l->cache && ofs_object_cache_get(l->cache, key, &bytes))
		r = ofs_remote_object_decode(bytes.data, bytes.len, ret);
	/* The cached copy may be damaged, so it is read again. */
	if (r == -EBADMSG) {
		r = ofs_bucket_get(l->bucket, key, OFS_REMOTE_OBJECT_MAX, &bytes, err);
		if (r < 0)
			return r;
		r = ofs_remote_object_decode(bytes.data, bytes.len, ret);
	}
	if (r == -EPROTONOSUPPORT)
		return ofs_error_set(err, -r, "%s needs a newer offloadfs", key);
	return r < 0 ? ofs_error_set(err, -r, "%s is damaged, or no object of offloadfs", key) : 0;
}

/* ---- the store of a remote */

static void print_uuid(const uint8_t uuid[16], char ret[33])
{
	for (size_t i = 0; i < 16; i++)
		snprintf(ret + 2 * i, 3, "%02x", uuid[i]);
}

int ofs_lineage_read_store(struct ofs_lineage *l, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	const char *uuid;
	int r = ofs_lineage_read(l, STORE, err, &o);

	if (r < 0)
		return r;
	uuid = json_string_value(json_object_get(o.header, "store"));
	r = uuid && strlen(uuid) == 32 ? 0 : -EBADMSG;
	for (size_t i = 0; i < 16 && r == 0; i++)
		r = sscanf(uuid + 2 * i, "%2hhx", &l->uuid[i]) == 1 ? 0 : -EBADMSG;
	return r < 0 ? ofs_error_set(err, EBADMSG, "the object '" STORE "' does not name a store")
		     : 0;
}

int ofs_lineage_note_store(struct ofs_lineage *l, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	char store[33];
	json_t *header;
	int r;

	print_uuid(l->uuid, store);
	header = json_pack("{s:s}", "store", store);
	r = ofs_remote_object_encode(header, NULL, 0, &bytes);
	json_decref(header);
	return r < 0 ? r : ofs_lineage_put(l, STORE, &bytes, err);
}

/* ---- the log */

int ofs_link_encode(const struct ofs_lineage *l, const struct ofs_link *link, struct ofs_buf *ret)
{
	char store[33];
	json_t *header;
	int r;

	print_uuid(l->uuid, store);
	header = json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "store", store, "kind",
			   kinds[link->kind], "writer", link->writer, "from",
			   (json_int_t)link->from, "to", (json_int_t)link->to, "segment",
			   (json_int_t)link->segment, "checkpoint", (json_int_t)link->checkpoint,
			   "time", (json_int_t)link->time);
	if (!header)
		ofs_out_of_memory();
	r = ofs_remote_object_encode(header, link->log.data, link->log.len, ret);
	json_decref(header);
	return r;
}

static int decode_link(const struct ofs_lineage *l, const char *key, struct ofs_remote_object *o,
		       struct ofs_error *err, struct ofs_link *ret)
{
	const char *store, *kind, *writer;
	json_int_t from, to, segment, checkpoint, time;
	char mine[33];
	size_t i = 0;

	print_uuid(l->uuid, mine);
	if (json_unpack(o->header, "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "store", &store,
			"kind", &kind, "writer", &writer, "from", &from, "to", &to, "segment",
			&segment, "checkpoint", &checkpoint, "time", &time) < 0 ||
	    from < 0 || to < from || segment < 0 || checkpoint < 0 || checkpoint > UINT32_MAX ||
	    strlen(writer) != OFS_WRITER_SIZE - 1)
		return ofs_error_set(err, EBADMSG, "%s is not a valid object of the log", key);
	while (i < OFS_ARRAY_SIZE(kinds) && strcmp(kind, kinds[i]) != 0)
		i++;
	if (i == OFS_ARRAY_SIZE(kinds) || strcmp(store, mine) != 0 ||
	    (i == OFS_LINK_DATA && o->body.len != (uint64_t)(to - from)))
		return ofs_error_set(err, EBADMSG, "%s does not belong to the log of this store",
				     key);
	*ret = (struct ofs_link){ .kind = (enum ofs_link_kind)i,
				  .from = (ofs_lsn)from,
				  .to = (ofs_lsn)to,
				  .segment = (ofs_lsn)segment,
				  .checkpoint = (uint32_t)checkpoint,
				  .time = time,
				  .log = ofs_buf_steal(&o->body) };
	memcpy(ret->writer, writer, sizeof(ret->writer));
	return 0;
}

static int read_link(struct ofs_lineage *l, const char *key, struct ofs_error *err,
		     struct ofs_link *ret)
{
	OFS_CLEANUP(ofs_remote_object_finish) struct ofs_remote_object o = { 0 };
	int r = ofs_lineage_read(l, key, err, &o);

	return r < 0 ? r : decode_link(l, key, &o, err, ret);
}

int ofs_lineage_next(struct ofs_lineage *l, const struct ofs_log_place *at, struct ofs_error *err,
		     struct ofs_link *ret)
{
	OFS_FREE char *key = ofs_key_wal(at->epoch, at->seq + 1);
	int r = read_link(l, key, err, ret);

	if (r == 0 && at->lsn && ret->from != at->lsn) {
		ofs_link_finish(ret);
		return ofs_error_set(err, EBADMSG, "%s does not follow the object before it", key);
	}
	return r;
}

void ofs_lineage_expect(struct ofs_lineage *l, const char *key)
{
	if (l->cache)
		ofs_object_cache_expect(l->cache, key);
}

void ofs_lineage_expect_log(struct ofs_lineage *l, const struct ofs_log_place *at)
{
	for (uint32_t i = 1; i <= OFS_LOG_AHEAD; i++) {
		OFS_FREE char *key = ofs_key_wal(at->epoch, at->seq + i);

		ofs_lineage_expect(l, key);
	}
}

struct ofs_log_place ofs_log_place_after(const struct ofs_log_place *at,
					 const struct ofs_link *link)
{
	if (link->kind == OFS_LINK_FENCE)
		return (struct ofs_log_place){ at->epoch + 1, 0, link->to };
	return (struct ofs_log_place){ at->epoch, at->seq + 1, link->to };
}

/* ---- epochs */

int ofs_lineage_note_epoch(struct ofs_lineage *l, uint32_t epoch, const struct ofs_link *fence,
			   struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;
	OFS_FREE char *key = ofs_key_epoch(epoch);
	int r = ofs_link_encode(l, fence, &bytes);

	return r < 0 ? r : ofs_lineage_put(l, key, &bytes, err);
}

int ofs_lineage_read_epoch(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
			   struct ofs_link *ret)
{
	OFS_FREE char *key = ofs_key_epoch(epoch);

	return read_link(l, key, err, ret);
}

/* Returns 1 and sets *ret if the object of the epoch exists, 0 if not, or -errno. */
static int has_epoch(struct ofs_lineage *l, uint32_t epoch, struct ofs_error *err,
		     struct ofs_link *ret)
{
	struct ofs_link fence;
	int r = ofs_lineage_read_epoch(l, epoch, err, &fence);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	ofs_link_finish(ret);
	*ret = fence;
	return 1;
}

/* Epochs are dense, so the last one is found by doubling, then by halving. */
int ofs_lineage_newest_epoch(struct ofs_lineage *l, struct ofs_error *err, uint32_t *ret,
			     struct ofs_link *ret_fence)
{
	uint32_t low = 0, high = 1, middle;
	int r;

	*ret_fence = (struct ofs_link){ 0 };
	while ((r = has_epoch(l, high, err, ret_fence)) > 0) {
		low = high;
		high *= 2;
	}
	while (r >= 0 && high - low > 1) {
		middle = low + (high - low) / 2;
		r = has_epoch(l, middle, err, ret_fence);
		*(r > 0 ? &low : &high) = middle;
	}
	if (r < 0)
		return r;
	*ret = low;
	return low ? 0 : -ENOENT;
}

int ofs_lineage_look(const struct ofs_remote_access *remote, bool write, struct ofs_error *err)
{
	struct ofs_lineage l = { 0 };
	int r = ofs_bucket_open(remote, LOOK_TIMEOUT, NULL, err, &l.bucket);

	if (r < 0)
		return r;
	if (write)
		r = ofs_s3_probe(ofs_bucket_s3(l.bucket), err);
	if (r == 0)
		r = ofs_lineage_read_store(&l, err);
	ofs_bucket_close(l.bucket);
	return r == -ENOENT ? 0 : r < 0 ? r : 1;
}
