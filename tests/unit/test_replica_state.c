/* SPDX-License-Identifier: MIT */
#include "replica/replica_state.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "io/file.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static int fd;
static struct ofs_replica_state st, back;

static void init(void)
{
	scratch_dir(dir);
	fd = open(dir, O_RDONLY | O_DIRECTORY);
	st = (struct ofs_replica_state){ .location = ofs_strdup("s3://b/p") };
}

static void finish(void)
{
	ofs_replica_state_finish(&st);
	ofs_replica_state_finish(&back);
	cr_expect_eq(ofs_replica_state_remove(fd), 0);
	close(fd);
	cr_expect_eq(rmdir(dir), 0);
}

TestSuite(replica_state, .init = init, .fini = finish);

Test(replica_state, nothing_was_replicated_yet)
{
	cr_expect_eq(ofs_replica_state_load(fd, &back), -ENOENT);
	cr_expect_eq(ofs_replica_state_remove(fd), 0);
}

Test(replica_state, nothing_is_kept_behind_a_link)
{
	struct stat s;

	cr_assert_eq(ofs_replica_state_save(fd, &st), 0);
	cr_assert_eq(renameat(fd, "remote", fd, "elsewhere"), 0);
	cr_assert_eq(symlinkat("elsewhere", fd, "remote"), 0);
	cr_expect_eq(ofs_replica_state_load(fd, &back), -ENOTDIR);
	cr_expect_eq(ofs_replica_state_save(fd, &st), -ENOTDIR);
	cr_expect_eq(ofs_replica_state_remove(fd), -ENOTDIR);
	cr_expect_eq(fstatat(fd, "elsewhere/state", &s, 0), 0);
	cr_assert_eq(unlinkat(fd, "remote", 0), 0);
	cr_assert_eq(renameat(fd, "elsewhere", fd, "remote"), 0);
}

Test(replica_state, what_is_saved_is_loaded)
{
	struct stat s;

	st.at = (struct ofs_log_place){ UINT32_MAX, UINT32_MAX, INT64_MAX };
	st.checkpoint = UINT32_MAX;
	st.deposed = st.based = true;
	st.durable = INT64_MAX;
	st.logged_to = INT64_MAX;
	for (size_t i = 0; i < OFS_WRITERS_MAX; i++) {
		st.named = false;
		cr_assert_eq(ofs_replica_state_add_writer(fd, &st), 0);
	}
	cr_assert_eq(ofs_replica_state_load(fd, &back), 0);
	cr_expect_str_eq(back.location, "s3://b/p");
	cr_expect(back.at.epoch == UINT32_MAX && back.at.seq == UINT32_MAX &&
		  back.at.lsn == INT64_MAX && back.checkpoint == UINT32_MAX && back.deposed &&
		  back.based && back.durable == INT64_MAX && back.logged_to == INT64_MAX);
	cr_expect_eq(back.nwriters, OFS_WRITERS_MAX);
	cr_expect_eq(memcmp(back.writers, st.writers, sizeof(st.writers)), 0);
	cr_expect_not(back.named, "it is of another mount");
	cr_assert_eq(fstatat(fd, "remote/state", &s, 0), 0);
	cr_expect_eq(s.st_mode & 077, 0);
}

Test(replica_state, a_mount_has_one_name)
{
	char first[OFS_WRITER_SIZE];
	struct ofs_link link = { .to = 100 };

	cr_assert_eq(ofs_replica_state_add_writer(fd, &st), 0);
	cr_assert_eq(ofs_replica_state_add_writer(fd, &st), 0);
	cr_expect_eq(st.nwriters, 1);
	memcpy(first, st.writers[0], sizeof(first));
	memcpy(link.writer, first, sizeof(first));
	cr_expect(ofs_replica_state_is_ours(&st, &link));
	/* After the mount, anything beyond what it logged is by a copy of the store. */
	st.named = false;
	st.logged_to = 99;
	cr_expect_not(ofs_replica_state_is_ours(&st, &link));
	st.logged_to = 100;
	cr_expect(ofs_replica_state_is_ours(&st, &link));
	link.writer[0] = 'x';
	cr_expect_not(ofs_replica_state_is_ours(&st, &link));
	/* Only the newest names are remembered. */
	for (size_t i = 0; i < OFS_WRITERS_MAX; i++) {
		st.named = false;
		cr_assert_eq(ofs_replica_state_add_writer(fd, &st), 0);
	}
	memcpy(link.writer, first, sizeof(first));
	cr_expect_not(ofs_replica_state_is_ours(&st, &link));
	cr_expect_eq(st.nwriters, OFS_WRITERS_MAX);
}

Test(replica_state, damage_is_told)
{
	static const char *const texts[] = {
		"",
		"[]",
		"{}",
		"null",
		"{\"location\":1}",
		"{\"location\":\"s3://b\",\"writers\":[\"short\"],\"logged_to\":0,\"epoch\":1,\"seq\":0,"
		"\"lsn\":0,\"checkpoint\":0,\"based\":false,\"deposed\":false,\"durable\":0}",
		"{\"location\":\"s3://b\",\"writers\":[[]],\"logged_to\":0,\"epoch\":1,\"seq\":0,"
		"\"lsn\":0,\"checkpoint\":0,\"based\":false,\"deposed\":false,\"durable\":0}",
		"{\"location\":\"s3://b\",\"writers\":[],\"logged_to\":0,\"epoch\":1,\"seq\":0,"
		"\"lsn\":0,\"checkpoint\":0,\"based\":0,\"deposed\":false,\"durable\":0}",
	};

	cr_assert_eq(ofs_replica_state_save(fd, &st), 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		cr_assert_eq(ofs_io_write_file(fd, "remote/state", texts[i], strlen(texts[i])), 0);
		cr_expect_eq(ofs_replica_state_load(fd, &back), -EUCLEAN, "%s", texts[i]);
		ofs_replica_state_finish(&back);
	}
}
