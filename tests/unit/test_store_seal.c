/* SPDX-License-Identifier: MIT */
/* Sealing: what shares a frame, what is sealed again, and what stays a draft. */
#include "test_store_fixture.h"

#include <offloadfs/tree.h>

static uint64_t top_a, top_b;

static uint32_t classify(void *arg, uint64_t top, uint64_t second)
{
	return top && top == top_a ? 10 : top && top == top_b ? 20 : 0;
}

TestSuite(store_seal, .init = setup, .fini = teardown);

static struct ofs_inode *in_memory(uint64_t ino)
{
	struct ofs_inode *n;

	pthread_mutex_lock(&s->lock);
	cr_assert_eq(ofs_store_file(s, ino, &n), 0);
	pthread_mutex_unlock(&s->lock);
	return n;
}

/* Returns a time at which the file has been quiet for `quiet` ns. The delay is 1 ms. */
static struct ofs_seal_when quiet_for(uint64_t ino, int64_t quiet)
{
	return (struct ofs_seal_when){ .now = in_memory(ino)->written_at + quiet,
				       .delay = OFS_NS_PER_MS };
}

static void cycle(const struct ofs_seal_when *when)
{
	int r = ofs_store_cycle(s, when, true);

	cr_assert_eq(r, 0, "%d", r);
}

/* Seals everything, and calls `meanwhile` between reading and installing. */
static void seal_around(void (*meanwhile)(uint64_t ino), uint64_t ino)
{
	struct ofs_seal_when when = { .now = ofs_clock_monotonic() };
	struct ofs_seal_batch *b;

	pthread_mutex_lock(&s->cycle);
	cr_assert_geq(ofs_seal_collect(s, &when, &b), 1);
	meanwhile(ino);
	cr_assert_eq(ofs_store_checkpoint(s, b), 0);
	ofs_seal_batch_destroy(b);
	pthread_mutex_unlock(&s->cycle);
}

static bool is_sealed(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr.sealed;
}

/* ---- frames */

Test(store_seal, small_files_share_a_frame)
{
	uint64_t f[20];
	char name[8];

	open_store();
	for (uint64_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(OFS_ROOT_INO, name, 1000 + i, i);
	}
	seal();
	cr_assert_eq(count_frames(), 1);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < 20; i++) {
			cr_assert(is_sealed(f[i]));
			cr_assert(has_sha(f[i]), "what has one block has its hash at once");
			expect_noise(f[i], 0, 1000 + i, i);
		}
		reopen_store();
	}
}

Test(store_seal, a_frame_that_is_full_is_followed_by_another)
{
	uint64_t f[20];
	struct frames frames;
	char name[8];

	open_store();
	for (uint64_t i = 0; i < 20; i++) {
		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(OFS_ROOT_INO, name, 50000, i);
	}
	seal();
	list_frames(&frames);
	cr_assert_eq(frames.n, 4);
	for (size_t i = 0; i < frames.n; i++)
		cr_assert_leq(frames.list[i].raw, OFS_FRAME_FULL);
	for (uint64_t i = 0; i < 20; i++)
		expect_noise(f[i], 0, 50000, i);
}

Test(store_seal, classes_are_kept_apart)
{
	struct frames frames;
	uint64_t deep, f[9];
	char name[8];

	usual.classify = classify;
	open_store();
	top_a = make_dir(OFS_ROOT_INO, "a");
	top_b = make_dir(OFS_ROOT_INO, "b");
	deep = make_dir(make_dir(top_b, "deeper"), "deepest");
	for (uint64_t i = 0; i < 9; i++) {
		uint64_t parents[] = { OFS_ROOT_INO, top_a, i < 5 ? top_b : deep };

		snprintf(name, sizeof(name), "%lu", i);
		f[i] = make_noise(parents[i % 3], name, 1000, i);
	}
	seal();
	list_frames(&frames);
	cr_assert_eq(frames.n, 3);
	for (uint64_t i = 0; i < 9; i++) {
		struct ofs_index_chunk c = chunk_of(f[i]);

		cr_assert_eq(c.class, i % 3 * 10, "%u", c.class);
		cr_assert(!c.dense);
	}
	for (size_t i = 0; i < 3; i++)
		cr_assert_eq(frames.list[i].live, 3);
	reopen_store();
	for (uint64_t i = 0; i < 9; i++)
		expect_noise(f[i], 0, 1000, i);
}

