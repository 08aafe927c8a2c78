/* SPDX-License-Identifier: MIT */
/* Names: creating, moving and removing them, and listing directories that change. */
#include <criterion/criterion.h>
#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/sysmacros.h>

#include <offloadfs/tree.h>

#include "base/util.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_tree *t;
static const struct ofs_cred cred = { 1000, 1001 };
static ofs_node cache;

static void open_tree(void)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_error err = { "" };
	struct ofs_entry e;

	opts.background = false;
	cr_assert_eq(ofs_tree_open(path, &opts, &err, &t), 0, "%s", err.text);
	cr_assert_eq(ofs_tree_walk(t, "cache", &e), 0);
	cache = e.node;
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

TestSuite(tree_names, .init = setup, .fini = teardown);

static void reopen(void)
{
	ofs_tree_close(t);
	open_tree();
}

static ofs_node make(ofs_node parent, const char *name)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mknod(t, parent, name, S_IFREG | 0644, 0, &cred, &e), 0, "%s", name);
	return e.node;
}

static ofs_node make_dir(ofs_node parent, const char *name)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mkdir(t, parent, name, 0755, &cred, &e), 0, "%s", name);
	return e.node;
}

/* Returns the node of a name without keeping a reference, or 0. */
static ofs_node find(ofs_node parent, const char *name)
{
	struct ofs_entry e;
	int r = ofs_tree_lookup(t, parent, name, &e);

	cr_assert(r == 0 || r == -ENOENT, "%s: %d", name, r);
	if (r < 0)
		return 0;
	ofs_tree_forget(t, e.node, 1);
	return e.node;
}

static struct stat attr_of(ofs_node node)
{
	struct stat st;

	cr_assert_eq(ofs_tree_getattr(t, node, &st), 0);
	return st;
}

static int rename_to(ofs_node from, const char *name, ofs_node to, const char *newname)
{
	return ofs_tree_rename(t, from, name, to, newname, 0);
}

Test(tree_names, a_new_store_has_its_directories)
{
	static const char *const tops[] = { "cache", "tasks", "persistent", "archive", "agents" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++) {
		ofs_node node = find(OFS_NODE_ROOT, tops[i]);

		cr_assert_neq(node, 0);
		cr_assert(S_ISDIR(attr_of(node).st_mode));
		cr_assert_eq(ofs_tree_rmdir(t, OFS_NODE_ROOT, tops[i]), -EBUSY);
		cr_assert_eq(rename_to(OFS_NODE_ROOT, tops[i], OFS_NODE_ROOT, "other"), -EBUSY);
		cr_assert_eq(ofs_tree_rename(t, cache, "x", OFS_NODE_ROOT, tops[i],
					     RENAME_EXCHANGE),
			     -EBUSY);
	}
	cr_assert_eq(attr_of(OFS_NODE_ROOT).st_nlink, 11);
}

Test(tree_names, what_is_made_is_found_again)
{
	struct ofs_entry e, again;

	cr_assert_eq(ofs_tree_mknod(t, cache, "f", S_IFREG | 0640, 0, &cred, &e), 0);
	cr_assert_eq(e.attr.st_mode, S_IFREG | 0640);
	cr_assert_eq(e.attr.st_uid, 1000);
	cr_assert_eq(e.attr.st_gid, 1001);
	cr_assert_eq(e.attr.st_nlink, 1);
	cr_assert_eq(e.attr.st_size, 0);
	cr_assert_eq(e.attr.st_blocks, 0);
	cr_assert_eq(e.attr.st_ino, e.node);
	cr_assert(e.keep_name);
	reopen();
	cr_assert_eq(ofs_tree_lookup(t, cache, "f", &again), 0);
	cr_assert_eq(again.node, e.node);
	cr_assert_eq(again.attr.st_mode, e.attr.st_mode);
	cr_assert_eq(again.attr.st_mtim.tv_nsec, e.attr.st_mtim.tv_nsec);
	cr_assert_eq(again.attr.st_ctim.tv_sec, e.attr.st_ctim.tv_sec);
}

