/* SPDX-License-Identifier: MIT */
/* The age clock: whatever the wall clock does, nothing ages faster than time passes. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

#define SECOND OFS_NS_PER_S
#define HOUR (3600 * SECOND)
#define YEAR (365 * 24 * HOUR)
#define SLACK (100 * SECOND) /* how long a test may be held up */

static struct ofs_clock_control clocks;

static void setup_clocks(void)
{
	setup();
	ofs_clock_set_control(&clocks);
}

static void teardown_faults(void)
{
	fault_for = NULL;
	teardown();
}

TestSuite(store_age, .init = setup_clocks, .fini = teardown_faults);

/* Lets time pass on both clocks. */
static void pass(int64_t ns)
{
	clocks.wall_offset += ns;
	clocks.boot_offset += ns;
}

/* Restarts the clock that counts from boot, as a restart of the machine does. */
static void reboot(void)
{
	clocks.boot_offset = 0;
	ofs_clock_set_control(&clocks);
}

static void expect_near(int64_t t, int64_t want)
{
	cr_assert(t >= want && t - want < SLACK, "%ld instead of %ld: %ld s off", t, want,
		  (t - want) / SECOND);
}

static int64_t used(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	cr_assert_eq(attr.used % SECOND, 0);
	return attr.used;
}

static struct ofs_index_meta meta(void)
{
	struct ofs_index_meta m;

	cr_assert_eq(ofs_index_get_meta(s->index, &m), 0);
	return m;
}

Test(store_age, it_begins_as_the_wall_clock)
{
	clocks.wall_offset = -7 * HOUR;
	open_store();
	expect_near(ofs_store_age(s), ofs_clock_wall() - SLACK / 2);
	pass(HOUR);
	expect_near(ofs_store_age(s), ofs_clock_wall() - SLACK / 2);
}

static void step(int64_t by)
{
	int64_t age;

	open_store();
	age = ofs_store_age(s);
	clocks.wall_offset += by;
	expect_near(ofs_store_age(s), age);
	cr_assert_eq(ofs_store_keep_age(s), 0);
	/* After a kill: the index has recorded the step. */
	crash_store();
	expect_near(ofs_store_age(s), age);
	clocks.wall_offset -= by;
	reopen_store();
	expect_near(ofs_store_age(s), age);
	clocks.wall_offset += by;
	/* A clean end records the step itself, without ofs_store_keep_age(). */
	reopen_store();
	expect_near(ofs_store_age(s), age);
	reboot();
	reopen_store();
	expect_near(ofs_store_age(s), age);
}

Test(store_age, a_wall_clock_stepped_forward_changes_nothing)
{
	step(YEAR);
}

Test(store_age, a_wall_clock_stepped_back_changes_nothing)
{
	step(-YEAR);
}

Test(store_age, the_time_while_it_is_closed_counts)
{
	int64_t age;

	open_store();
	age = ofs_store_age(s);
	pass(HOUR);
	close_store();
	pass(HOUR);
	reboot();
	open_store();
	expect_near(ofs_store_age(s), age + 2 * HOUR);
	/* After a kill, with the last checkpoint an hour ago. */
	seal();
	pass(HOUR);
	crash_store();
	expect_near(ofs_store_age(s), age + 3 * HOUR);
	/* A wall clock that is set back and later corrected does not count that hour twice. */
	close_store();
	clocks.wall_offset -= HOUR;
	open_store();
	expect_near(ofs_store_age(s), age + 3 * HOUR);
	close_store();
	clocks.wall_offset += HOUR;
	open_store();
	expect_near(ofs_store_age(s), age + 3 * HOUR);
	cr_assert_geq(meta().wall_high, meta().age_wall);
}

