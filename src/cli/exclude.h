/* SPDX-License-Identifier: MIT */
/* Keeps the mount point out of git by the exclude file, which is never committed. */
#pragma once

#include "base/util.h"

struct ofs_exclude {
	char *file; /* the exclude file, which may be missing */
	char *line; /* the line that belongs there */
	bool is_there; /* the line is in the file */
	bool is_open; /* the file does not end with a newline */
};

/*
 * Finds the line that excludes `mountpoint` (absolute, in the workspace) from the workspace's
 * repository. Returns 0, -ENOENT if there is no repository, or another -errno.
 */
int ofs_exclude_find(const char *workspace, const char *mountpoint, struct ofs_exclude *ret);
void ofs_exclude_finish(struct ofs_exclude *e);

/* Adds the line if there is a repository that lacks it. 0 or -errno. */
int ofs_exclude_add(const char *workspace, const char *mountpoint);
