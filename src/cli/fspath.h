/* SPDX-License-Identifier: MIT */
/* Paths, asked of the filesystem. */
#ifndef OFS_CLI_FSPATH_H
#define OFS_CLI_FSPATH_H

#include <sys/types.h>

/*
 * Allocated: `path` made absolute and without symbolic links, as far as that can be found out: the
 * last component may be missing, and what a dead mount hides is taken as text. NULL: it needs a
 * current directory that is gone.
 */
char *ofs_fspath_real(const char *path);

/* Makes the directory and those above it that are missing. 0 or -errno. */
int ofs_fspath_make(const char *path, mode_t mode);

#endif
