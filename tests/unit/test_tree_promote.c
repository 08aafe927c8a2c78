/* SPDX-License-Identifier: MIT */
/* Promotion by the tree: at the end of a task, and by rules. */

#include "tree/expiry/promote.h"

#include "test_tree_fixture.h"

#define SECOND OFS_NS_PER_S

TestSuite(tree_promote, .init = setup, .fini = teardown);

static void open_with(const char *match, uint32_t reads)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };

	ofs_tree_close(t);
	opts.background = false;
	opts.promote_match = match;
	opts.promote_reads = reads;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0, "%s", err.text);
}

static void put(const char *p)
{
	char part[256];

	for (const char *at = strchr(p, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - p), p);
		if (try_walk(part) == -ENOENT)
			ofs_tree_forget(t, make_dir(part), 1);
	}
	ofs_tree_forget(t, make(p), 1);
}

static void expect_counts(const char *how, int promoted, int removed)
{
	json_t *json = collect("", how);

	cr_expect_eq(json_integer_value(json_object_get(json, "promoted")), promoted, "%s", how);
	cr_expect_eq(json_integer_value(json_object_get(json, "removed")), removed, "%s", how);
	json_decref(json);
}

/* Returns member `key` of the report's item about a path, or "-" if there is no such item. */
static const char *told(const char *p, const char *key)
{
	static char text[4096];
	char name[32];

	for (int i = 0;; i++) {
		json_t *item;
		bool found;

		snprintf(name, sizeof(name), "gc.%d", i);
		item = json_loads(xattr(OFS_NODE_ROOT, name), 0, NULL);
		if (!item)
			return "-";
		found = strcmp(json_string_value(json_object_get(item, "path")), p) == 0;
		snprintf(text, sizeof(text), "%s", json_string_value(json_object_get(item, key)));
		json_decref(item);
		if (found)
			return text;
	}
}

static void end_task(const char *p, const char *how)
{
	cr_assert_eq(set(walk(p), "state", how), 0);
}

static const char *lifecycle(const char *p)
{
	return xattr(walk(p), "lifecycle");
}

/* ---- the end of a task */

Test(tree_promote, what_never_expires)
{
	put("tasks/t/reports/a");
	put("tasks/t/shell/pinned");
	put("tasks/t/web/never");
	put("tasks/t/shell/goes");
	put("tasks/u/reports/other");
	cr_assert_eq(set(walk("tasks/t/shell/pinned"), "important", "1"), 0);
	cr_assert_eq(set(walk("tasks/t/web/never"), "ttl", "never"), 0);
	expect_counts("dry-run task t", 3, 1);
	cr_assert_str_eq(told("tasks/t/reports/a", "action"), "promote");
	cr_assert_str_eq(told("tasks/t/reports/a", "to"), "persistent/reports/a");
	cr_assert_str_eq(told("tasks/t/shell/pinned", "why"),
			 "its task has ended, and it is marked important");
	cr_assert_str_eq(told("tasks/t/shell/goes", "action"), "remove");
	cr_assert_eq(try_walk("persistent/reports"), -ENOENT);
	end_task("tasks/t", "done");
	cr_assert_str_eq(xattr(walk("tasks/t/reports/a"), "expires"), "never");
	cr_assert_str_eq(lifecycle("tasks/t/reports/a"),
			 "goes to persistent/ with the next collection: its task has ended, and it "
			 "never expires");
	expect_counts("run", 3, 1);
	cr_assert_str_eq(told("tasks/t/web/never", "to"), "persistent/web/never");
	cr_assert_eq(try_walk("tasks/t"), -ENOENT);
	cr_assert_eq(try_walk("tasks/u/reports/other"), 0);
	cr_assert_str_eq(xattr(walk("persistent/shell/pinned"), "origin_task"), "t");
	cr_assert_str_eq(xattr(walk("persistent/reports/a"), "origin_category"), "reports");
	cr_assert_str_eq(xattr(walk("persistent/reports/a"), "tier"), "long-term");
	expect_counts("run", 0, 0);
}

