/* SPDX-License-Identifier: MIT */
/* Starting the daemon, and seeing it off. */
#ifndef OFS_CLI_DAEMON_H
#define OFS_CLI_DAEMON_H

#include <offloadfs/error.h>

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
