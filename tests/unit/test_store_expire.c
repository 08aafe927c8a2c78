/* SPDX-License-Identifier: MIT */
/* Removal of unused files and directories, and the tombstones that it leaves. */
#include <offloadfs/tree.h>

#include "test_store_fixture.h"

#define SECOND OFS_NS_PER_S

static struct ofs_clock_control clocks;

static void setup_clocks(void)
{
	setup();
	ofs_clock_set_control(&clocks);
	open_store();
}

static void teardown_faults(void)
{
	fault_for = NULL;
	teardown();
}

TestSuite(store_expire, .init = setup_clocks, .fini = teardown_faults);

static int64_t used(uint64_t ino)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
	return attr.used;
}

/* Makes a file that nobody holds. */
static uint64_t make_unheld(uint64_t parent, const char *name)
{
	uint64_t ino = make_noise(parent, name, 1000, 1);

	ofs_store_forget(s, ino, 1);
	return ino;
}

static void link_to(uint64_t ino, uint64_t parent, const char *name)
{
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_link(s, ino, parent, name, &attr), 0, "%s", name);
	ofs_store_forget(s, ino, 1);
}

static int expire(uint64_t ino, const char *what)
{
	return ofs_store_expire(s, ino, used(ino), NULL, what, strlen(what));
}

static void expect_expired(uint64_t ino, const char *what)
{
	int r = expire(ino, what);

	cr_assert_eq(r, 0, "%d", r);
}

/* `want` NULL: there must be no tombstone. Returns the time of removal. */
static int64_t expect_tombstone(uint64_t ino, const char *want)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf what = OFS_BUF_INIT;
	int64_t removed = 0;
	int r = ofs_store_get_tombstone(s, ino, &what, &removed);

	cr_assert_eq(r, want ? 0 : -ENOENT, "%lu: %d", ino, r);
	if (want)
		cr_assert(what.len == strlen(want) &&
				  (!what.len || memcmp(what.data, want, what.len) == 0),
			  "%lu: '%.*s'", ino, (int)what.len, (const char *)what.data);
	cr_assert_eq(removed % SECOND, 0);
	return removed;
}

static uint64_t tombstones(void)
{
	struct ofs_store_stats st;

	cr_assert_eq(ofs_store_stats(s, &st), 0);
	return st.tombstones;
}

static bool has_name(uint64_t parent, const char *name)
{
	struct ofs_attr attr;
	int r = ofs_store_lookup(s, parent, name, &attr);

	cr_assert(r == 0 || r == -ENOENT);
	if (r == 0)
		ofs_store_forget(s, attr.ino, 1);
	return r == 0;
}

static void no_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
	cr_assert_fail("%lu: %s", ino, what);
}

static void expect_sound(void)
{
	struct ofs_verify verify = { .problem = no_problem };
	struct ofs_verify_counts counts;

	cr_assert_eq(ofs_store_verify(s, &verify, &counts), 0);
}

static void expect_gone(uint64_t ino, const char *name, const char *what)
{
	struct ofs_attr attr;

	cr_assert_not(has_name(OFS_ROOT_INO, name));
	cr_assert_eq(ofs_store_hold(s, ino, &attr), -ENOENT);
	expect_tombstone(ino, what);
	cr_assert_eq(tombstones(), 1);
}

Test(store_expire, a_file_goes_and_its_tombstone_stays)
{
	struct ofs_store_stats st;
	uint64_t f = make_noise(OFS_ROOT_INO, "f", 300000, 1), packs;
	int64_t removed;

	ofs_store_forget(s, f, 1);
	seal();
	cr_assert_eq(ofs_store_stats(s, &st), 0);
	packs = st.packs;
	expect_tombstone(f, NULL);
	expect_expired(f, "what it was");
	expect_gone(f, "f", "what it was");
	removed = expect_tombstone(f, "what it was");
	cr_assert(removed <= ofs_clock_wall() && removed > ofs_clock_wall() - 100 * SECOND);
	crash_store();
	expect_gone(f, "f", "what it was");
	seal();
	expect_gone(f, "f", "what it was");
	cr_assert_eq(s->tombstones.count, 0);
	crash_store();
	expect_gone(f, "f", "what it was");
	reopen_store();
	expect_gone(f, "f", "what it was");
	cr_assert_eq(expect_tombstone(f, "what it was"), removed);
	cr_assert_eq(ofs_store_stats(s, &st), 0);
	cr_assert_eq(st.files, 0);
	cr_assert_lt(st.packs, packs, "its space is given back");
	expect_sound();
}

