/* SPDX-License-Identifier: MIT */
/* Repacking joins small frames and moves content to its class. Reads are right meanwhile. */
#include "test_store_fixture.h"

#include <sys/wait.h>

#define STEPS_MAX 500 /* repacking must end within this many steps */

static uint64_t cache, notes, archive;

static uint32_t classify(void *arg, uint64_t top, uint64_t second)
{
	if (top && top == archive)
		return OFS_CLASS_DENSE;
	if (top && top == cache)
		return second && second == notes ? 40 : 10;
	return 0;
}

static void setup_classes(void)
{
	setup();
	usual.classify = classify;
}

TestSuite(store_repack, .init = setup_classes, .fini = teardown);

static void make_tops(void)
{
	open_store();
	cache = make_dir(OFS_ROOT_INO, "cache");
	archive = make_dir(OFS_ROOT_INO, "archive");
}

/* Takes one step, as the sealer does. */
static int step(bool settle)
{
	int r;

	pthread_mutex_lock(&s->cycle);
	r = ofs_store_repack(s, settle);
	if (r > 0 && ofs_store_reclaim(s) < 0)
		r = -EIO;
	pthread_mutex_unlock(&s->cycle);
	return r;
}

/* Repacks until nothing is left to do. Returns the number of steps. */
static int repack(bool settle)
{
	int n, r = 1;

	for (n = 0; r > 0; n++) {
		cr_assert_lt(n, STEPS_MAX, "repacking does not come to an end");
		r = step(settle);
		cr_assert_geq(r, 0, "%d", r);
	}
	return n - 1;
}

/* Seals each file separately, so that it gets a frame of its own. */
static void make_loose(uint64_t parent, uint64_t *f, uint64_t n, size_t len)
{
	char name[16];

	for (uint64_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(parent, name, len, i);
		seal();
	}
}

static void expect_all(const uint64_t *f, uint64_t n, size_t len)
{
	for (uint64_t i = 0; i < n; i++)
		if (f[i])
			expect_noise(f[i], 0, len, i);
}

/* ---- loose frames */

Test(store_repack, many_loose_frames_are_joined)
{
	uint64_t f[8];

	make_tops();
	make_loose(cache, f, 7, 1000);
	cr_assert_eq(count_frames(), 7);
	cr_assert_eq(step(false), 0, "few are left alone while things go on");
	f[7] = make_noise(cache, "7", 1000, 7);
	seal();
	cr_assert_eq(repack(false), 1);
	cr_assert_eq(count_frames(), 1);
	for (int round = 0; round < 2; round++) {
		expect_all(f, 8, 1000);
		reopen_store();
	}
}

Test(store_repack, few_loose_frames_are_joined_when_nothing_happens)
{
	uint64_t f[2];

	make_tops();
	make_loose(cache, f, 2, 1000);
	cr_assert_eq(repack(false), 0);
	cr_assert_eq(repack(true), 1);
	cr_assert_eq(count_frames(), 1);
	expect_all(f, 2, 1000);
	cr_assert_eq(repack(true), 0);
	reopen_store();
	expect_all(f, 2, 1000);
	cr_assert_eq(repack(true), 0);
}

Test(store_repack, loose_frames_of_two_classes_are_not_joined)
{
	uint64_t f[2], g[2];

	make_tops();
	make_loose(cache, f, 2, 1000);
	make_loose(OFS_ROOT_INO, g, 2, 1100);
	cr_assert_eq(repack(true), 1);
	cr_assert_eq(count_frames(), 2);
	cr_assert_eq(chunk_of(f[0]).class, 10);
	cr_assert_eq(chunk_of(g[0]).class, 0);
	expect_all(f, 2, 1000);
	expect_all(g, 2, 1100);
}

