/* SPDX-License-Identifier: MIT */
/* Rules that follow from a place: tiers, categories, refs, attributes, and what is read-only. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <time.h>

#include <offloadfs/tree.h>

#include "base/util.h"
#include "scratch.h"
#include "test_clock_fixture.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_tree *t;
static const struct ofs_cred cred = { 1000, 1000 };

static void open_tree(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };

	opts.background = false;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0, "%s", err.text);
}

static void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
	open_tree();
}

static int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static void teardown(void)
{
	ofs_tree_close(t);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

TestSuite(tree_rules, .init = setup, .fini = teardown);

static ofs_node walk(const char *p)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, p, &e), 0, "%s", p);
	ofs_tree_forget(t, e.node, 1);
	return e.node;
}

/* Splits "a/b/c" into the node of a/b, which is returned, and the name c. */
static ofs_node parent_of(const char *p, const char **ret_name)
{
	char head[256];
	const char *slash = strrchr(p, '/');

	*ret_name = slash ? slash + 1 : p;
	snprintf(head, sizeof(head), "%.*s", slash ? (int)(slash - p) : 0, p);
	return walk(head);
}

static void make_dir(const char *p)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_mkdir(t, parent, name, 0755, &cred, &e), 0, "%s", p);
}

static ofs_node make(const char *p, const char *data)
{
	struct ofs_entry e;
	const char *name;
	ofs_node parent = parent_of(p, &name);

	cr_assert_eq(ofs_tree_mknod(t, parent, name, S_IFREG | 0644, 0, &cred, &e), 0, "%s", p);
	cr_assert_eq(ofs_tree_write(t, e.node, data, strlen(data), 0), (ssize_t)strlen(data));
	return e.node;
}

static int move(const char *from, const char *to)
{
	const char *a, *b;
	ofs_node x = parent_of(from, &a), y = parent_of(to, &b);

	return ofs_tree_rename(t, x, a, y, b, 0);
}

/* Returns the value of user.offload.NAME, or "-" if there is none. */
static const char *xattr(ofs_node node, const char *name)
{
	static char value[4096];
	char full[64];
	ssize_t n, len;

	snprintf(full, sizeof(full), "user.offload.%s", name);
	n = ofs_tree_getxattr(t, node, full, value, sizeof(value) - 1);
	if (n == -ENODATA)
		return "-";
	cr_assert_geq(n, 0, "%s: %zd", name, n);
	value[n] = 0;
	len = ofs_tree_getxattr(t, node, full, NULL, 0);
	cr_assert_eq(len, n, "%s", name);
	if (n > 1)
		cr_assert_eq(ofs_tree_getxattr(t, node, full, value, (size_t)n - 1), -ERANGE);
	return value;
}

Test(tree_rules, the_place_says_tier_category_and_task)
{
	static const struct {
		const char *path, *tier, *category, *task;
	} cases[] = {
		{ "f", "working", "general", "-" },
		{ "mine/f", "working", "general", "-" },
		{ "cache/f", "working", "general", "-" },
		{ "cache/shell/f", "working", "shell", "-" },
		{ "cache/shell/deep/f", "working", "shell", "-" },
		{ "persistent/f", "long-term", "general", "-" },
		{ "persistent/notes/f", "long-term", "notes", "-" },
		{ "archive/reports/f", "archive", "reports", "-" },
		{ "tasks/f", "working", "general", "-" },
		{ "tasks/t1/f", "working", "general", "t1" },
		{ "tasks/t1/web/f", "working", "web", "t1" },
		{ "tasks/t1/web/deep/f", "working", "web", "t1" },
	};
	static const char *const dirs[] = { "mine",
					    "cache/shell",
					    "cache/shell/deep",
					    "persistent/notes",
					    "archive/reports",
					    "tasks/t1",
					    "tasks/t1/web",
					    "tasks/t1/web/deep" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(dirs); i++)
		make_dir(dirs[i]);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		ofs_node f = make(cases[i].path, "x");

		cr_assert_str_eq(xattr(f, "tier"), cases[i].tier, "%s", cases[i].path);
		cr_assert_str_eq(xattr(f, "category"), cases[i].category, "%s", cases[i].path);
		cr_assert_str_eq(xattr(f, "task"), cases[i].task, "%s", cases[i].path);
		cr_assert_str_eq(xattr(f, "path"), cases[i].path);
	}
}

