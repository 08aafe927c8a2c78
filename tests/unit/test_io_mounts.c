/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <sys/mount.h>

#include "io/mounts.h"

static const char table[] =
	"27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n"
	"30 27 0:39 / /home/ann/work/.offload rw,nosuid,nodev shared:5 - fuse.offloadfs "
	"/home/ann/store rw,user_id=1000,group_id=1000\n"
	"31 27 0:39 /agents/a\\040b /srv/one ro,nosuid,nodev,noexec - fuse.offloadfs "
	"/home/ann/store rw,user_id=1000,group_id=1000,allow_other\n"
	"32 27 0:39 /agents/a/agents/b /srv/two rw - fuse.offloadfs /home/ann/store rw\n"
	"33 27 0:39 /cache /srv/three rw - fuse.offloadfs /home/ann/store rw\n"
	"34 27 0:39 /agents/a/cache /srv/four rw - fuse.offloadfs /home/ann/store rw\n"
	"35 27 0:39 /agents /srv/five rw - fuse.offloadfs /home/ann/store rw\n"
	"a broken line\n";

static struct ofs_mounts read_table(int (*reads)(const char *, struct ofs_mounts *))
{
	char path[] = "/tmp/mounts-XXXXXX";
	int fd = mkstemp(path);
	struct ofs_mounts m;

	cr_assert(fd >= 0 && write(fd, table, strlen(table)) == (ssize_t)strlen(table));
	close(fd);
	cr_assert_eq(reads(path, &m), 0);
	unlink(path);
	return m;
}

Test(io_mounts, trees_are_whole_ones_and_those_of_agents)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts m = read_table(ofs_mounts_read);

	cr_assert_eq(m.count, 3u);
	cr_expect_str_eq(m.list[0].root, "/");
	cr_expect_str_eq(m.list[1].root, "/agents/a b");
	cr_expect_str_eq(m.list[2].root, "/agents/a/agents/b");
	cr_expect_eq(m.list[0].owner, 1000u);
	cr_expect(!m.list[0].shared && m.list[1].shared);
}

Test(io_mounts, all_of_them_with_what_tells_them_apart)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts m = read_table(ofs_mounts_read_all);

	cr_assert_eq(m.count, 7u);
	cr_expect_eq(m.list[0].id, 27);
	cr_expect_str_eq(m.list[0].device, "254:0");
	cr_expect_str_eq(m.list[0].type, "ext4");
	cr_expect_eq(m.list[0].flags, 0u);
	cr_expect_eq(m.list[2].flags,
		     (unsigned long)(MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC));
}

/* A store's path stands for its whole tree, not for an agent's part of it mounted later. */
Test(io_mounts, the_mount_of_a_store_is_a_whole_one)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts m = read_table(ofs_mounts_read);
	const struct ofs_mount *found;

	m.list[0].owner = geteuid();
	found = ofs_mounts_of_store(&m, "/home/ann/store");
	cr_assert(found == &m.list[0]);
	cr_expect(ofs_mounts_at(&m, "/srv/one") == &m.list[1]);
	cr_expect(ofs_mounts_around(&m, "/srv/two/cache/x") == &m.list[2]);
	cr_expect_null(ofs_mounts_around(&m, "/srv/three/x"));
}
