/* SPDX-License-Identifier: MIT */
/* Keeping the mountpoint out of git, by the exclude file that is never committed. */
#ifndef OFS_CLI_EXCLUDE_H
#define OFS_CLI_EXCLUDE_H

/*
 * Adds `mountpoint` (absolute, in the workspace) to the exclude file of the repository that the
 * workspace lies in, once. 1: added; 0: it was there, or there is no repository; -errno.
 */
int ofs_exclude_add(const char *workspace, const char *mountpoint);

/*
 * 1: that line is there; 0: it is not, and the file and the line, allocated, are in `ret_file` and
 * `ret_line`; -ENOENT: there is no repository; or -errno.
 */
int ofs_exclude_has(const char *workspace, const char *mountpoint, char **ret_file,
		    char **ret_line);

#endif
