/* SPDX-License-Identifier: MIT */
#include "store/inode.h"

#include <malloc.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "store/store_state.h"

#define INODES_MAX 65536 /* in memory; above this, clean ones are dropped */
#define NEAR 4 /* largest gap between inode numbers that count as consecutive */
#define AHEAD 63 /* rows loaded ahead at most */

static void inode_list_add(struct ofs_inode_list *l, struct ofs_inode *n)
{
	*ofs_append(l->list, l->n, l->cap) = n;
}

void ofs_store_weigh(struct ofs_store *s, size_t bytes)
{
	s->weight.all += bytes;
}

static void weigh_loaded(struct ofs_store *s, size_t bytes)
{
	ofs_store_weigh(s, bytes);
	s->weight.largest = OFS_MAX(s->weight.largest, bytes);
}

static size_t weight_of(const struct ofs_inode *n)
{
	return n->xattrs.cap + n->content.cap_blocks * sizeof(*n->content.blocks) +
	       (n->dir ? n->dir->count * OFS_WEIGHT_DIRENT : 0);
}

bool ofs_store_is_heavy(const struct ofs_store *s, size_t times)
{
	return s->weight.all / times > OFS_MAX(OFS_WEIGHT_MAX, 4 * s->weight.largest);
}

int ofs_store_xattrs(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	struct ofs_inode *n;
	int r = ofs_store_inode(s, ino, &n);

	if (r < 0)
		return r;
	if (!n->xattrs_loaded) {
		r = ofs_index_get_xattrs(s->index, ino, &n->xattrs);
		weigh_loaded(s, n->xattrs.cap);
	}
	n->xattrs_loaded = r == 0;
	*ret = n;
	return r;
}

struct ofs_inode *ofs_store_add_inode(struct ofs_store *s, uint64_t ino)
{
	struct ofs_inode *n = ofs_alloc(sizeof(*n));

	n->row.ino = ino;
	n->row.lines = n->row.tokens = -1;
	ofs_content_map_init(&n->content);
	n->version = s->next_version++;
	ofs_map_put(&s->inodes, ino, n);
	return n;
}

static void inode_destroy(struct ofs_inode *n)
{
	ofs_content_map_finish(&n->content);
	ofs_dir_destroy(n->dir);
	ofs_buf_finish(&n->xattrs);
	free(n->row.target);
	free(n);
}

void ofs_store_free_inode(struct ofs_store *s, struct ofs_inode *n)
{
	ofs_map_remove(&s->inodes, n->row.ino);
	inode_destroy(n);
}

void ofs_store_free_inodes(struct ofs_store *s)
{
	struct ofs_inode *n;
	size_t pos = 0;

	while ((n = ofs_map_next(&s->inodes, &pos)))
		inode_destroy(n);
	ofs_map_finish(&s->inodes);
}

/*
 * Returns the number of the last row to load from the index together with `ino`. The files of a
 * directory mostly have consecutive numbers: if those before `ino` are in memory, as many after it
 * are loaded ahead. Scattered accesses therefore do not load everything.
 */
static uint64_t load_until(struct ofs_store *s, uint64_t ino, bool (*has)(const struct ofs_inode *))
{
	uint64_t first = ino;

	for (uint64_t at = ino; at-- && first - at <= NEAR && ino - at <= AHEAD;) {
		const struct ofs_inode *n = ofs_map_get(&s->inodes, at);

		if (n && has(n))
			first = at;
	}
	return ino + (ino - first);
}

static bool has_row(const struct ofs_inode *n)
{
	return !n->gone;
}

/* Restores the version of an inode that was held when a follower began again, with its content. */
static void restore_version(struct ofs_store *s, struct ofs_inode *n)
{
	uintptr_t version = (uintptr_t)ofs_map_remove(&s->versions, n->row.ino);

	if (version)
		n->version = version;
}

static int load_inode(void *arg, const struct ofs_index_inode *row)
{
	struct ofs_store *s = arg;
	struct ofs_inode *n;

	/* Memory may be newer than the index. */
	if (ofs_map_get(&s->inodes, row->ino)) {
		free(row->target);
		return 0;
	}
	n = ofs_store_add_inode(s, row->ino);
	n->row = *row;
	if (s->versions.count)
		restore_version(s, n);
	/* The earliest time that rounds up to `used`, so that every load gives the same. */
	n->seen = OFS_MIN(row->used - OFS_NS_PER_S + 1, ofs_store_age(s));
	return 0;
}

static int fetch_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	uint64_t last = load_until(s, ino, has_row);
	int r = ofs_index_list_inodes(s->index, ino, last, load_inode, s);

	*ret = ofs_map_get(&s->inodes, ino);
	/* An error in another row is reported when that row is needed. */
	if (!*ret && r < 0 && last > ino) {
		r = ofs_index_list_inodes(s->index, ino, ino, load_inode, s);
		*ret = ofs_map_get(&s->inodes, ino);
	}
	if (*ret)
		return 0;
	return r < 0 ? r : -ENOENT;
}