Test(store_repack, what_is_left_of_a_mostly_dead_frame_moves_and_its_space_comes_back)
{
	uint64_t f[10], before;
	char name[8];

	make_tops();
	for (uint64_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(cache, name, 20000, i);
	}
	seal();
	cr_assert_eq(count_frames(), 1);
	before = disk_usage("packs");
	for (uint64_t i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		if (i != 3 && i != 7) {
			remove_file(cache, name, f[i]);
			f[i] = 0;
		}
	}
	seal();
	cr_assert_eq(repack(false), 0);
	cr_assert_eq(repack(true), 1);
	cr_assert_leq(disk_usage("packs"), before - 150000);
	for (int round = 0; round < 2; round++) {
		expect_all(f, 10, 20000);
		reopen_store();
	}
	cr_assert_eq(count_frames(), 1);
	cr_assert_eq(repack(true), 0);
}

Test(store_repack, charges_follow_what_moves)
{
	uint64_t f[10], sum = 0;
	struct ofs_attr attr;
	struct frames frames;

	make_tops();
	make_loose(cache, f, 10, 3000);
	repack(true);
	for (int round = 0; round < 2; round++) {
		sum = 0;
		for (int i = 0; i < 10; i++) {
			cr_assert_eq(ofs_store_getattr(s, f[i], &attr), 0);
			sum += attr.occupied;
		}
		list_frames(&frames);
		cr_assert_eq(frames.n, 1);
		cr_assert_eq(sum, frames.list[0].stored, "%lu, not %u", sum, frames.list[0].stored);
		reopen_store();
	}
}

/* ---- classes */

static void expect_dense(uint64_t ino)
{
	struct chunk_list l;

	list_chunks(ino, &l);
	for (size_t i = 0; i < l.n; i++)
		cr_assert(l.list[i].class == OFS_CLASS_DENSE && l.list[i].dense,
			  "block %zu of inode %lu: class %u", i, ino, l.list[i].class);
}

Test(store_repack, a_file_that_is_moved_to_the_archive_becomes_dense)
{
	uint64_t f, stays;

	make_tops();
	f = make_noise(cache, "f", 2 * BLOCK + 500, 1);
	stays = make_noise(cache, "stays", 5000, 2);
	seal();
	cr_assert_eq(ofs_store_rename(s, cache, "f", archive, "f", 0, NULL), 0);
	seal();
	expect_noise(f, 0, 2 * BLOCK + 500, 1);
	cr_assert_gt(repack(true), 0);
	for (int round = 0; round < 2; round++) {
		expect_dense(f);
		cr_assert_eq(count_frames(), 2);
		cr_assert_eq(chunk_of(stays).class, 10);
		expect_noise(f, 0, 2 * BLOCK + 500, 1);
		expect_noise(stays, 0, 5000, 2);
		reopen_store();
	}
}

Test(store_repack, a_directory_that_is_moved_takes_all_below_it_along)
{
	uint64_t d, deep, f[4];

	make_tops();
	d = make_dir(cache, "d");
	deep = make_dir(make_dir(d, "deep"), "deeper");
	f[0] = make_noise(d, "0", 3000, 0);
	f[1] = make_noise(deep, "1", 3000, 1);
	f[2] = make_noise(deep, "2", 3000, 2);
	f[3] = make_noise(cache, "3", 3000, 3);
	seal();
	cr_assert_eq(ofs_store_rename(s, cache, "d", archive, "moved", 0, NULL), 0);
	reopen_store();
	repack(true);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 3; i++)
			expect_dense(f[i]);
		cr_assert_eq(chunk_of(f[3]).class, 10);
		expect_all(f, 4, 3000);
		reopen_store();
	}
}

Test(store_repack, a_file_with_two_names_goes_where_the_one_was_moved)
{
	struct ofs_attr attr;
	uint64_t f;

	make_tops();
	f = make_noise(cache, "f", 3000, 1);
	cr_assert_eq(ofs_store_link(s, f, cache, "too", &attr), 0);
	seal();
	cr_assert_eq(ofs_store_rename(s, cache, "too", archive, "too", 0, NULL), 0);
	seal();
	repack(true);
	expect_dense(f);
	cr_assert_eq(ofs_store_unlink(s, archive, "too", NULL), 0);
	seal();
	repack(true);
	expect_noise(f, 0, 3000, 1);
	reopen_store();
	expect_noise(f, 0, 3000, 1);
	expect_dense(f);
}

