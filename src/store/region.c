/* SPDX-License-Identifier: MIT */
#include "store/region.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/u64_list.h"
#include "store/store_state.h"

#define TRIES 4 /* to count a region; only the last one holds the lock throughout */

/* ---- which region something is in */

bool ofs_region_is(struct ofs_store *s, uint64_t dir)
{
	return dir == OFS_ROOT_INO || ofs_map_get(&s->regions, dir);
}

/*
 * Returns the region that a directory is or lies in. The directories on the way remember it until
 * one of them may have moved to another region. What cannot be loaded counts as in the root.
 */
static uint64_t region_of_dir(struct ofs_store *s, uint64_t dir)
{
	uint64_t found = OFS_ROOT_INO, at = dir;
	struct ofs_inode *n;

	while (at && !ofs_region_is(s, at)) {
		if (ofs_store_inode(s, at, &n) < 0)
			return OFS_ROOT_INO;
		if (n->region && n->region_moves == s->region_moves)
			break;
		at = n->row.parent;
	}
	if (at)
		found = ofs_region_is(s, at) ? at : n->region;
	for (uint64_t to = at; dir && dir != to; dir = n->row.parent) {
		if (ofs_store_inode(s, dir, &n) < 0)
			break;
		n->region = found;
		n->region_moves = s->region_moves;
	}
	return found;
}

uint64_t ofs_region_of(struct ofs_store *s, struct ofs_inode *n)
{
	if (!s->regions.count)
		return OFS_ROOT_INO;
	return region_of_dir(s, S_ISDIR(n->row.mode) ? n->row.ino : n->row.parent);
}

/* The region around this one; NULL: the root. */
static struct ofs_region *region_above(struct ofs_store *s, const struct ofs_region *region)
{
	struct ofs_inode *n;

	if (ofs_store_inode(s, region->dir, &n) < 0)
		return NULL;
	return ofs_map_get(&s->regions, region_of_dir(s, n->row.parent));
}

/* ---- what is in it */

/* Sums wrap around. */
static void add(struct ofs_region *region, const struct ofs_region_counts *d, uint64_t sign)
{
	region->disturbed = true;
	region->counts.files += sign * d->files;
	region->counts.dirs += sign * d->dirs;
	region->counts.others += sign * d->others;
	region->counts.bytes += sign * d->bytes;
}

static void add_above(struct ofs_store *s, uint64_t dir, const struct ofs_region_counts *d,
		      uint64_t sign)
{
	struct ofs_region *region = ofs_map_get(&s->regions, region_of_dir(s, dir));

	for (; region; region = region_above(s, region))
		add(region, d, sign);
}

static struct ofs_region_counts counts_of(const struct ofs_inode *n)
{
	struct ofs_region_counts c = { 0 };

	if (S_ISREG(n->row.mode))
		c = (struct ofs_region_counts){ .files = 1, .bytes = n->row.size };
	else if (S_ISDIR(n->row.mode))
		c.dirs = 1;
	else
		c.others = 1;
	return c;
}

void ofs_region_count(struct ofs_store *s, uint64_t dir, const struct ofs_inode *n, int sign)
{
	struct ofs_region_counts d;

	if (!s->regions.count)
		return;
	d = counts_of(n);
	add_above(s, dir, &d, (uint64_t)(int64_t)sign);
}

void ofs_region_grow(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to)
{
	if (s->regions.count && from != to)
		add_above(s, n->row.parent, &(struct ofs_region_counts){ .bytes = to - from }, 1);
}

/* How much a moving directory takes along is unknown, so the regions above are counted anew. */
static void forget_above(struct ofs_store *s, uint64_t dir)
{
	struct ofs_region *region = ofs_map_get(&s->regions, region_of_dir(s, dir));

	for (; region; region = region_above(s, region)) {
		region->counted = false;
		region->disturbed = true;
	}
}

void ofs_region_move(struct ofs_store *s, const struct ofs_inode *n, uint64_t from, uint64_t to)
{
	if (!s->regions.count)
		return;
	if (region_of_dir(s, from) != region_of_dir(s, to)) {
		if (S_ISDIR(n->row.mode)) {
			forget_above(s, from);
			forget_above(s, to);
		} else {
			ofs_region_count(s, from, n, -1);
			ofs_region_count(s, to, n, 1);
		}
	}
	s->region_moves += S_ISDIR(n->row.mode);
}