Test(tree_rules, moving_a_directory_promotes_all_of_it)
{
	ofs_node f;

	make_dir("cache/web");
	make_dir("cache/web/site");
	f = make("cache/web/site/f", "x");
	cr_assert_eq(move("cache/web", "persistent/kept"), 0);
	cr_assert_str_eq(xattr(f, "tier"), "long-term");
	cr_assert_str_eq(xattr(f, "category"), "kept");
	cr_assert_str_eq(xattr(f, "path"), "persistent/kept/site/f");
	ofs_tree_close(t);
	open_tree();
	cr_assert_str_eq(xattr(f, "tier"), "long-term");
	cr_assert_eq(move("persistent/kept", "cache/back"), 0);
	cr_assert_str_eq(xattr(f, "tier"), "working");
}

Test(tree_rules, a_ref_follows_its_file)
{
	char ref[OFS_REF_SIZE], name[64];
	struct ofs_entry e;
	ofs_node f = make("cache/f", "one\ntwo\n"), d = walk("cache");

	ofs_ref_format(t, f, ref);
	cr_assert_str_eq(xattr(f, "ref"), ref);
	snprintf(name, sizeof(name), "refs/%s", ref);
	cr_assert_eq(walk(name), f);
	cr_assert_eq(move("cache/f", "persistent/g"), 0);
	cr_assert_eq(walk(name), f);
	snprintf(name, sizeof(name), "refs/%s:2", ref);
	cr_assert_eq(ofs_tree_walk(t, name, &e), 0);
	cr_assert_eq(e.attr.st_size, 4);
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(ofs_tree_lookup(t, walk("refs"), ref, &e), 0);
	cr_assert_not(e.keep_name);
	ofs_tree_forget(t, e.node, 1);
	cr_assert_eq(ofs_tree_unlink(t, walk("persistent"), "g"), 0);
	cr_assert_eq(ofs_tree_lookup(t, walk("refs"), ref, &e), -ENOENT,
		     "held, but without a name");
	cr_assert_not(e.keep_name);
	ofs_ref_format(t, d, ref);
	cr_assert_eq(ofs_tree_lookup(t, walk("refs"), ref, &e), -ENOENT, "a directory has no ref");
	cr_assert_eq(ofs_tree_lookup(t, walk("refs"), "nonsense", &e), -ENOENT);
}

/* The place of a file is always that of a name that still exists. */
Test(tree_rules, a_name_that_is_left_tells_the_place)
{
	ofs_node f = make("cache/f", "content\n");
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mkdir(t, walk("archive"), "web", 0755, &cred, &e), 0);
	cr_assert_eq(ofs_tree_link(t, f, e.node, "g", &e), 0);
	cr_assert_str_eq(xattr(f, "tier"), "archive");
	cr_assert_eq(ofs_tree_link(t, f, walk("persistent"), "h", &e), 0);
	cr_assert_eq(ofs_tree_unlink(t, walk("cache"), "f"), 0);
	cr_assert_eq(ofs_tree_unlink(t, walk("persistent"), "h"), 0);
	cr_assert_str_eq(xattr(f, "path"), "archive/web/g");
	cr_assert_str_eq(xattr(f, "category"), "web");
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_tree_write(t, f, "no", 2, 0), -EROFS, "sealed, and in the archive");

	cr_assert_eq(ofs_tree_link(t, f, walk("persistent"), "h", &e), 0);
	cr_assert_eq(ofs_tree_unlink(t, walk("persistent"), "h"), 0);
	ofs_tree_close(t);
	open_tree();
	f = walk("archive/web/g");
	cr_assert_str_eq(xattr(f, "path"), "archive/web/g");
}

