/* SPDX-License-Identifier: MIT */
/* Clocks, and how a test controls them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/util.h"

#define YEAR (365 * 86400 * OFS_NS_PER_S)
#define SLACK (60 * OFS_NS_PER_S) /* tolerates a test that is held up */

static char path[] = "/tmp/ofs-test-XXXXXX";

static void teardown(void)
{
	unlink(path);
}

TestSuite(base_clock, .fini = teardown);

static int64_t machine(clockid_t id)
{
	struct timespec ts;

	cr_assert_eq(clock_gettime(id, &ts), 0);
	return ts.tv_sec * OFS_NS_PER_S + ts.tv_nsec;
}

static void expect_near(int64_t t, int64_t want)
{
	cr_assert(labs(t - want) < SLACK, "%ld instead of %ld", t, want);
}

Test(base_clock, without_control_they_are_the_machines)
{
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME));
	expect_near(ofs_clock_boot(), machine(CLOCK_MONOTONIC));
	expect_near(ofs_clock_monotonic(), machine(CLOCK_MONOTONIC));
	cr_assert_eq(ofs_clock_rate(), 1);
}

Test(base_clock, offsets_move_wall_and_boot_clock)
{
	struct ofs_clock_control c = { .wall_offset = YEAR };
	int64_t boot;

	ofs_clock_set_control(&c);
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME) + YEAR);
	expect_near(ofs_clock_boot(), machine(CLOCK_MONOTONIC));
	c.wall_offset = -YEAR;
	c.boot_offset = YEAR;
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME) - YEAR);
	boot = ofs_clock_boot();
	expect_near(boot, machine(CLOCK_MONOTONIC) + YEAR);
	expect_near(ofs_clock_monotonic(), machine(CLOCK_MONOTONIC));
	c.boot_offset = 0;
	cr_assert_eq(ofs_clock_boot(), boot, "it stands instead of running backwards");
	c.boot_offset = 2 * YEAR;
	expect_near(ofs_clock_boot(), machine(CLOCK_MONOTONIC) + 2 * YEAR);
	ofs_clock_set_control(NULL);
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME));
	expect_near(ofs_clock_boot(), machine(CLOCK_MONOTONIC));
}

Test(base_clock, a_rate_counts_from_the_start)
{
	struct ofs_clock_control c = { .rate = 1000000 };
	int64_t start = machine(CLOCK_MONOTONIC), wall, boot;

	ofs_clock_set_control(&c);
	cr_assert_eq(ofs_clock_rate(), 1000000);
	while (machine(CLOCK_MONOTONIC) - start < 10 * OFS_NS_PER_MS)
		;
	wall = ofs_clock_wall();
	boot = ofs_clock_boot();
	cr_assert_gt(boot - start, 5000 * OFS_NS_PER_S);
	cr_assert_gt(wall - machine(CLOCK_REALTIME), 5000 * OFS_NS_PER_S);
	expect_near(ofs_clock_monotonic(), machine(CLOCK_MONOTONIC));
	c.rate = -3;
	cr_assert_eq(ofs_clock_rate(), 1);
	cr_assert_geq(ofs_clock_boot(), boot);
	c.rate = 0;
	cr_assert_eq(ofs_clock_rate(), 1);
}

static void put_numbers(FILE *f, int64_t wall, int64_t boot, int64_t rate)
{
	uint8_t bytes[24];

	ofs_put_le64(bytes, (uint64_t)wall);
	ofs_put_le64(bytes + 8, (uint64_t)boot);
	ofs_put_le64(bytes + 16, (uint64_t)rate);
	rewind(f);
	cr_assert_eq(fwrite(bytes, 1, sizeof(bytes), f), sizeof(bytes));
	cr_assert_eq(fflush(f), 0);
}

Test(base_clock, a_file_changes_them_while_they_are_used)
{
	int fd = mkstemp(path);
	FILE *f = fdopen(fd, "w");

	cr_assert_not_null(f);
	cr_assert_eq(ofs_clock_control_from_file(path), -EINVAL, "it is empty");
	cr_assert_eq(ofs_clock_control_from_file("/nowhere/clock"), -ENOENT);
	put_numbers(f, 0, 0, 0);
	cr_assert_eq(ofs_clock_control_from_file(path), 0);
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME));
	put_numbers(f, -YEAR, YEAR, 7);
	cr_assert_eq(ofs_clock_rate(), 7);
	put_numbers(f, -YEAR, YEAR, 1);
	expect_near(ofs_clock_wall(), machine(CLOCK_REALTIME) - YEAR);
	expect_near(ofs_clock_boot(), machine(CLOCK_MONOTONIC) + YEAR);
	fclose(f);
}

Test(base_clock, seconds_are_rounded_down)
{
	cr_assert_eq(ofs_seconds(0), 0);
	cr_assert_eq(ofs_seconds(OFS_NS_PER_S - 1), 0);
	cr_assert_eq(ofs_seconds(OFS_NS_PER_S), 1);
	cr_assert_eq(ofs_seconds(-1), -1);
	cr_assert_eq(ofs_seconds(-OFS_NS_PER_S), -1);
}
