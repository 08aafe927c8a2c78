/* SPDX-License-Identifier: MIT */
/* Verification names exactly the files that damage affects, and repairs what it can. */
#include <glob.h>

#include "io/file.h"
#include "test_store_fixture.h"

/* What is reported if the journal or the index has lost content. */
#define LOST "some of its content is damaged or lost"

TestSuite(store_verify, .init = setup, .fini = teardown);

#define TOLD_MAX 64

struct told {
	struct {
		uint64_t ino;
		bool repaired;
		char what[200];
	} list[TOLD_MAX];
	size_t n, repaired;
	unsigned int patience; /* the call of `progress` that cancels; 0: none does */
	struct ofs_verify_counts counts, last;
};

static void note_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
	struct told *t = arg;

	cr_assert_lt(t->n, TOLD_MAX);
	cr_assert_null(strchr(what, '\n'));
	t->list[t->n].ino = ino;
	t->list[t->n].repaired = repaired;
	snprintf(t->list[t->n].what, sizeof(t->list[0].what), "%s", what);
	t->n++;
	t->repaired += repaired;
}

static int look_at_progress(void *arg, const struct ofs_verify_counts *counts)
{
	struct told *t = arg;

	cr_assert_geq(counts->done, t->last.done, "it does not go back");
	cr_assert_eq(counts->problems, t->n);
	t->last = *counts;
	return t->patience && !--t->patience;
}

/* ret->patience is input. Everything else in *ret is output. */
static int verify(bool repair, uint64_t lost_dir, struct told *ret)
{
	struct ofs_verify v = { .repair = repair,
				.lost_dir = lost_dir,
				.problem = note_problem,
				.progress = look_at_progress,
				.arg = ret };
	int r;

	r = ofs_store_verify(s, &v, &ret->counts);
	cr_assert_eq(ret->counts.problems, ret->n);
	cr_assert_eq(ret->counts.repaired, ret->repaired);
	return r;
}

static void expect_clean(void)
{
	struct told t = { .n = 0 };
	int r = verify(false, 0, &t);

	cr_assert_eq(r, 0, "%d", r);
	cr_assert_eq(t.n, 0, "%lu: %s", t.list[0].ino, t.list[0].what);
	cr_assert_eq(t.counts.done, t.counts.total);
}

static size_t told_of(const struct told *t, uint64_t ino)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++)
		n += t->list[i].ino == ino;
	return n;
}

/* ---- no damage */

Test(store_verify, a_sound_store_has_no_problem_and_is_counted)
{
	struct told t = { .n = 0 };

	open_store();
	make_noise(OFS_ROOT_INO, "a", 1000, 1);
	make_noise(OFS_ROOT_INO, "b", 2000, 2);
	make_noise(OFS_ROOT_INO, "twice", 2000, 2);
	make_noise(OFS_ROOT_INO, "big", 2 * BLOCK + 500, 3);
	make_in(OFS_ROOT_INO, "empty");
	seal();
	make_noise(OFS_ROOT_INO, "draft", 2000, 4);
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(t.n, 0, "%s", t.list[0].what);
	cr_assert_eq(t.counts.frames, 3);
	cr_assert_eq(t.counts.chunks, 5);
	cr_assert_eq(t.counts.bytes, 1000 + 2000 + 2 * BLOCK + 500 + 2000);
	cr_assert_eq(t.counts.files, 6);
	cr_assert_eq(t.counts.done, t.counts.total);
	reopen_store();
	expect_clean();
}

Test(store_verify, an_empty_store_has_no_problem)
{
	open_store();
	expect_clean();
	reopen_store();
	expect_clean();
}

/* ---- damaged packs */

struct some {
	uint64_t a, b, same_as_a, apart, big;
};

/* a and b share a frame. After the second sealing, so do apart and the end of big. */
static void make_some(struct some *so)
{
	open_store();
	so->a = make_noise(OFS_ROOT_INO, "a", 3000, 1);
	so->b = make_noise(OFS_ROOT_INO, "b", 3000, 2);
	so->same_as_a = make_noise(OFS_ROOT_INO, "same as a", 3000, 1);
	seal();
	so->apart = make_noise(OFS_ROOT_INO, "apart", 3000, 3);
	so->big = make_noise(OFS_ROOT_INO, "big", 3 * BLOCK + 70, 4);
	seal();
	close_store();
	open_store();
}