Test(tree_promote, a_taken_name_gets_a_number)
{
	struct stat st;

	put("persistent/reports/r.md");
	put("tasks/t/reports/r.md");
	put("tasks/t/reports/deep/r.md");
	expect_counts("dry-run task t", 2, 0);
	cr_assert_str_eq(told("tasks/t/reports/r.md", "to"), "persistent/reports/r-2.md");
	cr_assert_str_eq(told("tasks/t/reports/deep/r.md", "to"), "persistent/reports/r-3.md");
	end_task("tasks/t", "done");
	expect_counts("run", 2, 0);
	cr_assert_eq(try_walk("persistent/reports/r-2.md"), 0);
	cr_assert_eq(try_walk("persistent/reports/r-3.md"), 0);
	cr_assert_eq(ofs_tree_getattr(t, walk("persistent/reports"), &st), 0);
	cr_assert_eq(st.st_uid, cred.uid);
}

/* Neither another tree's files nor many of one name matter to a file's name or to the time. */
Test(tree_promote, numbers_of_many_files)
{
	struct ofs_store_stats before, after;
	char p[64];

	put("agents/a/tasks/t/reports/r.md");
	end_task("agents/a/tasks/t", "done");
	for (int i = 0; i < 1000; i++) {
		snprintf(p, sizeof(p), "tasks/t/reports/%d/r.md", i);
		put(p);
	}
	put("tasks/t/reports/r-7.md");
	end_task("tasks/t", "done");
	expect_counts("dry-run", 1002, 0);
	cr_expect_str_eq(told("agents/a/tasks/t/reports/r.md", "to"),
			 "agents/a/persistent/reports/r.md");
	cr_assert_eq(ofs_store_stats(t->store, &before), 0);
	expect_counts("run", 1002, 0);
	cr_assert_eq(ofs_store_stats(t->store, &after), 0);
	cr_expect_lt(after.inodes_asked - before.inodes_asked, 500000);
	cr_expect_eq(try_walk("agents/a/persistent/reports/r.md"), 0);
	cr_expect_eq(try_walk("persistent/reports/r.md"), 0);
	for (int i = 2; i <= 1000; i++) {
		snprintf(p, sizeof(p), "persistent/reports/r-%d.md", i);
		cr_expect_eq(try_walk(p), 0, "%d", i);
	}
}

/* A target directory that is a file or belongs to somebody else is not used. */
Test(tree_promote, without_a_directory_for_it)
{
	const struct ofs_cred other = { 2000, 2000 };
	struct ofs_entry e;

	put("persistent/reports");
	put("tasks/t/reports/a");
	put("tasks/t/web/b");
	cr_assert_eq(set(walk("tasks/t/web/b"), "ttl", "never"), 0);
	cr_assert_eq(ofs_tree_mkdir(t, walk("persistent"), "web", 0700, &other, &e), 0);
	end_task("tasks/t", "done");
	expect_counts("run", 2, 0);
	cr_assert_str_eq(xattr(walk("persistent/a"), "category"), "reports");
	cr_assert_str_eq(xattr(walk("persistent/b"), "category"), "web");
}

Test(tree_promote, drop_all)
{
	put("tasks/t/reports/a");
	put("tasks/t/shell/pinned");
	put("persistent/reports/stays");
	cr_assert_eq(set(walk("tasks/t/shell/pinned"), "important", "1"), 0);
	expect_counts("dry-run drop-all task t", 0, 2);
	end_task("tasks/t", "done drop-all");
	cr_assert_str_eq(xattr(walk("tasks/t"), "state"), "done");
	cr_assert_str_neq(xattr(walk("tasks/t/shell/pinned"), "expires"), "never");
	expect_counts("run", 0, 2);
	cr_assert_eq(try_walk("tasks/t"), -ENOENT);
	cr_assert_eq(try_walk("persistent/reports/stays"), 0);
	cr_assert_eq(try_walk("persistent/reports/a"), -ENOENT);
	put("tasks/u/x");
	cr_assert_eq(set(walk("tasks/u"), "state", "done drop"), -EINVAL);
}

