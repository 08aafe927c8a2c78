/* SPDX-License-Identifier: MIT */
/* views/: which links are where, what they lead to, and listing during changes. */
#include <pthread.h>
#include <stdatomic.h>

#include "test_tree_fixture.h"

TestSuite(tree_views, .init = setup, .fini = teardown);

/* ---- reading a directory */

#define LISTED_MAX 6000

/* The names listed so far, without "." and "..", and where reading continues. */
struct listed {
	char (*names)[OFS_NAME_MAX + 1];
	uint64_t inos[LISTED_MAX];
	int modes[LISTED_MAX];
	size_t n;
	size_t left; /* entries still to read in this portion */
	uint64_t cookie;
};

static int take(void *arg, const char *name, const struct ofs_entry *entry, uint64_t next)
{
	struct listed *l = arg;

	if (!l->left)
		return 1;
	l->left--;
	l->cookie = next;
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	cr_assert_lt(l->n, LISTED_MAX);
	/* A link's node is just its number, so no reference has to be given back. */
	cr_assert(!entry->node ||
			  (S_ISLNK(entry->attr.st_mode) && entry->node == entry->attr.st_ino),
		  "a reference that nobody would give back: %s", name);
	snprintf(l->names[l->n], sizeof(l->names[0]), "%s", name);
	l->modes[l->n] = (int)entry->attr.st_mode;
	l->inos[l->n++] = entry->attr.st_ino;
	return 0;
}

static void list_finish(struct listed *l)
{
	free(l->names);
}

static void list_init(struct listed *l)
{
	*l = (struct listed){ .names = calloc(LISTED_MAX, OFS_NAME_MAX + 1) };
	cr_assert_not_null(l->names);
}

/* Reads up to `portion` more entries. Returns false at the end. */
static bool list_on(struct listed *l, ofs_node node, size_t portion)
{
	l->left = portion;
	cr_assert_eq(ofs_tree_readdir(t, node, l->cookie, true, take, l), 0);
	return l->left < portion;
}

static void list_all(struct listed *l, ofs_node node, size_t portion)
{
	list_init(l);
	while (list_on(l, node, portion))
		;
}

static size_t count_name(const struct listed *l, const char *name)
{
	size_t found = 0;

	for (size_t i = 0; i < l->n; i++)
		found += strcmp(l->names[i], name) == 0;
	return found;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Returns the names in a directory, sorted and separated by blanks, with REF- removed. */
static const char *names_in(const char *p)
{
	static char text[16384];
	OFS_CLEANUP(list_finish) struct listed l;
	struct ofs_entry e;
	size_t used = 0;

	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	list_all(&l, e.node, SIZE_MAX);
	ofs_tree_forget(t, e.node, 1);
	for (size_t i = 0; i < l.n; i++)
		if (S_ISLNK(l.modes[i]))
			memmove(l.names[i], strchr(l.names[i], '-') + 1,
				strlen(strchr(l.names[i], '-') + 1) + 1);
	qsort(l.names, l.n, sizeof(l.names[0]), compare_names);
	text[0] = 0;
	for (size_t i = 0; i < l.n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 l.names[i]);
	return text;
}

#define expect_names(p, want) cr_assert_str_eq(names_in(p), want, "%s", p)

/* Returns the name of the link to a file, in a static buffer. */
static const char *link_name(ofs_node node, const char *name)
{
	static char text[OFS_NAME_MAX + 1];
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, node, ref);
	snprintf(text, sizeof(text), "%s-%s", ref, name);
	return text;
}

/* Returns the path of the file that a link leads to, or "-" if there is no such link. */
static const char *target(const char *view, ofs_node node, const char *name)
{
	static char text[8192];
	char full[1024], want[64], ref[OFS_REF_SIZE];
	struct ofs_entry e;
	ssize_t n;

	snprintf(full, sizeof(full), "%s/%s", view, link_name(node, name));
	if (ofs_tree_walk(t, full, &e) == -ENOENT)
		return "-";
	cr_assert(S_ISLNK(e.attr.st_mode), "%s", full);
	n = ofs_tree_readlink(t, e.node, text, sizeof(text) - 1);
	cr_assert_geq(n, 0);
	cr_assert_eq(n, e.attr.st_size, "%s: the size of a link is the length of its target", full);
	text[n] = 0;
	ofs_tree_forget(t, e.node, 1);
	ofs_ref_format(t, node, ref);
	snprintf(want, sizeof(want), "%s../../refs/%s",
		 strchr(strchr(view, '/') + 1, '/') ? "../" : "", ref);
	cr_assert_str_eq(text, want);
	n = ofs_tree_getxattr(t, node, "user.offload.path", text, sizeof(text) - 1);
	cr_assert_geq(n, 0);
	text[n] = 0;
	return text;
}