int ofs_store_inode(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	int r;

	*ret = ofs_map_get(&s->inodes, ino);
	s->inodes_asked++;
	s->inodes_loaded += !*ret;
	r = *ret ? 0 : fetch_inode(s, ino, ret);
	return r == 0 && (*ret)->gone ? -ENOENT : r;
}

static int load_dirent(void *arg, const struct ofs_index_dirent *e)
{
	if (ofs_dir_check_name(e->name) < 0)
		return -EUCLEAN;
	ofs_dir_add(arg, e->name, e->ino, e->type, e->cookie, 0);
	return 0;
}

int ofs_store_dir(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	struct ofs_inode *n;
	int r = ofs_store_inode(s, ino, &n);

	if (r < 0)
		return r;
	if (!S_ISDIR(n->row.mode))
		return -ENOTDIR;
	if (!n->dir) {
		struct ofs_dir *d = ofs_dir_create();

		r = ofs_index_list_dir(s->index, ino, load_dirent, d);
		if (r == 0)
			r = ofs_dir_sort(d);
		if (r < 0) {
			ofs_dir_destroy(d);
			return r;
		}
		n->dir = d;
		weigh_loaded(s, d->count * OFS_WEIGHT_DIRENT);
	}
	*ret = n;
	return 0;
}

static int load_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	if (block >= OFS_CONTENT_END / OFS_BLOCK_SIZE)
		return -EUCLEAN;
	ofs_content_map_set_block(arg, block, c, 0);
	return 0;
}

static bool has_content(const struct ofs_inode *n)
{
	return n->content.loaded;
}

/* The file has at most one block, which is not loaded yet. */
static bool is_short(const struct ofs_inode *n)
{
	return n && S_ISREG(n->row.mode) && n->row.size <= OFS_BLOCK_SIZE && !n->content.loaded;
}

static int load_first(void *arg, uint64_t ino, const struct ofs_index_chunk *c)
{
	struct ofs_store *s = arg;
	struct ofs_inode *n = ofs_map_get(&s->inodes, ino);

	if (!is_short(n))
		return 0;
	ofs_content_map_set_block(&n->content, 0, c, 0);
	n->content.loaded = true;
	return 0;
}

static int fetch_content(struct ofs_store *s, struct ofs_inode *n)
{
	uint64_t ino = n->row.ino;
	int r;

	/* The blocks of the short files that follow are loaded as well. */
	if (is_short(n)) {
		r = ofs_index_list_firsts(s->index, ino, load_until(s, ino, has_content),
					  load_first, s);
		/* The file may have no block. */
		n->content.loaded = n->content.loaded || r == 0;
		if (n->content.loaded)
			return 0;
	}
	r = ofs_index_list_blocks(s->index, ino, load_block, &n->content);
	n->content.loaded = r == 0;
	weigh_loaded(s, n->content.cap_blocks * sizeof(*n->content.blocks));
	if (r < 0)
		n->content.nblocks = 0;
	return r;
}

int ofs_store_file(struct ofs_store *s, uint64_t ino, struct ofs_inode **ret)
{
	struct ofs_inode *n;
	int r = ofs_store_inode(s, ino, &n);

	if (r < 0)
		return r;
	if (S_ISDIR(n->row.mode))
		return -EISDIR;
	if (!S_ISREG(n->row.mode))
		return -EINVAL;
	*ret = n;
	return n->content.loaded ? 0 : fetch_content(s, n);
}

void ofs_store_dirtied(struct ofs_store *s)
{
	if (s->dirty_since)
		return;
	s->dirty_since = ofs_clock_monotonic();
	pthread_cond_signal(&s->sealer.wake);
}

void ofs_store_touch(struct ofs_store *s, struct ofs_inode *n)
{
	n->epoch = s->epoch;
	if (n->on_dirty_list)
		return;
	n->on_dirty_list = true;
	inode_list_add(&s->dirty, n);
	ofs_store_dirtied(s);
}

void ofs_store_content_changed(struct ofs_store *s, struct ofs_inode *n)
{
	n->resealed = n->resealed || (!n->on_draft_list && (n->row.has_sha || n->row.stored));
	n->unsealed = true;
	n->version = s->next_version++;
	n->written_at = ofs_clock_monotonic();
	n->row.has_sha = false;
	n->row.lines = n->row.tokens = -1;
	ofs_store_add_draft(s, n);
	ofs_store_touch(s, n);
}

void ofs_store_content_sealed(struct ofs_store *s, struct ofs_inode *n)
{
	if (!n->unsealed || !n->row.size)
		return;
	if (s->sealed)
		ofs_u64_list_add(&s->sealed_files, 2 * n->row.ino + n->resealed);
	n->unsealed = n->resealed = false;
}

void ofs_store_add_draft(struct ofs_store *s, struct ofs_inode *n)
{
	if (!n->on_draft_list)
		inode_list_add(&s->drafts, n);
	n->on_draft_list = true;
}

