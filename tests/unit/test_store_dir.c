/* SPDX-License-Identifier: MIT */
/* The entries of a directory, compared with a plain list. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/util.h"
#include "store/dir.h"

#define NAMES 200

static uint64_t seed;
static int step;

static uint64_t rnd(uint64_t below)
{
	static uint64_t state, seeded;

	if (seeded != seed) {
		seeded = seed;
		state = seed * UINT64_C(0x9e3779b97f4a7c15);
	}
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* Indexed by the number of the name. Cookie 0: there is no such entry. */
struct model {
	struct {
		uint64_t cookie;
		uint64_t ino;
	} entries[NAMES];
	size_t count;
	uint64_t next_cookie;
};

static const char *name_of(size_t i)
{
	static char name[32];

	snprintf(name, sizeof(name), "%s%zu", i % 3 ? "n" : "\xff name ", i);
	return name;
}

static void add(struct ofs_dir *d, struct model *m, size_t i, uint64_t epoch)
{
	m->next_cookie += 1 + rnd(50);
	m->entries[i].cookie = m->next_cookie;
	m->entries[i].ino = rnd(NAMES) + 1; /* some inodes get several names */
	m->count++;
	ofs_dir_add(d, name_of(i), m->entries[i].ino, DT_REG, m->next_cookie, epoch);
}

static void drop(struct ofs_dir *d, struct model *m, size_t i, uint64_t epoch)
{
	struct ofs_dirent *e = ofs_dir_find(d, name_of(i));

	cr_assert_not_null(e, "seed %lu step %d", seed, step);
	ofs_dir_remove(d, e, epoch);
	m->entries[i].cookie = 0;
	m->count--;
}

/* Returns the lowest cookie of the model above `cookie`, or 0. */
static uint64_t next_above(const struct model *m, uint64_t cookie)
{
	uint64_t best = 0;

	for (size_t i = 0; i < NAMES; i++)
		if (m->entries[i].cookie > cookie && (!best || m->entries[i].cookie < best))
			best = m->entries[i].cookie;
	return best;
}

static void expect_order(const struct ofs_dir *d, const struct model *m)
{
	uint64_t last = 0;

	for (size_t i = ofs_dir_seek(d, 0); i < d->norder; i++) {
		const struct ofs_dirent *e = d->order[i].entry;

		if (!e)
			continue;
		cr_assert_eq(e->cookie, d->order[i].cookie);
		cr_assert_eq(e->cookie, next_above(m, last), "seed %lu step %d", seed, step);
		last = e->cookie;
	}
	cr_assert_eq(next_above(m, last), 0, "seed %lu step %d: entries are missing", seed, step);
}

static void expect_seek(const struct ofs_dir *d, const struct model *m)
{
	uint64_t cookie = rnd(m->next_cookie + 10), want = next_above(m, cookie);
	size_t i = ofs_dir_seek(d, cookie);

	cr_assert(i == 0 || d->order[i - 1].cookie <= cookie);
	while (i < d->norder && !d->order[i].entry)
		i++;
	cr_assert_eq(i < d->norder ? d->order[i].cookie : 0, want, "seed %lu step %d", seed, step);
}

/* Gives an entry another inode, as RENAME_EXCHANGE does. */
static void change(struct ofs_dir *d, struct model *m, size_t i, uint64_t epoch)
{
	m->entries[i].ino = rnd(NAMES) + 1;
	ofs_dir_change(d, ofs_dir_find(d, name_of(i)), m->entries[i].ino, DT_REG, epoch);
}

static void expect_inodes(struct ofs_dir *d, const struct model *m)
{
	for (uint64_t ino = 1; ino <= NAMES + 2; ino++) {
		const struct ofs_dirent *e = ofs_dir_find_ino(d, ino);
		bool there = false;

		for (size_t i = 0; i < NAMES; i++)
			there = there || (m->entries[i].cookie && m->entries[i].ino == ino);
		cr_assert_eq(!!e, there, "seed %lu step %d inode %lu", seed, step, ino);
		if (e) {
			cr_assert_eq(e->ino, ino);
			cr_assert_eq(ofs_dir_find(d, e->name), e);
		}
	}
}

