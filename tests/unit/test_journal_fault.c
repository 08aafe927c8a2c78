/* SPDX-License-Identifier: MIT */
/* The journal on a full or failing disk, and when its process is killed. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "test_journal_fixture.h"

static char log_path[300];

static void setup(void)
{
	fixture_setup();
	snprintf(log_path, sizeof(log_path), "%s/failpoints", dir);
	setenv("OFS_FAILPOINT_LOG", log_path, 1);
}

TestSuite(journal_fault, .init = setup, .fini = fixture_teardown);

static void check_reached(const char *expected)
{
	char text[400] = "";
	FILE *f = fopen(log_path, "r");

	cr_assert_not_null(f, "no failpoint was reached");
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	cr_assert_str_eq(text, expected);
}

Test(journal_fault, failed_append_leaves_the_log_as_it_was)
{
	ofs_lsn end;

	setenv("OFS_FAILPOINT", "io.pwritev=enospc@3", 1);
	open_journal(8);
	append_some(2);
	end = ofs_journal_end(journal);
	cr_assert_eq(fixture_append(99, 100), -ENOSPC);
	check_reached("io.pwritev=enospc@3\n");
	cr_assert_eq(ofs_journal_end(journal), end);
	append_some(3);
	cr_assert_eq(appended.at[2].lsn, end);
	close_journal();
	open_journal(8);
	check_replayed(0, 5, 0);
}

Test(journal_fault, segment_that_cannot_be_made)
{
	ofs_lsn end;

	setenv("OFS_FAILPOINT", "io.pwrite=enospc@2", 1);
	open_journal(8);
	append_some(2);
	ofs_journal_set_segment_size(journal, 1);
	end = ofs_journal_end(journal);
	cr_assert_eq(fixture_append(99, 100), -ENOSPC);
	check_reached("io.pwrite=enospc@2\n");
	cr_assert_eq(ofs_journal_end(journal), end);
	cr_assert_not(segment_exists(end));
	append_some(3);
	cr_assert(segment_exists(end));
	close_journal();
	open_journal(8);
	check_replayed(0, 5, 0);
}

/* What is left of it must not hide what follows in the segment before. */
Test(journal_fault, segment_that_can_be_neither_made_nor_removed)
{
	ofs_lsn end;

	setenv("OFS_FAILPOINT", "io.pwrite=enospc@2,io.unlink=eio@1", 1);
	open_journal(8);
	append_some(2);
	ofs_journal_set_segment_size(journal, 1);
	end = ofs_journal_end(journal);
	cr_assert_eq(fixture_append(99, 100), -ENOSPC);
	cr_assert(segment_exists(end));
	ofs_journal_set_segment_size(journal, 1 << 20);
	append_some(3);
	close_journal();
	open_journal(8);
	check_replayed(0, 5, 0);
	check_reached("io.pwrite=enospc@2\nio.unlink=eio@1\n");
	cr_assert_not(segment_exists(end));
}

/* If its name came back after a power failure, it would hide what follows in the segment before. */
Test(journal_fault, the_name_of_a_segment_that_cannot_be_made_is_removed_durably)
{
	setenv("OFS_FAILPOINT", "io.pwrite=enospc@2,io.sync=eio@2", 1);
	open_journal(8);
	append_some(2);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	ofs_journal_set_segment_size(journal, 1);
	cr_assert_eq(fixture_append(99, 100), -ENOSPC);
	ofs_journal_set_segment_size(journal, 1 << 20);
	append_some(1);
	cr_assert_eq(ofs_journal_sync(journal), -EIO);
	check_reached("io.pwrite=enospc@2\nio.sync=eio@2\n");
}

/* A sync succeeds without zeros written ahead, and the next ones do not try to write them again. */
Test(journal_fault, no_room_to_write_ahead)
{
	uint32_t i;

	setenv("OFS_FAILPOINT", "io.zero=enospc", 1);
	open_journal(8);
	for (i = 0; i < 10; i++) {
		append_some(1);
		cr_assert_eq(ofs_journal_sync(journal), 0);
		cr_assert_eq(8 + segment_file_size(8), ofs_journal_end(journal));
	}
	check_reached("io.zero=enospc@1\n");
	close_journal();
	open_journal(8);
	check_replayed(0, 10, 0);
}

Test(journal_fault, failed_append_gives_back_what_is_ahead)
{
	setenv("OFS_FAILPOINT", "io.pwritev=enospc@3", 1);
	open_journal(8);
	append_some(2);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	cr_assert_gt(8 + segment_file_size(8), ofs_journal_end(journal));
	cr_assert_eq(fixture_append(99, 100), -ENOSPC);
	cr_assert_eq(8 + segment_file_size(8), ofs_journal_end(journal));
	append_some(3);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 5, 0);
}