Test(store_seal, a_large_file_gets_a_frame_for_each_block_and_its_tail_shares_one)
{
	struct chunk_list l;
	struct ofs_index_chunk small;
	uint64_t big, other;

	open_store();
	big = make_noise(OFS_ROOT_INO, "big", 3 * BLOCK + 5000, 1);
	other = make_noise(OFS_ROOT_INO, "small", 3000, 2);
	seal();
	cr_assert_eq(count_frames(), 4);
	list_chunks(big, &l);
	small = chunk_of(other);
	cr_assert_eq(l.n, 4);
	for (size_t i = 0; i < 3; i++) {
		cr_assert_eq(l.list[i].frame_raw, BLOCK);
		for (size_t k = 0; k < i; k++)
			cr_assert(!share_frame(&l.list[i], &l.list[k]));
	}
	cr_assert(share_frame(&l.list[3], &small));
	cr_assert_eq(small.frame_raw, 8000);
	reopen_store();
	expect_noise(big, 0, 3 * BLOCK + 5000, 1);
	expect_noise(other, 0, 3000, 2);
}

/* ---- sealing again */

Test(store_seal, a_write_in_the_middle_seals_the_touched_block_alone)
{
	struct chunk_list before, after;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 4 * BLOCK + 100, 1);
	seal();
	list_chunks(f, &before);
	put_noise(f, 2 * BLOCK + 1000, 10, 2);
	seal();
	list_chunks(f, &after);
	cr_assert_eq(after.n, 5);
	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(before.list[i].id == after.list[i].id, i != 2, "block %zu", i);
	put_noise(f, BLOCK - 3, 6, 3);
	seal();
	before = after;
	list_chunks(f, &after);
	for (size_t i = 0; i < 5; i++)
		cr_assert_eq(before.list[i].id == after.list[i].id, i > 1, "block %zu", i);
	expect_noise(f, 2 * BLOCK + 1000, 10, 2);
	expect_noise(f, BLOCK - 3, 6, 3);
	cr_assert(has_sha(f));
}

static void write_second_block(uint64_t ino)
{
	put_noise(ino, BLOCK + 50, 100, 77);
}

Test(store_seal, a_block_that_changes_meanwhile_stays_a_draft_and_the_others_are_sealed)
{
	struct chunk_list l;
	uint64_t f, other;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 3 * BLOCK, 1);
	other = make_noise(OFS_ROOT_INO, "other", 100, 2);
	seal_around(write_second_block, f);
	list_chunks(f, &l);
	cr_assert(l.list[0].id && !l.list[1].id && l.list[2].id);
	cr_assert(!is_sealed(f));
	cr_assert(!has_sha(f));
	cr_assert(is_sealed(other));
	for (int round = 0; round < 2; round++) {
		expect_noise(f, BLOCK + 50, 100, 77);
		expect_noise(other, 0, 100, 2);
		cr_assert_eq(in_memory(f)->content.draft_bytes, BLOCK);
		if (round == 0) {
			/* As after a kill: closing the store would seal it. */
			pthread_mutex_lock(&s->cycle);
			cr_assert_eq(ofs_store_checkpoint(s, NULL), 0);
			pthread_mutex_unlock(&s->cycle);
		}
	}
	seal();
	cr_assert(is_sealed(f) && has_sha(f));
	expect_noise(f, BLOCK + 50, 100, 77);
	cr_assert_eq(in_memory(f)->content.draft_bytes, 0);
}

static void cut_it(uint64_t ino)
{
	struct ofs_setattr attr = { .set = OFS_SET_SIZE, .size = BLOCK + 10 };
	struct ofs_attr now;

	cr_assert_eq(ofs_store_setattr(s, ino, &attr, &now), 0);
}

static uint8_t byte_at(uint64_t ino, uint64_t off)
{
	uint8_t byte;

	cr_assert_eq(ofs_store_read(s, ino, &byte, 1, off), 1);
	return byte;
}