Test(store_repack, files_that_change_places_change_classes)
{
	uint64_t f, g;

	make_tops();
	f = make_noise(cache, "f", 3000, 1);
	g = make_noise(archive, "g", 3000, 2);
	seal();
	repack(true);
	expect_dense(g);
	cr_assert_eq(ofs_store_rename(s, cache, "f", archive, "g", RENAME_EXCHANGE, NULL), 0);
	seal();
	repack(true);
	expect_dense(f);
	expect_noise(f, 0, 3000, 1);
	expect_noise(g, 0, 3000, 2);
}

Test(store_repack, equal_content_of_both_classes_is_kept_once)
{
	uint64_t f, g;

	make_tops();
	f = make_noise(cache, "f", 3000, 1);
	g = make_noise(cache, "g", 3000, 1);
	seal();
	cr_assert_eq(ofs_store_rename(s, cache, "g", archive, "g", 0, NULL), 0);
	seal();
	repack(true);
	cr_assert_eq(count_frames(), 1);
	expect_dense(g);
	remove_file(cache, "f", f);
	seal();
	repack(true);
	expect_noise(g, 0, 3000, 1);
}

/* ---- idle content */

/* Densifies until the pass is over. */
static void densify(int64_t unused_since)
{
	int n = 0, r;

	do {
		pthread_mutex_lock(&s->cycle);
		r = ofs_store_densify(s, unused_since);
		cr_assert_eq(ofs_store_reclaim(s), 0);
		pthread_mutex_unlock(&s->cycle);
		cr_assert_geq(r, 0, "%d", r);
		cr_assert_lt(n++, STEPS_MAX);
	} while (r > 0);
}

#define TEXT 40000u
#define LATER (3600 * OFS_NS_PER_S)

/* Fills with text that compresses to about a third and differs for each inode. */
static void fill_text(char *p, uint64_t ino)
{
	uint8_t noise[TEXT / 50 * 8];

	fill_noise(noise, sizeof(noise), ino);
	for (unsigned int i = 0; i < TEXT / 50; i++)
		sprintf(p + i * 50, "line %016lx, and what is said each time\n",
			ofs_get_le64(noise + i * 8));
}

/* Makes files of text numbered from `from` to `to` - 1. */
static void make_texts(uint64_t parent, uint64_t *f, uint64_t from, uint64_t to)
{
	char name[16], text[TEXT + 1];

	for (uint64_t i = from; i < to; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_in(parent, name);
		fill_text(text, f[i]);
		cr_assert_eq(ofs_store_write(s, f[i], text, TEXT, 0), (ssize_t)TEXT);
	}
	seal();
}

static void expect_texts(const uint64_t *f, uint64_t n)
{
	char text[TEXT + 1], got[TEXT];

	for (uint64_t i = 0; i < n; i++) {
		if (!f[i])
			continue;
		fill_text(text, f[i]);
		cr_assert_eq(ofs_store_read(s, f[i], got, TEXT, 0), (ssize_t)TEXT);
		cr_assert_eq(memcmp(got, text, TEXT), 0, "%lu", i);
	}
}

