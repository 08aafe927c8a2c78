/* SPDX-License-Identifier: MIT */
/*
 * A copy of the index for a store that is only read: SQLite brings an index that was not closed up
 * to date by writing to it.
 */
#pragma once

#include <offloadfs/error.h>

/*
 * Copies the index of the store `dirfd` to a new directory of the user's own below $TMPDIR, or
 * /tmp. *ret is its path, allocated, and set on an error as well once the directory is there.
 */
int ofs_index_copy_make(int dirfd, struct ofs_error *err, char **ret);

/* Removes the directory, with a search index in it, and sets *dir to NULL, which is allowed. */
void ofs_index_copy_remove(char **dir);