Test(store_seal, a_file_that_is_cut_meanwhile_keeps_nothing_behind_its_end)
{
	struct ofs_setattr grow = { .set = OFS_SET_SIZE, .size = 3 * BLOCK };
	struct ofs_attr attr;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 3 * BLOCK, 1);
	seal_around(cut_it, f);
	cr_assert_eq(ofs_store_setattr(s, f, &grow, &attr), 0);
	for (int round = 0; round < 3; round++) {
		expect_noise(f, 0, BLOCK + 10, 1);
		cr_assert_eq(byte_at(f, BLOCK + 10), 0);
		cr_assert_eq(byte_at(f, 3 * BLOCK - 1), 0);
		if (round == 0)
			seal();
		else
			reopen_store();
	}
}

static void remove_it(uint64_t ino)
{
	remove_file(OFS_ROOT_INO, "f", ino);
}

Test(store_seal, a_file_that_is_removed_meanwhile_leaves_nothing)
{
	uint64_t f, other;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK, 1);
	other = make_noise(OFS_ROOT_INO, "other", 2 * BLOCK, 2);
	seal_around(remove_it, f);
	seal();
	cr_assert_eq(count_frames(), 2);
	expect_noise(other, 0, 2 * BLOCK, 2);
	reopen_store();
	expect_noise(other, 0, 2 * BLOCK, 2);
}

/* ---- the hash of a file */

Test(store_seal, a_large_file_that_was_written_at_once_has_its_hash_at_once)
{
	struct ofs_seal_when when;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 4 * BLOCK, 1);
	when = quiet_for(f, OFS_NS_PER_MS);
	cycle(&when);
	cr_assert(is_sealed(f) && has_sha(f));
}

Test(store_seal, the_hash_of_a_large_file_waits_until_it_was_quiet_for_longer)
{
	struct ofs_seal_when when;
	struct ofs_content_hash first, second;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 8 * BLOCK, 1);
	seal();
	cr_assert_eq(ofs_store_get_hash(s, f, &first), 0);
	put_noise(f, BLOCK, 100, 2);
	when = quiet_for(f, OFS_NS_PER_MS);
	cycle(&when);
	cr_assert_eq(in_memory(f)->content.draft_bytes, 0, "the block is sealed");
	cr_assert(!has_sha(f), "the whole is not hashed yet");
	when = quiet_for(f, OFS_NS_PER_MS + 8 * BLOCK * 16);
	cycle(&when);
	cr_assert(has_sha(f) && is_sealed(f));
	cr_assert_eq(ofs_store_get_hash(s, f, &second), 0);
	cr_assert_neq(memcmp(first.sha, second.sha, 32), 0);
	put_noise(f, BLOCK, 100, 3);
	when = quiet_for(f, OFS_NS_PER_MS);
	cycle(&when);
	cr_assert(!has_sha(f));
	reopen_store();
	cr_assert(has_sha(f), "what was left to do is remembered and done");
	put_noise(f, 0, 8 * BLOCK, 1);
	seal();
	cr_assert_eq(ofs_store_get_hash(s, f, &second), 0);
	cr_assert_eq(memcmp(first.sha, second.sha, 32), 0, "equal content has an equal hash");
}

/* ---- holes */

Test(store_seal, holes_cost_nothing_and_read_as_zeros)
{
	struct ofs_setattr grow = { .set = OFS_SET_SIZE, .size = UINT64_C(100) * BLOCK };
	OFS_FREE uint8_t *zeros = ofs_alloc(2 * BLOCK);
	OFS_FREE uint8_t *buf = ofs_alloc(2 * BLOCK);
	struct ofs_attr attr;
	uint64_t f, empty;

	memset(zeros, 0, 2 * BLOCK);
	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 100, 1);
	put_noise(f, 50 * BLOCK + 7, 100, 2);
	cr_assert_eq(ofs_store_setattr(s, f, &grow, &attr), 0);
	empty = make_in(OFS_ROOT_INO, "zeros");
	cr_assert_eq(ofs_store_write(s, empty, zeros, 2 * BLOCK, 0), 2 * BLOCK);
	seal();
	for (int round = 0; round < 2; round++) {
		struct frames frames;

		list_frames(&frames);
		cr_assert_eq(frames.n, 2);
		cr_assert_eq(frames.list[0].live + frames.list[1].live, 2, "zeros are no chunk");
		cr_assert_leq(disk_usage("packs"), 20 * KIB);
		expect_noise(f, 0, 100, 1);
		expect_noise(f, 50 * BLOCK + 7, 100, 2);
		cr_assert_eq(ofs_store_read(s, f, buf, 2 * BLOCK, 7 * BLOCK), 2 * BLOCK);
		cr_assert_eq(memcmp(buf, zeros, 2 * BLOCK), 0);
		cr_assert_eq(byte_at(f, 100 * BLOCK - 1), 0);
		cr_assert_eq(ofs_store_read(s, empty, buf, 2 * BLOCK, 0), 2 * BLOCK);
		cr_assert_eq(memcmp(buf, zeros, 2 * BLOCK), 0);
		cr_assert(has_sha(f) && has_sha(empty));
		reopen_store();
	}
}

