/* SPDX-License-Identifier: MIT */
/* Copying by reference, alone and mixed with every other operation on content. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

static void teardown_faults(void)
{
	fault_for = NULL;
	teardown();
}

TestSuite(store_copy, .init = setup, .fini = teardown_faults);

static struct ofs_attr attr_of(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr;
}

static void truncate_to(uint64_t ino, uint64_t size)
{
	struct ofs_setattr attr = { .set = OFS_SET_SIZE, .size = size };

	cr_assert_eq(ofs_store_setattr(s, ino, &attr, NULL), 0);
}

static void copy(uint64_t from, uint64_t from_off, uint64_t to, uint64_t to_off, uint64_t len)
{
	while (len) {
		ssize_t n = ofs_store_copy(s, from, from_off, to, to_off, len);

		cr_assert_gt(n, 0, "%zd", n);
		from_off += (uint64_t)n;
		to_off += (uint64_t)n;
		len -= (uint64_t)n;
	}
}

static uint64_t ino_of(const char *name)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, name, &attr), 0);
	ofs_store_forget(s, attr.ino, 1);
	return attr.ino;
}

/* ---- sharing */

Test(store_copy, a_sealed_file_is_copied_for_nothing)
{
	uint64_t a, b, packs, size = 5 * BLOCK + 777;
	struct chunk_list of_a, of_b;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", size, 1);
	b = make_in(OFS_ROOT_INO, "b");
	seal();
	packs = disk_usage("packs");
	copy(a, 0, b, 0, size);
	cr_assert(attr_of(b).sealed && has_sha(b),
		  "what is known of the one is known of the other");
	cr_assert_eq(attr_of(b).size, size);
	cr_assert_lt(ofs_journal_size(s->journal, 0, NULL), size + BLOCK);
	seal();
	cr_assert_eq(disk_usage("packs"), packs);
	list_chunks(a, &of_a);
	list_chunks(b, &of_b);
	cr_assert_eq(of_a.n, of_b.n);
	for (size_t i = 0; i < of_a.n; i++)
		cr_assert_eq(of_a.list[i].id, of_b.list[i].id);
	cr_assert_eq(attr_of(b).occupied, 0, "one of them is charged");
	remove_file(OFS_ROOT_INO, "a", a);
	seal();
	reopen_store();
	expect_noise(b, 0, size, 1);
	cr_assert_gt(attr_of(b).occupied, size);
}

Test(store_copy, a_draft_is_copied_for_nothing)
{
	uint64_t a, b, journal, size = 3 * BLOCK + 1;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", size, 1);
	b = make_in(OFS_ROOT_INO, "b");
	journal = ofs_journal_size(s->journal, 0, NULL);
	copy(a, 0, b, 0, size);
	cr_assert_lt(ofs_journal_size(s->journal, 0, NULL), journal + 1000);
	/* One file goes. The other still needs the content in the journal. */
	remove_file(OFS_ROOT_INO, "a", a);
	pthread_mutex_lock(&s->cycle);
	cr_assert_eq(ofs_store_checkpoint(s, NULL), 0);
	cr_assert_eq(ofs_store_trim(s, true), 0);
	pthread_mutex_unlock(&s->cycle);
	expect_noise(b, 0, size, 1);
	crash_store();
	expect_noise(b, 0, size, 1);
	seal();
	expect_noise(b, 0, size, 1);
	cr_assert(has_sha(b));
}

/* The source gives up the chunk before the index knows of the copy. */
Test(store_copy, the_source_may_change_before_the_checkpoint)
{
	uint64_t a, b;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", 2 * BLOCK, 1);
	b = make_in(OFS_ROOT_INO, "b");
	seal();
	for (uint64_t how = 0; how < 4; how++) {
		copy(a, 0, b, 0, 2 * BLOCK);
		if (how == 0)
			put_noise(a, 0, 2 * BLOCK, 2);
		else if (how == 1)
			truncate_to(a, 0);
		else if (how == 2)
			cr_assert_eq(ofs_store_zero(s, a, 0, 2 * BLOCK, false), 0);
		else
			remove_file(OFS_ROOT_INO, "a", a);
		seal();
		expect_noise(b, 0, 2 * BLOCK, 1);
		crash_store();
		expect_noise(b, 0, 2 * BLOCK, 1);
		if (how == 3)
			continue;
		copy(b, 0, a, 0, 2 * BLOCK);
		seal();
	}
}