/* ---- which files are where */

Test(tree_views, each_file_is_where_it_belongs)
{
	static const char *const dirs[] = { "mine",	   "mine/deep",	     "cache/shell",
					    "cache/web",   "cache/web/deep", "persistent/notes",
					    "archive/web", "tasks/t1",	     "tasks/t1/web",
					    "tasks/t2",	   "cache/general" };
	static const char *const files[] = {
		"at-root",	    "mine/deep/own",	  "cache/in-cache",  "cache/shell/s",
		"cache/web/deep/w", "persistent/notes/n", "archive/web/a",   "tasks/in-tasks",
		"tasks/t1/direct",  "tasks/t1/web/tw",	  "cache/general/g", "persistent/p"
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(dirs); i++)
		make_dir(dirs[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(files); i++)
		make(files[i]);
	for (int round = 0; round < 2; round++) {
		expect_names("views", "by-category by-tag by-task by-tier expiring recent");
		expect_names("views/by-category", "general notes shell web");
		expect_names("views/by-category/general",
			     "at-root direct g in-cache in-tasks own p");
		expect_names("views/by-category/shell", "s");
		expect_names("views/by-category/web", "a tw w");
		expect_names("views/by-category/notes", "n");
		expect_names("views/by-task", "t1 t2");
		expect_names("views/by-task/t1", "direct tw");
		expect_names("views/by-task/t2", "");
		expect_names("views/by-tier", "archive long-term working");
		expect_names("views/by-tier/working",
			     "at-root direct g in-cache in-tasks own s tw w");
		expect_names("views/by-tier/long-term", "n p");
		expect_names("views/by-tier/archive", "a");
		expect_names("views/by-tag", "");
		expect_names("views/recent", "a at-root direct g in-cache in-tasks n own p s tw w");
		expect_names("views/expiring", "at-root direct g in-cache in-tasks own s tw w");
		reopen();
	}
}

Test(tree_views, a_category_that_was_set_moves_a_file)
{
	ofs_node f, g;

	make_dir("cache/shell");
	make_dir("cache/web");
	f = make("cache/shell/f");
	g = make("at-root");
	cr_assert_eq(set(f, "category", "web"), 0);
	cr_assert_eq(set(g, "category", "found nowhere else"), 0);
	for (int round = 0; round < 2; round++) {
		expect_names("views/by-category/shell", "");
		expect_names("views/by-category/web", "f");
		expect_names("views/by-category/general", "");
		expect_names("views/by-category", "found nowhere else general shell web");
		expect_names("views/by-category/found nowhere else", "at-root");
		cr_assert_str_eq(target("views/by-category/shell", f, "f"), "-");
		cr_assert_str_eq(target("views/by-category/web", f, "f"), "cache/shell/f");
		reopen();
	}
	cr_assert_eq(unset(f, "category"), 0);
	expect_names("views/by-category/shell", "f");
	expect_names("views/by-category/web", "");
	drop("at-root");
	expect_names("views/by-category", "general shell web");
	cr_assert_eq(try_walk("views/by-category/found nowhere else"), -ENOENT);
}

Test(tree_views, tags_come_and_go_with_their_files)
{
	ofs_node f, g;

	make_dir("persistent/notes");
	f = make("cache/f");
	g = make("persistent/notes/g");
	cr_assert_eq(try_walk("views/by-tag/red"), -ENOENT);
	cr_assert_eq(set(f, "tags", "red,deep blue"), 0);
	cr_assert_eq(set(g, "tags", "red"), 0);
	for (int round = 0; round < 2; round++) {
		expect_names("views/by-tag", "deep blue red");
		expect_names("views/by-tag/red", "f g");
		expect_names("views/by-tag/deep blue", "f");
		cr_assert_str_eq(target("views/by-tag/red", g, "g"), "persistent/notes/g");
		cr_assert_str_eq(target("views/by-tag/deep blue", g, "g"), "-");
		cr_assert_eq(try_walk("views/by-tag/re"), -ENOENT);
		cr_assert_eq(try_walk("views/by-tag/red,deep blue"), -ENOENT);
		reopen();
	}
	drop("cache/f");
	expect_names("views/by-tag", "red");
	cr_assert_eq(try_walk("views/by-tag/deep blue"), -ENOENT, "nothing has this tag any more");
	cr_assert_eq(set(g, "tags", ""), 0);
	expect_names("views/by-tag", "");
	cr_assert_eq(try_walk("views/by-tag/red"), -ENOENT);
}

/* More tagged files lose their names than are checked at a time. */
Test(tree_views, a_tag_goes_with_the_last_of_many_files)
{
	char name[32];

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "cache/f%d", i);
		cr_assert_eq(set(make(name), "tags", "many"), 0);
	}
	for (int i = 0; i < 199; i++) {
		snprintf(name, sizeof(name), "cache/f%d", i);
		drop(name);
	}
	cr_assert_eq(try_walk("views/by-tag/many"), 0);
	expect_names("views/by-tag/many", "f199");
	drop("cache/f199");
	cr_assert_eq(try_walk("views/by-tag/many"), -ENOENT);
	expect_names("views/by-tag", "");
}