Test(store_seal, zeros_over_sealed_content_make_a_hole)
{
	OFS_FREE uint8_t *zeros = ofs_alloc(BLOCK);
	struct chunk_list l;
	uint64_t f;

	memset(zeros, 0, BLOCK);
	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 3 * BLOCK, 1);
	seal();
	cr_assert_eq(ofs_store_write(s, f, zeros, BLOCK, BLOCK), BLOCK);
	seal();
	list_chunks(f, &l);
	cr_assert(l.list[0].id && !l.list[1].id && l.list[2].id);
	cr_assert_eq(count_frames(), 2);
	reopen_store();
	cr_assert_eq(byte_at(f, BLOCK), 0);
	cr_assert_eq(byte_at(f, 2 * BLOCK - 1), 0);
	expect_noise(f, 0, BLOCK, 1);
}

Test(store_seal, a_file_of_holes_alone_is_not_hashed_for_ever)
{
	struct ofs_setattr grow = { .set = OFS_SET_SIZE, .size = UINT64_C(1) << 43 };
	struct ofs_attr attr;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 100, 1);
	cr_assert_eq(ofs_store_setattr(s, f, &grow, &attr), 0);
	seal();
	cr_assert(is_sealed(f));
	cr_assert(!has_sha(f));
	cr_assert_eq(s->drafts.n, 0);
	expect_noise(f, 0, 100, 1);
}

/* ---- damage */

Test(store_seal, lost_bytes_stay_lost_and_the_rest_of_their_block_is_sealed)
{
	uint8_t byte;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK, 1);
	seal();
	put_noise(f, BLOCK + 1000, 104, 2);
	damage_newest_draft();
	seal();
	for (int round = 0; round < 3; round++) {
		expect_noise(f, 0, BLOCK + 1000, 1);
		cr_assert_eq(ofs_store_read(s, f, &byte, 1, BLOCK + 1000), -EIO);
		cr_assert_eq(ofs_store_read(s, f, &byte, 1, BLOCK + 1103), -EIO);
		cr_assert_eq(ofs_store_read(s, f, &byte, 1, BLOCK + 1104), 1);
		cr_assert(!has_sha(f), "what is not known has no hash");
		reopen_store();
	}
	put_noise(f, BLOCK + 1000, 52, 3);
	seal();
	expect_noise(f, BLOCK + 1000, 52, 3);
	cr_assert_eq(ofs_store_read(s, f, &byte, 1, BLOCK + 1052), -EIO, "this half is still lost");
	put_noise(f, BLOCK + 1052, 52, 4);
	seal();
	expect_noise(f, BLOCK + 1052, 52, 4);
	cr_assert(has_sha(f));
}

static int reading_fails(const char *name)
{
	return strcmp(name, "io.preadv") == 0 ? -EIO : 0;
}

/* Two batches, of which the first cannot be read. */
Test(store_seal, a_file_that_cannot_be_read_holds_up_no_other)
{
	struct ofs_seal_when when;
	uint64_t f, g;

	open_store();
	s->packs_max = 16 * MIB; /* so that a batch has 2 */
	f = make_noise(OFS_ROOT_INO, "f", 3 * MIB, 1);
	g = make_noise(OFS_ROOT_INO, "g", 1000, 2);
	when = quiet_for(g, 0);
	when.pressed = true;
	fault_for = reading_fails;
	cycle(&when);
	fault_for = NULL;
	when.now = ofs_clock_monotonic();
	cycle(&when);
	cr_assert(is_sealed(g));
	cr_assert_eq(in_memory(f)->content.draft_bytes, 3 * MIB, "it is not time to try again");
	when.now += 61 * OFS_NS_PER_S;
	cycle(&when);
	cr_assert(is_sealed(f));
	expect_noise(f, 0, 3 * MIB, 1);
}