Test(tree_promote, a_use_after_the_end_rescues_it)
{
	char buf[8];

	put("tasks/t/reports/a");
	end_task("tasks/t", "done");
	ahead += 10 * SECOND;
	cr_assert_gt(ofs_tree_read(t, walk("tasks/t/reports/a"), buf, sizeof(buf), 0), 0);
	expect_counts("run", 0, 0);
	cr_assert_eq(try_walk("tasks/t/reports/a"), 0);
}

/* ---- rules */

Test(tree_promote, at_the_end_by_rule)
{
	open_with("shell/*.log, tag:decision, title:On *", 0);
	put("tasks/t/shell/a.log");
	put("tasks/t/shell/b.txt");
	put("tasks/t/web/c");
	put("tasks/t/web/d");
	put("cache/shell/e.log");
	cr_assert_eq(set(walk("tasks/t/web/c"), "tags", "x,decision"), 0);
	cr_assert_eq(set(walk("tasks/t/web/d"), "title", "On locks"), 0);
	end_task("tasks/t", "done");
	expect_counts("run", 3, 1);
	cr_assert_eq(try_walk("persistent/shell/a.log"), 0);
	cr_assert_eq(try_walk("persistent/web/c"), 0);
	cr_assert_eq(try_walk("persistent/web/d"), 0);
	cr_assert_eq(try_walk("cache/shell/e.log"), 0);
	/* "drop-all" overrides rules, too. */
	put("tasks/u/shell/f.log");
	end_task("tasks/u", "done drop-all");
	expect_counts("run", 0, 1);
}

static void read_it(const char *p)
{
	char buf[8];
	ofs_node node;

	ahead += 90 * SECOND;
	node = hold(p);
	for (int i = 0; i < 3; i++)
		cr_assert_gt(ofs_tree_read(t, node, buf, sizeof(buf), 0), 0);
	ofs_tree_forget(t, node, 1);
}

Test(tree_promote, after_some_reads)
{
	open_with("notes/*", 3);
	put("cache/notes/a");
	put("cache/web/b");
	for (int i = 0; i < 2; i++) {
		read_it("cache/notes/a");
		read_it("cache/web/b");
	}
	expect_counts("run", 0, 0);
	/* The count survives a restart, and reading a slice counts. */
	open_with("notes/*", 3);
	expect_counts("run", 0, 0);
	read_it("cache/notes/a:1");
	read_it("cache/web/b");
	expect_counts("dry-run", 1, 0);
	cr_assert_str_eq(told("cache/notes/a", "why"), "a rule promotes it");
	expect_counts("run", 1, 0);
	cr_assert_eq(try_walk("persistent/notes/a"), 0);
	cr_assert_eq(try_walk("cache/web/b"), 0);
	cr_assert_str_eq(xattr(walk("persistent/notes/a"), "reads"), "-");
}

Test(tree_promote, rules_that_make_sense)
{
	static const char *const good[] = { "a/b", "a/*", "tag:x", " a/b ,tag:x , title:On *",
					    "*/*.md" };
	static const char *const bad[] = { "",	   "a",	     "a/",   "/b",   "a/b/c",
					   "tag:", "title:", "a/b,", ",a/b", "a/b,,c/d" };
	struct ofs_error must;
	uint32_t reads;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(good); i++)
		cr_expect_eq(ofs_promote_check_match(good[i], &must), 0, "%s", good[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++)
		cr_expect_eq(ofs_promote_check_match(bad[i], &must), -EINVAL, "%s", bad[i]);
	cr_expect_eq(ofs_promote_parse_when("task done", &reads, &must), 0);
	cr_expect_eq(reads, 0);
	cr_expect_eq(ofs_promote_parse_when("after 1 read", &reads, &must), 0);
	cr_expect_eq(reads, 1);
	cr_expect_eq(ofs_promote_parse_when("after 30 reads", &reads, &must), 0);
	cr_expect_eq(reads, 30);
	for (const char *const *p =
		     (const char *const[]){ "", "done", "after 0 reads", "after reads", "after 3",
					    "after -3 reads", "after 3 reads or so",
					    "after 99999999 reads", NULL };
	     *p; p++)
		cr_expect_eq(ofs_promote_parse_when(*p, &reads, &must), -EINVAL, "%s", *p);
}