Test(tree_views, a_file_with_several_names_is_listed_once_and_can_be_reached)
{
	static const char *const views[] = { "views/by-tier/working", "views/by-tier/long-term",
					     "views/by-category/web", "views/by-category/general",
					     "views/recent" };
	ofs_node f;

	make_dir("cache/web");
	f = make("cache/web/f");
	link_to(f, "cache/web/g");
	link_to(f, "persistent/h");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(views); i++) {
		OFS_CLEANUP(list_finish) struct listed l;
		char full[1024];

		list_all(&l, hold(views[i]), SIZE_MAX);
		cr_assert_eq(l.n, 1, "%s: %zu", views[i], l.n);
		snprintf(full, sizeof(full), "%s/%s", views[i], l.names[0]);
		cr_assert_eq(try_walk(full), 0, "%s is listed", full);
		snprintf(full, sizeof(full), "%s/%s:1", views[i], l.names[0]);
		cr_assert_eq(try_walk(full), 0, "%s", full);
	}
	cr_assert_str_eq(target("views/recent", f, "other"), "-");
}

Test(tree_views, what_is_not_a_file_is_in_no_view)
{
	struct ofs_entry e;
	ofs_node d = make_dir("cache/shell");

	cr_assert_eq(ofs_tree_symlink(t, d, "l", "x", &cred, &e), 0);
	cr_assert_str_eq(target("views/recent", e.node, "l"), "-");
	cr_assert_eq(ofs_tree_mknod(t, d, "p", S_IFIFO | 0600, 0, &cred, &e), 0);
	expect_names("views/by-category/shell", "");
	expect_names("views/recent", "");
	cr_assert_str_eq(target("views/recent", d, "shell"), "-");
}

Test(tree_views, what_does_not_exist)
{
	ofs_node f = make("cache/f");
	char ref[OFS_REF_SIZE], full[64];

	cr_assert_eq(try_walk("views/other"), -ENOENT);
	cr_assert_eq(try_walk("views/by-tier/none"), -ENOENT);
	cr_assert_eq(try_walk("views/by-task/none"), -ENOENT);
	cr_assert_eq(try_walk("views/by-category/none"), -ENOENT);
	cr_assert_eq(try_walk("views/by-category/general/none"), -ENOENT);
	cr_assert_eq(try_walk("views/recent/-"), -ENOENT);
	cr_assert_eq(try_walk("views/recent/zzzzzz-f"), -ENOENT);
	ofs_ref_format(t, f, ref);
	cr_assert_eq(try_walk("views/recent/f"), -ENOENT);
	snprintf(full, sizeof(full), "views/recent/%s", ref);
	cr_assert_eq(try_walk(full), -ENOENT);
	snprintf(full, sizeof(full), "views/recent/%s-", ref);
	cr_assert_eq(try_walk(full), -ENOENT);
	snprintf(full, sizeof(full), "views/recent/%s-ff", ref);
	cr_assert_eq(try_walk(full), -ENOENT);
	snprintf(full, sizeof(full), "views/recent/%s-f/x", ref);
	cr_assert_eq(try_walk(full), -ENOTDIR);
}