/* A hole over a part of a block looks the same whatever lies below it. */
Test(store_copy, the_sealer_sees_that_a_block_is_another_one_below_the_same_hole)
{
	struct ofs_seal_when when = { .now = INT64_MAX };
	struct ofs_seal_batch *batch;
	uint64_t a, b;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", BLOCK, 1);
	b = make_noise(OFS_ROOT_INO, "b", BLOCK, 2);
	seal();
	cr_assert_eq(ofs_store_zero(s, a, 100, 50, false), 0);
	pthread_mutex_lock(&s->cycle);
	cr_assert_eq(ofs_seal_collect(s, &when, &batch), 1);
	copy(b, 0, a, 0, BLOCK);
	cr_assert_eq(ofs_store_zero(s, a, 100, 50, false), 0);
	cr_assert_eq(ofs_store_checkpoint(s, batch), 0);
	ofs_seal_batch_destroy(batch);
	pthread_mutex_unlock(&s->cycle);
	expect_noise(a, 0, 100, 2);
	reopen_store();
	expect_noise(a, 0, 100, 2);
}

Test(store_copy, holes_stay_holes)
{
	uint64_t a, b, tib = UINT64_C(1) << 40, journal;

	open_store();
	a = make_in(OFS_ROOT_INO, "a");
	b = make_in(OFS_ROOT_INO, "b");
	put_noise(a, tib, 100, 1);
	journal = ofs_journal_size(s->journal, 0, NULL);
	copy(a, tib - (UINT64_C(8) << 30) - 1, b, 5, (UINT64_C(8) << 30) + 101);
	cr_assert_lt(ofs_journal_size(s->journal, 0, NULL), journal + 10000);
	cr_assert_eq(ofs_store_seek(s, b, 0, SEEK_DATA), (int64_t)(UINT64_C(8) << 30) + 6);
	expect_noise(b, (UINT64_C(8) << 30) + 6, 100, 1);
}

Test(store_copy, what_cannot_be)
{
	struct ofs_create what = { .mode = S_IFLNK | 0777, .target = "a" };
	struct ofs_attr link;
	uint64_t a, b;

	open_store();
	a = make_noise(OFS_ROOT_INO, "a", 1000, 1);
	b = make_in(OFS_ROOT_INO, "b");
	cr_assert_eq(ofs_store_create(s, OFS_ROOT_INO, "l", &what, &link), 0);
	cr_assert_eq(ofs_store_copy(s, a, 0, OFS_ROOT_INO, 0, 10), -EISDIR);
	cr_assert_eq(ofs_store_copy(s, OFS_ROOT_INO, 0, a, 0, 10), -EISDIR);
	cr_assert_eq(ofs_store_copy(s, a, 0, link.ino, 0, 10), -EINVAL);
	cr_assert_eq(ofs_store_copy(s, a, 0, 999, 0, 10), -ENOENT);
	cr_assert_eq(ofs_store_copy(s, a, 0, a, 10, 11), -EINVAL);
	cr_assert_eq(ofs_store_copy(s, a, 10, a, 0, UINT64_MAX), -EINVAL);
	cr_assert_eq(ofs_store_copy(s, a, 0, b, OFS_SIZE_MAX, 1), -EFBIG);
	cr_assert_eq(ofs_store_copy(s, a, 0, b, UINT64_MAX, 1), -EFBIG);
	cr_assert_eq(ofs_store_copy(s, a, 1000, b, 0, 10), 0);
	cr_assert_eq(ofs_store_copy(s, a, UINT64_MAX, b, 0, 10), 0);
	cr_assert_eq(ofs_store_copy(s, a, 0, b, 0, 0), 0);
	cr_assert_eq(attr_of(b).size, 0);
	cr_assert_eq(ofs_store_copy(s, a, 0, a, 10, 10), 10);
	expect_noise(a, 10, 10, 1);
	cr_assert_eq(ofs_store_copy(s, a, 990, b, 5, UINT64_MAX / 2), 10);
	cr_assert_eq(attr_of(b).size, 15);
}

/* ---- against a model */

#define FILES 5
#define SIZE_MAX_ (5 * BLOCK)

static struct {
	uint64_t ino;
	bool nameless; /* unlinked, but still held */
	size_t size;
	uint8_t data[SIZE_MAX_];
} model[FILES];

static uint64_t seed, state;
static int step;

static uint64_t rnd(uint64_t below)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % below;
}

/* Returns an offset, often at the edge of a block or of the file. */
static size_t place(size_t f)
{
	switch (rnd(6)) {
	case 0:
		return model[f].size;
	case 1:
		return rnd(SIZE_MAX_);
	case 2:
		return rnd(5) * BLOCK + rnd(3);
	default:
		return rnd(5) * BLOCK;
	}
}