Test(store_repack, what_was_not_used_becomes_dense_in_its_class)
{
	uint64_t f[20], brief[2], before;

	make_tops();
	notes = make_dir(cache, "notes");
	make_texts(notes, f, 0, 20);
	make_texts(cache, brief, 0, 2);
	before = disk_usage("packs");
	densify(ofs_store_age(s) - LATER);
	cr_assert(!chunk_of(f[0]).dense && !chunk_of(f[19]).dense, "it was just written");
	densify(ofs_store_age(s) + LATER);
	cr_assert_lt(disk_usage("packs"), before);
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < 20; i++)
			cr_assert(chunk_of(f[i]).dense && chunk_of(f[i]).class == 40);
		cr_assert_eq(count_frames(), 2);
		cr_assert_not(chunk_of(brief[0]).dense, "it goes soon");
		expect_texts(f, 20);
		expect_texts(brief, 2);
		cr_assert_eq(repack(true), 0);
		densify(ofs_store_age(s) + LATER);
		reopen_store();
	}
}

Test(store_repack, a_frame_stays_while_one_of_its_files_is_used)
{
	static struct ofs_clock_control clock;
	uint64_t f[12];

	ofs_clock_set_control(&clock);
	make_tops();
	notes = make_dir(cache, "notes");
	make_texts(notes, f, 0, 12);
	cr_assert_eq(count_frames(), 2);
	expect_texts(f, 12);
	clock.boot_offset = LATER;
	ofs_store_use(s, f[11]);
	densify(ofs_store_age(s) - LATER / 2);
	cr_assert(chunk_of(f[0]).dense);
	cr_assert_not(chunk_of(f[11]).dense);
	clock.boot_offset = 3 * LATER;
	densify(ofs_store_age(s) - LATER);
	cr_assert(chunk_of(f[11]).dense);
	densify(ofs_store_age(s) - LATER);
	cr_assert_eq(count_frames(), 1, "small dense frames are joined");
	expect_texts(f, 12);
	reopen_store();
	expect_texts(f, 12);
}

Test(store_repack, new_content_does_not_join_an_idle_frame_until_most_of_that_is_gone)
{
	uint64_t f[10], more[2];
	char name[16];

	make_tops();
	notes = make_dir(cache, "notes");
	make_texts(notes, f, 0, 10);
	densify(ofs_store_age(s) + LATER);
	make_texts(make_dir(notes, "more"), more, 0, 2);
	repack(true);
	cr_assert(chunk_of(f[0]).dense);
	cr_assert_not(chunk_of(more[1]).dense);
	for (uint64_t i = 0; i < 8; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		remove_file(notes, name, f[i]);
		f[i] = 0;
	}
	seal();
	repack(true);
	cr_assert_not(chunk_of(f[9]).dense);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(count_frames(), 1);
		expect_texts(f, 10);
		expect_texts(more, 2);
		reopen_store();
	}
}

/* ---- reading during repacking */

Test(store_repack, content_in_memory_is_right_after_it_was_moved)
{
	uint64_t f[9], g;

	/* Without a cache every read uses the place that memory knows. */
	usual.cache_bytes = 0;
	make_tops();
	make_loose(cache, f, 9, 3000);
	g = make_noise(cache, "g", 3 * BLOCK + 10, 99);
	seal();
	expect_all(f, 9, 3000);
	expect_noise(g, 0, 3 * BLOCK + 10, 99);
	cr_assert_eq(ofs_store_rename(s, cache, "g", archive, "g", 0, NULL), 0);
	seal();
	cr_assert_gt(repack(true), 0);
	expect_all(f, 9, 3000);
	expect_noise(g, 0, 3 * BLOCK + 10, 99);
	put_noise(g, BLOCK + 5, 10, 7);
	seal();
	expect_noise(g, BLOCK + 5, 10, 7);
	expect_noise(g, 0, BLOCK + 5, 99);
	reopen_store();
	expect_all(f, 9, 3000);
	expect_noise(g, BLOCK + 5, 10, 7);
}

#define READ_FILES 16
#define READ_LEN 30000
#define READ_ROUNDS 40

struct reading {
	uint64_t f[READ_FILES];
	atomic_bool stop;
	atomic_ulong reads;
};

static void *read_on(void *arg)
{
	struct reading *rd = arg;
	bool right = true;

	for (uint64_t i = 0; right && !rd->stop; i++, rd->reads++)
		right = is_noise(rd->f[i % READ_FILES], 0, READ_LEN, i % READ_FILES);
	return right ? NULL : rd;
}