Test(tree_names, a_mode_without_a_type_is_a_file)
{
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mknod(t, cache, "f", 0600, 0, &cred, &e), 0);
	cr_assert_eq(e.attr.st_mode, S_IFREG | 0600);
	cr_assert_eq(ofs_tree_mknod(t, cache, "d", S_IFDIR | 0700, 0, &cred, &e), -EINVAL);
	cr_assert_eq(ofs_tree_mknod(t, cache, "l", S_IFLNK | 0777, 0, &cred, &e), -EINVAL);
}

Test(tree_names, other_types_keep_what_they_are)
{
	static const mode_t modes[] = { S_IFIFO | 0600, S_IFSOCK | 0600, S_IFCHR | 0600,
					S_IFBLK | 0600 };
	char name[8], buf[4];
	struct ofs_entry e;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(modes); i++) {
		snprintf(name, sizeof(name), "n%zu", i);
		cr_assert_eq(ofs_tree_mknod(t, cache, name, modes[i], makedev(5, 7), &cred, &e), 0);
	}
	reopen();
	for (size_t i = 0; i < OFS_ARRAY_SIZE(modes); i++) {
		snprintf(name, sizeof(name), "n%zu", i);
		cr_assert_eq(ofs_tree_lookup(t, cache, name, &e), 0);
		cr_assert_eq(e.attr.st_mode, modes[i]);
		cr_assert_eq(e.attr.st_rdev, makedev(5, 7));
		cr_assert_eq(ofs_tree_read(t, e.node, buf, 4, 0), -EINVAL);
		cr_assert_eq(ofs_tree_write(t, e.node, "x", 1, 0), -EINVAL);
	}
}

Test(tree_names, bad_names_are_refused)
{
	static const char *const names[] = { "", ".", "..", "a/b", "/" };
	char longest[OFS_NAME_MAX + 2];
	struct ofs_entry e;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		cr_assert_eq(ofs_tree_mknod(t, cache, names[i], 0600, 0, &cred, &e), -EINVAL,
			     "'%s'", names[i]);
		cr_assert_eq(ofs_tree_mkdir(t, cache, names[i], 0700, &cred, &e), -EINVAL, "'%s'",
			     names[i]);
	}
	memset(longest, 'n', sizeof(longest));
	longest[OFS_NAME_MAX + 1] = 0;
	cr_assert_eq(ofs_tree_mknod(t, cache, longest, 0600, 0, &cred, &e), -ENAMETOOLONG);
	cr_assert_eq(ofs_tree_lookup(t, cache, longest, &e), -ENAMETOOLONG);
	cr_assert_eq(ofs_tree_unlink(t, cache, longest), -ENAMETOOLONG);
	make(cache, "f");
	cr_assert_eq(rename_to(cache, "f", cache, longest), -ENAMETOOLONG);
	longest[OFS_NAME_MAX] = 0;
	make(cache, longest);
	make(cache, "\xff\xfe\n \x01");
	reopen();
	cr_assert_neq(find(cache, longest), 0);
	cr_assert_neq(find(cache, "\xff\xfe\n \x01"), 0);
}

