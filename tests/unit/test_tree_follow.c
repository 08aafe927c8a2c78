/* SPDX-License-Identifier: MIT */
/* A tree on a store that follows another host's. */
#include "store/store_state.h"
#include "tree/core/label.h"
#include "tree/core/root.h"
#include "tree/search/indexer.h"

#include "test_tree_fixture.h"

static struct ofs_store *s; /* the store of the writer `t` */

#include "test_replication_fixture.h"

static struct ofs_tree *w; /* the follower */

/* What the kernel is told to drop: names (n), contents (c) and attributes (a). */
static char told[4096];

static void tell(char what, uint64_t node, const char *name)
{
	size_t len = strlen(told);

	snprintf(told + len, sizeof(told) - len, "%c %lu %s;", what, (unsigned long)node, name);
}

static void on_attr(void *arg, ofs_node node)
{
	tell('a', node, "");
}

static void on_release(void *arg, ofs_node node, ofs_node parent, const char *name)
{
	tell('n', parent, name);
}

static void on_content(void *arg, ofs_node node)
{
	tell('c', node, "");
}

static bool was_told(char what, uint64_t node, const char *name)
{
	char line[200];

	snprintf(line, sizeof(line), "%c %lu %s;", what, (unsigned long)node, name);
	return strstr(told, line);
}

static void open_follower(bool background)
{
	struct ofs_tree_options how = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };

	how.follow = true;
	how.background = background;
	how.create = false;
	how.events = (struct ofs_tree_events){ .attr_changed = on_attr,
					       .release = on_release,
					       .content_changed = on_content };
	cr_assert_eq(ofs_tree_open(other, &how, &err, &w), 0, "%s", err.text);
	follower = w->store;
	/* Threads may already have read something. */
	if (!background)
		ofs_store_set_objects(follower, get_object, NULL);
	if (nlate)
		ofs_store_put_object(follower,
				     &(struct ofs_index_object){ .epoch = 1, .number = 1 }, late,
				     nlate);
}

static void setup_follow(void)
{
	setup();
	s = t->store;
	make_other();
	unlinkat(other_fd, "index.db", 0);
}

static void teardown_follow(void)
{
	ofs_tree_close(w);
	w = NULL;
	teardown();
	close_other();
}

TestSuite(tree_follow, .init = setup_follow, .fini = teardown_follow);

static void start(void)
{
	reached = bring_index(false, 1);
	open_follower(false);
}

static void follow(void)
{
	struct ofs_error err = { "" };

	told[0] = 0;
	import(reached, ofs_store_log_end(s));
	cr_assert_eq(ofs_store_follow(follower, reached, &err), 0, "%s", err.text);
}

static bool reload(void)
{
	struct ofs_error err = { "" };
	bool newer;

	told[0] = 0;
	cr_assert_eq(ofs_store_reload(follower, &newer, &err), 0, "%s", err.text);
	return newer;
}

/* Runs a statement with `t` being the follower. */
#define AT_FOLLOWER(statement)           \
	do {                             \
		struct ofs_tree *t_ = t; \
		t = w;                   \
		statement;               \
		t = t_;                  \
	} while (0)

static char text[65536];

static void read_path(const char *p)
{
	ofs_node node;
	ssize_t n;

	AT_FOLLOWER(node = hold(p));
	n = ofs_tree_read(w, node, text, sizeof(text) - 1, 0);
	cr_assert_geq(n, 0, "%s: %zd", p, n);
	text[n] = 0;
	ofs_tree_forget(w, node, 1);
}

static void expect_text(const char *p, const char *want)
{
	read_path(p);
	cr_assert_str_eq(text, want);
}

/* Answers are kept for a while, so each call asks a different question. */
static bool finds(const char *word, const char *name)
{
	static unsigned int times;
	char p[200];

	snprintf(p, sizeof(p), "search/%s nothing%u", word, times++);
	read_path(p);
	return strstr(text, name);
}

static int at_follower(const char *p)
{
	int r;

	AT_FOLLOWER(r = try_walk(p));
	return r;
}

static void remove_at(const char *p)
{
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_unlink(t, parent, name), 0);
}