/* A closed store cannot be used, and the clock may be wrong or belong to another machine. */
Test(store_age, no_more_than_an_hour_of_being_closed_counts)
{
	static const int64_t steps[] = { 30 * 24 * HOUR, YEAR, -YEAR, 2 * YEAR, -3 * YEAR, YEAR };
	int64_t age, before;

	open_store();
	seal();
	age = before = ofs_store_age(s);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(steps); i++) {
		if (i % 2) {
			close_store();
			clocks.wall_offset += steps[i];
			reboot();
			open_store();
		} else {
			cr_assert_eq(ofs_store_keep_age(s), 0);
			clocks.wall_offset += steps[i];
			crash_store();
		}
		cr_assert_geq(ofs_store_age(s), before, "%zu", i);
		cr_assert_leq(ofs_store_age(s), before + HOUR + SLACK, "%zu", i);
		before = ofs_store_age(s);
	}
	cr_assert_leq(before, age + 3 * HOUR + SLACK);
}

Test(store_age, it_is_kept_when_that_is_needed)
{
	struct ofs_index_meta first, now;

	open_store();
	seal();
	first = meta();
	expect_near(first.age, ofs_store_age(s) - SLACK / 2);
	cr_assert_eq(first.wall_high, first.age_wall);
	cr_assert_eq(ofs_store_keep_age(s), 0);
	pass(300 * SECOND);
	cr_assert_eq(ofs_store_keep_age(s), 0);
	cr_assert_eq(meta().age, first.age);
	pass(301 * SECOND);
	cr_assert_eq(ofs_store_keep_age(s), 0);
	now = meta();
	expect_near(now.age, first.age + 601 * SECOND);
	clocks.wall_offset -= 2 * SECOND;
	cr_assert_eq(ofs_store_keep_age(s), 0);
	cr_assert_gt(meta().age, now.age);
	cr_assert_lt(meta().age_wall, now.age_wall + SLACK);
	cr_assert_geq(meta().wall_high, now.wall_high);
	/* The end records it too, though nothing else has changed. */
	now = meta();
	pass(HOUR);
	reopen_store();
	expect_near(meta().age, now.age + HOUR);
}

static int no_commit(const char *name)
{
	return strcmp(name, "index.commit") == 0 ? -EIO : 0;
}

Test(store_age, an_index_that_cannot_keep_it_is_told_again)
{
	open_store();
	seal();
	pass(HOUR);
	fault_for = no_commit;
	cr_assert_eq(ofs_store_keep_age(s), -EIO);
	cr_assert_eq(ofs_store_keep_age(s), -EIO);
	fault_for = NULL;
	cr_assert_eq(ofs_store_keep_age(s), 0);
	expect_near(meta().age, ofs_store_age(s) - SLACK / 2);
}

static const char format_3[] =
	"DROP TABLE object; DROP TABLE extent; DROP TABLE ledger; ALTER TABLE meta DROP COLUMN ref_seed;"
	"DROP TABLE tombstone; ALTER TABLE meta DROP COLUMN tombstones;"
	"ALTER TABLE meta DROP COLUMN age; ALTER TABLE meta DROP COLUMN age_wall;"
	"ALTER TABLE meta DROP COLUMN wall_high; ALTER TABLE inode DROP COLUMN used;"
	"ALTER TABLE inode DROP COLUMN tokens;"
	"PRAGMA user_version = 3";

Test(store_age, a_store_of_format_3_begins_anew)
{
	struct ofs_attr attr;
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	close_store();
	run_sql(format_3);
	pass(YEAR);
	open_store();
	expect_near(ofs_store_age(s), ofs_clock_wall() - SLACK / 2);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	cr_assert_eq(attr.used, ofs_seconds(attr.ctime) * SECOND);
	expect_noise(f, 0, 1000, 1);
	/* From the first checkpoint on, the store's own clock counts. */
	seal();
	cr_assert_eq(ofs_store_keep_age(s), 0);
	clocks.wall_offset -= YEAR;
	reopen_store();
	expect_near(ofs_store_age(s), ofs_clock_wall() + YEAR - SLACK / 2);
}

/* ---- the last use */

