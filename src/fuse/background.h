/* SPDX-License-Identifier: MIT */
/*
 * Going to the background, and being kept there: a keeper, the daemon's parent, starts another one
 * when it died.
 */
#pragma once

#include <stdbool.h>

struct ofs_background {
	int ready; /* the starting process is told through it; -1: we are in the foreground */
	bool replaces; /* this daemon takes the place of one that died */
};

#define OFS_BACKGROUND_INIT \
	{                   \
		-1, false   \
	}

/*
 * Goes to the background, before any thread exists. The parent stays until ofs_background_ready()
 * and then ends with 0; a daemon that ends first gives it its exit status, 128 + N for signal N.
 *
 * `kept`, the mount point, or NULL: a keeper stays between them. It starts a daemon again that ended
 * and left a dead mount there, unless it ended with 0 or was asked to end. It waits longer each
 * time, and gives up when several have died, none a minute old. SIGTERM, SIGINT and SIGHUP are
 * passed on.
 *
 * Returns in each daemon alone: 0 or -errno.
 */
int ofs_background_enter(const char *kept, struct ofs_background *ret);

/*
 * The mount stands: lets the terminal go and tells the parent; in the foreground, tells a service
 * manager that wants to know (sd_notify(3)).
 */
int ofs_background_ready(struct ofs_background *b);
