/* SPDX-License-Identifier: MIT */
/* Inode numbers of imported files among those that are given in turn. */
#include "store/number.h"

#include "test_store_fixture.h"

#define FAR (UINT64_C(1) << 40)

static void setup_open(void)
{
	setup();
	open_store();
}

TestSuite(store_number, .init = setup_open, .fini = teardown);

static int bring(const char *name, uint64_t ino, bool again)
{
	const struct ofs_create what = { .mode = S_IFREG | 0600, .ino = ino, .again = again };
	struct ofs_attr attr;
	int r = ofs_store_create(s, OFS_ROOT_INO, name, &what, &attr);

	if (r == 0) {
		cr_assert_eq(attr.ino, ino);
		ofs_store_forget(s, ino, 1);
	}
	return r;
}

static uint64_t make(const char *name)
{
	uint64_t ino = make_in(OFS_ROOT_INO, name);

	ofs_store_forget(s, ino, 1);
	return ino;
}

Test(store_number, those_in_turn_stay_where_they_were)
{
	uint64_t first = make("a");

	cr_assert_eq(bring("far", FAR, false), 0);
	cr_assert_eq(make("b"), first + 1);
	crash_store();
	cr_assert_eq(make("c"), first + 2);
	reopen_store();
	cr_assert_eq(make("d"), first + 3);
	cr_assert_eq(bring("far2", FAR, false), -EEXIST);
	cr_assert_eq(bring("used", first, false), -EEXIST);
	cr_assert_eq(bring("used", first, true), -EEXIST);
	cr_assert_eq(bring("none", 0 + OFS_ROOT_INO, true), -EEXIST);
}

Test(store_number, a_number_that_is_reached_is_passed_over)
{
	uint64_t first = make("a");

	cr_assert_eq(bring("x", FAR, false), 0);
	cr_assert_eq(bring("y", FAR + 1, false), 0);
	s->next_ino = FAR;
	cr_assert_eq(make("b"), FAR + 2);
	crash_store();
	s->next_ino = FAR;
	cr_assert_eq(make("c"), FAR + 3, "%lu after %lu", s->next_ino, first);
	close_store();
	open_store();
	s->next_ino = FAR - 10;
	close_store();
	open_store();
	cr_assert_geq(make("d"), FAR + 4);
}

Test(store_number, one_that_is_near_is_taken_for_given_in_turn)
{
	uint64_t first = make("a");

	cr_assert_eq(bring("near", first + 1000, false), 0);
	cr_assert_eq(make("b"), first + 1001);
	crash_store();
	cr_assert_eq(make("c"), first + 1002);
}

Test(store_number, a_number_comes_back_once_its_file_is_gone)
{
	uint64_t ino = make_noise(OFS_ROOT_INO, "f", 300000, 1), left;

	seal();
	cr_assert_eq(ofs_store_setxattr(s, ino, "user.x", "y", 1, 0), 0);
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "f", &left), 0);
	cr_assert_eq(bring("f", ino, true), -EBUSY);
	ofs_store_forget(s, ino, 1);
	cr_assert_eq(bring("f", ino, false), -EEXIST);
	for (int i = 0; i < 3; i++) {
		struct ofs_attr attr;

		cr_assert_eq(bring("f", ino, true), 0);
		cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
		cr_assert_eq(attr.size, 0);
		cr_assert_eq(ofs_store_getxattr(s, ino, "user.x", NULL, 0), -ENODATA);
		put_noise(ino, 0, 5000, (uint64_t)i);
		crash_store();
		expect_noise(ino, 0, 5000, (uint64_t)i);
		cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "f", &left), 0);
	}
}

/* Like a follower or a restore, replays from an index older than the removal. */
Test(store_number, a_replay_makes_a_new_file_of_the_former_one)
{
	uint64_t ino = make_noise(OFS_ROOT_INO, "f", 700000, 1), left;
	struct ofs_record rec = { .type = OFS_RECORD_CREATE,
				  .ino = ino,
				  .dir = OFS_ROOT_INO,
				  .name = "g",
				  .mode = S_IFREG | 0600 };
	struct ofs_attr attr;

	cr_assert_eq(ofs_store_setxattr(s, ino, "user.x", "y", 1, 0), 0);
	seal();
	ofs_store_forget(s, ino, 1);
	reopen_store();
	cr_assert_eq(ofs_store_unlink(s, OFS_ROOT_INO, "f", &left), 0);
	pthread_mutex_lock(&s->lock);
	cr_assert_eq(ofs_store_log(s, &rec, NULL, 0), 0);
	pthread_mutex_unlock(&s->lock);
	put_noise(ino, 0, 3000, 2);
	for (int i = 0; i < 2; i++) {
		crash_store();
		cr_assert_eq(ofs_store_getattr(s, ino, &attr), 0);
		cr_assert_eq(attr.size, 3000);
		cr_assert_eq(ofs_store_getxattr(s, ino, "user.x", NULL, 0), -ENODATA);
		expect_noise(ino, 0, 3000, 2);
	}
	reopen_store();
	cr_assert_eq(ofs_store_getxattr(s, ino, "user.x", NULL, 0), -ENODATA);
	expect_noise(ino, 0, 3000, 2);
	seal();
	reopen_store();
	expect_noise(ino, 0, 3000, 2);
}