/* `ino` was used just now, which a kill and a checkpoint preserve. Lets an hour pass. */
static void expect_used_now(uint64_t ino, const char *why)
{
	int64_t now = used(ino), age = ofs_store_age(s);

	cr_assert(now >= age - SLACK && now < age + SECOND, "%s: %ld s off", why,
		  (now - age) / SECOND);
	crash_store();
	cr_assert_leq(labs(used(ino) - now), SECOND, "%s: replay", why);
	seal();
	cr_assert_leq(labs(used(ino) - now), SECOND, "%s: checkpoint", why);
	now = used(ino);
	reopen_store();
	cr_assert_eq(used(ino), now, "%s", why);
	pass(HOUR);
}

static void expect_not_used_now(uint64_t ino, const char *why)
{
	cr_assert_lt(used(ino), ofs_store_age(s) - HOUR / 2, "%s", why);
}

Test(store_age, whatever_changes_an_inode_is_a_use)
{
	struct ofs_setattr attr = { .set = OFS_SET_MODE, .mode = 0600 };
	struct ofs_setattr cut = { .set = OFS_SET_SIZE, .size = 100 };
	struct ofs_attr ret;
	uint64_t d, f, g;

	clocks.wall_offset = -YEAR; /* the age clock differs from it from the next start on */
	open_store();
	clocks.wall_offset = 0;
	cr_assert_eq(ofs_store_keep_age(s), 0);
	d = make_dir(OFS_ROOT_INO, "d");
	f = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	g = make_noise(d, "g", OFS_BLOCK_SIZE, 1);
	expect_used_now(f, "create");
	put_noise(f, 0, 1000, 2);
	expect_used_now(f, "write");
	expect_not_used_now(g, "write to another");
	cr_assert_eq(ofs_store_setattr(s, f, &attr, NULL), 0);
	expect_used_now(f, "setattr");
	cr_assert_eq(ofs_store_setattr(s, f, &cut, NULL), 0);
	expect_used_now(f, "truncate");
	cr_assert_eq(ofs_store_setxattr(s, f, "user.a", "b", 1, 0), 0);
	expect_used_now(f, "setxattr");
	cr_assert_eq(ofs_store_removexattr(s, f, "user.a"), 0);
	expect_used_now(f, "removexattr");
	cr_assert_eq(ofs_store_zero(s, f, 0, 10, false), 0);
	expect_used_now(f, "zero");
	cr_assert_eq(ofs_store_link(s, f, d, "f2", &ret), 0);
	expect_used_now(f, "link");
	cr_assert_eq(ofs_store_unlink(s, d, "f2", NULL), 0);
	expect_not_used_now(f, "losing a name");
	cr_assert_eq(ofs_store_rename(s, OFS_ROOT_INO, "f", d, "f", 0, NULL), 0);
	expect_used_now(f, "rename");
	cr_assert_eq(ofs_store_rename(s, d, "f", d, "g", RENAME_EXCHANGE, NULL), 0);
	cr_assert_geq(used(g), ofs_store_age(s) - SLACK);
	expect_used_now(f, "exchange");
	cr_assert_eq(ofs_store_copy(s, g, 0, f, 0, OFS_BLOCK_SIZE), OFS_BLOCK_SIZE);
	expect_not_used_now(g, "being copied from");
	expect_used_now(f, "copy");
	seal();
	expect_not_used_now(f, "being sealed");
	make_in(d, "new");
	expect_not_used_now(d, "a new entry");
	cr_assert_eq(ofs_store_rename(s, OFS_ROOT_INO, "d", OFS_ROOT_INO, "e", 0, NULL), 0);
	expect_used_now(d, "rename of a directory");
}