/*
 * Creates and removes files around those that are read, so that their frames keep becoming loose.
 */
static void churn(int round)
{
	static uint64_t passing[READ_ROUNDS];
	char name[24];

	snprintf(name, sizeof(name), "passing %d", round);
	passing[round] = make_noise(cache, name, 20000, 1000 + (uint64_t)round);
	if (round >= 3) {
		snprintf(name, sizeof(name), "passing %d", round - 3);
		remove_file(cache, name, passing[round - 3]);
	}
	seal();
	repack(round % 3 == 0);
}

Test(store_repack, readers_never_see_anything_else_while_content_moves)
{
	struct reading rd = { .stop = false };
	pthread_t threads[3];
	void *wrong = NULL;

	usual.cache_bytes = 64 << 10;
	make_tops();
	make_loose(cache, rd.f, READ_FILES, READ_LEN);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(threads); i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, read_on, &rd), 0);
	for (int round = 0; round < READ_ROUNDS; round++) {
		char name[8];

		churn(round);
		if (round % 2 || round / 2 >= READ_FILES)
			continue;
		snprintf(name, sizeof(name), "%d", round / 2);
		cr_assert_eq(ofs_store_rename(s, cache, name, archive, name, 0, NULL), 0);
	}
	rd.stop = true;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(threads); i++) {
		void *r;

		pthread_join(threads[i], &r);
		wrong = wrong ? wrong : r;
	}
	cr_assert_null(wrong);
	cr_assert_gt(rd.reads, READ_FILES);
	expect_all(rd.f, READ_FILES, READ_LEN);
}

/* ---- reaching an end */

#define MIX_FILES 60

struct mix {
	uint64_t ino[MIX_FILES];
	size_t len[MIX_FILES];
	uint64_t seed[MIX_FILES];
	uint64_t at[MIX_FILES]; /* directory */
	uint32_t random;
};

static uint32_t next_random(struct mix *m, uint32_t below_this)
{
	m->random = m->random * 1664525 + 1013904223;
	return (m->random >> 8) % below_this;
}

static void mix_one(struct mix *m)
{
	static const size_t lens[] = { 100, 5000, 40000, 100000, 140000, 200000, BLOCK, BLOCK * 3 };
	size_t i = next_random(m, MIX_FILES);
	uint64_t to = next_random(m, 2) ? archive : cache;
	char name[8];

	snprintf(name, sizeof(name), "%zu", i);
	if (!m->ino[i]) {
		m->len[i] = lens[next_random(m, OFS_ARRAY_SIZE(lens))];
		m->seed[i] = next_random(m, 40);
		m->at[i] = next_random(m, 4) ? cache : archive;
		m->ino[i] = make_noise(m->at[i], name, m->len[i], m->seed[i]);
	} else if (next_random(m, 3)) {
		remove_file(m->at[i], name, m->ino[i]);
		m->ino[i] = 0;
	} else if (to != m->at[i]) {
		cr_assert_eq(ofs_store_rename(s, m->at[i], name, to, name, 0, NULL), 0);
		m->at[i] = to;
	}
}

static void expect_mix(const struct mix *m)
{
	for (size_t i = 0; i < MIX_FILES; i++)
		if (m->ino[i])
			expect_noise(m->ino[i], 0, m->len[i], m->seed[i]);
}

/* At rest no two frames of a class could be joined, and archived content is dense. */
static void expect_rest(void)
{
	uint32_t loose[OFS_CLASS_DENSE + 1] = { 0 };
	struct frames frames;

	list_frames(&frames);
	for (size_t i = 0; i < frames.n; i++) {
		const struct ofs_index_frame *f = &frames.list[i];

		cr_assert(!f->bad, "frame %lu is taken for damaged", f->id);
		cr_assert_eq(f->dense, f->class == OFS_CLASS_DENSE);
		loose[f->class] += f->held < (f->dense ? OFS_FRAME_LOOSE_DENSE : OFS_FRAME_LOOSE);
	}
	for (size_t i = 0; i <= OFS_CLASS_DENSE; i++)
		cr_assert_leq(loose[i], 1, "%u loose frames of class %zu", loose[i], i);
}