Test(tree_names, wrong_parents_are_refused)
{
	ofs_node file = make(cache, "f"), gone = make_dir(cache, "gone");
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_mknod(t, file, "x", 0600, 0, &cred, &e), -ENOTDIR);
	cr_assert_eq(ofs_tree_lookup(t, file, "x", &e), -ENOTDIR);
	cr_assert_eq(ofs_tree_unlink(t, file, "x"), -ENOTDIR);
	cr_assert_eq(ofs_tree_readdir(t, file, 0, false, NULL, NULL), -ENOTDIR);
	cr_assert_eq(ofs_tree_mknod(t, 99999, "x", 0600, 0, &cred, &e), -ENOENT);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "gone"), 0);
	cr_assert_eq(ofs_tree_mknod(t, gone, "x", 0600, 0, &cred, &e), -ENOENT);
	cr_assert_eq(ofs_tree_mkdir(t, gone, "x", 0700, &cred, &e), -ENOENT);
	cr_assert_eq(rename_to(cache, "f", gone, "x"), -ENOENT);
	cr_assert_eq(ofs_tree_link(t, file, gone, "x", &e), -ENOENT);
	cr_assert_eq(attr_of(gone).st_nlink, 0);
	ofs_tree_forget(t, gone, 1);
	cr_assert_eq(ofs_tree_getattr(t, gone, &e.attr), -ENOENT);
}

Test(tree_names, a_name_exists_once)
{
	struct ofs_entry e;

	make(cache, "f");
	make_dir(cache, "d");
	cr_assert_eq(ofs_tree_mknod(t, cache, "f", 0600, 0, &cred, &e), -EEXIST);
	cr_assert_eq(ofs_tree_mkdir(t, cache, "f", 0600, &cred, &e), -EEXIST);
	cr_assert_eq(ofs_tree_mknod(t, cache, "d", 0600, 0, &cred, &e), -EEXIST);
	cr_assert_eq(ofs_tree_symlink(t, cache, "d", "x", &cred, &e), -EEXIST);
	cr_assert_eq(ofs_tree_link(t, find(cache, "f"), cache, "d", &e), -EEXIST);
}

Test(tree_names, directories_count_their_subdirectories)
{
	ofs_node a = make_dir(cache, "a"), b = make_dir(a, "b");

	cr_assert_eq(attr_of(a).st_nlink, 3);
	cr_assert_eq(attr_of(b).st_nlink, 2);
	make(a, "f");
	cr_assert_eq(attr_of(a).st_nlink, 3);
	cr_assert_eq(rename_to(a, "b", cache, "b"), 0);
	cr_assert_eq(attr_of(a).st_nlink, 2);
	cr_assert_eq(attr_of(cache).st_nlink, 4);
	reopen();
	cr_assert_eq(attr_of(a).st_nlink, 2);
	cr_assert_eq(attr_of(cache).st_nlink, 4);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "b"), 0);
	cr_assert_eq(attr_of(cache).st_nlink, 3);
}

/* The limit on links is that of other filesystems. It must not limit the number of tasks. */
Test(tree_names, a_file_has_65000_links_and_a_directory_any_number_of_subdirectories)
{
	enum {
		LINKS = 65000
	};
	ofs_node file = make(cache, "f"), parent = make_dir(cache, "d");
	struct ofs_entry e;
	char name[16];
	int i;

	for (i = 1; i <= LINKS; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		cr_assert_eq(ofs_tree_link(t, file, cache, name, &e), i < LINKS ? 0 : -EMLINK);
		snprintf(name, sizeof(name), "%d", i);
		make_dir(parent, name);
	}
	cr_assert_eq(attr_of(file).st_nlink, LINKS);
	cr_assert_eq(attr_of(parent).st_nlink, LINKS + 2);
	reopen();
	cr_assert_eq(attr_of(parent).st_nlink, LINKS + 2);
}

Test(tree_names, a_set_group_bit_is_passed_on)
{
	struct ofs_setattr set = { .set = OFS_SET_MODE | OFS_SET_GID, .mode = 02775, .gid = 555 };
	ofs_node d = make_dir(cache, "d");
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, d, &set, &st), 0);
	cr_assert_eq(st.st_mode, S_IFDIR | 02775);
	st = attr_of(make(d, "f"));
	cr_assert_eq(st.st_gid, 555);
	cr_assert_not(st.st_mode & S_ISGID);
	st = attr_of(make_dir(d, "sub"));
	cr_assert_eq(st.st_gid, 555);
	cr_assert(st.st_mode & S_ISGID);
}