Test(store_age, a_use_is_remembered_and_changes_nothing_else)
{
	struct ofs_attr before, after;
	uint64_t f, end;
	int64_t at;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	seal();
	pass(HOUR);
	cr_assert_eq(ofs_store_getattr(s, f, &before), 0);
	end = ofs_journal_end(s->journal);
	at = ofs_store_age(s);
	ofs_store_use(s, f);
	cr_assert_eq(ofs_store_getattr(s, f, &after), 0);
	cr_assert_eq(after.used % SECOND, 0);
	cr_assert_geq(after.used, at + 60 * SECOND, "never earlier than it was");
	cr_assert_lt(after.used, ofs_store_age(s) + 61 * SECOND);
	cr_assert_eq(after.ctime, before.ctime);
	cr_assert_eq(after.version, before.version);
	cr_assert_eq(ofs_journal_end(s->journal), end, "no record is made");
	/* A second use within the same minute costs nothing. */
	seal();
	cr_assert_eq(s->dirty.n, 0);
	ofs_store_use(s, f);
	cr_assert_eq(s->dirty.n, 0);
	cr_assert_eq(used(f), after.used);
	crash_store();
	cr_assert_eq(used(f), after.used);
	pass(62 * SECOND);
	ofs_store_use(s, f);
	cr_assert_gt(used(f), after.used);
	reopen_store();
	cr_assert_gt(used(f), after.used);
	cr_assert(has_sha(f));
	expect_noise(f, 0, 1000, 1);
}

Test(store_age, a_use_loads_nothing)
{
	uint64_t f;
	int64_t before;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	before = used(f);
	reopen_store();
	pass(HOUR);
	ofs_store_use(s, f);
	ofs_store_use(s, 4711);
	cr_assert_eq(s->inodes.count, 1);
	cr_assert_eq(used(f), before);
}

static int no_room(const char *name)
{
	return strcmp(name, "io.allocate") == 0 ? -ENOSPC : 0;
}

Test(store_age, on_a_full_disk_a_use_is_kept_in_memory)
{
	uint64_t f;

	open_store();
	f = make_noise(OFS_ROOT_INO, "f", 1000, 1);
	seal();
	pass(HOUR);
	fault_for = no_room;
	ofs_reserve_fill(s);
	ofs_store_use(s, f);
	cr_assert_geq(used(f), ofs_store_age(s) - SLACK);
	cr_assert_eq(s->dirty.n, 0);
	fault_for = NULL;
	ofs_reserve_fill(s);
	pass(2 * SECOND);
	ofs_store_use(s, f);
	cr_assert_eq(s->dirty.n, 1, "it is put into the index as soon as there is room");
}

/* ---- replay after an unrecorded step of the clock */

static void step_before_records(int64_t by, int64_t then)
{
	int64_t before, after;
	uint64_t f, g;

	open_store();
	pass(YEAR);
	f = make_in(OFS_ROOT_INO, "f");
	seal();
	pass(HOUR);
	clocks.wall_offset += by;
	g = make_in(OFS_ROOT_INO, "g");
	before = ofs_store_age(s) - used(f);
	clocks.wall_offset += then;
	crash_store();
	after = ofs_store_age(s) - used(g);
	cr_assert(after > -SECOND && after < SLACK, "%ld s", after / SECOND);
	if (by + then <= 0)
		cr_assert_leq(ofs_store_age(s) - used(f), before + SLACK);
}

Test(store_age, records_after_a_step_forward_are_not_older)
{
	step_before_records(YEAR, 0);
}

Test(store_age, records_after_a_step_forward_and_back_are_not_in_the_future)
{
	step_before_records(YEAR, -YEAR);
}

Test(store_age, records_after_a_step_back_are_not_older)
{
	step_before_records(-YEAR, 0);
}

Test(store_age, records_before_the_first_checkpoint_are_as_old_as_they_are)
{
	uint64_t f;
	int64_t at;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	at = used(f);
	pass(HOUR);
	crash_store();
	cr_assert_leq(labs(used(f) - at), SECOND);
	expect_near(ofs_store_age(s), at + HOUR - SECOND);
}

Test(store_age, who_holds_a_file_shows)
{
	struct ofs_attr attr;
	uint64_t f;

	open_store();
	f = make_in(OFS_ROOT_INO, "f");
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	cr_assert_eq(attr.held, 1);
	cr_assert_eq(ofs_store_lookup(s, OFS_ROOT_INO, "f", &attr), 0);
	cr_assert_eq(attr.held, 2);
	ofs_store_forget(s, f, 2);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	cr_assert_eq(attr.held, 0);
}
