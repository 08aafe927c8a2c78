/* SPDX-License-Identifier: MIT */
/* The origin of a file stays with it when it is promoted. */
#include "test_tree_fixture.h"

TestSuite(tree_origin, .init = setup, .fini = teardown);

static void make_path(const char *p)
{
	char part[256];

	for (const char *at = strchr(p, '/'); at; at = strchr(at + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - p), p);
		if (try_walk(part) == -ENOENT)
			ofs_tree_forget(t, make_dir(part), 1);
	}
}

static ofs_node put(const char *p)
{
	ofs_node node;

	make_path(p);
	node = make(p);
	ofs_tree_forget(t, node, 1);
	return node;
}

/* "-" stands for none. */
static void expect(const char *p, const char *task, const char *category, const char *now)
{
	ofs_node node = walk(p);

	cr_expect_str_eq(xattr(node, "origin_task"), task, "%s", p);
	cr_expect_str_eq(xattr(node, "origin_category"), category, "%s", p);
	cr_expect_str_eq(xattr(node, "category"), now, "%s", p);
}

static int look(const char *view, const char *p)
{
	char full[1024], ref[OFS_REF_SIZE];
	const char *slash = strrchr(p, '/');

	ofs_ref_format(t, walk(p), ref);
	snprintf(full, sizeof(full), "views/%s/%s-%s", view, ref, slash ? slash + 1 : p);
	return try_walk(full);
}

static bool lists(const char *view, const char *name);

static int take(void *arg, const char *name, const struct ofs_entry *entry, uint64_t next)
{
	const char **wanted = arg;
	size_t len = strlen(name), want = *wanted ? strlen(*wanted) : 0;

	if (*wanted && len >= want && strcmp(name + len - want, *wanted) == 0)
		*wanted = NULL;
	return 0;
}

/* Returns true if a directory in views/ has an entry with this ending. */
static bool lists(const char *view, const char *name)
{
	char full[1024];
	struct ofs_entry e;
	int r;

	snprintf(full, sizeof(full), "views/%s", view);
	if (ofs_tree_walk(t, full, &e) < 0)
		return false;
	r = ofs_tree_readdir(t, e.node, 0, false, take, &name);
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(r, 0);
	return !name;
}