Test(tree_names, links_read_back)
{
	char target[4097], buf[4097];
	struct ofs_entry e;

	memset(target, 'x', 4096);
	target[4096] = 0;
	cr_assert_eq(ofs_tree_symlink(t, cache, "l", target, &cred, &e), -ENAMETOOLONG);
	cr_assert_eq(ofs_tree_symlink(t, cache, "l", "", &cred, &e), -ENOENT);
	target[4095] = 0;
	cr_assert_eq(ofs_tree_symlink(t, cache, "l", target, &cred, &e), 0);
	cr_assert_eq(e.attr.st_size, 4095);
	cr_assert_eq(e.attr.st_mode, S_IFLNK | 0777);
	cr_assert_eq(ofs_tree_symlink(t, cache, "m", "../\xff", &cred, &e), 0);
	reopen();
	cr_assert_eq(ofs_tree_readlink(t, find(cache, "l"), buf, sizeof(buf)), 4095);
	cr_assert_arr_eq(buf, target, 4095);
	cr_assert_eq(ofs_tree_readlink(t, find(cache, "m"), buf, 2), 2);
	cr_assert_arr_eq(buf, "..", 2);
	cr_assert_eq(ofs_tree_readlink(t, cache, buf, sizeof(buf)), -EINVAL);
	cr_assert_eq(ofs_tree_read(t, find(cache, "m"), buf, 1, 0), -EINVAL);
}

Test(tree_names, hard_links_share_one_inode)
{
	ofs_node f = make(cache, "f"), d = make_dir(cache, "d");
	struct ofs_entry e;
	char buf[4];

	cr_assert_eq(ofs_tree_link(t, f, d, "g", &e), 0);
	cr_assert_eq(e.node, f);
	cr_assert_eq(e.attr.st_nlink, 2);
	cr_assert_eq(ofs_tree_write(t, f, "data", 4, 0), 4);
	cr_assert_eq(ofs_tree_link(t, d, cache, "h", &e), -EPERM);
	cr_assert_eq(ofs_tree_link(t, 99999, cache, "h", &e), -ENOENT);
	reopen();
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	cr_assert_eq(attr_of(f).st_nlink, 1);
	cr_assert_eq(ofs_tree_read(t, find(d, "g"), buf, 4, 0), 4);
	cr_assert_arr_eq(buf, "data", 4);
	cr_assert_eq(ofs_tree_unlink(t, d, "g"), 0);
	cr_assert_eq(ofs_tree_getattr(t, f, &e.attr), -ENOENT);
}

Test(tree_names, removing_asks_for_the_right_kind)
{
	make(cache, "f");
	make(make_dir(cache, "d"), "inside");
	cr_assert_eq(ofs_tree_rmdir(t, cache, "f"), -ENOTDIR);
	cr_assert_eq(ofs_tree_unlink(t, cache, "d"), -EISDIR);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "d"), -ENOTEMPTY);
	reopen();
	cr_assert_eq(ofs_tree_rmdir(t, cache, "d"), -ENOTEMPTY);
	cr_assert_eq(ofs_tree_unlink(t, find(cache, "d"), "inside"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "d"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "d"), -ENOENT);
	cr_assert_eq(ofs_tree_unlink(t, cache, "nothing"), -ENOENT);
	cr_assert_eq(find(cache, "d"), 0);
}

