/* SPDX-License-Identifier: MIT */
/* search/ as a directory of the tree, without a mount. */
#include "test_tree_fixture.h"

TestSuite(tree_search, .init = setup, .fini = teardown);

/* Returns the answer, or "-" and the name of the error. */
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
	/* Later than any answer is kept. */
	ahead += 60 * OFS_NS_PER_S;
	return ask_as(query, NULL);
}

static void starts_with(const char *text, const char *start)
{
	cr_assert_eq(strncmp(text, start, strlen(start)), 0, "'%s', not '%s'", text, start);
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
	cr_assert_str_eq(ask_as("tier:x", &other), "-EACCES");
	cr_assert_str_eq(ask_as("tier:x", &owner), "-EINVAL");
}

Test(tree_search, answers_are_kept_for_a_moment)
{
	ofs_node first;

	make("cache/needle");
	ask("needle");
	first = node_of("needle");
	make("cache/needle-2");
	cr_assert_eq(node_of("needle"), first);
	/* An answer is replaced in the end even if it is asked for all the time. */
	for (int i = 0; i < 150; i++) {
		ahead += 10 * OFS_NS_PER_MS;
		cr_assert_eq(node_of("needle"), first, "%d", i);
	}
	for (int i = 0; i < 50; i++) {
		ahead += 10 * OFS_NS_PER_MS;
		node_of("needle");
	}
	cr_assert_neq(node_of("needle"), first);
	first = node_of("needle");
	drop("cache/needle-2");
	ahead += OFS_NS_PER_S;
	cr_assert_neq(node_of("needle"), first);
	/* Many other queries push it out. */
	first = node_of("needle");
	make("cache/needle-3");
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
	cr_assert_str_eq(ask("+http:%2F%2fe.org"), "cache/a:1: see http://e.org/x\n");
	cr_assert_str_eq(ask("+e.org%2Fy"), "");
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
	cr_assert_eq(ofs_tree_seal(t), 0);
	starts_with(ask("needle"), "archive/web/a:51-53: needle xxxxxxxxxxxx\n");
	/* The working tier is read instead of indexed, with the same result. */
	move("archive/web/a", "cache/a");
	starts_with(ask("needle"), "cache/a:51-53: needle xxxxxxxxxxxx\n");
	move("cache/a", "persistent/b");
	starts_with(ask("needle"), "persistent/b:51-53: needle xxxxxxxxxxxx\n");
	reopen();
	starts_with(ask("needle"), "persistent/b:51-53: needle xxxxxxxxxxxx\n");
	drop("persistent/b");
	cr_assert_str_eq(ask("needle"), "");
}

static ofs_node note(const char *p, const char *text)
{
	return make_of(p, text, strlen(text));
}

Test(tree_search, the_best_come_first)
{
	make_dir("archive/web");
	note("archive/web/1", "All about databases.\n");
	note("archive/web/2", "How replication lag of a database is measured.\n");
	note("cache/3", "The lag of replication\n");
	note("cache/4", "nothing of it\n");
	cr_assert_str_eq(ask("database replication lag"),
			 "archive/web/2:1: How replication lag of a database is measured.\n"
			 "cache/3:1: The lag of replication\n"
			 "archive/web/1:1: All about databases.\n");
	/* Words are found in any form. */
	starts_with(ask("replicate databases"), "archive/web/2:1: ");
	cr_assert_str_eq(ask("nowhere"), "");
}

