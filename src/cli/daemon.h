/* SPDX-License-Identifier: MIT */
/* Starting the daemon, and seeing it off. */
#ifndef OFS_CLI_DAEMON_H
#define OFS_CLI_DAEMON_H

#include <offloadfs/error.h>

/* Allocated: the daemon that belongs to this tool, or its bare name for PATH to find. */
char *ofs_daemon_program(void);

/*
 * What the daemon says to --version, one line, allocated in `ret`. -ENOENT: there is none;
 * -ETIMEDOUT: it does not answer; or -errno.
 */
int ofs_daemon_version(const char *program, char **ret);

/*
 * Mounts the store; returns once that is done. 0 or -errno; what the daemon says goes to our
 * standard error, and when it has said why it failed, the text of `err` is empty.
 */
int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err);

/* Unmounts. -EBUSY: somebody uses the tree. */
int ofs_daemon_unmount(const char *mountpoint, struct ofs_error *err);

/* Waits until nobody owns the store. -ETIMEDOUT: somebody still does. */
int ofs_daemon_wait(const char *store, struct ofs_error *err);

#endif