Test(tree_names, what_is_unlinked_lives_while_it_is_held)
{
	ofs_node f = make(cache, "f");
	struct stat st;
	char buf[8];

	cr_assert_eq(ofs_tree_write(t, f, "before", 6, 0), 6);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	cr_assert_eq(find(cache, "f"), 0);
	cr_assert_eq(attr_of(f).st_nlink, 0);
	cr_assert_eq(ofs_tree_write(t, f, "after!", 6, 0), 6);
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_tree_read(t, f, buf, 8, 0), 6);
	cr_assert_arr_eq(buf, "after!", 6);
	cr_assert_eq(ofs_tree_write(t, f, "sealed", 6, 2), 6);
	cr_assert_eq(attr_of(f).st_size, 8);
	cr_assert_neq(make(cache, "f"), f, "a number is never used again");
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), -ENOENT);
	cr_assert_eq(ofs_tree_read(t, f, buf, 8, 0), -ENOENT);
	cr_assert_eq(ofs_tree_seal(t), 0);
}

Test(tree_names, what_is_unlinked_and_held_is_gone_after_a_restart)
{
	ofs_node f = make(cache, "f"), d = make_dir(cache, "d");
	struct stat st;

	cr_assert_eq(ofs_tree_write(t, f, "x", 1, 0), 1);
	cr_assert_eq(ofs_tree_seal(t), 0);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	cr_assert_eq(ofs_tree_rmdir(t, cache, "d"), 0);
	cr_assert_eq(ofs_tree_seal(t), 0);
	reopen();
	cr_assert_eq(ofs_tree_getattr(t, f, &st), -ENOENT);
	cr_assert_eq(ofs_tree_getattr(t, d, &st), -ENOENT);
	cr_assert_neq(make(cache, "new"), f);
}

Test(tree_names, references_are_counted)
{
	ofs_node f = make(cache, "f");
	struct ofs_entry e;
	struct stat st;

	for (int i = 0; i < 3; i++)
		cr_assert_eq(ofs_tree_lookup(t, cache, "f", &e), 0);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	ofs_tree_forget(t, f, 2);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), 0);
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), 0);
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), -ENOENT);
}

Test(tree_names, rename_moves_and_replaces)
{
	ofs_node f = make(cache, "f"), g = make(cache, "g"), d = make_dir(cache, "d");

	cr_assert_eq(rename_to(cache, "f", d, "h"), 0);
	cr_assert_eq(find(cache, "f"), 0);
	cr_assert_eq(find(d, "h"), f);
	cr_assert_eq(rename_to(d, "h", cache, "g"), 0);
	cr_assert_eq(find(cache, "g"), f);
	cr_assert_eq(attr_of(g).st_nlink, 0, "held, but without a name");
	cr_assert_eq(rename_to(cache, "nothing", cache, "g"), -ENOENT);
	reopen();
	cr_assert_eq(find(cache, "g"), f);
	cr_assert_eq(find(d, "h"), 0);
	cr_assert_eq(rename_to(cache, "g", cache, "g"), 0);
	cr_assert_eq(find(cache, "g"), f);
}

Test(tree_names, rename_minds_the_kinds)
{
	ofs_node d = make_dir(cache, "d"), e = make_dir(cache, "e"), full = make_dir(cache, "full");

	make(cache, "f");
	make(full, "x");
	cr_assert_eq(rename_to(cache, "f", cache, "d"), -EISDIR);
	cr_assert_eq(rename_to(cache, "d", cache, "f"), -ENOTDIR);
	cr_assert_eq(rename_to(cache, "d", cache, "full"), -ENOTEMPTY);
	cr_assert_eq(rename_to(cache, "d", cache, "e"), 0);
	cr_assert_eq(find(cache, "e"), d);
	cr_assert_eq(attr_of(e).st_nlink, 0);
	cr_assert_eq(attr_of(cache).st_nlink, 4);
	cr_assert_eq(rename_to(cache, "full", cache, "e"), 0);
	cr_assert_neq(find(full, "x"), 0);
	cr_assert_eq(attr_of(cache).st_nlink, 3);
}