Test(tree_rules, refs_cannot_be_changed)
{
	ofs_node refs = walk("refs"), f = make("cache/f", "x");
	struct ofs_setattr set = { .set = OFS_SET_MODE, .mode = 0777 };
	struct ofs_entry e;
	char ref[OFS_REF_SIZE];

	ofs_ref_format(t, f, ref);
	cr_assert_eq(ofs_tree_mknod(t, refs, "x", 0600, 0, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_mkdir(t, refs, "x", 0700, &cred, &e), -EROFS);
	cr_assert_eq(ofs_tree_link(t, f, refs, "x", &e), -EROFS);
	cr_assert_eq(ofs_tree_unlink(t, refs, ref), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, refs, ref, walk("cache"), "y", 0), -EROFS);
	cr_assert_eq(ofs_tree_rename(t, walk("cache"), "f", refs, ref, 0), -EROFS);
	cr_assert_eq(ofs_tree_setattr(t, refs, &set, &e.attr), -EROFS);
	cr_assert_eq(ofs_tree_read(t, refs, ref, 1, 0), -EISDIR);
	cr_assert_eq(ofs_tree_write(t, refs, "x", 1, 0), -EISDIR);
}

Test(tree_rules, the_root_keeps_its_names)
{
	static const char *const names[] = { "refs", "views", "search", ".offload", "README.md" };
	struct ofs_entry e;

	make("f", "x");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		cr_assert_eq(ofs_tree_mknod(t, OFS_NODE_ROOT, names[i], 0600, 0, &cred, &e),
			     -EEXIST, "%s", names[i]);
		cr_assert_eq(ofs_tree_mkdir(t, OFS_NODE_ROOT, names[i], 0700, &cred, &e), -EEXIST);
		cr_assert_eq(move("f", names[i]), -EEXIST);
		cr_assert_eq(ofs_tree_unlink(t, OFS_NODE_ROOT, names[i]), -EBUSY);
		cr_assert_eq(move(names[i], "cache/x"), -EBUSY);
		make("cache/x", "only the root's names are taken");
		cr_assert_eq(ofs_tree_unlink(t, walk("cache"), "x"), 0);
	}
}