Test(store_verify, a_damaged_frame_costs_the_files_that_have_content_in_it)
{
	struct ofs_index_chunk c;
	struct told t = { .n = 0 };
	struct some so;

	make_some(&so);
	c = chunk_of(so.a);
	flip_frame(&c);
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(t.n, 3);
	cr_assert_eq(t.repaired, 0);
	cr_assert(told_of(&t, so.a) && told_of(&t, so.b) && told_of(&t, so.same_as_a));
	expect_noise(so.apart, 0, 3000, 3);
	expect_noise(so.big, 0, 3 * BLOCK + 70, 4);
	flip_frame(&c);
	expect_clean();
	expect_noise(so.a, 0, 3000, 1);
}

Test(store_verify, a_damaged_block_of_a_large_file_is_told_once)
{
	struct told t = { .n = 0 };
	struct chunk_list l;
	struct some so;
	uint8_t byte;

	make_some(&so);
	list_chunks(so.big, &l);
	flip_frame(&l.list[1]);
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(t.n, 1);
	cr_assert_eq(t.list[0].ino, so.big);
	cr_assert_eq(ofs_store_read(s, so.big, &byte, 1, BLOCK), -EIO);
	expect_noise(so.big, 0, BLOCK, 4);
	flip_frame(&l.list[1]);
	flip_frame(&l.list[3]);
	t = (struct told){ .n = 0 };
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(t.n, 2);
	cr_assert(told_of(&t, so.big) && told_of(&t, so.apart), "both have content there");
}

static size_t count_quarantined(void)
{
	DIR *d = opendir(below("quarantine"));
	struct dirent *e;
	size_t n = 0;

	while (d && (e = readdir(d)))
		n += e->d_name[0] != '.';
	if (d)
		closedir(d);
	return n;
}

static void expect_quarantined(const struct ofs_index_chunk *c)
{
	OFS_FREE uint8_t *aside = ofs_alloc(c->frame_stored);
	OFS_FREE uint8_t *packed = ofs_alloc(c->frame_stored);
	OFS_CLOSE int pack = -1;
	char name[64];
	FILE *f;

	snprintf(name, sizeof(name), "quarantine/%08x-%lu.frame", c->pack, c->frame_off);
	f = fopen(below(name), "r");
	cr_assert_not_null(f, "%s", name);
	cr_assert_eq(fread(aside, 1, c->frame_stored, f), c->frame_stored);
	cr_assert_eq(fgetc(f), EOF);
	fclose(f);
	snprintf(name, sizeof(name), "packs/%08x.pack", c->pack);
	pack = open(below(name), O_RDONLY);
	cr_assert_eq(pread(pack, packed, c->frame_stored, (off_t)c->frame_off), c->frame_stored);
	cr_assert_eq(memcmp(aside, packed, c->frame_stored), 0);
}

Test(store_verify, a_repair_puts_a_damaged_frame_aside)
{
	struct ofs_index_chunk c;
	struct told t = { .n = 0 };
	struct some so;

	make_some(&so);
	c = chunk_of(so.a);
	flip_frame(&c);
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(count_quarantined(), 0, "only a repair changes anything");
	for (int round = 0; round < 2; round++) {
		t = (struct told){ .n = 0 };
		cr_assert_eq(verify(true, 0, &t), 0);
		cr_assert_eq(t.n, 3);
		cr_assert_eq(t.repaired, 0);
		cr_assert_eq(count_quarantined(), 1);
		expect_quarantined(&c);
		reopen_store();
	}
	cr_assert_eq(unlink(below("quarantine")), -1);
	put_noise(so.a, 0, 3000, 1);
	put_noise(so.b, 0, 3000, 9);
	seal();
	expect_clean();
	expect_noise(so.same_as_a, 0, 3000, 1);
}