Test(tree_follow, everything_is_there)
{
	char ref[OFS_REF_SIZE], p[64];
	ofs_node node;

	make_of("persistent/old", "an old text\n", 12);
	cr_assert_eq(ofs_tree_seal(t), 0);
	start();
	node = make_of("persistent/new", "one\ntwo\nthree\n", 14);
	make_dir("tasks/job");
	make_of("tasks/job/result", "nothing\n", 8);
	cr_assert_eq(ofs_tree_setxattr(t, node, "user.offload.tags", "blue", 4, 0), 0);
	follow();
	expect_text("persistent/old", "an old text\n");
	expect_text("persistent/new:2-2", "two\n");
	ofs_ref_format(w, node, ref);
	snprintf(p, sizeof(p), "refs/%s", ref);
	expect_text(p, "one\ntwo\nthree\n");
	snprintf(p, sizeof(p), "views/by-tag/blue/%s-new", ref);
	cr_assert_eq(at_follower(p), 0);
	cr_assert_eq(at_follower("tasks/job/result"), 0);
	read_path(".offload/status.json");
	cr_assert_eq(ofs_tree_setxattr(w, node, "user.offload.tags", "red", 3, 0), -EROFS);
	cr_assert_eq(ofs_tree_write(w, node, "x", 1, 0), -EROFS);
	/* The labels kept in memory follow, too. */
	cr_assert_eq(ofs_tree_setxattr(t, node, "user.offload.tags", "green", 5, 0), 0);
	follow();
	cr_assert_eq(at_follower(p), -ENOENT);
	snprintf(p, sizeof(p), "views/by-tag/green/%s-new", ref);
	cr_assert_eq(at_follower(p), 0);
	remove_at("persistent/new");
	follow();
	cr_assert_eq(at_follower(p), -ENOENT);
}

Test(tree_follow, the_kernel_is_told)
{
	ofs_node d = make_dir("persistent/d"), file = make_of("persistent/d/file", "abc", 3), dir_;
	ofs_node other_dir;
	struct ofs_entry e;

	start();
	/* The kernel does not know these names yet, so it is told nothing. */
	make_of("persistent/d/first", "x", 1);
	follow();
	cr_assert_str_eq(told, "");
	AT_FOLLOWER(dir_ = hold("persistent/d"));
	cr_assert_eq(dir_, d);
	cr_assert_eq(ofs_tree_lookup(w, d, "second", &e), -ENOENT);
	cr_assert_not(e.keep_name);
	cr_assert_eq(ofs_tree_lookup(w, d, "file", &e), 0);
	cr_assert(e.keep_name && !e.keep_attr);
	make_of("persistent/d/second", "", 0);
	follow();
	cr_assert(was_told('n', d, "second"));
	cr_assert(was_told('c', d, ""));
	cr_assert_eq(ofs_tree_write(t, file, "def", 3, 3), 3);
	follow();
	cr_assert(was_told('c', file, ""));
	cr_assert_eq(ofs_tree_setxattr(t, file, "user.x", "y", 1, 0), 0);
	follow();
	cr_assert(was_told('a', file, ""));
	cr_assert_eq(ofs_tree_rename(t, d, "file", d, "second", 0), 0);
	follow();
	cr_assert(was_told('n', d, "file"));
	cr_assert(was_told('n', d, "second"));
	remove_at("persistent/d/second");
	follow();
	cr_assert(was_told('n', d, "second"));
	cr_assert_eq(ofs_tree_read(w, file, text, 10, 0), 6);
	ofs_tree_forget(w, file, 1);
	/* A newer state, whose log was skipped. */
	AT_FOLLOWER(other_dir = hold("persistent/d/first"));
	make_of("persistent/d/third", "third\n", 6);
	remove_at("persistent/d/first");
	cr_assert_eq(ofs_tree_seal(t), 0);
	reached = bring_index(true, 2);
	cr_assert(reload());
	cr_assert(was_told('n', d, "first"));
	cr_assert(was_told('c', d, ""));
	cr_assert(was_told('c', other_dir, ""));
	expect_text("persistent/d/third", "third\n");
	cr_assert_eq(at_follower("persistent/d/first"), -ENOENT);
}

/* What a move has replaced, or moved the other way, has changed as well. */
Test(tree_follow, the_kernel_is_told_of_what_was_in_the_way)
{
	static const char *const paths[] = { "persistent/a", "persistent/b", "persistent/c" };
	ofs_node dir_ = walk("persistent"), file[3];

	for (size_t i = 0; i < 3; i++)
		file[i] = make(paths[i]);
	link_to(file[2], "persistent/also-c");
	start();
	for (size_t i = 0; i < 3; i++)
		AT_FOLLOWER(hold(paths[i]));
	cr_assert_eq(ofs_tree_rename(t, dir_, "a", dir_, "b", RENAME_EXCHANGE), 0);
	follow();
	cr_expect(was_told('a', file[0], ""));
	cr_expect(was_told('a', file[1], ""));
	cr_assert_eq(ofs_tree_rename(t, dir_, "a", dir_, "c", 0), 0);
	follow();
	cr_expect(was_told('a', file[1], ""));
	cr_expect(was_told('a', file[2], ""));
}