Test(tree_names, a_directory_does_not_move_below_itself)
{
	ofs_node a = make_dir(cache, "a"), b = make_dir(a, "b"), c = make_dir(b, "c");

	cr_assert_eq(rename_to(cache, "a", a, "x"), -EINVAL);
	cr_assert_eq(rename_to(cache, "a", c, "x"), -EINVAL);
	cr_assert_eq(rename_to(b, "c", cache, "a"), -ENOTEMPTY);
	make(c, "f");
	cr_assert_eq(ofs_tree_rename(t, c, "f", cache, "a", RENAME_EXCHANGE), -EINVAL);
	cr_assert_eq(ofs_tree_rename(t, cache, "a", c, "f", RENAME_EXCHANGE), -EINVAL);
	reopen();
	cr_assert_eq(rename_to(cache, "a", c, "x"), -EINVAL);
}

Test(tree_names, rename_flags)
{
	ofs_node f = make(cache, "f"), d = make_dir(cache, "d"), sub = make_dir(d, "sub");
	unsigned int both = RENAME_NOREPLACE | RENAME_EXCHANGE;

	cr_assert_eq(ofs_tree_rename(t, cache, "f", d, "sub", RENAME_NOREPLACE), -EEXIST);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", d, "g", RENAME_EXCHANGE), -ENOENT);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", d, "g", both), -EINVAL);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", d, "g", RENAME_WHITEOUT), -EINVAL);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", d, "sub", RENAME_EXCHANGE), 0);
	cr_assert_eq(find(cache, "f"), sub);
	cr_assert_eq(find(d, "sub"), f);
	cr_assert_eq(attr_of(d).st_nlink, 2);
	cr_assert_eq(attr_of(cache).st_nlink, 4);
	cr_assert_eq(ofs_tree_rename(t, d, "sub", cache, "free", RENAME_NOREPLACE), 0);
	reopen();
	cr_assert_eq(find(cache, "free"), f);
	cr_assert_eq(find(cache, "f"), sub);
	cr_assert(S_ISDIR(attr_of(sub).st_mode));
}

Test(tree_names, two_names_of_one_inode_stay_when_renamed_to_each_other)
{
	ofs_node f = make(cache, "f");
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_link(t, f, cache, "g", &e), 0);
	cr_assert_eq(rename_to(cache, "f", cache, "g"), 0);
	cr_assert_eq(find(cache, "f"), f);
	cr_assert_eq(find(cache, "g"), f);
	cr_assert_eq(ofs_tree_rename(t, cache, "f", cache, "g", RENAME_NOREPLACE), -EEXIST);
}

Test(tree_names, walk_follows_paths)
{
	ofs_node d = make_dir(cache, "d"), f = make(d, "f");
	struct ofs_entry e;

	cr_assert_eq(ofs_tree_walk(t, "//cache/./d//f", &e), 0);
	cr_assert_eq(e.node, f);
	cr_assert_eq(ofs_tree_walk(t, "", &e), 0);
	cr_assert_eq(e.node, OFS_NODE_ROOT);
	cr_assert_eq(ofs_tree_walk(t, "cache/d/", &e), 0);
	cr_assert_eq(e.node, d);
	cr_assert_eq(ofs_tree_walk(t, "cache/../cache", &e), -EINVAL);
	cr_assert_eq(ofs_tree_walk(t, "cache/d/f/x", &e), -ENOTDIR);
	cr_assert_eq(ofs_tree_walk(t, "cache/none/x", &e), -ENOENT);
}

struct listing {
	char names[4096][24];
	uint64_t nodes[4096];
	uint64_t next[4096];
	size_t n, max;
};

static int note(void *arg, const char *name, const struct ofs_entry *e, uint64_t next)
{
	struct listing *l = arg;

	if (l->n == l->max)
		return 1;
	snprintf(l->names[l->n], sizeof(l->names[0]), "%s", name);
	l->nodes[l->n] = e->node;
	l->next[l->n++] = next;
	return 0;
}

static void list(ofs_node d, uint64_t cookie, bool plus, size_t max, struct listing *ret)
{
	ret->n = 0;
	ret->max = max;
	cr_assert_eq(ofs_tree_readdir(t, d, cookie, plus, note, ret), 0);
}

