/* SPDX-License-Identifier: MIT */
/* Keeping the mountpoint out of git, by the exclude file that is never committed. */
#pragma once

#include "base/util.h"

struct ofs_exclude {
	char *file; /* which may be missing */
	char *line; /* that belongs there */
	bool is_there; /* the line is in the file */
	bool is_open; /* the file does not end with a newline */
};

/*
 * Looks for the line that excludes `mountpoint` (absolute, in the workspace) from the repository
 * that the workspace lies in. 0; -ENOENT: there is no repository; or -errno.
 */
int ofs_exclude_find(const char *workspace, const char *mountpoint, struct ofs_exclude *ret);
void ofs_exclude_finish(struct ofs_exclude *e);

/* Adds the line, once, if there is a repository. 0 or -errno. */
int ofs_exclude_add(const char *workspace, const char *mountpoint);