Test(store_expire, what_is_held_stays)
{
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_hold(s, f, &attr), 0);
	cr_assert_eq(expire(f, "x"), -EBUSY);
	expect_tombstone(f, NULL);
	ofs_store_forget(s, f, 1);
	expect_expired(f, "x");
}

Test(store_expire, what_was_used_meanwhile_stays)
{
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");
	int64_t seen = used(f);

	clocks.boot_offset += 100 * SECOND;
	ofs_store_use(s, f);
	cr_assert_eq(ofs_store_expire(s, f, seen, NULL, "x", 1), -EAGAIN);
	seen = used(f);
	clocks.boot_offset += 100 * SECOND;
	put_noise(f, 0, 10, 2);
	cr_assert_eq(ofs_store_expire(s, f, seen, NULL, "x", 1), -EAGAIN);
	cr_assert(has_name(OFS_ROOT_INO, "f"));
	expect_expired(f, "x");
}

/* Holds even if the last use is stamped later than the changes. */
Test(store_expire, what_was_moved_or_changed_meanwhile_stays)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), sub = make_dir(d, "sub");
	uint64_t f = make_unheld(sub, "f");
	struct ofs_expire_guard guard;
	struct ofs_attr attr;

	ofs_store_use(s, f);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	guard = (struct ofs_expire_guard){ attr.ctime, ofs_store_moves(s) };
	cr_assert_eq(ofs_store_rename(s, d, "sub", d, "moved", 0, NULL), 0);
	cr_assert_eq(ofs_store_expire(s, f, attr.used, &guard, "x", 1), -EAGAIN);
	guard.moves = ofs_store_moves(s);
	put_noise(f, 0, 10, 2);
	cr_assert_eq(ofs_store_expire(s, f, attr.used, &guard, "x", 1), -EAGAIN);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	guard.ctime = attr.ctime;
	cr_assert_eq(ofs_store_setxattr(s, f, "user.a", "b", 1, 0), 0);
	cr_assert_eq(ofs_store_expire(s, f, attr.used, &guard, "x", 1), -EAGAIN);
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	guard = (struct ofs_expire_guard){ attr.ctime, ofs_store_moves(s) };
	cr_assert_eq(ofs_store_expire(s, f, ofs_store_age(s) + 100 * SECOND, &guard, "x", 1), 0);
}

Test(store_expire, only_files_that_are_there)
{
	struct ofs_create target = { .mode = S_IFLNK | 0777, .target = "f" };
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");
	static char what[OFS_TOMBSTONE_MAX + 2];
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_create(s, OFS_ROOT_INO, "l", &target, &attr), 0);
	ofs_store_forget(s, attr.ino, 1);
	cr_assert_eq(expire(attr.ino, "x"), -EINVAL);
	cr_assert_eq(expire(OFS_ROOT_INO, "x"), -EISDIR);
	cr_assert_eq(ofs_store_expire(s, 4711, 0, NULL, "x", 1), -ENOENT);
	memset(what, 'w', sizeof(what) - 1);
	cr_assert_eq(expire(f, what), -E2BIG);
	what[OFS_TOMBSTONE_MAX] = '\0';
	expect_expired(f, what);
	cr_assert_eq(ofs_store_expire(s, f, 0, NULL, "x", 1), -ENOENT);
	expect_tombstone(f, what);
	/* Unlinked, but held. */
	f = make_noise(OFS_ROOT_INO, "g", 1000, 1);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "g", NULL), 0);
	cr_assert_eq(expire(f, "x"), -ENOENT);
	f = make_unheld(OFS_ROOT_INO, "h");
	expect_expired(f, "");
	crash_store();
	expect_tombstone(f, "");
	seal();
	expect_tombstone(f, "");
	expect_sound();
}

static void ignore_problem(void *arg, uint64_t ino, const char *what, bool repaired)
{
}