/* Leftover bytes after the end of a segment, where the next segment has begun. */
Test(journal_fault, leftover_of_a_failed_append)
{
	struct image im;
	ofs_lsn end;

	open_journal(8);
	append_some(5);
	end = ofs_journal_end(journal);
	ofs_journal_set_segment_size(journal, 1);
	append_some(5);
	close_journal();
	im = image_load(8);
	cr_assert_eq(8 + im.len, end);
	im.data = realloc(im.data, im.len + 700);
	memset(im.data + im.len, 0x5a, 700);
	im.len += 700;
	image_store(&im, im.len);
	image_finish(&im);
	open_journal(8);
	check_replayed(0, 10, 0);
}

static void check_poisoned(void)
{
	cr_assert_eq(ofs_journal_sync(journal), -EIO);
	cr_assert_eq(ofs_journal_sync(journal), -EIO);
	cr_assert_eq(fixture_append(99, 0), -EIO);
	cr_assert_eq(ofs_journal_sync(journal), -EIO);
	cr_assert_eq(check_data(&appended.at[1]), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, 10, 0);
	append_some(1);
	cr_assert_eq(ofs_journal_sync(journal), 0);
}

Test(journal_fault, failed_sync_poisons)
{
	setenv("OFS_FAILPOINT", "io.datasync=eio@1", 1);
	open_journal(8);
	append_some(10);
	check_poisoned();
	check_reached("io.datasync=eio@1\n");
}

Test(journal_fault, failed_sync_of_the_directory_poisons)
{
	setenv("OFS_FAILPOINT", "io.sync=eio@1", 1);
	open_journal(8);
	append_some(10);
	check_poisoned();
	check_reached("io.sync=eio@1\n");
}

Test(journal_fault, poisoned_after_a_good_sync)
{
	setenv("OFS_FAILPOINT", "io.datasync=enospc@2", 1);
	open_journal(8);
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	append_some(5);
	check_poisoned();
	check_reached("io.datasync=enospc@2\n");
}

/*
 * The directory is synced once for each batch of new segments, and a segment once for each time it
 * has grown.
 */
Test(journal_fault, sync_covers_every_segment_and_the_directory)
{
	setenv("OFS_FAILPOINT", "io.datasync=eio@6,io.sync=eio@3", 1);
	open_journal(8);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	ofs_journal_set_segment_size(journal, 1);
	append_some(4);
	cr_assert_eq(ofs_journal_sync(journal), 0,
		     "more than 1 + 4 files or 2 directories were synced");
	cr_assert_eq(ofs_journal_sync(journal), 0, "there was nothing to sync");
	append_some(1);
	cr_assert_eq(ofs_journal_sync(journal), -EIO);
	check_reached("io.datasync=eio@6\n");
}

/* Appends that succeeded in the killed process, in memory shared with it. */
static uint32_t *acknowledged;

/* Runs a process until it is killed. The caller must not have used src/io before. */
static void append_until_killed(const char *failpoint, uint64_t segment_size)
{
	char reached[80];
	uint32_t i;
	int status;
	pid_t pid;

	acknowledged = mmap(NULL, sizeof(*acknowledged), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(acknowledged, MAP_FAILED);
	pid = fork();
	cr_assert_geq(pid, 0);
	if (pid == 0) {
		setenv("OFS_FAILPOINT", failpoint, 1);
		if (try_open(8) != 0)
			_exit(1);
		ofs_journal_set_segment_size(journal, segment_size);
		for (i = 0; i < 40; i++) {
			if (fixture_append(i, fixture_data_len(i)) != 0)
				_exit(2);
			++*acknowledged;
			if (i % 4 == 3 && ofs_journal_sync(journal) != 0)
				_exit(3);
		}
		_exit(0);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status), "the process ended with %d", status);
	cr_assert_eq(WTERMSIG(status), SIGKILL);
	snprintf(reached, sizeof(reached), "%s\n", failpoint);
	check_reached(reached);
}

/* Expects the acknowledged records and `more` others to be replayed, and the log to go on. */
static void check_survivors(size_t more)
{
	size_t i, n = *acknowledged + more;

	open_journal(8);
	cr_assert_eq(replayed.n, n, "%zu of %zu records came back", replayed.n, n);
	for (i = 0; i < n; i++) {
		cr_assert_eq(replayed.at[i].number, i);
		cr_assert_eq(check_data(&replayed.at[i]), 0);
	}
	appended = replayed;
	append_some(5);
	cr_assert_eq(ofs_journal_sync(journal), 0);
	close_journal();
	open_journal(8);
	check_replayed(0, n + 5, 0);
	close_journal();
	munmap(acknowledged, sizeof(*acknowledged));
}

/*
 * Each hit is a test of its own, since only a process that has not used src/io can choose its
 * failpoints.
 */
ParameterizedTestParameters(journal_fault, killed_in_append)
{
	static unsigned int hits[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 40 };

	return cr_make_param_array(unsigned int, hits, OFS_ARRAY_SIZE(hits));
}