Test(tree_rules, the_readme_reads_like_a_file)
{
	ofs_node readme = walk("README.md");
	char text[8192];
	struct stat st;
	int lines = 0;
	ssize_t n;

	cr_assert_eq(ofs_tree_getattr(t, readme, &st), 0);
	cr_assert_eq(st.st_mode, S_IFREG | 0444);
	n = ofs_tree_read(t, readme, text, sizeof(text), 0);
	cr_assert_eq(n, st.st_size);
	for (ssize_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	cr_assert_leq(lines, 40);
	cr_assert_eq(text[n - 1], '\n');
	cr_assert_eq(ofs_tree_read(t, readme, text, 10, (uint64_t)n - 3), 3);
	cr_assert_eq(ofs_tree_read(t, readme, text, 10, (uint64_t)n), 0);
	cr_assert_eq(ofs_tree_read(t, readme, text, 10, UINT64_MAX), 0);
	cr_assert_eq(ofs_tree_write(t, readme, "x", 1, 0), -EROFS);
}

Test(tree_rules, attributes_tell_of_the_content)
{
	static const struct {
		const char *data, *lines, *mime;
	} cases[] = {
		{ "", "0", "text/plain" },
		{ "abc", "1", "text/plain" },
		{ "a\nb\n", "2", "text/plain" },
		{ "a\nb", "2", "text/plain" },
		{ " \n{\"a\": 1}", "2", "application/json" },
		{ "[1]", "1", "application/json" },
		{ "<!DOCTYPE html>", "1", "text/html" },
		{ "%PDF-1.7", "1", "application/pdf" },
	};
	char name[16];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		ofs_node f;

		snprintf(name, sizeof(name), "cache/f%zu", i);
		f = make(name, cases[i].data);
		for (int sealed = 0; sealed < 2; sealed++) {
			cr_assert_str_eq(xattr(f, "lines"), cases[i].lines, "'%s'", cases[i].data);
			cr_assert_str_eq(xattr(f, "mime"), cases[i].mime, "'%s'", cases[i].data);
			cr_assert_eq(ofs_tree_seal(t), 0);
		}
		cr_assert_eq(strlen(xattr(f, "sha256")), 64);
	}
	cr_assert_str_eq(xattr(walk("cache/f0"), "sha256"),
			 "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	cr_assert_str_eq(xattr(walk("cache/f0"), "stored_bytes"), "0");
	cr_assert_eq(ofs_tree_write(t, walk("cache/f1"), "\0", 1, 1), 1);
	cr_assert_str_eq(xattr(walk("cache/f1"), "mime"), "application/octet-stream");
	cr_assert_str_eq(xattr(walk("cache/f1"), "sha256"), "-",
			 "a changed content has no hash yet");
}

Test(tree_rules, creation_is_told_in_utc)
{
	char want[32];
	struct tm tm;
	time_t s = (time_t)(ofs_clock_wall() / OFS_NS_PER_S);
	ofs_node f = make("cache/f", "x");

	gmtime_r(&s, &tm);
	strftime(want, sizeof(want), "%Y-%m-%dT%H:%M", &tm);
	cr_assert_eq(strlen(xattr(f, "created")), 20);
	cr_assert(strncmp(xattr(f, "created"), want, 13) == 0 || tm.tm_min >= 59);
	cr_assert_eq(xattr(f, "created")[19], 'Z');
}

/* `getfattr -d` reads every name that is listed, and fails if one has no value. */
Test(tree_rules, every_listed_attribute_can_be_read)
{
	ofs_node f = make("cache/f", "x");

	make_dir("tasks/t");
	for (int round = 0; round < 3; round++) {
		char names[1024], value[256];
		ssize_t n = ofs_tree_listxattr(t, f, names, sizeof(names));

		cr_assert_gt(n, 0);
		cr_assert_eq(ofs_tree_listxattr(t, f, NULL, 0), n);
		cr_assert_eq(ofs_tree_listxattr(t, f, names, 5), -ERANGE);
		for (const char *p = names; p < names + n; p += strlen(p) + 1)
			cr_assert_geq(ofs_tree_getxattr(t, f, p, value, sizeof(value)), 0,
				      "round %d: %s", round, p);
		cr_assert_eq(round ? ofs_tree_seal(t) : move("cache/f", "tasks/t/f"), 0);
	}
}

Test(tree_rules, other_nodes_have_no_attributes)
{
	struct ofs_entry slice, link;
	char buf[256];

	make("cache/f", "x\n");
	cr_assert_eq(ofs_tree_walk(t, "cache/f:1", &slice), 0);
	cr_assert_eq(ofs_tree_symlink(t, walk("cache"), "l", "f", &cred, &link), 0);
	cr_assert_eq(ofs_tree_listxattr(t, slice.node, buf, sizeof(buf)), 0);
	cr_assert_eq(ofs_tree_listxattr(t, link.node, buf, sizeof(buf)), 0);
	cr_assert_eq(ofs_tree_listxattr(t, walk("refs"), buf, sizeof(buf)), 0);
	cr_assert_eq(ofs_tree_listxattr(t, walk("cache"), buf, sizeof(buf)), 0);
	cr_assert_str_eq(xattr(slice.node, "ref"), "-");
	cr_assert_str_eq(xattr(link.node, "tier"), "-");
	cr_assert_str_eq(xattr(walk("cache"), "ref"), "-");
	cr_assert_str_eq(xattr(walk("cache/f"), "unknown"), "-");
	cr_assert_eq(ofs_tree_getxattr(t, walk("cache/f"), "user.mine", buf, sizeof(buf)),
		     -ENODATA);
	cr_assert_eq(ofs_tree_getxattr(t, walk("cache/f"), "user.offload.", buf, sizeof(buf)),
		     -ENODATA);
	cr_assert_eq(ofs_tree_listxattr(t, 99999, buf, sizeof(buf)), -ENOENT);
}

static int write_x(ofs_node f)
{
	return (int)ofs_tree_write(t, f, "x", 1, 0);
}

static int cut(ofs_node f)
{
	struct ofs_setattr set = { .set = OFS_SET_SIZE };
	struct stat st;

	return ofs_tree_setattr(t, f, &set, &st);
}

static int chmod_to(ofs_node f, mode_t mode)
{
	struct ofs_setattr set = { .set = OFS_SET_MODE, .mode = mode };
	struct stat st;

	return ofs_tree_setattr(t, f, &set, &st);
}

Test(tree_rules, the_archive_is_read_only)
{
	ofs_node f = make("cache/f", "content");
	char buf[8];

	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(write_x(f), 1);
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(move("cache/f", "archive/f"), 0);
	cr_assert_eq(write_x(f), -EROFS);
	cr_assert_eq(cut(f), -EROFS);
	cr_assert_eq(ofs_tree_read(t, f, buf, 8, 0), 7);
	cr_assert_arr_eq(buf, "xontent", 7);
	cr_assert_eq(chmod_to(f, 0600), 0, "only the content is");
	ofs_tree_close(t);
	open_tree();
	cr_assert_eq(write_x(f), -EROFS);
	cr_assert_eq(move("archive/f", "cache/f"), 0);
	cr_assert_eq(write_x(f), 1);
}

Test(tree_rules, who_writes_into_the_archive_has_a_minute)
{
	ofs_node f = make("archive/f", "one");

	cr_assert_eq(ofs_tree_seal(t), 0);
	ahead += 50 * OFS_NS_PER_S;
	cr_assert_eq(write_x(f), 1);
	cr_assert_eq(ofs_tree_seal(t), 0);
	ahead += 50 * OFS_NS_PER_S;
	cr_assert_eq(write_x(f), 1);
	ahead += 100 * OFS_NS_PER_S;
	cr_assert_eq(write_x(f), 1, "a draft is still being written");
	cr_assert_eq(ofs_tree_seal(t), 0);
	ahead += 61 * OFS_NS_PER_S;
	cr_assert_eq(write_x(f), -EROFS);
	cr_assert_eq(cut(f), -EROFS);
}

Test(tree_rules, a_change_of_attributes_ends_the_writing)
{
	ofs_node f = make("archive/f", "one");

	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(chmod_to(f, 0600), 0);
	cr_assert_eq(write_x(f), -EROFS);
}

Test(tree_rules, nodes_that_never_were)
{
	static const ofs_node nodes[] = { 0, 77777, (ofs_node)1 << 62, ((ofs_node)1 << 62) + 15,
					  UINT64_MAX };
	struct ofs_entry e;
	char buf[8];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(nodes); i++) {
		cr_assert_lt(ofs_tree_getattr(t, nodes[i], &e.attr), 0);
		cr_assert_lt(ofs_tree_lookup(t, nodes[i], "x", &e), 0);
		cr_assert_lt(ofs_tree_read(t, nodes[i], buf, 8, 0), 0);
		cr_assert_lt(ofs_tree_write(t, nodes[i], buf, 8, 0), 0);
		cr_assert_lt(ofs_tree_mknod(t, nodes[i], "x", 0600, 0, &cred, &e), 0);
		cr_assert_lt(ofs_tree_readlink(t, nodes[i], buf, 8), 0);
		cr_assert_lt(ofs_tree_getxattr(t, nodes[i], "user.offload.ref", buf, 8), 0);
		ofs_tree_forget(t, nodes[i], 1);
	}
}