Test(tree_search, terms_must_hold)
{
	note("cache/1", "self.get_user_id(request)\n");
	note("cache/2", "let id = getUserId(request);\n");
	note("persistent/3", "no such file or directory\n");
	note("persistent/4", "no file such as this\n");
	cr_assert_str_eq(ask("+get_user_id"), "cache/1:1: self.get_user_id(request)\n");
	starts_with(ask("getUserId let"), "cache/2:1: ");
	cr_assert_not_null(strstr(ask("get_user_id"), "cache/2:1: "));
	cr_assert_str_eq(ask("request -let"), "cache/1:1: self.get_user_id(request)\n");
	cr_assert_str_eq(ask("\"no such file\""), "persistent/3:1: no such file or directory\n");
	cr_assert_str_eq(ask("file -\"or directory\""), "persistent/4:1: no file such as this\n");
	cr_assert_str_eq(ask("+direc*"), "persistent/3:1: no such file or directory\n");
	cr_assert_str_eq(ask("direc*"), "persistent/3:1: no such file or directory\n");
	cr_assert_str_eq(ask("get_us*"), "cache/1:1: self.get_user_id(request)\n");
	note("persistent/5", "its capability\n");
	cr_assert_str_eq(ask("capabili*"), "persistent/5:1: its capability\n");
	cr_assert_str_eq(ask("__get*"), "");
	cr_assert_str_eq(ask("rectory*"), "");
	cr_assert_str_eq(ask("+nowhere file"), "");
	cr_assert_str_eq(ask("\"such no\""), "");
}

Test(tree_search, phrases_that_nothing_has)
{
	note("cache/1", "no such file\n");
	/* An unclosed quote is not an error. */
	cr_assert_str_eq(ask("\"no such file"), "cache/1:1: no such file\n");
	cr_assert_str_eq(ask("\"such no\" -file"), "");
	starts_with(ask("\"such a thing\" file"),
		    "cache/1:1: no such file\noffloadfs: no file has ");
	cr_assert_str_eq(ask("\"such a thing\" +file"), "");
}

Test(tree_search, filters)
{
	ofs_node a = note("persistent/a", "needle one\n"), b = note("persistent/b", "needle two\n");

	make_dir("archive/web");
	note("archive/web/c", "needle three\n");
	cr_assert_eq(set(a, "tags", "x,y"), 0);
	cr_assert_eq(set(b, "tags", "x"), 0);
	cr_assert_str_eq(ask("needle tag:y"), "persistent/a:1: needle one\n");
	cr_assert_str_eq(ask("needle tag:x tag:y"), "persistent/a:1: needle one\n");
	cr_assert_str_eq(ask("needle tag:x tag:z"), "");
	cr_assert_str_eq(ask("needle category:web"), "archive/web/c:1: needle three\n");
	cr_assert_str_eq(ask("needle category:web category:other"),
			 "archive/web/c:1: needle three\n");
	cr_assert_str_eq(ask("needle tier:archive"), "archive/web/c:1: needle three\n");
	cr_assert_str_eq(ask("two tag:x"), "persistent/b:1: needle two\n");
	/* Filters alone list files. */
	cr_assert_not_null(strstr(ask("tag:x"), "persistent/a:1"));
	cr_assert_not_null(strstr(ask("tag:x"), "persistent/b:1"));
	cr_assert_null(strstr(ask("tag:x"), "web"));
}

Test(tree_search, names_titles_and_tags)
{
	ofs_node a = note("persistent/quarterly-report.txt", "some text\n");
	ofs_node b = note("cache/x.txt", "other text\n");

	cr_assert_str_eq(ask("reports"),
			 "persistent/quarterly-report.txt:1: quarterly-report.txt\n");
	cr_assert_eq(set(a, "title", "Summary of finances"), 0);
	cr_assert_eq(set(b, "tags", "ledger"), 0);
	cr_assert_str_eq(ask("finance"),
			 "persistent/quarterly-report.txt:1: Summary of finances\n");
	cr_assert_str_eq(ask("ledger"), "cache/x.txt:1: x.txt\n");
	cr_assert_eq(set(a, "title", "Another"), 0);
	cr_assert_str_eq(ask("finance"), "");
}