static unsigned int failed;

static int packs_fail(const char *name)
{
	if (strcmp(name, "io.pread") != 0)
		return 0;
	failed++;
	return -EIO;
}

Test(store_seal, a_file_that_cannot_be_hashed_is_left_for_a_minute)
{
	struct ofs_seal_when when;
	uint64_t f;

	usual.cache_bytes = 0;
	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 4 * BLOCK, 1);
	seal();
	put_noise(f, 4 * BLOCK, BLOCK, 2);
	when = quiet_for(f, OFS_NS_PER_S);
	fault_for = packs_fail;
	cycle(&when);
	cr_assert_gt(failed, 0);
	failed = 0;
	cycle(&when);
	fault_for = NULL;
	cr_assert_eq(failed, 0);
	cr_assert_not(has_sha(f));
	when.now = ofs_clock_monotonic() + 61 * OFS_NS_PER_S;
	cycle(&when);
	cr_assert(has_sha(f));
}

Test(store_seal, who_waits_for_a_file_that_cannot_be_read_is_told)
{
	struct ofs_seal_when when;
	struct ofs_store_stats st;
	uint64_t f;

	usual.journal_max = MIB;
	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * MIB, 1);
	cr_assert(ofs_store_would_wait(s));
	ofs_store_set_nonblocking(true);
	cr_assert_eq(ofs_store_write(s, f, "x", 1, 0), -EAGAIN);
	ofs_store_set_nonblocking(false);
	when = quiet_for(f, 0);
	when.pressed = true;
	fault_for = reading_fails;
	cycle(&when);
	fault_for = NULL;
	cr_assert_eq(s->room.error, -EIO);
	cr_assert_eq(ofs_store_stats(s, &st), 0);
	cr_assert_eq(st.error, -EIO);
	when.now += 61 * OFS_NS_PER_S;
	cycle(&when);
	cr_assert_eq(s->room.error, 0);
	cr_assert_not(ofs_store_would_wait(s));
	expect_noise(f, 0, 2 * MIB, 1);
}

/* ---- equal content */

Test(store_seal, equal_content_in_one_batch_is_stored_once)
{
	struct chunk_list l, m;
	uint64_t f, g;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK, 1);
	g = make_noise(OFS_ROOT_INO, "g", 2 * BLOCK, 1);
	put_noise(f, BLOCK, BLOCK, 5);
	put_noise(g, 2 * BLOCK, BLOCK, 5);
	seal();
	list_chunks(f, &l);
	list_chunks(g, &m);
	cr_assert_eq(l.list[0].id, m.list[0].id);
	cr_assert_eq(l.list[1].id, m.list[2].id, "wherever in the file it is");
	cr_assert_eq(count_frames(), 3);
	remove_file(OFS_ROOT_INO, "f", f);
	seal();
	expect_noise(g, 2 * BLOCK, BLOCK, 5);
	cr_assert_eq(count_frames(), 3);
}

Test(store_seal, content_that_is_stored_already_is_not_stored_again)
{
	uint64_t f, g, before;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK + 9, 1);
	seal();
	before = disk_usage("packs");
	reopen_store();
	g = make_noise(OFS_ROOT_INO, "g", 2 * BLOCK + 9, 1);
	seal();
	cr_assert_eq(disk_usage("packs"), before);
	remove_file(OFS_ROOT_INO, "f", f);
	seal();
	expect_noise(g, 0, 2 * BLOCK + 9, 1);
	reopen_store();
	expect_noise(g, 0, 2 * BLOCK + 9, 1);
}

Test(store_seal, content_that_moves_to_a_new_file_survives_the_old_one)
{
	uint64_t f, g;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", BLOCK + 9, 1);
	seal();
	remove_file(OFS_ROOT_INO, "f", f);
	g = make_noise(OFS_ROOT_INO, "g", BLOCK + 9, 1);
	seal();
	expect_noise(g, 0, BLOCK + 9, 1);
	put_noise(g, 0, BLOCK + 9, 2);
	put_noise(g, BLOCK, 9, 1);
	f = make_noise(OFS_ROOT_INO, "f", BLOCK + 9, 1);
	seal();
	expect_noise(f, 0, BLOCK + 9, 1);
	reopen_store();
	expect_noise(f, 0, BLOCK + 9, 1);
	expect_noise(g, 0, BLOCK, 2);
}

