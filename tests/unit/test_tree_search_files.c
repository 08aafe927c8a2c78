/* SPDX-License-Identifier: MIT */
/* Which files a search reads: those in directories, or by number if there are too many. */
#include "base/clock.h"
#include "tree/core/label.h"
#include "tree/search/search.h"

#include "test_tree_fixture.h"

static void make_files(void)
{
	setup();
	make_dir("cache/web");
	make_dir("tasks/t");
	make_dir("tasks/t/web");
	make_dir("archive/web");
	make("cache/a");
	make("cache/web/b");
	make("archive/web/c");
	make("tasks/t/d");
	make("tasks/t/web/e");
	make("persistent/f");
	make("g");
	make("cache/h");
	cr_assert_eq(ofs_tree_setxattr(t, walk("cache/h"), "user.offload.category", "web", 3, 0),
		     0);
	cr_assert_eq(ofs_tree_setxattr(t, walk("persistent/f"), "user.offload.tags", "red", 3, 0),
		     0);
}

TestSuite(search_files, .init = make_files, .fini = teardown);

#define MOST 20
#define MINUTE (60 * OFS_NS_PER_S)

/* Gives each file so many names that directories become too expensive to read. */
static void crowd(void)
{
	static const char *const files[] = { "cache/a",	  "cache/web/b",   "archive/web/c",
					     "tasks/t/d", "tasks/t/web/e", "g" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(files); i++) {
		for (int n = 0; n <= MOST; n++) {
			struct ofs_entry e;
			const char *name;
			char more[32];
			ofs_node in = parent_of(files[i], &name);

			snprintf(more, sizeof(more), "%s%d", name, n);
			cr_assert_eq(ofs_tree_link(t, walk(files[i]), in, more, &e), 0);
			ofs_tree_forget(t, e.node, 1);
		}
	}
}

static char seen[64];

static int take(void *arg, uint64_t ino, const char *name)
{
	struct ofs_search *s = arg;
	OFS_CLEANUP(ofs_answer_finish) struct ofs_answer a = { .place.path = OFS_BUF_INIT };

	if (ofs_answer_load(s, ino, name, &a) > 0)
		strncat(seen, name, 1);
	return 0;
}

static int each(const char *text, enum ofs_tier last, size_t max, const char *want, int64_t time)
{
	struct ofs_search s = { .tree = t, .root = t->root, .n_in = 1 };
	struct ofs_query *q;
	int r;

	cr_assert_eq(ofs_query_parse(text, ofs_clock_wall(), NULL, &q), 0);
	s.query = q;
	s.in = &s.root;
	s.until = ofs_clock_monotonic() + time;
	seen[0] = 0;
	r = ofs_search_each_file(&s, t->root, OFS_TIER_WORKING, last, max, take, &s);
	ofs_query_destroy(q);
	cr_assert_str_eq(seen, want, "%s, at most %zu: %s, not %s", text, max, seen, want);
	return r;
}

static void finds(const char *text, enum ofs_tier last, const char *want)
{
	cr_assert_eq(each(text, last, MOST, want, MINUTE), 0);
}

static void finds_all(void)
{
	finds("x", OFS_TIER_ARCHIVE, "hgfedcba");
	finds("x", OFS_TIER_WORKING, "hgedba");
	finds("x tier:archive", OFS_TIER_ARCHIVE, "c");
	finds("x tier:archive", OFS_TIER_WORKING, "");
	finds("x category:web", OFS_TIER_WORKING, "heb");
	finds("x category:general", OFS_TIER_WORKING, "gda");
	finds("x category:web category:general", OFS_TIER_WORKING, "hgedba");
	finds("x category:none", OFS_TIER_WORKING, "");
	finds("x task:t", OFS_TIER_WORKING, "ed");
	finds("x task:t category:web", OFS_TIER_WORKING, "e");
	finds("x task:none", OFS_TIER_WORKING, "");
	finds("x tag:red", OFS_TIER_ARCHIVE, "f");
	finds("x tag:red", OFS_TIER_WORKING, "");
	finds("x tag:blue", OFS_TIER_ARCHIVE, "");
}

Test(search_files, in_directories)
{
	finds_all();
}

Test(search_files, by_number)
{
	crowd();
	finds_all();
}

/* Finds files that are in the store's index as well as those only in memory. */
Test(search_files, before_and_after_a_start)
{
	crowd();
	reopen();
	finds("x", OFS_TIER_ARCHIVE, "hgfedcba");
	make("cache/i");
	drop("cache/h");
	finds("x", OFS_TIER_ARCHIVE, "igfedcba");
}

Test(search_files, time_is_over)
{
	cr_assert_eq(each("x", OFS_TIER_ARCHIVE, 100, "h", 0), -ECANCELED,
		     "the newest all the same");
}

Test(search_files, no_more_than_are_asked_for)
{
	cr_assert_eq(each("x", OFS_TIER_ARCHIVE, 3, "hgf", MINUTE), -ECANCELED);
}
