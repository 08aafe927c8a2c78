/* SPDX-License-Identifier: MIT */
#include "tree/search/meaning.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/thread.h"
#include "base/u64_list.h"
#include "tree/search/indexer.h"

#define AT_ONCE 64 /* documents turned into vectors by one call */
#define QUERY_FOR (300 * OFS_NS_PER_MS) /* a search waits this long for an endpoint */
#define REST (30 * OFS_NS_PER_S) /* a model that failed is not used for this time */
#define IDLE (2 * OFS_NS_PER_S) /* between two checks for missing vectors */
#define SETTLE_FOR (2 * OFS_NS_PER_S)
#define MEMORY_MAX ((size_t)256 << 20) /* bytes of vectors in memory; others are not searched */
#define LISTED_AT_ONCE 256 /* contents */
/*
 * A document is near if its cosine is this many standard deviations above the mean of all, which by
 * chance happens to one in a thousand.
 */
#define STANDS_OUT 3.0
#define FEW 50 /* with fewer documents, those with this cosine are near: */
#define NEAR_ENOUGH 0.3
struct ofs_meaning {
	struct ofs_tree *tree;
	struct ofs_embed_settings settings;
	atomic_bool stop;

	pthread_mutex_t lock; /* guards the fields up to `trouble` */
	pthread_cond_t wake;
	pthread_t thread;
	bool running;
	struct ofs_embedder *embedder; /* set once; NULL: not yet opened */
	int64_t again; /* monotonic: the model is not used or opened before then */
	uint64_t made_for; /* number of documents when last all had vectors */
	char trouble[sizeof(((struct ofs_error *)NULL)->text)]; /* the last failure; "": none */

	pthread_rwlock_t table; /* guards what follows */
	struct ofs_buf vectors; /* of the documents in `docs`, in that order */
	struct ofs_u64_list docs;
	uint64_t at; /* how far the index's vectors have been read */
	uint64_t numbering; /* of the documents, as of that reading */
};

/* ---- the model */

static void fail(struct ofs_meaning *m, const struct ofs_error *err)
{
	OFS_LOCKED(&m->lock);
	m->again = ofs_clock_monotonic() + REST;
	if (strcmp(m->trouble, err->text) != 0)
		ofs_log(LOG_WARNING, "search by meaning: %s", err->text);
	snprintf(m->trouble, sizeof(m->trouble), "%s", err->text);
}

/* Opens the model if necessary. Returns NULL if it failed, now or a short time ago. */
static struct ofs_embedder *get_model(struct ofs_meaning *m)
{
	struct ofs_error err = { .text = "" };
	int r = 0;

	pthread_mutex_lock(&m->lock);
	if (m->again > ofs_clock_monotonic())
		r = -EAGAIN;
	else if (!m->embedder)
		r = ofs_embedder_open(&m->settings, &err, &m->embedder);
	pthread_mutex_unlock(&m->lock);
	if (r < 0 && r != -EAGAIN)
		fail(m, &err);
	return r < 0 ? NULL : m->embedder;
}

static int embed(struct ofs_meaning *m, struct ofs_embedder *e, const struct ofs_embed_text *texts,
		 size_t n, int64_t deadline, struct ofs_buf *ret)
{
	struct ofs_error err;
	int r = ofs_embed(e, texts, n, deadline, ret, &err);

	if (r < 0) {
		fail(m, &err);
		return r;
	}
	OFS_LOCKED(&m->lock);
	m->trouble[0] = 0;
	return 0;
}

/* ---- making vectors */

/* A content whose vectors are being made. */
struct content {
	struct ofs_fts_bare bare;
	const char *model;
	struct ofs_buf text; /* of all its documents, which are adjacent */
	struct ofs_buf vectors;
};

static void content_finish(struct content *c)
{
	free(c->bare.docs);
	ofs_buf_finish(&c->text);
	ofs_buf_finish(&c->vectors);
}