Test(store_verify, a_repair_saves_what_was_read_before_it_was_damaged)
{
	struct ofs_index_chunk c;
	struct told t = { .n = 0 };
	struct some so;

	make_some(&so);
	expect_noise(so.b, 0, 3000, 2);
	c = chunk_of(so.a);
	flip_frame(&c);
	cr_assert_eq(verify(true, 0, &t), 0);
	cr_assert_eq(t.n, 1);
	cr_assert_eq(t.repaired, 1);
	cr_assert_eq(count_quarantined(), 1);
	for (int round = 0; round < 2; round++) {
		expect_clean();
		expect_noise(so.a, 0, 3000, 1);
		expect_noise(so.b, 0, 3000, 2);
		expect_noise(so.same_as_a, 0, 3000, 1);
		seal();
		reopen_store();
	}
}

Test(store_verify, a_pack_that_is_gone_costs_its_files)
{
	struct told t = { .n = 0 };
	struct some so;
	uint8_t byte;

	make_some(&so);
	close_store();
	cr_assert_eq(unlink(below("packs/00000001.pack")), 0);
	open_store();
	cr_assert_eq(verify(true, 0, &t), 0);
	cr_assert_eq(told_of(&t, so.a), 1);
	cr_assert_eq(told_of(&t, so.apart), 1);
	cr_assert_geq(told_of(&t, so.big), 1);
	cr_assert_eq(ofs_store_read(s, so.a, &byte, 1, 0), -EIO);
	put_noise(so.a, 0, 3000, 7);
	seal();
	expect_noise(so.a, 0, 3000, 7);
}

/* ---- a damaged index */

static void delete_name(const char *name)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "DELETE FROM dirent WHERE name = CAST('%s' AS BLOB)", name);
	run_sql(sql);
}

Test(store_verify, a_file_that_lost_its_name_is_found_again)
{
	struct told t = { .n = 0 };
	struct ofs_attr attr;
	uint64_t lost, f, other;
	char name[32];

	open_store();
	lost = make_dir(OFS_ROOT_INO, "lost+found");
	f = make_noise(make_dir(OFS_ROOT_INO, "d"), "f", 2 * BLOCK, 1);
	other = make_noise(OFS_ROOT_INO, "other", 3000, 2);
	close_store();
	delete_name("f");
	open_store();
	cr_assert_eq(verify(false, lost, &t), 0);
	cr_assert_geq(told_of(&t, f), 1);
	cr_assert_eq(t.repaired, 0);
	t = (struct told){ .n = 0 };
	cr_assert_eq(verify(true, lost, &t), 0);
	cr_assert_eq(t.repaired, t.n, "%s", t.list[t.n - 1].what);
	snprintf(name, sizeof(name), "%lu", f);
	for (int round = 0; round < 2; round++) {
		expect_clean();
		cr_assert_eq(ofs_store_lookup(s, lost, name, &attr), 0);
		cr_assert_eq(attr.ino, f);
		cr_assert_eq(attr.nlink, 1);
		expect_noise(f, 0, 2 * BLOCK, 1);
		expect_noise(other, 0, 3000, 2);
		reopen_store();
	}
	cr_assert_eq(ofs_store_rename(s, lost, name, OFS_ROOT_INO, "back", 0, NULL), 0);
	reopen_store();
	expect_noise(f, 0, 2 * BLOCK, 1);
	expect_clean();
}

Test(store_verify, a_served_store_is_told_that_its_index_is_not_repaired)
{
	struct told t = { .n = 0 };
	uint64_t f;
	bool told = false;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 3000, 1);
	close_store();
	delete_name("f");
	open_store();
	cr_assert_eq(ofs_store_start(s), 0);
	cr_assert_eq(verify(true, 0, &t), 0);
	cr_assert_eq(t.repaired, 0);
	cr_assert_geq(told_of(&t, f), 1);
	for (size_t i = 0; i < t.n; i++)
		told = told || strstr(t.list[i].what, "unmount");
	cr_assert(told);
}

/* What memory has is not in the index, so that neither could be made of the other. */
Test(store_verify, a_broken_store_keeps_what_it_could_not_commit)
{
	struct told t = { .n = 0 };
	uint64_t new, files[4];

	open_store();
	make_noise(OFS_ROOT_INO, "f", 3000, 1);
	close_store();
	delete_name("f");
	open_store();
	new = make_noise(OFS_ROOT_INO, "new", 3000, 2);
	s->broken = "";
	cr_assert_eq(verify(true, 0, &t), -EIO);
	cr_assert_eq(t.repaired, 0);
	cr_assert_geq(ofs_store_list_files(s, UINT64_MAX, files, 4), 1);
	cr_assert_eq(files[0], new);
	expect_noise(new, 0, 3000, 2);
	cr_assert_eq(verify(false, 0, &t), 0);
}

