/* SPDX-License-Identifier: MIT */
#ifndef OFS_IO_LOCK_H
#define OFS_IO_LOCK_H

/*
 * Takes the exclusive lock of an open file without waiting; it lasts until every copy of the
 * descriptor is closed, so the kernel frees it when the process dies. -EWOULDBLOCK: somebody else
 * has it.
 */
int ofs_io_lock(int fd);

#endif