static void mark_bad(const struct ofs_index_chunk *c)
{
	struct frames frames;

	list_frames(&frames);
	for (size_t i = 0; i < frames.n; i++) {
		if (frames.list[i].pack != c->pack || frames.list[i].off != c->frame_off)
			continue;
		cr_assert_eq(ofs_index_begin(s->index), 0);
		cr_assert_eq(ofs_index_set_frame_bad(s->index, frames.list[i].id, true), 0);
		cr_assert_eq(ofs_index_commit(s->index), 0);
		return;
	}
	cr_assert_fail("no such frame");
}

Test(store_seal, content_that_cannot_be_read_is_healed_by_writing_it_again)
{
	struct ofs_index_chunk bad;
	uint64_t first, second, beside, again;
	uint8_t byte;

	open_store();
	first = make_noise(OFS_ROOT_INO, "first", 5000, 1);
	second = make_noise(OFS_ROOT_INO, "second", 5000, 1);
	beside = make_noise(OFS_ROOT_INO, "beside", 5000, 2);
	seal();
	bad = chunk_of(first);
	close_store();
	flip_frame(&bad);
	open_store();
	cr_assert_eq(ofs_store_read(s, first, &byte, 1, 0), -EIO);
	cr_assert_eq(ofs_store_read(s, second, &byte, 1, 0), -EIO);
	mark_bad(&bad);
	again = make_noise(OFS_ROOT_INO, "again", 5000, 1);
	seal();
	for (int round = 0; round < 2; round++) {
		expect_noise(first, 0, 5000, 1);
		expect_noise(second, 0, 5000, 1);
		expect_noise(again, 0, 5000, 1);
		cr_assert_eq(ofs_store_read(s, beside, &byte, 1, 0), -EIO);
		cr_assert_eq(chunk_of(first).id, bad.id);
		reopen_store();
	}
	put_noise(beside, 0, 5000, 2);
	seal();
	expect_noise(beside, 0, 5000, 2);
}

/* ---- what survives a restart */

static int note_mark(void *arg, uint64_t ino)
{
	*(uint64_t *)arg = ino;
	return 0;
}

Test(store_seal, the_mark_of_a_moved_file_survives_reopening)
{
	uint64_t f, marked = 0;
	struct ofs_index_chunk c;

	usual.classify = classify;
	open_store();
	top_a = make_dir(OFS_ROOT_INO, "a");
	top_b = make_dir(OFS_ROOT_INO, "b");
	f = make_noise(top_a, "f", 3000, 1);
	seal();
	cr_assert_eq(ofs_store_rename(s, top_a, "f", top_b, "f", 0, NULL), 0);
	reopen_store();
	cr_assert_eq(ofs_index_list_marks(s->index, 1, note_mark, &marked), 0);
	cr_assert_eq(marked, f);
	while (ofs_store_repack(s, true) > 0)
		;
	c = chunk_of(f);
	cr_assert_eq(c.class, 20);
	marked = 0;
	cr_assert_eq(ofs_index_list_marks(s->index, 1, note_mark, &marked), 0);
	cr_assert_eq(marked, 0);
	expect_noise(f, 0, 3000, 1);
}

static void grow_by_a_hole(uint64_t ino)
{
	struct ofs_setattr attr = { .set = OFS_SET_SIZE, .size = 3 * BLOCK };

	cr_assert_eq(ofs_store_setattr(s, ino, &attr, NULL), 0);
}

Test(store_seal, a_file_that_grew_by_a_hole_meanwhile_is_hashed_after_a_restart)
{
	struct ofs_content_hash digest;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 2 * BLOCK, 1);
	seal_around(grow_by_a_hole, f);
	s->broken = ""; /* makes closing leave what a kill would */
	close_store();
	open_store();
	seal();
	cr_assert_eq(ofs_store_get_hash(s, f, &digest), 0);
	cr_assert(digest.has_sha, "nobody knew that there was something left to do");
}
