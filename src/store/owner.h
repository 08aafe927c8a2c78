/* SPDX-License-Identifier: MIT */
/* A store has one owner at a time: the file `lock`, locked while the store is open, names it. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

/* The lock file's one line: "<pid> <mount point or ->\n". */
struct ofs_owner {
	long pid; /* 0: the file names no owner */
	char mountpoint[4096];
};

/* Reads whom the lock file of the store in `dirfd` names. They need not hold the lock. */
void ofs_owner_read(int dirfd, struct ofs_owner *ret);

/*
 * Locks the store and records this process and its mount point (NULL: none). Waits for an owner
 * that is about to end: one without a mount point, or one whose mount has gone. Returns the
 * descriptor that holds the lock, or -errno with a message; -EBUSY if the store stays in use.
 */
int ofs_owner_acquire(int dirfd, const char *path, const char *mountpoint, struct ofs_error *err);

/*
 * Keeps owners away while the returned descriptor is open, and writes nothing. Several processes
 * may do so at once. -ENOENT: the store never had an owner; else as ofs_owner_acquire().
 */
int ofs_owner_keep_away(int dirfd, const char *path, struct ofs_error *err);

/*
 * Releases the lock and sets *fd to -1; a negative *fd is left alone. Only a `clean` end empties
 * the file: a line that is left tells the next owner that the last one did not end cleanly.
 */
void ofs_owner_release(int *fd, bool clean);