Test(store_expire, a_number_is_never_used_again)
{
	struct ofs_verify repair = { .repair = true, .problem = ignore_problem };
	struct ofs_verify_counts counts;
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");

	expect_expired(f, "x");
	cr_assert_gt(make_unheld(OFS_ROOT_INO, "g"), f);
	expect_expired(f + 1, "y");
	crash_store();
	cr_assert_gt(make_unheld(OFS_ROOT_INO, "h"), f + 1);
	expect_expired(f + 2, "z");
	reopen_store();
	cr_assert_gt(make_unheld(OFS_ROOT_INO, "i"), f + 2);
	expect_tombstone(f + 1, "y");
	/* Tombstones keep numbers from being reused even if the index has lost its next number. */
	expect_expired(f + 3, "z");
	close_store();
	run_sql("UPDATE meta SET next_ino = 2");
	open_store();
	cr_assert_eq(ofs_store_verify(s, &repair, &counts), 0);
	cr_assert_eq(counts.repaired, 1);
	reopen_store();
	cr_assert_gt(make_unheld(OFS_ROOT_INO, "j"), f + 3);
}

/* ---- several names */

struct told {
	char text[512];
	int n;
	int stop_at;
};

static int note_name(void *arg, uint64_t parent, const char *name)
{
	struct told *t = arg;
	struct ofs_attr attr;

	/* Calls back into the store, which shows that no lock is held. */
	cr_assert_eq(ofs_store_getattr(s, parent, &attr), 0);
	snprintf(t->text + strlen(t->text), sizeof(t->text) - strlen(t->text), "%lu/%s ", parent,
		 name);
	return ++t->n == t->stop_at ? 99 : 0;
}

static void expect_names(uint64_t ino, const char *want)
{
	struct told t = { .text = "" };
	int r = ofs_store_names(s, ino, note_name, &t);

	cr_assert_eq(r, *want ? 0 : -ENOENT, "%d", r);
	cr_assert_str_eq(t.text, want, "'%s', not '%s'", t.text, want);
}

Test(store_expire, all_names_are_told_wherever_they_are)
{
	struct told t = { .stop_at = 2 };
	uint64_t a = make_dir(OFS_ROOT_INO, "a"), b = make_dir(OFS_ROOT_INO, "b"), f;

	cr_assert(a == 2 && b == 3);
	f = make_unheld(a, "one");
	expect_names(f, "2/one ");
	expect_names(a, "1/a ");
	link_to(f, b, "two");
	link_to(f, b, "three");
	expect_names(f, "2/one 3/three 3/two ");
	seal();
	expect_names(f, "2/one 3/three 3/two ");
	/* Some names are in the index, some removed from it, some not in it yet. */
	cr_assert_eq(ofs_store_rename(s, b, "two", a, "four", 0, NULL), 0);
	link_to(f, OFS_ROOT_INO, "five");
	expect_names(f, "1/five 2/four 2/one 3/three ");
	reopen_store();
	expect_names(f, "1/five 2/four 2/one 3/three ");
	cr_assert_eq(ofs_store_names(s, f, note_name, &t), 99);
	cr_assert_eq(t.n, 2);
	/* Removes all names but one, which is not where the newest was made. */
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "five", NULL), 0);
	cr_assert_eq(ofs_store_unlink(s, a, "four", NULL), 0);
	cr_assert_eq(ofs_store_unlink(s, b, "three", NULL), 0);
	expect_names(f, "2/one ");
	reopen_store();
	expect_names(f, "2/one ");
	cr_assert_eq(ofs_store_unlink(s, a, "one", NULL), 0);
	expect_names(f, "");
	expect_names(OFS_ROOT_INO, "");
	expect_names(4711, "");
	expect_sound();
}

Test(store_expire, a_file_goes_with_all_its_names)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), f = make_unheld(OFS_ROOT_INO, "f");

	link_to(f, d, "f2");
	link_to(f, d, "f3");
	seal();
	link_to(f, OFS_ROOT_INO, "f4");
	expect_expired(f, "all of it");
	expect_names(f, "");
	for (int i = 0; i < 3; i++) {
		expect_gone(f, "f", "all of it");
		cr_assert_not(has_name(OFS_ROOT_INO, "f4"));
		cr_assert_not(has_name(d, "f2"));
		cr_assert_not(has_name(d, "f3"));
		if (i == 0)
			crash_store();
		else
			reopen_store();
	}
	expect_sound();
}

Test(store_expire, a_file_whose_parent_has_lost_its_name)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), f = make_unheld(OFS_ROOT_INO, "f");

	link_to(f, d, "f2");
	cr_assert_eq(ofs_store_unlink(s, d, "f2", NULL), 0);
	reopen_store();
	expect_expired(f, "x");
	expect_gone(f, "f", "x");
	expect_sound();
}

static int writes_left;

static int last_write_fails(const char *name)
{
	return strcmp(name, "io.pwritev") == 0 && writes_left-- <= 0 ? -EIO : 0;
}