static void expect_same(struct ofs_dir *d, const struct model *m)
{
	if (seed % 2)
		expect_inodes(d, m);
	cr_assert_eq(d->count, m->count);
	for (size_t i = 0; i < NAMES; i++) {
		const struct ofs_dirent *e = ofs_dir_find(d, name_of(i));

		cr_assert_eq(!!e, !!m->entries[i].cookie, "seed %lu step %d name %zu", seed, step,
			     i);
		if (!e)
			continue;
		cr_assert_str_eq(e->name, name_of(i));
		cr_assert_eq(e->ino, m->entries[i].ino);
		cr_assert_eq(e->cookie, m->entries[i].cookie, "a cookie changed");
	}
	expect_order(d, m);
	expect_seek(d, m);
}

Test(store_dir, random_changes_match_the_model)
{
	for (seed = 1; seed <= 30; seed++) {
		struct ofs_dir *d = ofs_dir_create();
		struct model m = { .next_cookie = 64 };
		size_t names = seed % 3 ? NAMES : 6;

		for (step = 0; step < 400; step++) {
			size_t i = rnd(names);
			bool grow = step / 100 % 2 == 0;

			if (!m.entries[i].cookie && (grow || rnd(4) == 0))
				add(d, &m, i, (uint64_t)step + 1);
			else if (m.entries[i].cookie && (!grow || rnd(4) == 0))
				drop(d, &m, i, (uint64_t)step + 1);
			else if (m.entries[i].cookie && rnd(8) == 0)
				change(d, &m, i, (uint64_t)step + 1);
			if (step % 7 == 0)
				expect_same(d, &m);
		}
		expect_same(d, &m);
		ofs_dir_destroy(d);
	}
}

Test(store_dir, an_empty_one_finds_nothing)
{
	struct ofs_dir *d = ofs_dir_create();

	cr_assert_null(ofs_dir_find(d, "x"));
	cr_assert_null(ofs_dir_find(d, ""));
	cr_assert_eq(ofs_dir_seek(d, 0), 0);
	cr_assert_eq(ofs_dir_seek(d, UINT64_MAX), 0);
	ofs_dir_sort(d);
	ofs_dir_committed(d, UINT64_MAX);
	ofs_dir_destroy(d);
	ofs_dir_destroy(NULL);
}

Test(store_dir, loading_in_any_order_ends_sorted)
{
	for (seed = 1; seed <= 20; seed++) {
		struct ofs_dir *d = ofs_dir_create();
		struct model m = { .next_cookie = 64 };

		for (size_t n = 0; n < NAMES; n++) {
			size_t i = (n * 67 + seed) % NAMES;

			m.entries[i].cookie = 64 + (n * 131 + seed * 7) % 4001 * 3;
			m.entries[i].ino = n + 2;
			m.count++;
			ofs_dir_add(d, name_of(i), n + 2, DT_DIR, m.entries[i].cookie, 0);
		}
		m.next_cookie = 64 + 4001 * 3;
		ofs_dir_sort(d);
		cr_assert_eq(d->epoch, 0, "loading is no change");
		cr_assert_null(d->removed);
		expect_same(d, &m);
		for (size_t i = 0; i < NAMES; i += 1 + rnd(3))
			drop(d, &m, i, 1);
		expect_same(d, &m);
		ofs_dir_destroy(d);
	}
}

