/* SPDX-License-Identifier: MIT */
/* Where a unit test has its files. */
#pragma once

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define SCRATCH_SIZE 32 /* bytes of its name */
#define SCRATCH_ROOM (1ull << 30)

/*
 * Makes a directory, in memory where there is room: the tests that damage each byte or die at each
 * call write and sync the same few files thousands of times.
 */
static inline void scratch_dir(char dir[SCRATCH_SIZE])
{
	struct statvfs fs;
	bool in_memory = statvfs("/dev/shm", &fs) == 0 &&
			 (uint64_t)fs.f_bavail * fs.f_frsize >= SCRATCH_ROOM;

	snprintf(dir, SCRATCH_SIZE, "%s/ofs-test-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
	cr_assert_not_null(mkdtemp(dir));
}