/* As after a kill between the records: only names are missing. */
Test(store_expire, a_file_that_lost_some_of_its_names_is_whole)
{
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");
	struct ofs_attr attr;
	int64_t seen;

	link_to(f, OFS_ROOT_INO, "f2");
	link_to(f, OFS_ROOT_INO, "f3");
	seen = used(f);
	writes_left = 2;
	fault_for = last_write_fails;
	cr_assert_eq(expire(f, "x"), -EIO);
	fault_for = NULL;
	crash_store();
	cr_assert_eq(ofs_store_getattr(s, f, &attr), 0);
	cr_assert_eq(attr.nlink, 1);
	cr_assert_leq(labs(attr.used - seen), SECOND, "losing a name is no use");
	expect_tombstone(f, NULL);
	expect_noise(f, 0, 1000, 1);
	expect_sound();
	expect_expired(f, "x");
	expect_gone(f, "f", "x");
	expect_gone(f, "f2", "x");
	expect_gone(f, "f3", "x");
	expect_sound();
}

/* ---- tombstones */

static int no_commit(const char *name)
{
	return strcmp(name, "index.commit") == 0 ? -EIO : 0;
}

Test(store_expire, tombstones_are_not_lost_by_a_checkpoint_that_fails)
{
	uint64_t f = make_unheld(OFS_ROOT_INO, "f");

	seal();
	expect_expired(f, "x");
	fault_for = no_commit;
	cr_assert_eq(ofs_store_seal(s), -EIO);
	expect_gone(f, "f", "x");
	fault_for = NULL;
	seal();
	expect_gone(f, "f", "x");
	cr_assert_eq(s->tombstones.count, 0);
	reopen_store();
	expect_gone(f, "f", "x");
}

Test(store_expire, old_tombstones_are_dropped)
{
	uint64_t f[4];
	int64_t removed[4];
	char name[2] = "a";

	for (int i = 0; i < 4; i++, name[0]++) {
		f[i] = make_unheld(OFS_ROOT_INO, name);
		expect_expired(f[i], name);
		removed[i] = expect_tombstone(f[i], name);
		clocks.wall_offset += 1000 * SECOND;
		if (i == 1)
			seal();
	}
	cr_assert_eq(ofs_store_drop_tombstones(s, removed[0]), 0);
	cr_assert_eq(tombstones(), 4);
	cr_assert_eq(ofs_store_drop_tombstones(s, removed[0] + SECOND), 0);
	cr_assert_eq(tombstones(), 3);
	expect_tombstone(f[0], NULL);
	fault_for = no_commit;
	cr_assert_eq(ofs_store_drop_tombstones(s, removed[3]), -EIO);
	cr_assert_eq(tombstones(), 3);
	expect_tombstone(f[1], "b");
	fault_for = NULL;
	cr_assert_eq(ofs_store_drop_tombstones(s, removed[3]), 0);
	for (int round = 0; round < 3; round++) {
		cr_assert_eq(tombstones(), 1);
		expect_tombstone(f[1], NULL);
		expect_tombstone(f[2], NULL);
		expect_tombstone(f[3], "d");
		expect_sound();
		if (round == 0)
			seal();
		else
			crash_store();
	}
	cr_assert_eq(ofs_store_drop_tombstones(s, INT64_MAX), 0);
	cr_assert_eq(tombstones(), 0);
	reopen_store();
	cr_assert_eq(tombstones(), 0);
	cr_assert_eq(ofs_store_drop_tombstones(s, INT64_MAX), 0);
}

/* A file with the number of one that expired, and which expires as well. */
static void expire_again(uint64_t ino, const char *name, const char *what)
{
	struct ofs_create again = { .mode = S_IFREG | 0600, .ino = ino, .again = true };
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_create(s, OFS_ROOT_INO, name, &again, &attr), 0);
	ofs_store_forget(s, ino, 1);
	expect_expired(ino, what);
}