/* Lost content reads as an error, never as zeros. */
static void expect_error(uint64_t ino, uint64_t off)
{
	uint8_t byte = 0;
	ssize_t n = ofs_store_read(s, ino, &byte, 1, off);

	cr_assert(n == -EIO || n == -EUCLEAN, "%zd, byte %02x", n, byte);
}

/* Everything is repaired, except content that is lost for good. */
static void expect_repaired(const struct told *t)
{
	for (size_t i = 0; i < t->n; i++)
		cr_assert(t->list[i].repaired || strcmp(t->list[i].what, LOST) == 0, "%lu: %s",
			  t->list[i].ino, t->list[i].what);
}

Test(store_verify, content_that_the_index_lost_is_an_error_and_never_zeros)
{
	struct told t = { .n = 0 };
	struct chunk_list l;
	struct some so;
	char sql[96];
	int r;

	make_some(&so);
	list_chunks(so.big, &l);
	snprintf(sql, sizeof(sql), "DELETE FROM chunk WHERE id IN (%lu, %lu)", l.list[1].id,
		 chunk_of(so.b).id);
	close_store();
	run_sql(sql);
	open_store();
	expect_error(so.big, BLOCK);
	expect_error(so.b, 0);
	r = verify(false, 0, &t);
	cr_assert_eq(r, 0, "it does not come to its end: %d", r);
	cr_assert(told_of(&t, so.big) && told_of(&t, so.b));
	cr_assert(!told_of(&t, so.a) && !told_of(&t, so.apart));
	expect_error(so.big, BLOCK);
	t = (struct told){ .n = 0 };
	cr_assert_eq(verify(true, 0, &t), 0);
	expect_repaired(&t);
	for (int round = 0; round < 3; round++) {
		uint8_t byte;

		cr_assert_eq(ofs_store_read(s, so.big, &byte, 1, BLOCK), -EIO);
		cr_assert_eq(ofs_store_read(s, so.big, &byte, 1, 2 * BLOCK - 1), -EIO);
		cr_assert_eq(ofs_store_read(s, so.b, &byte, 1, 0), -EIO);
		expect_noise(so.big, 0, BLOCK, 4);
		expect_noise(so.a, 0, 3000, 1);
		expect_noise(so.apart, 0, 3000, 3);
		seal();
		reopen_store();
	}
	put_noise(so.b, 0, 3000, 8);
	put_noise(so.big, BLOCK, BLOCK, 9);
	reopen_store();
	expect_noise(so.b, 0, 3000, 8);
	expect_noise(so.big, BLOCK, BLOCK, 9);
	expect_clean();
}

Test(store_verify, a_repaired_index_is_sound)
{
	struct told t = { .n = 0 };
	struct some so;

	make_some(&so);
	close_store();
	run_sql("DELETE FROM chunk WHERE id = 1; UPDATE frame SET live = 40;"
		"UPDATE inode SET nlink = 3");
	open_store();
	cr_assert_eq(verify(true, 0, &t), 0);
	cr_assert_gt(t.n, 3);
	expect_repaired(&t);
	t = (struct told){ .n = 0 };
	cr_assert_eq(verify(true, 0, &t), 0);
	cr_assert_eq(t.repaired, 0);
	expect_repaired(&t);
	expect_noise(so.big, 0, 3 * BLOCK + 70, 4);
}

/* ---- damaged drafts */

Test(store_verify, a_damaged_draft_is_told_by_its_file)
{
	struct told t = { .n = 0 };
	uint64_t good, bad;

	open_store();
	good = make_noise(OFS_ROOT_INO, "good", 3000, 1);
	bad = make_noise(OFS_ROOT_INO, "bad", 3000, 2);
	damage_newest_draft();
	cr_assert_eq(verify(false, 0, &t), 0);
	cr_assert_eq(t.n, 1);
	cr_assert_eq(t.list[0].ino, bad);
	cr_assert_str_eq(t.list[0].what, LOST);
	expect_noise(good, 0, 3000, 1);
	put_noise(bad, 0, 3000, 3);
	expect_clean();
}