static size_t length(size_t max)
{
	size_t len = (1 + rnd(3)) * BLOCK;

	switch (rnd(5)) {
	case 0:
		len = 1 + rnd(100);
		break;
	case 1:
		len = 1 + rnd(2 * BLOCK);
		break;
	case 2:
		len = SIZE_MAX_;
		break;
	}
	return OFS_MIN(len, max);
}

static const char *file_name(size_t f)
{
	static char name[8];

	snprintf(name, sizeof(name), "%zu", f);
	return name;
}

static void expect_file(size_t f)
{
	static uint8_t got[SIZE_MAX_ + 1];
	ssize_t n = ofs_store_read(s, model[f].ino, got, sizeof(got), 0);
	size_t i = 0;

	cr_assert_eq(n, (ssize_t)model[f].size, "seed %lu step %d file %zu: %zd instead of %zu",
		     seed, step, f, n, model[f].size);
	if (memcmp(got, model[f].data, model[f].size) == 0)
		return;
	while (got[i] == model[f].data[i])
		i++;
	cr_assert_fail("seed %lu step %d file %zu byte %zu", seed, step, f, i);
}

/* Holes must be zeros in the model. Data may be zeros, too. */
static void expect_holes(size_t f)
{
	size_t off = 0;

	while (off < model[f].size) {
		int64_t data = ofs_store_seek(s, model[f].ino, off, SEEK_DATA);
		size_t stop = data < 0 ? model[f].size : (size_t)data;

		cr_assert(data >= 0 || data == -ENXIO);
		for (; off < stop; off++)
			cr_assert_eq(model[f].data[off], 0, "seed %lu step %d", seed, step);
		if (off < model[f].size)
			off = (size_t)ofs_store_seek(s, model[f].ino, off, SEEK_HOLE);
	}
}

static void expect_stats(void)
{
	uint64_t files = 0, bytes = 0;
	struct ofs_store_stats stats;

	for (size_t f = 0; f < FILES; f++) {
		files += !model[f].nameless;
		bytes += model[f].nameless ? 0 : model[f].size;
	}
	cr_assert_eq(ofs_store_stats(s, &stats), 0);
	cr_assert_eq(stats.files, files, "seed %lu step %d: %lu", seed, step, stats.files);
	cr_assert_eq(stats.bytes, bytes, "seed %lu step %d: %lu", seed, step, stats.bytes);
	cr_assert_eq(stats.dirs, 1);
}

static void expect_all(void)
{
	expect_stats();
	for (size_t f = 0; f < FILES; f++) {
		expect_file(f);
		expect_holes(f);
	}
}

static void grown(size_t f, size_t end)
{
	model[f].size = OFS_MAX(model[f].size, end);
}

static void do_write(size_t f)
{
	size_t off = place(f), len = length(SIZE_MAX_ - off);

	if (!len)
		return;
	if (rnd(8) == 0)
		memset(model[f].data + off, 0, len);
	else
		fill_noise(model[f].data + off, len, rnd(20));
	cr_assert_eq(ofs_store_write(s, model[f].ino, model[f].data + off, len, off), (ssize_t)len);
	grown(f, off + len);
}

static void do_truncate(size_t f)
{
	size_t size = place(f);

	truncate_to(model[f].ino, size);
	if (size < model[f].size)
		memset(model[f].data + size, 0, model[f].size - size);
	model[f].size = size;
}

static void do_zero(size_t f)
{
	size_t off = place(f), len = length(SIZE_MAX_ - off);
	bool grow = rnd(2);

	cr_assert_eq(ofs_store_zero(s, model[f].ino, off, len, grow), 0);
	memset(model[f].data + off, 0, len);
	if (grow && len)
		grown(f, off + len);
}

static void do_copy(size_t f)
{
	size_t from = rnd(FILES), off = place(from), to = place(f), len = length(SIZE_MAX_ - to);

	len = off < model[from].size ? OFS_MIN(len, model[from].size - off) : 0;
	if (!len || (from == f && off < to + len && to < off + len))
		return;
	copy(model[from].ino, off, model[f].ino, to, len);
	memcpy(model[f].data + to, model[from].data + off, len);
	grown(f, to + len);
}

static void renew(size_t f)
{
	model[f].ino = make_in(OFS_ROOT_INO, file_name(f));
	model[f].nameless = false;
	memset(model[f].data, 0, model[f].size);
	model[f].size = 0;
}

