/* SPDX-License-Identifier: MIT */
/*
 * Paths. What is returned is allocated; "absolute" means without ".", ".." and doubled slashes,
 * too.
 */
#pragma once

#include <sys/types.h>

/* Both absolute. The rest of `path` below `dir`, "" when they are equal; NULL: not below it. */
const char *ofs_path_below(const char *dir, const char *path);

/* "dir/name"; `dir` itself when `name` is empty. */
char *ofs_path_join(const char *dir, const char *name);

/* All but the last component ("/" for "/a") of an absolute path. */
char *ofs_path_parent(const char *path);

/* The current directory; NULL when it is gone. */
char *ofs_path_cwd(void);

/* `path` made absolute as text alone; NULL when it needs a current directory that is gone. */
char *ofs_path_absolute(const char *path);

/*
 * `path` made absolute and without symbolic links, as far as possible: the last component may be
 * missing, and components that a dead mount hides are taken as text. NULL as above.
 */
char *ofs_path_real(const char *path);

/*
 * An absolute path as it may be written in the current directory: relative when it lies below it.
 */
char *ofs_path_display(const char *path);

/*
 * Removes ".", doubled and leading slashes from a relative path, in place. -EINVAL: it has "..",
 * which could lead out of its start.
 */
int ofs_path_normalize(char *path);

/* Makes the directory and those above it that are missing. 0 or -errno. */
int ofs_path_make(const char *path, mode_t mode);