Test(store_repack, any_mix_comes_to_rest)
{
	make_tops();
	for (uint32_t seed = 1; seed <= 3; seed++) {
		struct mix m = { .random = seed };

		for (int round = 0; round < 12; round++) {
			for (int i = 0; i < 15; i++)
				mix_one(&m);
			seal();
			step(false);
		}
		repack(true);
		cr_assert_eq(step(true), 0);
		expect_rest();
		expect_mix(&m);
		reopen_store();
		expect_mix(&m);
		repack(true);
		expect_rest();
		for (size_t i = 0; i < MIX_FILES; i++) {
			char name[8];

			snprintf(name, sizeof(name), "%zu", i);
			if (m.ino[i])
				cr_assert_eq(ofs_store_unlink(s, m.at[i], name, NULL), 0, "%s",
					     name);
		}
		reopen_store();
	}
	repack(true);
	cr_assert_eq(count_frames(), 0, "nothing is left of what was removed");
}

/* ---- failures */

#define FAULT_FILES 3

struct faulty {
	uint64_t f[FAULT_FILES], big;
};

/* Makes a new store with loose frames and a file that has yet to become dense. */
static void prepare(struct faulty *ft)
{
	static int n;

	close_store();
	snprintf(path, sizeof(path), "%s/store-%d", dir, n++);
	make_tops();
	make_loose(cache, ft->f, FAULT_FILES, 3000);
	ft->big = make_noise(cache, "big", 2 * BLOCK + 100, 50);
	seal();
	cr_assert_eq(ofs_store_rename(s, cache, "big", archive, "big", 0, NULL), 0);
	seal();
}

static void expect_faulty(const struct faulty *ft)
{
	expect_all(ft->f, FAULT_FILES, 3000);
	expect_noise(ft->big, 0, 2 * BLOCK + 100, 50);
}

/* The fault that the `left`th hit of failpoint `name` from now on gets. */
static struct {
	const char *name;
	int fault; /* SIGKILL or -errno */
	unsigned long left;
} armed;

static int hit_armed(const char *name)
{
	if (strcmp(name, armed.name) != 0 || !armed.left || --armed.left)
		return 0;
	if (armed.fault == SIGKILL)
		ofs_failpoint_kill();
	return armed.fault;
}

static void arm(const char *name, int fault, unsigned long at)
{
	armed.name = name;
	armed.fault = fault;
	armed.left = at;
	fault_for = hit_armed;
}

static void at_rest(const struct faulty *ft)
{
	repack(true);
	expect_rest();
	expect_dense(ft->big);
	expect_faulty(ft);
}

/* Repacks until nothing is left to do, over any number of failures. */
static void repack_through(const struct faulty *ft, int want)
{
	int r, n;

	for (n = 0, r = 1; r; n++) {
		cr_assert_lt(n, STEPS_MAX);
		r = step(true);
		cr_assert(r >= 0 || r == want || r == -EIO, "%s: %d", armed.name, r);
		expect_faulty(ft);
	}
}

/* Fails each hit in turn until there are no more. Returns the number of hits. */
static int fail_each(const char *name, int fault)
{
	struct faulty ft;
	int n;

	for (n = 1;; n++) {
		prepare(&ft);
		arm(name, fault, (unsigned long)n);
		repack_through(&ft, fault);
		fault_for = NULL;
		put_noise(ft.f[0], 0, 3000, 0);
		seal();
		at_rest(&ft);
		reopen_store();
		at_rest(&ft);
		if (armed.left)
			return n - 1;
	}
}