/* ---- links */

Test(tree_views, links_lead_to_where_a_file_is_now)
{
	ofs_node f, held;
	struct ofs_entry before, after;
	char full[1024];

	make_dir("cache/web");
	make_dir("persistent/notes");
	f = make("cache/web/f");
	cr_assert_str_eq(target("views/recent", f, "f"), "cache/web/f");
	cr_assert_str_eq(target("views/by-tier/working", f, "f"), "cache/web/f");
	snprintf(full, sizeof(full), "views/recent/%s", link_name(f, "f"));
	cr_assert_eq(ofs_tree_walk(t, full, &before), 0);
	cr_assert(before.keep_name);
	held = before.node;
	cr_assert_eq(walk(full), held, "the same link is the same node");
	move("cache/web/f", "persistent/notes/f");
	cr_assert_eq(ofs_tree_walk(t, full, &after), 0);
	cr_assert_eq(after.node, held, "what is cached of a link stays true");
	ofs_tree_forget(t, after.node, 1);
	ofs_tree_forget(t, held, 1);
	cr_assert_str_eq(target("views/recent", f, "f"), "persistent/notes/f");
	cr_assert_str_eq(target("views/by-tier/working", f, "f"), "-");
	cr_assert_str_eq(target("views/by-tier/long-term", f, "f"), "persistent/notes/f");
	move("persistent/notes/f", "persistent/notes/g");
	cr_assert_str_eq(target("views/recent", f, "f"), "-");
	cr_assert_str_eq(target("views/recent", f, "g"), "persistent/notes/g");
}

Test(tree_views, any_name_can_be_linked)
{
	char longest[OFS_NAME_MAX + 1], other[OFS_NAME_MAX + 1], full[1024];
	const char *const names[] = { "a-b",	   "-",	   "with space", "\xff\xfe", "caf\xc3\xa9",
				      "new\nline", "a:12", "x#L3",	 longest };
	OFS_CLEANUP(list_finish) struct listed l;
	ofs_node nodes[OFS_ARRAY_SIZE(names)], twin;

	memset(longest, 'n', OFS_NAME_MAX);
	longest[OFS_NAME_MAX] = 0;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		snprintf(full, sizeof(full), "cache/%s", names[i]);
		nodes[i] = make(full);
		snprintf(full, sizeof(full), "cache/%s", names[i]);
		cr_assert_str_eq(target("views/recent", nodes[i], names[i]), full);
	}
	/* Its name differs from the other's only in the part that is cut. */
	memcpy(other, longest, sizeof(other));
	other[OFS_NAME_MAX - 1] = 'o';
	snprintf(full, sizeof(full), "cache/%s", other);
	twin = make(full);
	snprintf(full, sizeof(full), "cache/%s", other);
	cr_assert_str_eq(target("views/recent", twin, other), full);
	list_all(&l, walk("views/recent"), SIZE_MAX);
	cr_assert_eq(l.n, OFS_ARRAY_SIZE(names) + 1);
	for (size_t i = 0; i < l.n; i++) {
		snprintf(full, sizeof(full), "views/recent/%s", l.names[i]);
		cr_assert_eq(try_walk(full), 0, "%s is listed", full);
	}
}

Test(tree_views, links_can_be_sliced)
{
	ofs_node f = make_of("cache/f", "one\ntwo\nthree\n", 14);
	char full[1024], text[64];
	struct ofs_entry e;

	snprintf(full, sizeof(full), "views/by-tier/working/%s:2-3", link_name(f, "f"));
	cr_assert_eq(ofs_tree_walk(t, full, &e), 0);
	cr_assert(S_ISREG(e.attr.st_mode));
	cr_assert_eq(ofs_tree_read(t, e.node, text, sizeof(text), 0), 10);
	cr_assert_arr_eq(text, "two\nthree\n", 10);
	ofs_tree_forget(t, e.node, 1);
	snprintf(full, sizeof(full), "views/by-tier/archive/%s:2-3", link_name(f, "f"));
	cr_assert_eq(try_walk(full), -ENOENT);
	snprintf(full, sizeof(full), "views/recent/%s:9", link_name(f, "f"));
	cr_assert_eq(try_walk(full), -ERANGE);
}