Test(tree_search, words_that_are_mistyped)
{
	note("cache/1", "The price of Bitcoin\n");
	note("persistent/2", "The price of Ethereum\n");
	cr_assert_str_eq(ask("bitcion"), "cache/1:1: The price of Bitcoin\n");
	cr_assert_str_eq(ask("etherem"), "persistent/2:1: The price of Ethereum\n");
	cr_assert_str_eq(ask("ethere"), "persistent/2:1: The price of Ethereum\n");
	cr_assert_str_eq(ask("btcoinn"), "");
}

Test(tree_search, copies_of_a_content)
{
	char name[32];
	size_t n = 0;

	for (int i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "persistent/%d", i);
		note(name, "needle in all of them\n");
	}
	cr_assert_eq(ofs_tree_seal(t), 0);
	for (const char *at = ask("needle"); *at; at = strchr(at, '\n') + 1)
		n++;
	cr_assert_eq(n, 3);
}

Test(tree_search, copies_with_other_names)
{
	note("persistent/alpha", "needle in both\n");
	note("persistent/beta", "needle in both\n");
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_str_eq(ask("needle +alpha"), "persistent/alpha:1: needle in both\n");
	cr_assert_str_eq(ask("needle +beta"), "persistent/beta:1: needle in both\n");
	cr_assert_str_eq(ask("needle -alpha"), "persistent/beta:1: needle in both\n");
	cr_assert_str_eq(ask("needle -beta"), "persistent/alpha:1: needle in both\n");
	cr_assert_str_eq(ask("needle \"gamma delta\""),
			 "persistent/beta:1: needle in both\n"
			 "persistent/alpha:1: needle in both\n"
			 "offloadfs: no file has what is in quotes: these hits are for the other "
			 "words\n");
}

Test(tree_search, terms_in_large_files)
{
	char text[8192];
	ofs_node large;

	tree_options.search_ms = 60000; /* enough for any machine */
	reopen();
	note("cache/small", "another\n");
	memset(text, '\n', sizeof(text));
	large = make_of("cache/large", text, sizeof(text));
	cr_assert_eq(ofs_tree_write(t, large, "\nthe needle\n", 12, 70 << 20), 12);
	starts_with(ask("+needle"), "cache/large:");
	/* Whatever is not known because of the size is told. */
	starts_with(ask("needle -other"), "offloadfs: some older files were not searched");
	starts_with(ask("tier:working -other"), "offloadfs: some older files were not searched");
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

Test(tree_search, long_lines_after_short_ones)
{
	char text[8000];

	memset(text, 'x', sizeof(text));
	for (int i = 0; i < 8000; i += 10)
		text[i] = ' ';
	memcpy(text, "header\n", 7);
	memcpy(text + 500, " needle ", 8);
	make_of("cache/a", text, sizeof(text));
	starts_with(ask("needle"), "cache/a:b");
	move("cache/a", "persistent/a");
	cr_assert_eq(ofs_tree_seal(t), 0);
	starts_with(ask("needle"), "persistent/a:b");
}

Test(tree_search, hits_are_within_the_caps_of_slices)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };
	char text[400];
	int from, to;

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
	/* The slice of 60 bytes covers both occurrences. */
	starts_with(ask("needle"), "cache/a:b86-145: needle\n");
	starts_with(ask("thread"), "cache/a:b");
	cr_assert_eq(sscanf(ask("thread"), "cache/a:b%d-%d: ", &from, &to), 2);
	cr_assert(to - from < 60 && from <= 391 && to >= 396, "%d-%d", from, to);
	make_of("cache/b", "one haystack\n", 13);
	starts_with(ask("haystack"), "cache/b:1: one haystack\n");
	ofs_tree_close(t);
	opts.slice_max_bytes = 0;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0);
	memset(text, 'x', sizeof(text));
	memcpy(text + 100, " needle ", 8);
	for (int i = 0; i < 40; i++)
		cr_assert_eq(ofs_tree_write(t, walk("cache/a"), text, 400, i * 400), 400);
	cr_assert_eq(sscanf(ask("needle"), "cache/a:b%d-%d: ", &from, &to), 2);
	cr_assert_lt(from, to);
}