void ofs_store_use(struct ofs_store *s, uint64_t ino)
{
	int64_t age = ofs_store_age(s);
	struct ofs_inode *n;

	OFS_LOCKED(&s->lock);
	n = ofs_map_get(&s->inodes, ino);
	if (!n || n->gone)
		return;
	n->seen = age;
	if (age <= n->row.used)
		return;
	/* On a full disk only memory remembers the use: otherwise the index would grow. */
	if (s->reserve.tight || s->broken || s->read_only) {
		n->row.used = ofs_age_round_up(age);
	} else {
		n->row.used = ofs_age_round_up(age + OFS_STORE_USE_AHEAD);
		ofs_store_touch(s, n);
	}
}

void ofs_store_settle_uses(struct ofs_store *s)
{
	int64_t age = ofs_store_age(s);
	struct ofs_inode *n;
	size_t pos = 0;

	OFS_LOCKED(&s->lock);
	while (!s->reserve.tight && !s->broken && (n = ofs_map_next(&s->inodes, &pos)))
		if (!n->gone && n->row.used > age && ofs_age_round_up(n->seen) < n->row.used) {
			n->row.used = ofs_age_round_up(n->seen);
			ofs_store_touch(s, n);
		}
}

uint64_t ofs_store_refs(struct ofs_store *s, uint64_t ino)
{
	return ofs_tally_get(&s->refs, ino);
}

void ofs_store_set_refs(struct ofs_store *s, uint64_t ino, uint64_t n)
{
	s->held += n - ofs_store_refs(s, ino);
	ofs_tally_set(&s->refs, ino, n);
}

void ofs_store_drop_inode(struct ofs_store *s, struct ofs_inode *n)
{
	n->gone = true;
	ofs_content_map_uncover(&n->content, 0, UINT64_MAX, s->epoch);
	ofs_store_touch(s, n);
}

static bool is_clean(struct ofs_store *s, const struct ofs_inode *n)
{
	return n->epoch <= s->committed && !n->on_dirty_list && !n->content.nextents &&
	       !n->on_draft_list && n->row.nlink && !n->gone && n->row.ino != OFS_ROOT_INO;
}

static void drop_clean(struct ofs_store *s)
{
	OFS_FREE struct ofs_inode **out = ofs_alloc(s->inodes.count * sizeof(*out));
	bool heavy = ofs_store_is_heavy(s, 1);
	struct ofs_inode *n;
	size_t pos = 0, count = 0, i;

	s->weight = (struct ofs_weight){ 0 };
	while ((n = ofs_map_next(&s->inodes, &pos))) {
		if (is_clean(s, n))
			out[count++] = n;
		else
			weigh_loaded(s, weight_of(n));
	}
	s->weight.kept = s->weight.all;
	for (i = 0; i < count; i++)
		ofs_store_free_inode(s, out[i]);
	if (heavy && count)
		malloc_trim(0);
}

void ofs_store_evict(struct ofs_store *s)
{
	/* Inodes that must stay are not scanned again and again. */
	if (s->inodes.count > INODES_MAX + s->dirty.n + s->drafts.n ||
	    (ofs_store_is_heavy(s, 1) && s->weight.all / 2 >= s->weight.kept))
		drop_clean(s);
}

void ofs_store_relax(struct ofs_store *s)
{
	pthread_mutex_lock(&s->lock);
	drop_clean(s);
	pthread_mutex_unlock(&s->lock);
	malloc_trim(0);
}

/* ---- all files */

struct files {
	struct ofs_store *store;
	struct ofs_u64_list *found;
	size_t max; /* of files from the index */
};

/* Notes a file of the index unless memory knows that it was removed. */
static int note_file(void *arg, uint64_t ino)
{
	struct files *f = arg;
	const struct ofs_inode *n = ofs_map_get(&f->store->inodes, ino);

	if (!n || (!n->gone && n->row.nlink))
		ofs_u64_list_add(f->found, ino);
	return f->found->n == f->max;
}

int ofs_store_list_files(struct ofs_store *s, uint64_t before, uint64_t *ret, size_t max)
{
	OFS_CLEANUP(ofs_u64_list_finish) struct ofs_u64_list found = { 0 };
	struct files f = { s, &found, OFS_MIN(max, (size_t)INT32_MAX) };
	int n = 0, r;

	if (!max)
		return 0;
	OFS_LOCKED(&s->lock);
	r = ofs_index_list_files(s->index, before, note_file, &f);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->dirty.n; i++) {
		const struct ofs_inode *in = s->dirty.list[i];

		if (in->row.ino < before && !in->gone && in->row.nlink && S_ISREG(in->row.mode))
			ofs_u64_list_add(&found, in->row.ino);
	}
	ofs_u64_list_sort_unique(&found);
	for (size_t i = found.n; i-- && n < (int)f.max;)
		ret[n++] = found.at[i];
	return n;
}
