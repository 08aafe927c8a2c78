/* SPDX-License-Identifier: MIT */
#include "replica/garbage.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"

#define MATURES (3600 * OFS_NS_PER_S) /* time allowed for slow readers */

void ofs_anchor_finish(struct ofs_anchor *a)
{
	json_decref(a->chain);
	json_decref(a->drafts);
	free(a->objects);
	*a = (struct ofs_anchor){ 0 };
}

static uint64_t name_of(uint32_t epoch, uint32_t number)
{
	return (uint64_t)epoch << 32 | number;
}

void ofs_anchor_add(struct ofs_anchor *a, uint32_t epoch, uint32_t number)
{
	*ofs_append(a->objects, a->nobjects, a->cap_objects) = name_of(epoch, number);
}

void ofs_garbage_finish(struct ofs_garbage *g)
{
	ofs_anchor_finish(&g->anchor);
	*g = (struct ofs_garbage){ 0 };
}

bool ofs_garbage_wants_anchor(const struct ofs_garbage *g)
{
	return !g->anchor.n;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void ofs_garbage_note_manifest(struct ofs_garbage *g, struct ofs_anchor *a)
{
	if (g->anchor.n) {
		g->newer = true;
		ofs_anchor_finish(a);
		return;
	}
	g->anchor = ofs_steal(*a);
	if (g->anchor.nobjects)
		qsort(g->anchor.objects, g->anchor.nobjects, sizeof(uint64_t), compare);
}

void ofs_garbage_note_link(struct ofs_garbage *g)
{
	if (g->newer && !g->proved_at)
		g->proved_at = ofs_clock_boot();
}

/* ---- finding garbage */

struct key_list {
	char **at;
	size_t n, cap;
};

static void key_list_finish(struct key_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->at[i]);
	free(l->at);
}

struct sweep {
	const struct ofs_anchor *anchor;
	struct key_list manifests, parts, log, packs;
	/* The last object of the log seen of an epoch before the anchor's. */
	char *last;
	uint32_t last_epoch;
};

static void sweep_finish(struct sweep *s)
{
	key_list_finish(&s->manifests);
	key_list_finish(&s->parts);
	key_list_finish(&s->log);
	key_list_finish(&s->packs);
	free(s->last);
}

static void note(struct key_list *l, const char *key)
{
	*ofs_append(l->at, l->n, l->cap) = ofs_strdup(key);
}

static bool is_named(const json_t *parts, const char *key)
{
	json_t *p;
	size_t i;

	json_array_foreach ((json_t *)parts, i, p)
		if (strcmp(json_string_value(json_object_get(p, "key")), key) == 0)
			return true;
	return false;
}

/* True if `number` was given out before the anchor was made. */
static bool is_older(uint32_t epoch, uint32_t number, uint32_t anchor_epoch, uint32_t anchor_number)
{
	return epoch < anchor_epoch || (epoch == anchor_epoch && number <= anchor_number);
}

static int take_checkpoint(void *arg, const char *key, uint64_t size)
{
	struct sweep *s = arg;
	const struct ofs_anchor *a = s->anchor;
	unsigned int epoch, n;
	int end = 0;

	if (sscanf(key, "ckpt/%8x/part-%8x%n", &epoch, &n, &end) == 2 && !key[end]) {
		if (is_older(epoch, n, a->at.epoch, a->parts) && !is_named(a->chain, key) &&
		    !is_named(a->drafts, key))
			note(&s->parts, key);
	} else if (sscanf(key, "ckpt/%8x/%8x%n", &epoch, &n, &end) == 2 && !key[end]) {
		if (is_older(epoch, n, a->at.epoch, a->n - 1))
			note(&s->manifests, key);
	}
	return 0;
}

/*
 * Keeps the object at the anchor's place, which proves that the anchor is sound, and the last one
 * of an ended epoch, its FENCE. Keys come in order.
 */