/* Reads the content from a file that has it. Returns 1, 0 if no file does, or -errno. */
static int read_content(struct ofs_meaning *m, struct ofs_fts *index, struct content *c)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list files = { 0 };
	const struct ofs_fts_range *last = &c->bare.docs[c->bare.ndocs - 1];
	size_t len = (size_t)last->off + last->len;
	struct ofs_store *store = m->tree->store;
	int r = ofs_fts_files_of(index, c->bare.sha, &files);

	ofs_buf_reserve(&c->text, len);
	for (size_t i = 0; i < files.n && r == 0; i++) {
		struct ofs_content_hash digest = { .has_sha = false };

		if (ofs_store_get_hash(store, files.at[i], &digest) < 0 || !digest.has_sha ||
		    memcmp(digest.sha, c->bare.sha, sizeof(digest.sha)) != 0)
			continue;
		if (ofs_store_scan(store, files.at[i], c->text.data, len, 0) != (ssize_t)len)
			continue;
		c->text.len = len;
		return 1;
	}
	return r;
}

static int make_vectors(struct ofs_meaning *m, struct ofs_embedder *e, struct content *c)
{
	struct ofs_embed_text texts[AT_ONCE];
	size_t n;
	int r = 0;

	for (size_t i = 0; i < c->bare.ndocs && r == 0 && !m->stop; i += n) {
		n = OFS_MIN(c->bare.ndocs - i, (size_t)AT_ONCE);
		for (size_t k = 0; k < n; k++)
			texts[k] = (struct ofs_embed_text){ (const char *)c->text.data +
								    c->bare.docs[i + k].off,
							    c->bare.docs[i + k].len };
		r = embed(m, e, texts, n, 0, &c->vectors);
	}
	return r == 0 && m->stop ? -ECANCELED : r;
}

static int put_vectors(void *arg, struct ofs_fts *index)
{
	struct content *c = arg;

	return ofs_fts_put_vectors(index, c->model, c->bare.sha, c->vectors.data, c->vectors.len);
}

static int prune_vectors(void *model, struct ofs_fts *index)
{
	return ofs_fts_prune_vectors(index, model);
}

/*
 * Makes the vectors of the first content after *at that has none, or counts it in *missed if no file
 * has it at the moment. 1; 0: there is none; -errno.
 */
static int make_next(struct ofs_meaning *m, struct ofs_embedder *e, uint64_t *at, size_t *missed)
{
	struct ofs_fts *index = ofs_indexer_index(m->tree->indexer);
	OFS_CLEANUP(content_finish)
	struct content c = { .text = OFS_BUF_INIT, .vectors = OFS_BUF_INIT };
	int r;

	if (!index)
		return 0;
	c.model = ofs_embedder_id(e);
	r = ofs_fts_next_bare(index, c.model, *at, &c.bare);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*at = c.bare.id;
	r = read_content(m, index, &c);
	*missed += r == 0;
	if (r > 0) {
		r = make_vectors(m, e, &c);
		if (r == 0)
			r = ofs_indexer_write(m->tree->indexer, put_vectors, &c);
	}
	return r < 0 ? r : 1;
}

/* Makes missing vectors, until `until` (monotonic; 0: no limit). Whether none is missing now. */
static bool make_all(struct ofs_meaning *m, int64_t until)
{
	struct ofs_embedder *e = get_model(m);
	struct ofs_indexer_stats stats;
	uint64_t at = 0;
	size_t missed = 0;
	int r = 1;

	ofs_indexer_stats(m->tree->indexer, &stats);
	while (e && r > 0 && !m->stop && (!until || ofs_clock_monotonic() < until))
		r = make_next(m, e, &at, &missed);
	while (e && r == 0 && !m->stop && at && !until)
		if (ofs_indexer_write(m->tree->indexer, prune_vectors,
				      (void *)(uintptr_t)ofs_embedder_id(e)) <= 0)
			break;
	if (!e || r || missed)
		return false;
	OFS_LOCKED(&m->lock);
	m->made_for = stats.documents;
	return true;
}