Test(tree_views, nothing_in_views_can_be_changed)
{
	ofs_node f = make("cache/f"), recent = walk("views/recent"), views = walk("views");
	struct ofs_entry held, task, e;
	struct ofs_setattr mode = { .set = OFS_SET_MODE, .mode = 0777 };
	char full[1024], name[OFS_NAME_MAX + 1];

	make_dir("tasks/t");
	snprintf(name, sizeof(name), "%s", link_name(f, "f"));
	snprintf(full, sizeof(full), "views/recent/%s", name);
	cr_assert_eq(ofs_tree_walk(t, full, &held), 0);
	cr_assert_eq(ofs_tree_walk(t, "views/by-task/t", &task), 0);
	cr_assert_eq(ofs_tree_mknod(t, recent, "x", 0600, 0, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_mknod(t, task.node, "x", 0600, 0, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_mkdir(t, views, "x", 0700, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_symlink(t, recent, "x", "y", &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_link(t, f, recent, "x", &e), -EROFS);
	cr_assert_eq(ofs_tree_unlink(t, recent, name), -EROFS);
	cr_assert_eq(ofs_tree_rmdir(t, walk("views/by-task"), "t"), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, recent, name, walk("cache"), "x", 0), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, walk("cache"), "f", recent, "x", 0), -EROFS);
	cr_assert_eq(ofs_tree_setattr(t, held.node, &mode, &e.attr), -EROFS);
	cr_assert_eq(ofs_tree_setattr(t, recent, &mode, &e.attr), -EROFS);
	cr_assert_eq(ofs_tree_setxattr(t, recent, "user.x", "1", 1, 0), -EROFS);
	cr_assert_eq(ofs_tree_link(t, held.node, walk("cache"), "x", &e), -EPERM);
	cr_assert_eq(ofs_tree_mknod(t, held.node, "x", 0600, 0, &cred, &e), -ENOTDIR);
	ofs_tree_forget(t, held.node, 1);
	ofs_tree_forget(t, task.node, 1);
	expect_names("views/recent", "f");
}

/* ---- recent/ and expiring/ */

static void set_mtime(ofs_node node, int64_t mtime)
{
	struct ofs_setattr attr = { .set = OFS_SET_MTIME, .mtime = mtime };
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, node, &attr, &st), 0);
}

Test(tree_views, recent_has_the_latest_hundred)
{
	OFS_CLEANUP(list_finish) struct listed l;
	ofs_node nodes[250];
	char name[32];

	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "cache/f%03d", i);
		nodes[i] = make(name);
	}
	/* In another order than they were made. */
	for (int i = 0; i < 250; i++)
		set_mtime(nodes[i], (i * 77 % 250) * OFS_NS_PER_S);
	list_all(&l, walk("views/recent"), 7);
	cr_assert_eq(l.n, 100);
	for (int i = 0; i < 250; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		cr_assert_eq(count_name(&l, link_name(nodes[i], name)), i * 77 % 250 >= 150, "%s",
			     name);
		cr_assert_str_neq(target("views/recent", nodes[i], name), "-",
				  "what was listed a moment ago can be read");
	}
}

Test(tree_views, expiring_has_what_expires_first)
{
	ofs_node f;

	make_dir("cache/shell");
	make_dir("cache/reports");
	make("cache/shell/soon");
	make("cache/reports/never");
	make("persistent/kept");
	f = make("cache/later");
	expect_names("views/expiring", "later soon");
	cr_assert_eq(set(f, "important", "1"), 0);
	expect_names("views/expiring", "soon");
	cr_assert_eq(set(f, "important", "0"), 0);
	cr_assert_eq(set(f, "ttl", "never"), 0);
	expect_names("views/expiring", "soon");
	cr_assert_eq(set(f, "ttl", "7d"), 0);
	cr_assert_eq(set(walk("cache/reports/never"), "ttl", "1m"), 0);
	expect_names("views/expiring", "later never soon");
}

