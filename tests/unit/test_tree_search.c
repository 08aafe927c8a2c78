/* SPDX-License-Identifier: MIT */
/* search/ as a directory of the tree, and what is found without a mount. */
#include "test_tree_fixture.h"

TestSuite(tree_search, .init = setup, .fini = teardown);

/* What the query says; "-" and the error when it cannot be asked. */
static const char *ask_as(const char *query, const struct ofs_cred *who)
{
	static char text[65536];
	struct ofs_entry e;
	ssize_t n;
	int r = ofs_tree_lookup_as(t, walk("search"), query, who, &e);

	if (r < 0) {
		snprintf(text, sizeof(text), "-%s", strerrorname_np(-r));
		return text;
	}
	n = ofs_tree_read(t, e.node, text, sizeof(text) - 1, 0);
	cr_assert_geq(n, 0);
	cr_assert_eq(n, e.attr.st_size);
	cr_assert_eq(e.attr.st_mode, S_IFREG | 0400);
	cr_assert_eq(e.attr.st_uid, geteuid());
	cr_assert_not(e.keep_name);
	text[n] = 0;
	ofs_tree_forget(t, e.node, 1);
	return text;
}

static const char *ask(const char *query)
{
	/* Past every answer that is kept. */
	ahead += 60 * OFS_NS_PER_S;
	return ask_as(query, NULL);
}

static ofs_node node_of(const char *query)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_lookup(t, walk("search"), query, &e), 0);
	ofs_tree_forget(t, e.node, 1);
	return e.node;
}

Test(tree_search, for_the_owner_alone)
{
	const struct ofs_cred owner = { geteuid(), getegid() }, root = { 0, 0 };
	const struct ofs_cred other = { geteuid() + 1, getegid() };

	make("cache/needle");
	cr_assert_str_eq(ask_as("needle", &owner), "cache/needle:1: needle\n");
	cr_assert_str_eq(ask_as("needle", &root), "cache/needle:1: needle\n");
	cr_assert_str_eq(ask_as("needle", &other), "-EACCES");
	cr_assert_str_eq(ask_as("\"needle", &other), "-EACCES");
	cr_assert_str_eq(ask_as("\"needle", &owner), "-EINVAL");
}

Test(tree_search, answers_are_kept_for_a_moment)
{
	ofs_node first;

	make("cache/needle");
	ask("needle");
	first = node_of("needle");
	make("cache/needle2");
	cr_assert_eq(node_of("needle"), first);
	/* Who asks again and again gets another one in the end. */
	for (int i = 0; i < 20; i++) {
		ahead += 90 * OFS_NS_PER_MS;
		cr_assert_eq(node_of("needle"), first, "%d", i);
	}
	for (int i = 0; i < 3; i++) {
		ahead += 90 * OFS_NS_PER_MS;
		node_of("needle");
	}
	cr_assert_neq(node_of("needle"), first);
	first = node_of("needle");
	drop("cache/needle2");
	ahead += OFS_NS_PER_S;
	cr_assert_neq(node_of("needle"), first);
	/* Many others push it out. */
	first = node_of("needle");
	make("cache/needle3");
	for (int i = 0; i < 10; i++) {
		char other[16];

		snprintf(other, sizeof(other), "other%d", i);
		cr_assert_str_eq(ask_as(other, NULL), "");
		ahead++;
	}
	cr_assert_neq(node_of("needle"), first);
}

Test(tree_search, a_slash_is_written_as_2f)
{
	make_of("cache/a", "see http://e.org/x\n", 19);
	cr_assert_str_eq(ask("http:%2F%2fe.org"), "cache/a:1: see http://e.org/x\n");
	cr_assert_str_eq(ask("e.org%2Fy"), "");
	cr_assert_eq(try_walk("search/x/y"), -ENOTDIR);
}

Test(tree_search, without_a_background)
{
	char text[2000];

	make_dir("archive/web");
	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 100; i++)
		text[i * 20 + 19] = '\n';
	memcpy(text + 50 * 20, "needle ", 7);
	make_of("archive/web/a", text, sizeof(text));
	make_of("cache/b", text, sizeof(text));
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_str_eq(ask("needle"), "archive/web/a:51: needle xxxxxxxxxxxx\n");
	move("archive/web/a", "cache/a");
	cr_assert_str_eq(ask("needle"), "");
	move("cache/b", "persistent/b");
	cr_assert_str_eq(ask("needle"), "persistent/b:51: needle xxxxxxxxxxxx\n");
	reopen();
	cr_assert_str_eq(ask("needle"), "persistent/b:51: needle xxxxxxxxxxxx\n");
	drop("persistent/b");
	cr_assert_str_eq(ask("needle"), "");
}

Test(tree_search, ages_count_from_now)
{
	make("cache/needle");
	cr_assert_str_eq(ask("needle after:1d"), "cache/needle:1: needle\n");
	cr_assert_str_eq(ask("needle before:1d"), "");
	ahead += 2 * 86400 * OFS_NS_PER_S;
	cr_assert_str_eq(ask("needle after:1d"), "");
	cr_assert_str_eq(ask("needle before:1d"), "cache/needle:1: needle\n");
}

Test(tree_search, hits_are_within_the_caps_of_slices)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };
	char text[400];

	memset(text, 'x', sizeof(text));
	memcpy(text + 100, "\nneedle\nneedle ", 15);
	text[300] = '\n';
	memcpy(text + 390, " thread\n", 8);
	make_of("cache/a", text, 398);
	ofs_tree_close(t);
	opts.background = false;
	opts.slice_max_lines = 1;
	opts.slice_max_bytes = 60;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0);
	cr_assert_eq(strncmp(ask("needle"), "cache/a:2: needle\n", 18), 0, "%s", ask("needle"));
	cr_assert_eq(strncmp(ask("thread"), "cache/a:b391-397: ", 18), 0, "%s", ask("thread"));
}