static void *meaning_main(void *arg)
{
	struct ofs_meaning *m = arg;
	struct ofs_indexer_stats seen = { 0 }, now;
	int64_t retry = 0; /* monotonic; 0: nothing is missing */

	ofs_thread_give_way();
	while (!m->stop) {
		ofs_indexer_stats(m->tree->indexer, &now);
		if (now.documents != seen.documents || now.files != seen.files ||
		    (retry && retry <= ofs_clock_monotonic())) {
			retry = make_all(m, 0) ? 0 : ofs_clock_monotonic() + REST;
			seen = now;
		}
		OFS_LOCKED(&m->lock);
		if (!m->stop)
			ofs_cond_wait_until(&m->wake, &m->lock, ofs_clock_monotonic() + IDLE);
	}
	return NULL;
}

void ofs_meaning_settle(struct ofs_meaning *m)
{
	struct ofs_embedder *e = m && !m->tree->background ? get_model(m) : NULL;

	if (e && ofs_embedder_is_local(e))
		make_all(m, ofs_clock_monotonic() + SETTLE_FOR);
}

/* ---- finding the nearest */

static void take_vectors(void *arg, uint64_t doc, size_t ndocs, const void *data, size_t len)
{
	struct ofs_meaning *m = arg;
	unsigned int dims = ofs_embedder_dims(m->embedder);

	/* Vectors of another number of documents belong to a content since split differently. */
	if (!dims || len != ndocs * dims || m->vectors.len + len > MEMORY_MAX)
		return;
	ofs_buf_append(&m->vectors, data, len);
	for (size_t i = 0; i < ndocs; i++)
		ofs_u64_list_add(&m->docs, doc + i);
}

/* Reads the index's new vectors. `table` is held for writing. */
static void read_table(struct ofs_meaning *m, struct ofs_fts *index)
{
	uint64_t numbering = ofs_fts_numbering(index);

	if (numbering != m->numbering) {
		m->vectors.len = m->docs.n = 0;
		m->at = 0;
		m->numbering = numbering;
	}
	while (ofs_fts_list_vectors(index, ofs_embedder_id(m->embedder), &m->at, LISTED_AT_ONCE,
				    take_vectors, m) > 0)
		;
}

/* Sets `ret` to the `max` nearest with a cosine of at least `least`, by insertion. */
static size_t nearest(const float *cosines, const struct ofs_u64_list *docs, double least,
		      struct ofs_near *ret, size_t max)
{
	size_t n = 0, k;

	for (size_t i = 0; i < docs->n; i++) {
		if (cosines[i] < least || (n == max && cosines[i] <= ret[n - 1].cosine))
			continue;
		k = n < max ? n++ : n - 1;
		for (; k && ret[k - 1].cosine < cosines[i]; k--)
			ret[k] = ret[k - 1];
		ret[k] = (struct ofs_near){ docs->at[i], cosines[i] };
	}
	return n;
}

static size_t find_nearest(const struct ofs_meaning *m, const int8_t *query, struct ofs_near *ret,
			   size_t max)
{
	unsigned int dims = ofs_embedder_dims(m->embedder);
	size_t n = m->docs.n;
	OFS_FREE float *cosines = ofs_alloc((n + 1) * sizeof(*cosines));
	double sum = 0, squares = 0, least;

	for (size_t i = 0; i < n; i++) {
		cosines[i] =
			ofs_embed_cosine(query, (const int8_t *)m->vectors.data + i * dims, dims);
		sum += cosines[i];
		squares += (double)cosines[i] * cosines[i];
	}
	/* With few documents the mean depends on each too much for any to stand out. */
	least = NEAR_ENOUGH;
	if (n >= FEW) {
		sum /= (double)n;
		least = sum + STANDS_OUT * sqrt(fmax(squares / (double)n - sum * sum, 0));
	}
	return nearest(cosines, &m->docs, least, ret, max);
}

size_t ofs_meaning_find(struct ofs_meaning *m, const char *text, size_t len, struct ofs_near *ret,
			size_t max)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf query = OFS_BUF_INIT;
	struct ofs_embedder *e = m && len ? get_model(m) : NULL;
	struct ofs_fts *index = e ? ofs_indexer_index(m->tree->indexer) : NULL;
	const struct ofs_embed_text one = { text, len };
	size_t n;

	if (!index || embed(m, e, &one, 1, ofs_clock_monotonic() + QUERY_FOR, &query) < 0)
		return 0;
	pthread_rwlock_wrlock(&m->table);
	read_table(m, index);
	pthread_rwlock_unlock(&m->table);
	pthread_rwlock_rdlock(&m->table);
	n = find_nearest(m, (const int8_t *)query.data, ret, max);
	pthread_rwlock_unlock(&m->table);
	return n;
}