static struct listing got, rest;

Test(tree_names, the_root_lists_what_is_made_up)
{
	static const char *const want[] = { ".",     "..",	   "refs",     "README.md",
					    "views", "search",	   ".offload", "cache",
					    "tasks", "persistent", "archive",  "agents" };

	list(OFS_NODE_ROOT, 0, true, 99, &got);
	cr_assert_eq(got.n, OFS_ARRAY_SIZE(want));
	for (size_t i = 0; i < got.n; i++) {
		cr_assert_str_eq(got.names[i], want[i]);
		list(OFS_NODE_ROOT, got.next[i], false, 99, &rest);
		cr_assert_eq(rest.n, got.n - i - 1, "behind %s", want[i]);
	}
	list(find(OFS_NODE_ROOT, "refs"), 0, false, 99, &got);
	cr_assert_eq(got.n, 2, "refs are resolved, never listed");
}

Test(tree_names, reading_in_any_portions_gives_the_same)
{
	ofs_node d = make_dir(cache, "d");
	char name[24];

	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(d, name);
	}
	for (size_t portion = 1; portion < 120; portion += portion / 3 + 1) {
		uint64_t cookie = 0;
		size_t n = 0;

		list(d, 0, false, 4096, &got);
		cr_assert_eq(got.n, 102);
		cr_assert_eq(got.nodes[0], d);
		cr_assert_eq(got.nodes[1], cache);
		for (list(d, cookie, false, portion, &rest); rest.n;
		     list(d, cookie, false, portion, &rest)) {
			for (size_t i = 0; i < rest.n; i++)
				cr_assert_str_eq(rest.names[i], got.names[n++]);
			cookie = rest.next[rest.n - 1];
		}
		cr_assert_eq(n, got.n);
	}
}

Test(tree_names, positions_survive_a_restart)
{
	ofs_node d = make_dir(cache, "d");
	char name[24];

	for (int i = 0; i < 50; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(d, name);
		if (i % 2)
			cr_assert_eq(ofs_tree_unlink(t, d, name), 0);
	}
	list(d, 0, false, 4096, &got);
	reopen();
	list(d, 0, false, 4096, &rest);
	cr_assert_eq(rest.n, got.n);
	for (size_t i = 0; i < got.n; i++) {
		cr_assert_str_eq(rest.names[i], got.names[i]);
		cr_assert_eq(rest.next[i], got.next[i]);
	}
}

/* Names that are there all the time are listed exactly once. */
Test(tree_names, a_walk_through_a_changing_directory_misses_nothing)
{
	ofs_node d = make_dir(cache, "d");
	int seen[200] = { 0 };
	uint64_t cookie = 0;
	char name[24];
	int made = 0, number;

	for (int i = 0; i < 200; i++) {
		snprintf(name, sizeof(name), "stay%d", i);
		make(d, name);
		snprintf(name, sizeof(name), "go%d", i);
		make(d, name);
	}
	for (int round = 0;; round++) {
		list(d, cookie, round % 2, 7, &got);
		if (!got.n || round > 200)
			break;
		cookie = got.next[got.n - 1];
		for (size_t i = 0; i < got.n; i++)
			if (sscanf(got.names[i], "stay%d", &number) == 1)
				seen[number]++;
		for (int i = 0; i < 4 && made < 200; i++, made++) {
			snprintf(name, sizeof(name), "go%d", (made * 37) % 200);
			cr_assert_eq(ofs_tree_unlink(t, d, name), 0);
			snprintf(name, sizeof(name), "new%d", made);
			make(d, name);
		}
	}
	for (int i = 0; i < 200; i++)
		cr_assert_eq(seen[i], 1, "stay%d was listed %d times", i, seen[i]);
}