Test(store_dir, a_position_outlives_the_entry_it_follows)
{
	struct ofs_dir *d = ofs_dir_create();

	ofs_dir_add(d, "a", 2, DT_REG, 100, 1);
	ofs_dir_add(d, "b", 3, DT_REG, 200, 1);
	ofs_dir_add(d, "c", 4, DT_REG, 300, 1);
	ofs_dir_remove(d, ofs_dir_find(d, "b"), 2);
	cr_assert_str_eq(d->order[ofs_dir_seek(d, 200)].entry->name, "c");
	ofs_dir_add(d, "b", 5, DT_REG, 400, 2);
	cr_assert_str_eq(d->order[ofs_dir_seek(d, 300)].entry->name, "b");
	cr_assert_eq(ofs_dir_seek(d, 400), d->norder);
	ofs_dir_destroy(d);
}

Test(store_dir, removals_do_not_fill_memory)
{
	struct ofs_dir *d = ofs_dir_create();
	uint64_t cookie = 64;

	for (int i = 0; i < 10000; i++) {
		ofs_dir_add(d, "same", 2, DT_REG, cookie++, 1);
		ofs_dir_remove(d, ofs_dir_find(d, "same"), 1);
		ofs_dir_committed(d, 1);
	}
	cr_assert_eq(d->count, 0);
	cr_assert_lt(d->norder, 20);
	cr_assert_lt(d->by_name.mask, 16);
	ofs_dir_destroy(d);
}

/* As when one of two hard-linked copies of a large directory is removed. */
Test(store_dir, removals_do_not_scan_the_rest)
{
	enum {
		COUNT = 200000
	};
	struct ofs_dir *d = ofs_dir_create();
	int64_t began = ofs_clock_monotonic();
	char name[16];

	for (uint64_t i = 1; i <= COUNT; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		ofs_dir_add(d, name, i, DT_REG, i * 64, 1);
	}
	for (uint64_t i = 1; i <= COUNT; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		ofs_dir_remove(d, ofs_dir_find(d, name), 1);
		cr_assert_null(ofs_dir_find_ino(d, i));
	}
	cr_assert_lt(ofs_clock_monotonic() - began, 15 * OFS_NS_PER_S);
	ofs_dir_destroy(d);
}

static bool is_removed(const struct ofs_dir *d, const char *name)
{
	for (const struct ofs_removed *r = d->removed; r; r = r->next)
		if (strcmp(r->name, name) == 0)
			return true;
	return false;
}

Test(store_dir, removed_names_wait_for_their_checkpoint)
{
	struct ofs_dir *d = ofs_dir_create();

	ofs_dir_add(d, "old", 2, DT_REG, 100, 0);
	ofs_dir_add(d, "new", 3, DT_REG, 200, 0);
	ofs_dir_remove(d, ofs_dir_find(d, "old"), 5);
	cr_assert_eq(d->epoch, 5);
	ofs_dir_remove(d, ofs_dir_find(d, "new"), 6);
	cr_assert(is_removed(d, "old"));
	ofs_dir_committed(d, 4);
	cr_assert(is_removed(d, "old"));
	ofs_dir_committed(d, 5);
	cr_assert_not(is_removed(d, "old"));
	cr_assert(is_removed(d, "new"));
	ofs_dir_committed(d, 7);
	cr_assert_null(d->removed);
	ofs_dir_destroy(d);
}

Test(store_dir, names_are_bytes_and_whole)
{
	char longest[256];
	struct ofs_dir *d = ofs_dir_create();

	memset(longest, 'x', 255);
	longest[255] = 0;
	ofs_dir_add(d, longest, 2, DT_REG, 64, 1);
	ofs_dir_add(d, "\xff\xfe\n\t", 3, DT_FIFO, 72, 1);
	cr_assert_eq(ofs_dir_find(d, longest)->ino, 2);
	cr_assert_eq(ofs_dir_find(d, "\xff\xfe\n\t")->type, DT_FIFO);
	longest[254] = 0;
	cr_assert_null(ofs_dir_find(d, longest));
	cr_assert_null(ofs_dir_find(d, "\xff\xfe\n"));
	ofs_dir_destroy(d);
}