Test(store_verify, lost_content_is_told_for_as_long_as_it_is_missed)
{
	uint64_t small, big;

	open_store();
	small = make_noise(OFS_ROOT_INO, "small", 3000, 2);
	damage_newest_draft();
	seal();
	big = make_noise(OFS_ROOT_INO, "big", 2 * BLOCK, 2);
	seal();
	put_noise(big, BLOCK + 800, 80, 3);
	damage_newest_draft();
	seal();
	for (int round = 0; round < 3; round++) {
		struct told t = { .n = 0 };

		expect_error(small, 0);
		expect_error(big, BLOCK + 800);
		cr_assert_eq(verify(false, 0, &t), 0);
		cr_assert_geq(told_of(&t, small), 1, "round %d", round);
		cr_assert_geq(told_of(&t, big), 1, "round %d", round);
		if (round == 0)
			reopen_store();
		else
			seal();
	}
}

/* Damages a record of which put_noise() made the data: all of it, or the data alone. */
static void damage_record(uint64_t seed, size_t len, bool all)
{
	OFS_FREE uint8_t *want = ofs_alloc(len);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf log = OFS_BUF_INIT;
	OFS_FREE char *name = NULL;
	uint8_t *data, *head;
	glob_t segments;
	int fd;

	cr_assert_eq(glob(below("journal/*.wal"), 0, NULL, &segments), 0);
	cr_assert_eq(segments.gl_pathc, 1);
	name = ofs_strdup(segments.gl_pathv[0]);
	globfree(&segments);
	cr_assert_eq(ofs_io_read_file(AT_FDCWD, name, 64 * MIB, &log), 0);
	fill_noise(want, len, seed);
	data = memmem(log.data, log.len, want, len);
	cr_assert_not_null(data);
	data[10] ^= 0x40;
	for (head = data; all && memcmp(head, "OFSr", 4) != 0;)
		cr_assert_gt(--head, log.data);
	if (all) {
		head[20] ^= 0x40;
		head[30] ^= 0x40;
	}
	fd = open(name, O_WRONLY);
	cr_assert_eq(pwrite(fd, log.data, log.len, 0), (ssize_t)log.len);
	close(fd);
}

/* The lost record wrote `len` bytes between two others of the same length. */
static void lose_the_middle(size_t len)
{
	uint64_t f = make_in(OFS_ROOT_INO, "f"), sound;

	for (uint64_t i = 0; i < 3; i++)
		put_noise(f, i * len, len, i + 1);
	sound = make_noise(OFS_ROOT_INO, "sound", 5000, 9);
	kill_store();
	damage_record(2, len, true);
	open_store();
	expect_error(f, len);
	for (int round = 0; round < 2; round++) {
		struct told t = { .n = 0 };

		seal();
		expect_error(f, len);
		expect_error(f, 2 * len - 1);
		expect_noise(f, 0, len, 1);
		expect_noise(f, 2 * len, len, 3);
		cr_assert(has_sha(sound), "a lost record holds up no other file");
		cr_assert_eq(verify(false, 0, &t), 0);
		cr_assert_geq(told_of(&t, f), 1);
		reopen_store();
	}
}

Test(store_verify, a_lost_record_in_a_block_is_an_error)
{
	open_store();
	lose_the_middle(1000);
}

Test(store_verify, a_lost_record_of_whole_blocks_is_an_error)
{
	open_store();
	lose_the_middle(BLOCK);
}

static int failing_list, lists;

static int a_list_fails(const char *name)
{
	return strcmp(name, "io.list") == 0 && ++lists == failing_list ? -EIO : 0;
}