Test(store_repack, an_index_that_does_not_take_it_costs_nothing)
{
	cr_assert_gt(fail_each("index.commit", -EIO), 1);
}

/* Not even of the frames whose content it cannot compare. */
Test(store_repack, an_index_that_cannot_be_read_costs_nothing)
{
	struct faulty ft;
	unsigned long n = 0;

	do {
		prepare(&ft);
		reopen_store();
		arm("index.pread", -EIO, ++n);
		while (step(true) > 0)
			;
		fault_for = NULL;
		at_rest(&ft);
	} while (!armed.left);
	cr_assert_gt(n, 5);
}

Test(store_repack, an_index_that_finds_no_room_costs_nothing)
{
	cr_assert_gt(fail_each("index.pwrite", -ENOSPC), 3);
}

Test(store_repack, a_pack_that_cannot_be_written_costs_nothing)
{
	cr_assert_gt(fail_each("io.pwrite", -ENOSPC), 1);
}

Test(store_repack, space_that_cannot_be_given_back_costs_nothing)
{
	cr_assert_gt(fail_each("io.punch", -EIO), 0);
}

/* Repacks in a child that is killed at the given hit. Returns false if it ended before that. */
static bool kill_at(const char *name, unsigned long at)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		if (ofs_store_open(path, &usual, NULL, &s) < 0)
			_exit(1);
		arm(name, SIGKILL, at);
		while (step(true) > 0)
			;
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL), "%x",
		  status);
	return status != 0;
}

static int kill_each(const char *name)
{
	struct faulty ft;
	bool killed = true;
	int n;

	for (n = 1; killed; n++) {
		prepare(&ft);
		close_store();
		killed = kill_at(name, (unsigned long)n);
		open_store();
		expect_faulty(&ft);
		at_rest(&ft);
	}
	return n - 2;
}

Test(store_repack, being_killed_in_the_middle_costs_nothing)
{
	cr_assert_gt(kill_each("index.commit"), 1);
	cr_assert_gt(kill_each("io.pwrite"), 1);
	cr_assert_gt(kill_each("io.datasync"), 0);
	cr_assert_gt(kill_each("io.punch"), 0);
}

/* ---- content that is stored twice */

Test(store_repack, content_that_a_failed_checkpoint_left_twice_is_not_taken_for_damage)
{
	uint64_t f, g;

	make_tops();
	f = make_noise(cache, "f", 3000, 1);
	/* The frame is committed, but not that f has it. */
	arm("index.commit", -EIO, 2);
	cr_assert_eq(ofs_store_seal(s), -EIO);
	fault_for = NULL;
	g = make_noise(cache, "g", 3000, 1);
	seal();
	repack(true);
	expect_noise(f, 0, 3000, 1);
	expect_noise(g, 0, 3000, 1);
	expect_rest();
	reopen_store();
	expect_noise(f, 0, 3000, 1);
	expect_noise(g, 0, 3000, 1);
}

/* A file of the same text as others. */
static uint64_t make_text(uint64_t parent, const char *name)
{
	uint64_t ino = make_in(parent, name);
	char text[TEXT + 1];

	fill_text(text, 0);
	cr_assert_eq(ofs_store_write(s, ino, text, TEXT, 0), (ssize_t)TEXT);
	return ino;
}

Test(store_repack, content_that_lies_twice_stays_while_either_file_is_used)
{
	uint64_t f, g;

	make_tops();
	notes = make_dir(cache, "notes");
	f = make_text(notes, "f");
	arm("index.commit", -EIO, 2);
	cr_assert_eq(ofs_store_seal(s), -EIO);
	fault_for = NULL;
	g = make_text(notes, "g");
	seal();
	cr_assert_neq(chunk_of(f).id, chunk_of(g).id);
	densify(ofs_store_age(s) - LATER);
	cr_assert_not(chunk_of(f).dense);
	cr_assert_not(chunk_of(g).dense);
}
