/* SPDX-License-Identifier: MIT */
/* The scratch directory of a unit test. */
#pragma once

#include <criterion/criterion.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#define SCRATCH_SIZE 32 /* bytes of the path, with its NUL */
#define SCRATCH_ROOM (1ull << 30)

/*
 * Creates a directory and writes its path to dir. It is in memory if there is room, since tests
 * that damage every byte or die at every call write and sync the same few files thousands of times.
 */
static inline void scratch_dir(char dir[SCRATCH_SIZE])
{
	struct statvfs fs;
	bool in_memory = statvfs("/dev/shm", &fs) == 0 &&
			 (uint64_t)fs.f_bavail * fs.f_frsize >= SCRATCH_ROOM;

	snprintf(dir, SCRATCH_SIZE, "%s/ofs-test-XXXXXX", in_memory ? "/dev/shm" : "/tmp");
	cr_assert_not_null(mkdtemp(dir));
}
