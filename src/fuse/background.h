/* SPDX-License-Identifier: MIT */
/*
 * Takes the daemon to the background and keeps it there: a keeper, the daemon's parent, starts a
 * new one when it dies.
 */
#pragma once

#include <stdbool.h>

struct ofs_background {
	int ready; /* pipe to the starting process; -1: in the foreground */
	bool replaces; /* this daemon takes the place of one that died */
};

#define OFS_BACKGROUND_INIT \
	{                   \
		-1, false   \
	}

/*
 * Goes to the background. No thread may exist yet. The starting process waits for
 * ofs_background_ready() and then exits with 0. If the daemon ends first, it exits with the status
 * of the daemon, 128 + N for signal N, and never with 0.
 *
 * `kept` is the mount point, or NULL for a daemon without a keeper. The keeper starts a new daemon
 * if one has ended and left a dead mount there, unless it ended with 0 or was asked to stop. The
 * pauses before new starts grow. The keeper gives up after several deaths in a row, each of a
 * daemon less than a minute old. It passes on SIGTERM, SIGINT and SIGHUP.
 *
 * Returns 0 in each daemon and in no other process, or -errno.
 */
int ofs_background_enter(const char *kept, struct ofs_background *ret);

/*
 * Reports that the tree is mounted: to the starting process, after letting go of the terminal; or,
 * in the foreground, to a service manager that waits for it (sd_notify(3)). 0 or -errno.
 */
int ofs_background_ready(struct ofs_background *b);