Test(tree_views, expiring_is_cut_to_the_first_hundred)
{
	OFS_CLEANUP(list_finish) struct listed l;
	char name[32], ttl[16];
	ofs_node f[120];

	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "cache/f%03d", i);
		f[i] = make(name);
		snprintf(ttl, sizeof(ttl), "%dh", i * 7 % 120 + 1);
		cr_assert_eq(set(f[i], "ttl", ttl), 0);
	}
	list_all(&l, walk("views/expiring"), SIZE_MAX);
	cr_assert_eq(l.n, 100);
	for (int i = 0; i < 120; i++) {
		snprintf(name, sizeof(name), "f%03d", i);
		cr_assert_eq(count_name(&l, link_name(f[i], name)), i * 7 % 120 < 100, "%s", name);
	}
}

/* ---- listing during changes */

static void make_many(const char *folder, int from, int to)
{
	char name[64];
	struct ofs_entry e;
	ofs_node d = walk(folder);

	for (int i = from; i < to; i++) {
		snprintf(name, sizeof(name), "f%04d", i);
		cr_assert_eq(ofs_tree_mknod(t, d, name, S_IFREG | 0644, 0, &cred, &e), 0);
		ofs_tree_forget(t, e.node, 1);
	}
}

Test(tree_views, small_portions_give_the_same_as_one)
{
	static const char *const views[] = { "views", "views/by-tier", "views/by-tier/working",
					     "views/recent" };

	make_many("cache", 0, 50);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(views); i++) {
		struct listed whole, parts;
		ofs_node node = hold(views[i]);

		list_all(&whole, node, SIZE_MAX);
		for (size_t portion = 1; portion < 9; portion++) {
			list_all(&parts, node, portion);
			cr_assert_eq(parts.n, whole.n, "%s by %zu", views[i], portion);
			for (size_t j = 0; j < whole.n; j++) {
				cr_assert_str_eq(parts.names[j], whole.names[j]);
				cr_assert_eq(parts.inos[j], whole.inos[j]);
			}
			list_finish(&parts);
		}
		list_finish(&whole);
	}
}

/* Files that stay are listed exactly once, others at most once. */
Test(tree_views, positions_stay_valid_while_files_come_and_go)
{
	OFS_CLEANUP(list_finish) struct listed l;
	struct listed seen;
	ofs_node node = hold("views/by-tier/working");
	int made = 200, stayed = 0;
	char name[32];

	make_many("cache", 0, 200);
	list_init(&l);
	for (int step = 0; list_on(&l, node, 10) && step < 70; step++) {
		snprintf(name, sizeof(name), "cache/f%04d", 199 - step);
		drop(name);
		snprintf(name, sizeof(name), "cache/f%04d", step);
		drop(name);
		make_many("cache", made, made + 5);
		made += 5;
		/* A second reader lists it to the end, which drops the list. */
		if (step % 3 == 0) {
			list_all(&seen, node, 64);
			list_finish(&seen);
		}
	}
	while (list_on(&l, node, 10))
		;
	for (size_t i = 0; i < l.n; i++)
		cr_assert_eq(count_name(&l, l.names[i]), 1, "%s", l.names[i]);
	for (int i = 0; i < 200; i++) {
		char full[64];
		size_t found = 0;

		snprintf(name, sizeof(name), "f%04d", i);
		snprintf(full, sizeof(full), "cache/%s", name);
		if (try_walk(full) < 0)
			continue;
		stayed++;
		for (size_t j = 0; j < l.n; j++)
			found += strcmp(strchr(l.names[j], '-') + 1, name) == 0;
		cr_assert_eq(found, 1, "%s", name);
	}
	cr_assert_gt(stayed, 50);
}

Test(tree_views, what_is_listed_may_be_gone_when_it_is_looked_up)
{
	OFS_CLEANUP(list_finish) struct listed l;
	ofs_node node = walk("views/recent");
	struct ofs_entry e;

	make_many("cache", 0, 3);
	list_all(&l, node, SIZE_MAX);
	cr_assert_eq(l.n, 3);
	drop("cache/f0000");
	move("cache/f0001", "cache/other");
	cr_assert_eq(ofs_tree_lookup(t, node, l.names[0], &e), -ENOENT);
	cr_assert_not(e.keep_name);
	cr_assert_eq(ofs_tree_lookup(t, node, l.names[1], &e), -ENOENT);
	cr_assert_eq(ofs_tree_lookup(t, node, l.names[2], &e), 0);
	ofs_tree_forget(t, e.node, 1);
}

