/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client/workspace.h"

static char root[] = "/tmp/offload-test-XXXXXX";

static void begin(void)
{
	cr_assert(mkdtemp(root));
	cr_assert_eq(chdir(root), 0);
}

static void finish(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(system(command), 0);
}

TestSuite(client_workspace, .init = begin, .fini = finish);

static void make(const char *path)
{
	cr_assert_eq(mkdir(path, 0700), 0, "%s", path);
}

static void expect_workspace(const char *start, const char *expected,
			     const struct ofs_mounts *mounts)
{
	char from[256], want[256], *found;

	snprintf(from, sizeof(from), "%s%s", root, start);
	snprintf(want, sizeof(want), "%s%s", root, expected);
	found = ofs_workspace_find(from, mounts);
	cr_expect_str_eq(found, want);
	free(found);
}

Test(client_workspace, the_nearest_folder_with_a_mark)
{
	const struct ofs_mounts none = OFS_MOUNTS_INIT;
	FILE *git;

	make("a");
	make("a/.git");
	make("a/.git/HEAD");
	make("a/b");
	make("a/b/.offload");
	make("a/b/c");
	make("a/d");
	make("a/w");
	make("a/w/x");
	git = fopen("a/w/.git", "w"); /* as a worktree has */
	cr_assert_not_null(git);
	fclose(git);
	expect_workspace("/a", "/a", &none);
	expect_workspace("/a/d", "/a", &none);
	expect_workspace("/a/b/c", "/a/b", &none);
	expect_workspace("/a/w/x", "/a/w", &none);
}

Test(client_workspace, an_empty_folder_is_no_repository)
{
	const struct ofs_mounts none = OFS_MOUNTS_INIT;

	make("a");
	make("a/.git");
	make("a/b");
	make("a/b/.git");
	make("a/b/.git/HEAD");
	make("a/b/c");
	make("a/b/c/.git");
	make("a/d");
	expect_workspace("/a/d", "/a/d", &none);
	expect_workspace("/a/b/c", "/a/b", &none);
}

Test(client_workspace, without_a_mark_the_folder_itself)
{
	const struct ofs_mounts none = OFS_MOUNTS_INIT;

	make("plain");
	make("plain/sub");
	expect_workspace("/plain/sub", "/plain/sub", &none);
}

Test(client_workspace, inside_a_tree_the_workspace_that_holds_it)
{
	char source[] = "/store";
	struct ofs_mount mount = { .source = source };
	const struct ofs_mounts mounts = { .list = &mount, .count = 1 };
	char point[256];

	make("w");
	make("w/.offload");
	make("w/.offload/.offload"); /* as every tree has one */
	make("w/.offload/cache");
	snprintf(point, sizeof(point), "%s/w/.offload", root);
	mount.point = point;
	expect_workspace("/w/.offload/cache", "/w", &mounts);
	expect_workspace("/w/.offload", "/w", &mounts);
}

Test(client_workspace, stores)
{
	struct ofs_error err;
	char *store;

	setenv("XDG_DATA_HOME", "/data", 1);
	cr_assert_eq(ofs_workspace_store("/home/me/proj", &err, &store), 0);
	cr_expect_str_eq(store, "/data/offloadfs/proj-4c3b4937ddaa");
	free(store);
	setenv("XDG_DATA_HOME", "relative", 1);
	setenv("HOME", "/home/me", 1);
	cr_assert_eq(ofs_workspace_store("/home/me/proj", &err, &store), 0);
	cr_expect_str_eq(store, "/home/me/.local/share/offloadfs/proj-4c3b4937ddaa");
	free(store);
	cr_assert_eq(ofs_workspace_store("/", &err, &store), 0);
	cr_expect_str_eq(store, "/home/me/.local/share/offloadfs/root-8a5edab28263");
	free(store);
	unsetenv("HOME");
	cr_expect_eq(ofs_workspace_store("/w", &err, &store), -ENOENT);
	cr_expect(strstr(err.text, "--store"));
}

Test(client_workspace, mounts_as_the_kernel_lists_them)
{
	struct ofs_mounts mounts;
	FILE *out = fopen("mountinfo", "w");

	cr_assert_not_null(out);
	fputs("22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
	      "40 22 0:50 / /w/.offload rw,nosuid shared:7 master:2 - fuse.offloadfs /data/s1 rw\n"
	      "41 22 0:51 / /a\\040b/.offload rw - fuse.offloadfs /data/s\\1342 rw,user_id=0\n"
	      "42 22 0:52 / /other rw - fuse.sshfs host: rw\n"
	      "43 40 0:53 / /w/.offload rw - fuse.offloadfs /data/s3 rw\n"
	      "44 22 0:53 /cache/web /part rw - fuse.offloadfs /data/s3 rw\n"
	      "broken line\n",
	      out);
	fclose(out);
	cr_assert_eq(ofs_mounts_read("mountinfo", &mounts), 0);
	cr_assert_eq(mounts.count, 3);
	cr_expect_str_eq(ofs_mounts_at(&mounts, "/a b/.offload")->source, "/data/s\\2");
	cr_expect_str_eq(ofs_mounts_at(&mounts, "/w/.offload")->source, "/data/s3");
	cr_expect_str_eq(ofs_mounts_around(&mounts, "/a b/.offload/cache/x")->point,
			 "/a b/.offload");
	cr_expect_null(ofs_mounts_around(&mounts, "/w/.offloads"));
	cr_expect_null(ofs_mounts_at(&mounts, "/other"));
	cr_expect_null(ofs_mounts_at(&mounts, "/part"));
	cr_expect_str_eq(ofs_mounts_of_store(&mounts, "/data/s3")->point, "/w/.offload");
	cr_expect_null(ofs_mounts_of_store(&mounts, "/data"));
	ofs_mounts_finish(&mounts);
}
