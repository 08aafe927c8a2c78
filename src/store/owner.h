/* SPDX-License-Identifier: MIT */
/* One owner a store: the file `lock`, locked while the store is open, says who it is. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

/* The lock file's one line: "<pid> <mount point or ->\n". */
struct ofs_owner {
	long pid; /* 0: the file names none */
	char mountpoint[4096];
};

/* Whom the lock file of the store in `dirfd` names; whether they hold the lock it does not say. */
void ofs_owner_read(int dirfd, struct ofs_owner *ret);

/*
 * Locks the store and writes down this process and its mount point (NULL: none). Waits for an owner
 * that holds the store only for a moment: one without a mount point, or one whose mount has gone
 * and that is closing. Returns the descriptor that holds the lock; -EBUSY with a message that says
 * what to do.
 */
int ofs_owner_acquire(int dirfd, const char *path, const char *mountpoint, struct ofs_error *err);

/*
 * Keeps owners away for as long as the descriptor that it returns is open, and writes nothing; so
 * may several. -ENOENT: no owner ever was.
 */
int ofs_owner_keep_away(int dirfd, const char *path, struct ofs_error *err);

/*
 * Lets go of the lock; sets *fd to -1. A negative one is left alone. The file is emptied at a
 * `clean` end alone: the line that is left tells whoever comes next that there was none.
 */
void ofs_owner_release(int *fd, bool clean);
