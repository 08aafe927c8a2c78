/* SPDX-License-Identifier: MIT */
/*
 * A copy of the index for a store that is only read: SQLite writes to an index that was not closed
 * cleanly, to bring it up to date.
 */
#pragma once

#include <offloadfs/error.h>

/*
 * Copies the index of the store `dirfd` to a new private directory below $TMPDIR or /tmp. *ret is
 * its path, which ofs_index_copy_remove() frees; it is set on an error as well once the directory
 * exists. 0 or -errno, with a message.
 */
int ofs_index_copy_make(int dirfd, struct ofs_error *err, char **ret);

/* Removes the directory, a search index in it included, and sets *dir (may be NULL) to NULL. */
void ofs_index_copy_remove(char **dir);