Test(tree_follow, agents)
{
	start();
	make_dir("agents/a");
	make_of("agents/a/persistent/x", "of a\n", 5);
	follow();
	cr_assert(ofs_roots_are_many(w));
	expect_text("agents/a/persistent/x", "of a\n");
	cr_assert_eq(at_follower("agents/a/refs"), 0);
	make_dir("agents/a/agents/b");
	make_of("agents/a/agents/b/cache/y", "of b\n", 5);
	follow();
	cr_assert_eq(at_follower("agents/a/agents/b/refs"), 0);
	remove_at("agents/a/persistent/x");
	remove_at("agents/a/agents/b/cache/y");
	cr_assert_eq(ofs_tree_rmdir(t, walk("agents/a/agents"), "b"), 0);
	follow();
	cr_assert_eq(at_follower("agents/a/agents/b"), -ENOENT);
	cr_assert_eq(at_follower("agents/a/refs"), 0);
	make_dir("agents/c");
	cr_assert_eq(ofs_tree_rmdir(t, walk("agents"), "a"), 0);
	cr_assert_eq(ofs_tree_seal(t), 0);
	reached = bring_index(true, 2);
	cr_assert(reload());
	cr_assert_eq(at_follower("agents/a"), -ENOENT);
	cr_assert_eq(at_follower("agents/c/refs"), 0);
}

static void expect_indexed(uint64_t n)
{
	struct ofs_indexer_stats stats;

	for (int i = 0; i < 2; i++)
		cr_assert_eq(ofs_indexer_settle(w->indexer), 0);
	ofs_indexer_stats(w->indexer, &stats);
	cr_assert_eq(stats.files, n);
	cr_assert(stats.caught_up, "%d are waiting", (int)stats.waiting);
}

Test(tree_follow, search)
{
	ofs_node node;

	make_of("persistent/sealed.txt", "a giraffe in the morning\n", 25);
	cr_assert_eq(ofs_tree_seal(t), 0);
	start();
	cr_assert(finds("giraffe", "sealed.txt"));
	node = make_of("persistent/arrived.txt", "a pelican in the evening\n", 25);
	make_of("cache/shell", "", 0);
	follow();
	/* First by reading, then by the index, although it is not sealed. */
	cr_assert(finds("pelican", "arrived.txt"));
	expect_indexed(2);
	cr_assert(finds("pelican", "arrived.txt"));
	cr_assert_eq(ofs_tree_write(t, node, "raccoon", 7, 2), 7);
	follow();
	cr_assert_not(finds("pelican", "arrived.txt"));
	cr_assert_eq(ofs_tree_write(t, node, "a walrus\n", 9, 25), 9);
	follow();
	expect_indexed(2);
	cr_assert(finds("walrus", "arrived.txt"));
	/* A new index keeps what is known of the content. */
	import(reached, ofs_store_log_end(s));
	reached = bring_index(true, 2);
	cr_assert_not(reload());
	expect_indexed(2);
	cr_assert(finds("walrus", "arrived.txt"));
	cr_assert_eq(ofs_tree_rename(t, walk("persistent"), "arrived.txt", walk("archive"),
				     "moved.txt", 0),
		     0);
	follow();
	cr_assert(finds("walrus", "moved.txt"));
	remove_at("persistent/sealed.txt");
	follow();
	cr_assert_not(finds("giraffe", "sealed.txt"));
	expect_indexed(1);
	/* A newer state. */
	make_of("persistent/skipped.txt", "an ocelot at night\n", 19);
	cr_assert_eq(ofs_tree_seal(t), 0);
	reached = bring_index(true, 3);
	cr_assert(reload());
	cr_assert(finds("ocelot", "skipped.txt"));
	expect_indexed(2);
	cr_assert(finds("ocelot", "skipped.txt"));
	ofs_tree_close(w);
	open_follower(true);
	cr_assert(finds("ocelot", "skipped.txt"));
	cr_assert(finds("walrus", "moved.txt"));
}

/* Content that cannot be fetched now is looked for again later. */
Test(tree_follow, search_of_what_is_away)
{
	make_of("persistent/away.txt", "a giraffe in the morning\n", 25);
	cr_assert_eq(ofs_tree_seal(t), 0);
	failing = 1;
	start();
	cr_assert_not(finds("giraffe", "away.txt"));
	failing = 0;
	ofs_tree_close(w);
	open_follower(false);
	cr_assert(finds("giraffe", "away.txt"));
	expect_indexed(1);
}