size_t ofs_meaning_nearest(struct ofs_meaning *m, const char *text,
			   const struct ofs_embed_text texts[], size_t n)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf vectors = OFS_BUF_INIT;
	struct ofs_embedder *e = m ? get_model(m) : NULL;
	const struct ofs_embed_text one = { text, strlen(text) };
	unsigned int dims = e ? ofs_embedder_dims(e) : 0;
	size_t best = SIZE_MAX;
	float most = 0, cosine;

	if (!e || !ofs_embedder_is_local(e) || embed(m, e, texts, n, 0, &vectors) < 0 ||
	    embed(m, e, &one, 1, 0, &vectors) < 0)
		return SIZE_MAX;
	for (size_t i = 0; i < n; i++) {
		cosine = ofs_embed_cosine((const int8_t *)vectors.data + i * dims,
					  (const int8_t *)vectors.data + n * dims, dims);
		if (cosine > most) {
			most = cosine;
			best = i;
		}
	}
	return best;
}

void ofs_meaning_stats(struct ofs_meaning *m, struct ofs_meaning_stats *ret)
{
	struct ofs_indexer_stats now;

	*ret = (struct ofs_meaning_stats){ .model = "" };
	if (!m)
		return;
	ofs_indexer_stats(m->tree->indexer, &now);
	snprintf(ret->model, sizeof(ret->model), "%s", m->settings.model);
	pthread_rwlock_rdlock(&m->table);
	ret->vectors = m->docs.n;
	pthread_rwlock_unlock(&m->table);
	OFS_LOCKED(&m->lock);
	ret->caught_up = m->made_for == now.documents;
	memcpy(ret->trouble, m->trouble, sizeof(ret->trouble));
}

/* ---- creating and stopping */

struct ofs_meaning *ofs_meaning_create(struct ofs_tree *t, const struct ofs_embed_settings *s)
{
	struct ofs_meaning *m;

	if (!s->model || !*s->model)
		return NULL;
	m = ofs_alloc(sizeof(*m));
	m->tree = t;
	m->settings = *s;
	m->settings.model = ofs_strdup(s->model);
	m->settings.url = s->url && *s->url ? ofs_strdup(s->url) : NULL;
	m->settings.key = s->key && *s->key ? ofs_strdup(s->key) : NULL;
	m->settings.cancel = &m->stop;
	m->vectors = (struct ofs_buf)OFS_BUF_INIT;
	pthread_mutex_init(&m->lock, NULL);
	pthread_rwlock_init(&m->table, NULL);
	ofs_cond_init(&m->wake);
	return m;
}

int ofs_meaning_start(struct ofs_meaning *m)
{
	int r;

	if (!m)
		return 0;
	OFS_LOCKED(&m->lock);
	r = ofs_thread_start(&m->thread, "embedder", meaning_main, m);
	m->running = r == 0;
	return r;
}

void ofs_meaning_stop(struct ofs_meaning *m)
{
	bool running;

	if (!m)
		return;
	m->stop = true;
	pthread_mutex_lock(&m->lock);
	running = m->running;
	m->running = false;
	pthread_cond_signal(&m->wake);
	pthread_mutex_unlock(&m->lock);
	if (running)
		pthread_join(m->thread, NULL);
}

void ofs_meaning_destroy(struct ofs_meaning *m)
{
	if (!m)
		return;
	ofs_embedder_close(m->embedder);
	ofs_buf_finish(&m->vectors);
	ofs_u64_list_finish(&m->docs);
	free((char *)m->settings.model);
	free((char *)m->settings.url);
	free((char *)m->settings.key);
	pthread_cond_destroy(&m->wake);
	pthread_mutex_destroy(&m->lock);
	pthread_rwlock_destroy(&m->table);
	free(m);
}