/* Removes the name. What is left can be used until it is forgotten. */
static void do_remove(size_t f)
{
	if (model[f].nameless) {
		ofs_store_forget(s, model[f].ino, 1);
		renew(f);
	} else {
		struct ofs_attr attr;

		cr_assert_eq(ofs_store_hold(s, model[f].ino, &attr), 0);
		cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, file_name(f), NULL), 0);
		model[f].nameless = true;
	}
}

static void do_change(void)
{
	size_t f = rnd(FILES);

	switch (rnd(8)) {
	case 0:
	case 1:
		do_write(f);
		break;
	case 2:
		do_truncate(f);
		break;
	case 3:
		do_zero(f);
		break;
	case 4:
		if (rnd(3) == 0)
			do_remove(f);
		break;
	default:
		do_copy(f);
	}
	expect_file(f);
}

static int fail_commit(const char *name)
{
	return strcmp(name, "index.commit") == 0 ? -EIO : 0;
}

/* Changes content between collecting and committing. The commit itself may fail. */
static void do_race(void)
{
	struct ofs_seal_when when = { .now = INT64_MAX };
	bool fails = rnd(3) == 0;
	struct ofs_seal_batch *batch;
	int n;

	pthread_mutex_lock(&s->cycle);
	n = ofs_seal_collect(s, &when, &batch);
	cr_assert_geq(n, 0);
	for (uint64_t i = rnd(4); i > 0; i--)
		do_change();
	fault_for = fails ? fail_commit : NULL;
	cr_assert_eq(ofs_store_checkpoint(s, batch), fails ? -EIO : 0);
	fault_for = NULL;
	ofs_seal_batch_destroy(batch);
	for (uint64_t i = rnd(4); i > 0; i--)
		do_change();
	if (!fails)
		cr_assert_eq(ofs_store_reclaim(s), 0);
	pthread_mutex_unlock(&s->cycle);
}

/* Files without a name do not survive a start. */
static void after_start(void)
{
	for (size_t f = 0; f < FILES; f++) {
		if (model[f].nameless)
			renew(f);
		cr_assert_eq(ino_of(file_name(f)), model[f].ino);
	}
	expect_all();
}

static void do_event(void)
{
	switch (rnd(7)) {
	case 0:
		seal();
		break;
	case 1:
		pthread_mutex_lock(&s->cycle);
		cr_assert_eq(ofs_store_checkpoint(s, NULL), 0);
		pthread_mutex_unlock(&s->cycle);
		break;
	case 2:
		pthread_mutex_lock(&s->cycle);
		while (ofs_store_repack(s, true) > 0)
			cr_assert_eq(ofs_store_reclaim(s), 0);
		while (rnd(2) && ofs_store_densify(s, INT64_MAX) > 0)
			cr_assert_eq(ofs_store_reclaim(s), 0);
		cr_assert_eq(ofs_store_reclaim(s), 0);
		pthread_mutex_unlock(&s->cycle);
		break;
	case 3:
		crash_store();
		after_start();
		break;
	case 4:
		reopen_store();
		after_start();
		break;
	default:
		do_race();
	}
	expect_all();
}

static void told(void *arg, uint64_t ino, const char *what, bool repaired)
{
	cr_assert_fail("seed %lu step %d inode %lu: %s", seed, step, ino, what);
}

static void expect_sound(void)
{
	struct ofs_verify verify = { .problem = told };
	struct ofs_verify_counts counts;

	seal();
	cr_assert_eq(ofs_store_verify(s, &verify, &counts), 0);
	cr_assert_eq(counts.problems, 0);
}

static void run_model(uint64_t from, uint64_t to)
{
	for (seed = from; seed < to; seed++) {
		state = seed * UINT64_C(0x9e3779b97f4a7c15);
		memset(model, 0, sizeof(model));
		open_store();
		for (size_t f = 0; f < FILES; f++)
			renew(f);
		for (step = 0; step < 120; step++) {
			if (rnd(6))
				do_change();
			else
				do_event();
		}
		expect_sound();
		close_store();
		open_store();
		after_start();
		close_store();
		for (size_t f = 0; f < FILES; f++)
			model[f].size = 0;
		cr_assert_eq(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
	}
}

Test(store_copy, random_changes_match_the_model)
{
	const char *seeds = getenv("OFS_TEST_SEEDS");
	uint64_t from = 1, n = 6;

	if (seeds)
		sscanf(seeds, "%lu,%lu", &from, &n);
	run_model(from, from + n);
}