Test(tree_origin, a_file_keeps_its_task_and_category)
{
	static const struct {
		const char *from, *to, *task, *origin, *category;
	} table[] = {
		{ "tasks/t/shell/a", "persistent/a", "t", "shell", "shell" },
		{ "tasks/t/shell/deep/b", "archive/notes/b", "t", "shell", "notes" },
		{ "tasks/t/c", "persistent/c", "t", "-", "general" },
		{ "cache/web/d", "persistent/d", "-", "web", "web" },
		{ "cache/e", "persistent/kept/e", "-", "-", "kept" },
		{ "f", "archive/f", "-", "-", "general" },
		{ "beside/g", "persistent/g", "-", "-", "general" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++) {
		put(table[i].from);
		cr_assert_str_eq(xattr(walk(table[i].from), "origin_task"), "-");
		make_path(table[i].to);
		move(table[i].from, table[i].to);
	}
	for (int again = 0; again < 2; again++, reopen())
		for (size_t i = 0; i < OFS_ARRAY_SIZE(table); i++)
			expect(table[i].to, table[i].task, table[i].origin, table[i].category);
}

Test(tree_origin, the_first_one_stays)
{
	put("tasks/one/shell/f");
	move("tasks/one/shell/f", "persistent/f");
	make_path("tasks/two/web/x");
	move("persistent/f", "tasks/two/web/f");
	expect("tasks/two/web/f", "-", "-", "web");
	cr_assert(!lists("by-task/one", "-f"));
	move("tasks/two/web/f", "archive/f");
	expect("archive/f", "one", "shell", "shell");
}

Test(tree_origin, a_label_is_what_it_was_made_as)
{
	ofs_node f = put("tasks/t/shell/f");

	cr_assert_eq(set(f, "category", "notes"), 0);
	move("tasks/t/shell/f", "persistent/f");
	expect("persistent/f", "t", "notes", "notes");
	cr_assert_eq(set(f, "category", "reports"), 0);
	expect("persistent/f", "t", "notes", "reports");
}

Test(tree_origin, is_not_a_users_attribute)
{
	ofs_node f = put("tasks/t/shell/f");
	char names[4096];
	ssize_t n;

	cr_assert_eq(set(f, "origin", "x"), -EOPNOTSUPP);
	cr_assert_eq(set(f, "origin_task", "x"), -EOPNOTSUPP);
	move("tasks/t/shell/f", "persistent/f");
	cr_assert_str_eq(xattr(f, "origin"), "-");
	cr_assert_eq(unset(f, "origin"), -EOPNOTSUPP);
	n = ofs_tree_listxattr(t, f, names, sizeof(names));
	cr_assert_gt(n, 0);
	cr_assert_not_null(memmem(names, (size_t)n, "user.offload.origin_task", 25));
	cr_assert_null(memmem(names, (size_t)n, "user.offload.origin", 20));
}

/* One rename marks the directory, and everything in it finds that mark. */
Test(tree_origin, a_whole_task)
{
	put("tasks/t/shell/f");
	put("tasks/t/web/deep/g");
	put("tasks/t/h");
	move("tasks/t", "persistent/kept");
	for (int again = 0; again < 2; again++, reopen()) {
		expect("persistent/kept", "t", "-", "general");
		expect("persistent/kept/shell/f", "t", "shell", "shell");
		expect("persistent/kept/web", "t", "web", "web");
		expect("persistent/kept/web/deep/g", "t", "web", "web");
		expect("persistent/kept/h", "t", "-", "general");
	}
	/* Anything taken out of the task, or renamed in it, keeps its origin. */
	move("persistent/kept/shell/f", "archive/f");
	expect("archive/f", "t", "shell", "shell");
	move("persistent/kept/web", "persistent/kept/pages");
	expect("persistent/kept/pages/deep/g", "t", "web", "pages");
}

Test(tree_origin, a_category_of_a_task)
{
	put("tasks/t/shell/f");
	put("tasks/t/web/deep/g");
	move("tasks/t/shell", "persistent/shell");
	make_path("archive/x/y");
	move("tasks/t/web/deep", "archive/x/deep");
	expect("persistent/shell/f", "t", "shell", "shell");
	expect("archive/x/deep/g", "t", "web", "x");
}

Test(tree_origin, the_nearest_mark_wins)
{
	put("tasks/t/shell/f");
	put("cache/web/g");
	put("tasks/u/notes/h");
	move("tasks/t", "persistent/t");
	move("cache/web/g", "persistent/t/shell/g");
	move("tasks/u/notes", "persistent/t/notes");
	move("tasks/u", "persistent/t/u");
	expect("persistent/t/shell/g", "-", "web", "shell");
	expect("persistent/t/notes/h", "u", "notes", "notes");
	cr_assert_eq(look("by-task/u", "persistent/t/notes/h"), 0);
	cr_assert(!lists("by-task/t", "-h"));
	cr_assert(!lists("by-task/t", "-g"));
	cr_assert(lists("by-task/t", "-f"));
}

Test(tree_origin, both_that_change_places)
{
	const char *a, *b;
	ofs_node x, y;

	put("tasks/t/shell/f");
	put("tasks/u/web/g");
	move("tasks/u/web/g", "persistent/g");
	x = parent_of("tasks/t/shell/f", &a);
	y = parent_of("persistent/g", &b);
	cr_assert_eq(ofs_tree_rename(t, x, a, y, b, RENAME_EXCHANGE), 0);
	expect("persistent/g", "t", "shell", "shell");
	expect("tasks/t/shell/f", "-", "-", "shell");
	put("tasks/v/notes/h");
	cr_assert_eq(ofs_tree_rename(t, y, "g", parent_of("tasks/v/notes/h", &a), "h",
				     RENAME_EXCHANGE),
		     0);
	expect("persistent/g", "v", "notes", "notes");
}

/* A failed move leaves no mark. */
Test(tree_origin, nothing_is_marked_in_vain)
{
	ofs_node f = put("tasks/t/shell/f");
	const char *a, *b;
	ofs_node x, y;

	put("persistent/f");
	make_path("tasks/u/web/x");
	x = parent_of("tasks/t/shell/f", &a);
	y = parent_of("persistent/f", &b);
	cr_assert_eq(ofs_tree_rename(t, x, a, y, b, RENAME_NOREPLACE), -EEXIST);
	move("tasks/t/shell/f", "tasks/u/web/f");
	move("tasks/u/web/f", "persistent/f");
	cr_assert_eq(walk("persistent/f"), f);
	expect("persistent/f", "u", "web", "web");
}

Test(tree_origin, views)
{
	put("tasks/t/shell/f");
	put("tasks/t/web/g");
	put("tasks/whole/web/h");
	put("tasks/whole/i");
	put("cache/odd/j");
	/* The views are read before the moves, so that the labels in memory must follow. */
	for (int loaded = 0; loaded < 2; loaded++) {
		cr_assert(!lists("by-category", "unknown"));
		if (loaded)
			break;
		move("tasks/t/shell/f", "persistent/f");
		move("tasks/whole", "archive/whole");
		move("cache/odd/j", "persistent/j");
	}
	drop("tasks/t/web/g");
	cr_assert_eq(ofs_tree_rmdir(t, walk("tasks/t"), "web"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, walk("tasks/t"), "shell"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, walk("tasks"), "t"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, walk("cache"), "odd"), 0);
	for (int again = 0; again < 2; again++, reopen()) {
		cr_expect(lists("by-task", "t"));
		cr_expect(lists("by-task", "whole"));
		cr_expect(lists("by-task/t", "-f"));
		cr_expect(lists("by-task/whole", "-h"));
		cr_expect(lists("by-task/whole", "-i"));
		cr_expect_eq(look("by-task/t", "persistent/f"), 0);
		cr_expect_eq(look("by-task/whole", "archive/whole/web/h"), 0);
		cr_expect_eq(try_walk("views/by-task/gone"), -ENOENT);
		cr_expect(lists("by-category", "shell"));
		cr_expect(lists("by-category", "odd"));
		cr_expect(lists("by-category", "web"));
		cr_expect(!lists("by-category", "whole"));
		cr_expect(lists("by-category/shell", "-f"));
		cr_expect(lists("by-category/odd", "-j"));
		cr_expect(lists("by-category/web", "-h"));
		cr_expect(lists("by-category/general", "-i"));
		cr_expect(!lists("by-category/general", "-f"));
		cr_expect(!lists("by-category/general", "-h"));
		cr_expect_eq(look("by-category/shell", "persistent/f"), 0);
		cr_expect_eq(look("by-category/web", "archive/whole/web/h"), 0);
		cr_expect_neq(look("by-category/general", "persistent/f"), 0);
	}
	/* Back in the working tier, its mark is ignored. */
	move("persistent/f", "cache/f");
	cr_expect(!lists("by-task", "t"));
	cr_expect(lists("by-category/general", "-f"));
	cr_expect(!lists("by-category/shell", "-f"));
}