Test(tree_names, a_replaced_name_keeps_its_position)
{
	ofs_node d = make_dir(cache, "d");
	ofs_node by;

	make(d, "first");
	make(d, "second");
	by = make(cache, "by");
	list(d, 0, false, 99, &got);
	cr_assert_eq(rename_to(cache, "by", d, "first"), 0);
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			reopen();
		if (i == 2)
			cr_assert_eq(rename_to(d, "second", d, "first"), 0);
		list(d, 0, false, 99, &rest);
		cr_assert_eq(rest.n, got.n - (i == 2));
		cr_assert_str_eq(rest.names[2], "first");
		cr_assert_eq(rest.next[2], got.next[2]);
		cr_assert((rest.nodes[2] == by) == (i < 2));
	}
}

static const char *path_of(ofs_node node)
{
	static char text[512];
	ssize_t n = ofs_tree_getxattr(t, node, "user.offload.path", text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = 0;
	return text;
}

/* A large directory whose names were asked for is indexed by number. */
Test(tree_names, names_are_known_after_replacement_in_a_large_directory)
{
	ofs_node d = make_dir(cache, "d"), one, twin;
	struct ofs_entry e;
	char name[24];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		make(d, name);
	}
	twin = find(d, "f7");
	cr_assert_eq(ofs_tree_link(t, twin, d, "g7", &e), 0);
	cr_assert_str_eq(path_of(find(d, "f3")), "cache/d/f3");
	one = make(cache, "one");
	cr_assert_eq(rename_to(cache, "one", d, "f3"), 0);
	cr_assert_str_eq(path_of(one), "cache/d/f3");
	one = make(d, "two");
	cr_assert_eq(rename_to(d, "two", d, "f7"), 0);
	cr_assert_str_eq(path_of(one), "cache/d/f7");
	cr_assert_str_eq(path_of(twin), "cache/d/g7");
	cr_assert_eq(ofs_tree_unlink(t, d, "f7"), 0);
	cr_assert_str_eq(path_of(twin), "cache/d/g7");
}

Test(tree_names, the_root_counts_what_is_made_up)
{
	const struct ofs_setattr mode = { .set = OFS_SET_MODE, .mode = 0755 };
	struct ofs_entry e;
	struct stat st;

	cr_assert_eq(ofs_tree_setattr(t, OFS_NODE_ROOT, &mode, &st), 0);
	cr_assert_eq(st.st_nlink, 11);
	cr_assert_eq(ofs_tree_walk(t, "", &e), 0);
	cr_assert_eq(e.attr.st_nlink, 11);
}

Test(tree_names, a_listing_with_attributes_takes_references)
{
	ofs_node f = make(cache, "f");
	struct stat st;

	ofs_tree_forget(t, f, 1);
	list(cache, 0, false, 99, &got);
	list(cache, 0, true, 2, &got);
	list(cache, 0, true, 99, &got);
	cr_assert_eq(got.n, 3);
	cr_assert_eq(ofs_tree_unlink(t, cache, "f"), 0);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), 0, "the listing holds it");
	ofs_tree_forget(t, f, 1);
	cr_assert_eq(ofs_tree_getattr(t, f, &st), -ENOENT, "only the entry that was taken counts");
}

Test(tree_names, changes_show_in_the_times_of_the_directory)
{
	ofs_node d = make_dir(cache, "d");
	struct stat before = attr_of(d), after;

	make(d, "f");
	after = attr_of(d);
	cr_assert(after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
		  after.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
	before = after;
	cr_assert_eq(ofs_tree_unlink(t, d, "f"), 0);
	after = attr_of(d);
	cr_assert(after.st_mtim.tv_sec > before.st_mtim.tv_sec ||
		  after.st_mtim.tv_nsec > before.st_mtim.tv_nsec);
	reopen();
	cr_assert_eq(attr_of(d).st_mtim.tv_nsec, after.st_mtim.tv_nsec);
}