Test(store_expire, a_number_that_expires_again_counts_once)
{
	uint64_t f[3];
	int64_t removed = 0;
	char name[2] = "a";

	for (int i = 0; i < 3; i++, name[0]++) {
		f[i] = make_unheld(OFS_ROOT_INO, name);
		expect_expired(f[i], name);
		removed = expect_tombstone(f[i], name);
	}
	seal();
	clocks.wall_offset += 1000 * SECOND;
	expire_again(f[0], "a", "again");
	expire_again(f[1], "b", "again");
	cr_assert_eq(tombstones(), 3);
	/* The older one goes, and the newer one stays. */
	cr_assert_eq(ofs_store_drop_tombstones(s, removed + SECOND), 0);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(tombstones(), 2);
		expect_tombstone(f[0], "again");
		expect_tombstone(f[1], "again");
		expect_tombstone(f[2], NULL);
		expect_sound();
		seal();
	}
	/* Both go. */
	expire_again(f[0], "a", "and again");
	cr_assert_eq(ofs_store_drop_tombstones(s, INT64_MAX), 0);
	for (int round = 0; round < 2; round++) {
		cr_assert_eq(tombstones(), 0);
		expect_tombstone(f[0], NULL);
		expect_sound();
		seal();
	}
}

static int no_room(const char *name)
{
	return strcmp(name, "io.allocate") == 0 ? -ENOSPC : 0;
}

Test(store_expire, a_full_disk_leaves_out_what_is_long)
{
	uint64_t f = make_unheld(OFS_ROOT_INO, "f"), g = make_unheld(OFS_ROOT_INO, "g");
	static char what[1001];

	memset(what, 'w', sizeof(what) - 1);
	fault_for = no_room;
	ofs_reserve_fill(s);
	expect_expired(f, what);
	expect_tombstone(f, "");
	expect_expired(g, "short");
	expect_tombstone(g, "short");
	fault_for = NULL;
	ofs_reserve_fill(s);
	f = make_unheld(OFS_ROOT_INO, "h");
	expect_expired(f, what);
	expect_tombstone(f, what);
}

/* ---- many files */

static int note_entry(void *arg, const char *name, const struct ofs_attr *attr, uint64_t cookie)
{
	++*(int *)arg;
	return 0;
}

Test(store_expire, many_files_with_a_restart_in_between)
{
	enum {
		COUNT = 3000
	};
	uint64_t first = 0, d = make_dir(OFS_ROOT_INO, "d");
	char name[16];
	int left = 0;

	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%d", i);
		first = i ? first : s->next_ino;
		make_unheld(d, name);
	}
	seal();
	reopen_store();
	for (uint64_t i = 0; i < COUNT; i += 2) {
		snprintf(name, sizeof(name), "was %lu", i);
		expect_expired(first + i, name);
		if (i == COUNT / 2)
			crash_store();
	}
	crash_store();
	cr_assert_eq(tombstones(), COUNT / 2);
	cr_assert_eq(ofs_store_readdir(s, d, 0, true, note_entry, &left), 0);
	cr_assert_eq(left, COUNT / 2);
	expect_tombstone(first + 2000, "was 2000");
	expect_tombstone(first + 2001, NULL);
	expect_noise(first + 2001, 0, 1000, 1);
	expect_sound();
}

/* ---- directories */

Test(store_expire, directories_go_when_they_are_empty_and_nobody_holds_them)
{
	uint64_t d = make_dir(OFS_ROOT_INO, "d"), e = make_dir(d, "e"), f = make_unheld(e, "f");
	int64_t before;

	cr_assert_eq(ofs_store_rmdir_unheld(s, e), -EBUSY);
	ofs_store_forget(s, d, 1);
	ofs_store_forget(s, e, 1);
	cr_assert_eq(ofs_store_rmdir_unheld(s, e), -ENOTEMPTY);
	cr_assert_eq(ofs_store_rmdir_unheld(s, d), -ENOTEMPTY);
	cr_assert_eq(ofs_store_rmdir_unheld(s, f), -ENOTDIR);
	cr_assert_eq(ofs_store_rmdir_unheld(s, 4711), -ENOENT);
	cr_assert_eq(ofs_store_rmdir_unheld(s, OFS_ROOT_INO), -EBUSY);
	before = used(e);
	clocks.boot_offset += 100 * SECOND;
	expect_expired(f, "x");
	cr_assert_eq(used(e), before, "it was not used by that");
	cr_assert_eq(ofs_store_rmdir_unheld(s, e), 0);
	cr_assert_eq(ofs_store_rmdir_unheld(s, e), -ENOENT);
	crash_store();
	cr_assert_eq(ofs_store_rmdir_unheld(s, e), -ENOENT);
	cr_assert_eq(ofs_store_rmdir_unheld(s, d), 0);
	reopen_store();
	cr_assert_not(has_name(OFS_ROOT_INO, "d"));
	expect_tombstone(d, NULL);
	expect_sound();
}
