/* SPDX-License-Identifier: MIT */
#include "io/lock.h"

#include <errno.h>
#include <sys/file.h>

int ofs_io_lock(int fd)
{
	return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}