/* Each directory in turn cannot be listed at the start that cuts off the damaged end. */
Test(store_verify, a_lost_end_is_told_although_the_start_failed)
{
	struct ofs_error err;
	char command[400];
	uint64_t f;
	int failed = 0, r;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	put_noise(f, 0, 1000, 1);
	put_noise(f, 1000, 1000, 2);
	cr_assert_eq(ofs_store_sync(s), 0);
	put_noise(f, 2000, 1000, 3);
	kill_store();
	damage_record(2, 1000, true);
	damage_record(3, 1000, false);
	snprintf(command, sizeof(command), "cp -a %s %s.damaged", path, path);
	cr_assert_eq(system(command), 0);
	snprintf(command, sizeof(command), "rm -r %s && cp -a %s.damaged %s", path, path, path);
	do {
		lists = 0;
		failing_list++;
		fault_for = a_list_fails;
		r = ofs_store_open(path, &usual, &err, &s);
		fault_for = NULL;
		failed += r < 0;
		if (r < 0)
			open_store();
		cr_assert(s->journal_damaged, "the list that failed: %d", failing_list);
		close_store();
		cr_assert_eq(system(command), 0);
	} while (lists == failing_list);
	cr_assert_gt(failed, 1);
}

/* ---- changes during verification */

#define WORKERS 3

struct worker {
	pthread_t thread;
	uint64_t dir, other;
	uint64_t seed;
	atomic_bool *stop;
};

static void work_once(struct worker *w, uint64_t i)
{
	static const size_t lens[] = { 300, 9000, BLOCK + 5000, 40000 };
	char name[24], old[24];
	uint64_t ino;

	snprintf(name, sizeof(name), "%lu", i);
	ino = make_noise(w->dir, name, lens[i % 4], w->seed + i % 20);
	put_noise(ino, 100, 50, i);
	ofs_store_forget(s, ino, 1);
	if (i % 3 == 0)
		cr_assert_eq(ofs_store_rename(s, w->dir, name, w->other, name, 0, NULL), 0);
	if (i < 6)
		return;
	snprintf(old, sizeof(old), "%lu", i - 6);
	cr_assert_eq(ofs_store_unlink(s, (i - 6) % 3 ? w->dir : w->other, old, NULL), 0);
}

static void *work_on(void *arg)
{
	struct worker *w = arg;

	for (uint64_t i = 0; !*w->stop; i++)
		work_once(w, i);
	return NULL;
}

Test(store_verify, what_others_do_meanwhile_is_no_problem)
{
	struct worker w[WORKERS] = { 0 };
	int64_t until = ofs_clock_monotonic() + 2 * OFS_NS_PER_S;
	atomic_bool stop = false;
	char name[8];
	int rounds = 0;

	usual.seal_delay_ms = 1;
	open_store();
	for (uint64_t i = 0; i < WORKERS; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		w[i].dir = make_dir(OFS_ROOT_INO, name);
		w[i].other = make_dir(w[i].dir, "other");
		w[i].seed = i * 1000;
		w[i].stop = &stop;
	}
	cr_assert_eq(ofs_store_start(s), 0);
	for (int i = 0; i < WORKERS; i++)
		cr_assert_eq(pthread_create(&w[i].thread, NULL, work_on, &w[i]), 0);
	while (ofs_clock_monotonic() < until || !rounds) {
		struct told t = { .n = 0 };

		cr_assert_eq(verify(rounds % 2, 0, &t), 0);
		cr_assert_eq(t.n, 0, "round %d: inode %lu: %s", rounds, t.list[0].ino,
			     t.list[0].what);
		rounds++;
	}
	stop = true;
	for (int i = 0; i < WORKERS; i++)
		pthread_join(w[i].thread, NULL);
	expect_clean();
	cr_assert_eq(count_quarantined(), 0);
}

Test(store_verify, a_verification_can_be_given_up)
{
	struct some so;

	make_some(&so);
	for (unsigned int patience = 1; patience < 9; patience++) {
		struct told t = { .patience = patience };

		cr_assert_eq(verify(true, 0, &t), -ECANCELED, "after %u", patience);
		cr_assert_lt(t.counts.done, t.counts.total);
	}
	expect_clean();
}

static int verify_meanwhile(void *arg, const struct ofs_verify_counts *counts)
{
	struct ofs_verify v = { .problem = note_problem, .arg = arg };
	struct ofs_verify_counts other;

	cr_assert_eq(ofs_store_verify(s, &v, &other), -EBUSY);
	return 0;
}

Test(store_verify, there_is_one_verification_at_a_time)
{
	struct told t = { .n = 0 };
	struct ofs_verify v = { .problem = note_problem, .progress = verify_meanwhile, .arg = &t };
	struct some so;

	make_some(&so);
	cr_assert_eq(ofs_store_verify(s, &v, &t.counts), 0);
	expect_clean();
}