void ofs_region_keep(struct ofs_store *s, struct ofs_inode *dir, struct ofs_inode *n)
{
	if (s->regions.count)
		n->row.parent = ofs_region_of(s, dir);
}

/* ---- counting */

struct counting {
	struct ofs_region_counts sum;
	struct ofs_u64_list dirs; /* still to be read */
	struct ofs_map met; /* files of several names */
};

/* Counts the entries of a directory, and lists its subdirectories in c->dirs. `lock` held. */
static int count_dir(struct ofs_store *s, uint64_t dir, struct counting *c)
{
	struct ofs_region_counts *sum = &c->sum;
	struct ofs_inode *d, *n;
	int r = ofs_store_dir(s, dir, &d);

	/* The directory is gone by now, so the region was disturbed. */
	if (r == -ENOENT || r == -ENOTDIR)
		return 0;
	for (size_t i = 0; r == 0 && i < d->dir->norder; i++) {
		const struct ofs_dirent *e = d->dir->order[i].entry;

		if (!e)
			continue;
		sum->dirs += e->type == DT_DIR;
		sum->others += e->type != DT_DIR && e->type != DT_REG;
		if (e->type == DT_DIR)
			ofs_u64_list_add(&c->dirs, e->ino);
		if (e->type != DT_REG)
			continue;
		r = ofs_store_inode(s, e->ino, &n);
		if (r == -ENOENT) { /* in a damaged index */
			r = 0;
			continue;
		}
		if (r < 0 || (n->row.nlink > 1 && ofs_map_get(&c->met, e->ino)))
			continue;
		if (n->row.nlink > 1)
			ofs_map_put(&c->met, e->ino, c);
		sum->files++;
		sum->bytes += n->row.size;
	}
	return r;
}

/* Counts a region. `lock` is held; with `pauses` it is released between directories. */
static int count_all(struct ofs_store *s, uint64_t dir, bool pauses, struct ofs_region_counts *ret)
{
	struct counting c = { .dirs = { 0 } };
	int r = 0;

	ofs_u64_list_add(&c.dirs, dir);
	while (r == 0 && c.dirs.n) {
		r = count_dir(s, c.dirs.at[--c.dirs.n], &c);
		if (pauses) {
			pthread_mutex_unlock(&s->lock);
			pthread_mutex_lock(&s->lock);
			ofs_store_evict(s);
		}
	}
	ofs_u64_list_finish(&c.dirs);
	ofs_map_finish(&c.met);
	*ret = c.sum;
	return r;
}

int ofs_store_count_region(struct ofs_store *s, uint64_t dir, struct ofs_region_counts *ret)
{
	struct ofs_region_counts sum;
	struct ofs_region *region;
	int r = 0;

	OFS_LOCKED(&s->lock);
	region = ofs_map_get(&s->regions, dir);
	for (int i = 1; region && !region->counted && r == 0; i++) {
		region->disturbed = false;
		r = count_all(s, dir, i < TRIES, &sum);
		/* The region may have been removed meanwhile. */
		region = ofs_map_get(&s->regions, dir);
		if (r == 0 && region && !region->disturbed) {
			region->counts = sum;
			region->counted = true;
		}
	}
	if (r == 0 && !region)
		return -ENOENT;
	if (r == 0)
		*ret = region->counts;
	return r;
}

/* ---- making them */

void ofs_store_add_region(struct ofs_store *s, uint64_t dir)
{
	struct ofs_region *region = ofs_alloc(sizeof(*region));

	OFS_LOCKED(&s->lock);
	region->dir = dir;
	free(ofs_map_remove(&s->regions, dir));
	ofs_map_put(&s->regions, dir, region);
	s->region_moves++;
}

void ofs_store_remove_region(struct ofs_store *s, uint64_t dir)
{
	OFS_LOCKED(&s->lock);

	free(ofs_map_remove(&s->regions, dir));
	s->region_moves++;
}

void ofs_regions_finish(struct ofs_store *s)
{
	struct ofs_region *region;
	size_t pos = 0;

	while ((region = ofs_map_next(&s->regions, &pos)))
		free(region);
	ofs_map_finish(&s->regions);
}