/* The kernel keeps a listing as long as the directory's mtime is the same. */
Test(tree_views, a_view_seems_changed_whenever_something_was)
{
	struct timespec last = { 0 };
	struct stat st;
	ofs_node recent = walk("views/recent"), f;

	f = make("cache/f");
	for (int step = 0; step < 6; step++) {
		struct ofs_entry e;

		cr_assert_eq(ofs_tree_getattr(t, recent, &st), 0);
		cr_assert(st.st_mtim.tv_sec != last.tv_sec || st.st_mtim.tv_nsec != last.tv_nsec,
			  "before step %d", step);
		last = st.st_mtim;
		cr_assert_eq(ofs_tree_getattr(t, recent, &st), 0);
		cr_assert(st.st_mtim.tv_sec == last.tv_sec && st.st_mtim.tv_nsec == last.tv_nsec);
		switch (step) {
		case 0:
			move("cache/f", "persistent/f");
			break;
		case 1:
			cr_assert_eq(ofs_tree_write(t, f, "y", 1, 0), 1);
			break;
		case 2:
			cr_assert_eq(set(f, "tags", "red"), 0);
			break;
		case 3:
			link_to(f, "cache/second");
			break;
		case 4:
			cr_assert_eq(ofs_tree_setxattr(t, f, "user.x", "1", 1, 0), 0);
			break;
		default:
			break;
		}
		cr_assert_eq(ofs_tree_mkdir(t, walk("cache"), "f", 0700, &cred, &e),
			     step ? -EEXIST : 0);
	}
}

/* ---- more labels than fit in memory */

Test(tree_views, labels_beyond_the_memory_for_them_are_known)
{
	enum {
		FILES = 14000, /* with 5 KB of labels each */
		KEPT = 2
	};
	OFS_CLEANUP(list_finish) struct listed l;
	char name[64], tags[4096], title[1025];
	size_t used = 0;
	ofs_node node;

	for (int i = 0; i < 15; i++)
		used += (size_t)snprintf(tags + used, sizeof(tags) - used, "%s%0250d", i ? "," : "",
					 i);
	memset(title, 'x', 1024);
	title[1024] = 0;
	make_many("cache", 0, FILES);
	expect_names("views/by-tag", "");
	for (int i = 0; i < FILES; i++) {
		snprintf(name, sizeof(name), "cache/f%04d", i);
		node = hold(name);
		cr_assert_eq(set(node, "title", title), 0);
		cr_assert_eq(set(node, "tags", i < FILES - KEPT ? tags : "last"), 0);
		if (i >= FILES - KEPT)
			cr_assert_eq(set(node, "category", "odd"), 0);
		ofs_tree_forget(t, node, 1);
	}
	snprintf(name, sizeof(name), "f%d f%d", FILES - KEPT, FILES - 1);
	expect_names("views/by-tag/last", name);
	expect_names("views/by-category/odd", name);
	node = hold("views/by-tag/last");
	list_all(&l, node, SIZE_MAX);
	cr_assert_eq(l.n, KEPT);
	ofs_tree_forget(t, node, 1);
	drop("cache/f13999");
	expect_names("views/by-tag/last", "f13998");
}

/* ---- cost */

/* A kept list does not show later moves. Reading again would. */
Test(tree_views, many_files_are_listed_from_one_reading)
{
	static const char *const views[] = { "views/by-tier/working", "views/by-category/general",
					     "views/by-category", "views/by-task" };
	struct listed l[OFS_ARRAY_SIZE(views)];
	ofs_node nodes[OFS_ARRAY_SIZE(views)];
	bool more = true;

	make_many("cache", 0, 5000);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(views); i++) {
		nodes[i] = hold(views[i]);
		list_init(&l[i]);
	}
	/* All views at the same time, in portions. */
	for (int step = 0; more; step++) {
		char from[32], to[32];

		more = false;
		for (size_t i = 0; i < OFS_ARRAY_SIZE(views); i++)
			more |= list_on(&l[i], nodes[i], 100);
		if (step < 40) {
			snprintf(from, sizeof(from), "cache/f%04d", 4999 - step);
			snprintf(to, sizeof(to), "persistent/f%04d", 4999 - step);
			move(from, to);
		}
	}
	cr_assert_eq(l[0].n, 5000, "%zu: it was read again", l[0].n);
	cr_assert_eq(l[1].n, 5000, "%zu: it was read again", l[1].n);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(views); i++)
		list_finish(&l[i]);
}

