/* SPDX-License-Identifier: MIT */
/* Limits on the trees of agents. */
#include <fcntl.h>

#include "test_tree_fixture.h"

#define KIB ((size_t)1024)

static const struct ofs_agent_limit limits[] = { { "large", 1000 * KIB },
						 { "a/b", 10 * KIB },
						 { "free", 0 } };
static char data[200 * KIB];

static void begin(void)
{
	tree_options.agent_max = 100 * KIB;
	tree_options.agent_limits = limits;
	tree_options.n_agent_limits = OFS_ARRAY_SIZE(limits);
	setup();
	make_dir("agents/a");
	make_dir("agents/a/agents/b");
	make_dir("agents/large");
	make_dir("agents/free");
}

TestSuite(tree_quota, .init = begin, .fini = teardown);

static int set_size(ofs_node node, uint64_t size)
{
	const struct ofs_setattr attr = { .set = OFS_SET_SIZE, .size = size };
	struct stat st;

	return ofs_tree_setattr(t, node, &attr, &st);
}

static int move_to(const char *from, const char *to)
{
	const char *a, *b;
	ofs_node x = parent_of(from, &a), y = parent_of(to, &b);

	return ofs_tree_rename(t, x, a, y, b, 0);
}

Test(tree_quota, what_would_grow_beyond_it_is_refused)
{
	ofs_node f = make_of("agents/a/cache/f", data, 100 * KIB);

	cr_expect_eq(ofs_tree_write(t, f, data, 1, 100 * KIB), -EDQUOT);
	cr_expect_eq(ofs_tree_write(t, f, data, 1, 100 * KIB - 1), 1, "it does not grow");
	cr_expect_eq(set_size(f, 100 * KIB + 1), -EDQUOT);
	cr_expect_eq(ofs_tree_fallocate(t, f, 0, 0, 101 * KIB), -EDQUOT);
	cr_expect_eq(ofs_tree_fallocate(t, f, FALLOC_FL_ZERO_RANGE, 100 * KIB, 1), -EDQUOT);
	cr_expect_eq(ofs_tree_fallocate(t, f, FALLOC_FL_KEEP_SIZE, 0, 101 * KIB), 0);
	cr_expect_eq(ofs_tree_copy(t, f, 0, f, 100 * KIB, KIB), -EDQUOT);
	/* An empty file takes nothing, and removing a file makes room. */
	make_of("agents/a/tasks/empty", NULL, 0);
	cr_expect_eq(set_size(f, 50 * KIB), 0);
	cr_expect_eq(ofs_tree_write(t, f, data, 50 * KIB, 50 * KIB), (ssize_t)(50 * KIB));
	drop("agents/a/cache/f");
	make_of("agents/a/persistent/g", data, 100 * KIB);
}

Test(tree_quota, limits_are_those_of_each_agent)
{
	make_of("cache/f", data, 150 * KIB);
	make_of("agents/large/cache/f", data, 150 * KIB);
	make_of("agents/free/cache/f", data, 150 * KIB);
	cr_expect_eq(ofs_tree_write(t, make_of("agents/a/agents/b/cache/f", data, 10 * KIB), data,
				    1, 10 * KIB),
		     -EDQUOT);
	/* The tree of an agent's agent counts for both. */
	cr_expect_eq(ofs_tree_write(t, make_of("agents/a/cache/f", data, 90 * KIB), data, 1,
				    90 * KIB),
		     -EDQUOT);
}

Test(tree_quota, what_is_moved_in_must_fit)
{
	make_of("cache/f", data, 60 * KIB);
	make_dir("persistent/d");
	make_of("persistent/d/f", data, 60 * KIB);
	move("cache/f", "agents/a/cache/f");
	cr_expect_eq(move_to("persistent/d", "agents/a/persistent/d"), -EDQUOT);
	move("agents/a/cache/f", "agents/a/persistent/f");
	cr_expect_eq(move_to("agents/a/persistent/f", "agents/a/agents/b/cache/f"), -EDQUOT);
	move("agents/a/persistent/f", "cache/f");
	move("persistent/d", "agents/a/persistent/d");
}

static int exchange(const char *one, const char *other)
{
	const char *a, *b;
	ofs_node x = parent_of(one, &a), y = parent_of(other, &b);

	return ofs_tree_rename(t, x, a, y, b, RENAME_EXCHANGE);
}

Test(tree_quota, an_exchange_may_add_as_much_as_it_takes_away)
{
	make_of("agents/a/cache/full", data, 100 * KIB);
	make_of("cache/equal", data, 100 * KIB);
	make_of("cache/larger", data, 100 * KIB + 1);
	make_dir("persistent/d");
	make_of("persistent/d/smaller", data, 99 * KIB);
	cr_expect_eq(exchange("agents/a/cache/full", "cache/equal"), 0);
	cr_expect_eq(exchange("cache/equal", "agents/a/cache/full"), 0);
	cr_expect_eq(exchange("agents/a/cache/full", "cache/larger"), -EDQUOT);
	cr_expect_eq(exchange("cache/larger", "agents/a/cache/full"), -EDQUOT);
	cr_expect_eq(exchange("persistent/d", "agents/a/cache/full"), 0);
	cr_expect_eq(exchange("persistent/d", "agents/a/cache/full"), 0);
}

Test(tree_quota, what_is_replaced_makes_room)
{
	ofs_node f = make_of("agents/a/cache/full", data, 100 * KIB);

	make_of("cache/equal", data, 100 * KIB);
	make_of("cache/larger", data, 100 * KIB + 1);
	cr_expect_eq(move_to("cache/larger", "agents/a/cache/full"), -EDQUOT);
	link_to(f, "agents/a/cache/also");
	cr_expect_eq(move_to("cache/equal", "agents/a/cache/full"), -EDQUOT);
	drop("agents/a/cache/also");
	cr_expect_eq(move_to("cache/equal", "agents/a/cache/full"), 0);
}

Test(tree_quota, the_limit_is_the_size_of_the_disk)
{
	struct statvfs st;

	make_of("agents/a/cache/f", data, 40 * KIB);
	cr_assert_eq(ofs_tree_statfs(t, walk("agents/a/cache"), &st), 0);
	cr_expect_eq(st.f_blocks * st.f_frsize, 100 * KIB);
	cr_expect_eq(st.f_bavail * st.f_frsize, 60 * KIB);
	cr_assert_eq(ofs_tree_statfs(t, walk("agents/a/refs"), &st), 0);
	cr_expect_eq(st.f_bavail * st.f_frsize, 60 * KIB);
}

Test(tree_quota, it_is_as_before_after_a_restart)
{
	make_of("agents/a/cache/f", data, 70 * KIB);
	reopen();
	cr_expect_eq(ofs_tree_write(t, make_of("agents/a/cache/g", data, 30 * KIB), data, 1,
				    30 * KIB),
		     -EDQUOT);
}