static int take_log(void *arg, const char *key, uint64_t size)
{
	struct sweep *s = arg;
	const struct ofs_anchor *a = s->anchor;
	unsigned int epoch, seq;
	int end = 0;

	if (sscanf(key, "wal/%8x/%8x%n", &epoch, &seq, &end) != 2 || key[end])
		return 0;
	if (epoch == a->at.epoch && seq < a->at.seq)
		note(&s->log, key);
	if (epoch >= a->at.epoch)
		return 0;
	if (s->last && s->last_epoch == epoch)
		note(&s->log, s->last);
	free(s->last);
	s->last = ofs_strdup(key);
	s->last_epoch = epoch;
	return 0;
}

static int take_pack(void *arg, const char *key, uint64_t size)
{
	struct sweep *s = arg;
	const struct ofs_anchor *a = s->anchor;
	unsigned int epoch, n;
	uint64_t name;
	int end = 0;

	if (sscanf(key, "pack/%8x/%8x%n", &epoch, &n, &end) != 2 || key[end])
		return 0;
	name = name_of(epoch, n);
	if (is_older(epoch, n, a->at.epoch, a->packs) &&
	    !(a->nobjects &&
	      bsearch(&name, a->objects, a->nobjects, sizeof(name), compare)))
		note(&s->packs, key);
	return 0;
}

/* ---- removing it */

static int delete_all(struct ofs_lineage *l, const struct key_list *keys, struct ofs_error *err)
{
	int r = 0;

	for (size_t i = 0; i < keys->n && r == 0; i += OFS_S3_DELETE_MAX)
		r = ofs_s3_delete(ofs_bucket_s3(l->bucket), (const char *const *)keys->at + i,
				  OFS_MIN(keys->n - i, (size_t)OFS_S3_DELETE_MAX), err);
	return r;
}

/* As long as somebody can start from one of these manifests, the log after it must stay. */
static int check_gone(struct ofs_lineage *l, const struct key_list *keys, struct ofs_error *err)
{
	int r = -ENOENT;

	for (size_t i = 0; i < keys->n && r == -ENOENT; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf bytes = OFS_BUF_INIT;

		r = ofs_bucket_get(l->bucket, keys->at[i], OFS_REMOTE_BODY_MAX, &bytes, err);
		if (r == 0)
			return ofs_error_set(err, EAGAIN, "%s was deleted but is still there",
					     keys->at[i]);
	}
	return r == -ENOENT ? 0 : r;
}

static int sweep(struct sweep *s, struct ofs_lineage *l, struct ofs_error *err)
{
	struct ofs_s3 *s3 = ofs_bucket_s3(l->bucket);
	int r = ofs_s3_list(s3, "ckpt/", NULL, take_checkpoint, s, err);

	if (r == 0)
		r = ofs_s3_list(s3, "wal/", NULL, take_log, s, err);
	if (r == 0)
		r = ofs_s3_list(s3, "pack/", NULL, take_pack, s, err);
	if (r == 0)
		r = delete_all(l, &s->manifests, err);
	if (r == 0)
		r = check_gone(l, &s->manifests, err);
	if (r == 0)
		r = delete_all(l, &s->log, err);
	if (r == 0)
		r = delete_all(l, &s->parts, err);
	return r < 0 ? r : delete_all(l, &s->packs, err);
}

int ofs_garbage_sweep(struct ofs_garbage *g, struct ofs_lineage *l, struct ofs_error *err)
{
	OFS_CLEANUP(sweep_finish) struct sweep s = { .anchor = &g->anchor };
	int r;

	if (!g->proved_at || ofs_clock_boot() < g->proved_at + MATURES)
		return 0;
	r = sweep(&s, l, err);
	if (r == 0)
		ofs_log(LOG_INFO, "removed from the remote: %zu checkpoints, %zu parts, %zu objects "
				  "of the log, %zu packs",
			s.manifests.n, s.parts.n, s.log.n, s.packs.n);
	/* The next manifest becomes the anchor. */
	ofs_garbage_finish(g);
	return r;
}