Test(tree_views, more_lists_at_once_than_are_kept)
{
	enum {
		LISTS = 9
	};
	struct listed l[LISTS];
	struct ofs_entry e[LISTS];
	bool more = true;
	char name[64];

	for (int i = 0; i < LISTS; i++) {
		snprintf(name, sizeof(name), "tasks/t%d", i);
		make_dir(name);
		make_many(name, 0, 40 + i);
		snprintf(name, sizeof(name), "views/by-task/t%d", i);
		cr_assert_eq(ofs_tree_walk(t, name, &e[i]), 0);
		list_init(&l[i]);
	}
	while (more) {
		more = false;
		for (int i = 0; i < LISTS; i++)
			more |= list_on(&l[i], e[i].node, 6);
	}
	for (int i = 0; i < LISTS; i++) {
		cr_assert_eq(l[i].n, 40 + i);
		for (size_t j = 0; j < l[i].n; j++)
			cr_assert_eq(count_name(&l[i], l[i].names[j]), 1);
		list_finish(&l[i]);
		ofs_tree_forget(t, e[i].node, 1);
	}
}

/* ---- threads */

static _Atomic bool stop;

static void *change(void *arg)
{
	char name[64], moved[64];
	ofs_node cache = walk("cache"), kept = walk("persistent");

	for (int i = 0; !stop; i = (i + 1) % 50) {
		struct ofs_entry e;

		snprintf(name, sizeof(name), "m%03d", i);
		snprintf(moved, sizeof(moved), "n%03d", i);
		if (ofs_tree_mknod(t, cache, name, S_IFREG | 0644, 0, &cred, &e) == 0) {
			set(e.node, "tags", i % 2 ? "odd" : "even,all");
			set(e.node, "category", i % 3 ? "web" : "shell");
			ofs_tree_forget(t, e.node, 1);
		}
		ofs_tree_rename(t, cache, name, kept, moved, 0);
		ofs_tree_unlink(t, kept, moved);
	}
	return arg;
}

static void *look(void *arg)
{
	static const char *const views[] = { "views/by-tier/working", "views/by-tag",
					     "views/recent",	      "views/by-category/web",
					     "views/expiring",	      "views/by-tag/odd",
					     ".offload/status.json",  ".offload/metrics:1-3" };
	OFS_CLEANUP(list_finish) struct listed l;
	char text[256];

	list_init(&l);
	for (size_t i = 0; i < 200; i++) {
		struct ofs_entry e, in;

		if (ofs_tree_walk(t, views[i % OFS_ARRAY_SIZE(views)], &e) < 0)
			continue;
		l.n = 0;
		l.cookie = 0;
		while (S_ISDIR(e.attr.st_mode) && list_on(&l, e.node, 30))
			;
		for (size_t j = 0; j < l.n; j += 5) {
			if (ofs_tree_lookup(t, e.node, l.names[j], &in) < 0)
				continue;
			if (S_ISLNK(in.attr.st_mode))
				ofs_tree_readlink(t, in.node, text, sizeof(text));
			ofs_tree_forget(t, in.node, 1);
		}
		if (S_ISREG(e.attr.st_mode))
			ofs_tree_read(t, e.node, text, sizeof(text), 0);
		ofs_tree_forget(t, e.node, 1);
	}
	return arg;
}

Test(tree_views, threads_look_while_files_change)
{
	pthread_t changer, lookers[4];

	make_many("cache", 0, 100);
	cr_assert_eq(pthread_create(&changer, NULL, change, NULL), 0);
	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&lookers[i], NULL, look, NULL), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(lookers[i], NULL);
	stop = true;
	pthread_join(changer, NULL);
	cr_assert_eq(try_walk("views/by-tier/working"), 0);
}
