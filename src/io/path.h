/* SPDX-License-Identifier: MIT */
/*
 * Functions for paths. The caller frees strings that are not const. "Absolute" also means without
 * ".", ".." and repeated slashes.
 */
#pragma once

#include <sys/types.h>

/* Returns the part of `path` below `dir`, "" if they are equal, or NULL. Both are absolute. */
const char *ofs_path_below(const char *dir, const char *path);

/* Returns "dir/name", or `dir` if `name` is empty. */
char *ofs_path_join(const char *dir, const char *name);

/* Returns an absolute path without its last component ("/" for "/a"). */
char *ofs_path_parent(const char *path);

/* Returns the current directory, or NULL if it was removed. */
char *ofs_path_cwd(void);

/*
 * Returns `path` made absolute as text, or NULL if this needs a current directory that was removed.
 */
char *ofs_path_absolute(const char *path);

/*
 * Returns `path` made absolute and, as far as possible, without symbolic links: the last component
 * may be missing, and a path hidden by a dead mount is taken as text. NULL as above.
 */
char *ofs_path_real(const char *path);

/* Returns an absolute path in relative form if it lies below the current directory. */
char *ofs_path_display(const char *path);

/*
 * Removes ".", repeated and leading slashes from a relative path, in place. Returns -EINVAL for
 * "..", which could lead outside.
 */
int ofs_path_normalize(char *path);

/* Creates the directory and its missing parents. Returns 0 or -errno. */
int ofs_path_make(const char *path, mode_t mode);