ParameterizedTest(unsigned int *hit, journal_fault, killed_in_append)
{
	char failpoint[64];

	snprintf(failpoint, sizeof(failpoint), "io.pwritev=kill@%u", *hit);
	append_until_killed(failpoint, 300);
	cr_assert_eq(*acknowledged, *hit - 1);
	check_survivors(0);
}

ParameterizedTestParameters(journal_fault, killed_in_the_middle_of_append)
{
	static unsigned int hits[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 15, 20, 40 };

	return cr_make_param_array(unsigned int, hits, OFS_ARRAY_SIZE(hits));
}

ParameterizedTest(unsigned int *hit, journal_fault, killed_in_the_middle_of_append)
{
	char failpoint[64];

	snprintf(failpoint, sizeof(failpoint), "io.pwritev=short@%u", *hit);
	append_until_killed(failpoint, 300);
	cr_assert_eq(*acknowledged, *hit - 1);
	check_survivors(0);
}

/* A sync follows the fourth append, so later ones overwrite zeros. */
ParameterizedTestParameters(journal_fault, killed_in_append_over_zeros)
{
	static unsigned int hits[] = { 4, 5, 6, 7, 8, 9, 20, 40 };

	return cr_make_param_array(unsigned int, hits, OFS_ARRAY_SIZE(hits));
}

ParameterizedTest(unsigned int *hit, journal_fault, killed_in_append_over_zeros)
{
	char failpoint[64];

	snprintf(failpoint, sizeof(failpoint), "io.pwritev=short@%u", *hit);
	append_until_killed(failpoint, 1 << 20);
	cr_assert_eq(*acknowledged, *hit - 1);
	cr_assert(*hit == 4 || segment_file_size(8) > 60000);
	check_survivors(0);
}

Test(journal_fault, killed_before_writing_ahead)
{
	append_until_killed("io.zero=kill@1", 1 << 20);
	check_survivors(0);
}

Test(journal_fault, killed_after_writing_ahead)
{
	append_until_killed("io.zero=kill-after@1", 1 << 20);
	check_survivors(0);
}

Test(journal_fault, killed_before_a_segment_is_left)
{
	append_until_killed("io.truncate=kill@1", 3000);
	check_survivors(0);
}

Test(journal_fault, killed_as_a_segment_is_left)
{
	append_until_killed("io.truncate=kill-after@1", 3000);
	check_survivors(0);
}

Test(journal_fault, killed_after_append)
{
	append_until_killed("io.pwritev=kill-after@8", 300);
	check_survivors(1);
}

/* The first io.pwrite is the first segment's header. The others begin new segments. */
Test(journal_fault, killed_before_the_first_header)
{
	append_until_killed("io.pwrite=kill@1", 300);
	check_survivors(0);
}

Test(journal_fault, killed_within_the_first_header)
{
	append_until_killed("io.pwrite=short@1", 300);
	check_survivors(0);
}

Test(journal_fault, killed_before_a_header)
{
	append_until_killed("io.pwrite=kill@3", 300);
	check_survivors(0);
}

Test(journal_fault, killed_within_a_header)
{
	append_until_killed("io.pwrite=short@3", 300);
	check_survivors(0);
}

Test(journal_fault, killed_after_a_header)
{
	append_until_killed("io.pwrite=kill-after@3", 300);
	check_survivors(0);
}

Test(journal_fault, killed_before_the_first_sync)
{
	append_until_killed("io.datasync=kill@1", 300);
	check_survivors(0);
}

Test(journal_fault, killed_in_a_sync)
{
	append_until_killed("io.datasync=kill-after@3", 300);
	check_survivors(0);
}

/* Kills a recovery. The next one must have the same result. */
static void recover_until_killed(const char *failpoint)
{
	int status;
	pid_t pid = fork();

	cr_assert_geq(pid, 0);
	if (pid == 0) {
		unlink(log_path);
		setenv("OFS_FAILPOINT", failpoint, 1);
		_exit(try_open(8) == 0 ? 1 : 2);
	}
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_assert(WIFSIGNALED(status), "the process ended with %d", status);
}

Test(journal_fault, killed_before_the_torn_tail_is_cut)
{
	append_until_killed("io.pwritev=short@7", 1 << 20);
	recover_until_killed("io.truncate=kill@1");
	check_reached("io.truncate=kill@1\n");
	check_survivors(0);
}

Test(journal_fault, killed_after_the_torn_tail_is_cut)
{
	append_until_killed("io.pwritev=short@7", 1 << 20);
	recover_until_killed("io.truncate=kill-after@1");
	check_reached("io.truncate=kill-after@1\n");
	check_survivors(0);
}

Test(journal_fault, killed_while_later_segments_are_removed)
{
	struct image im;

	/* Nothing is synced, and the first segment loses its end. */
	append_until_killed("io.datasync=kill@1", 1);
	im = image_load(8);
	image_store(&im, im.len - 8);
	image_finish(&im);
	recover_until_killed("io.unlink=kill-after@2");
	check_reached("io.unlink=kill-after@2\n");
	*acknowledged = 0;
	check_survivors(0);
}
