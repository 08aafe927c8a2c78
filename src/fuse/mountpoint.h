/* SPDX-License-Identifier: MIT */
/* Checks before a mount. Each sets an error message. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

/* Checks that /dev/fuse exists and can be opened. 0 or -errno. */
int ofs_device_check(struct ofs_error *err);

/*
 * Checks that `path` is an empty directory that is not mounted, and that `store` does not lie below
 * it. The mount of a daemon that was killed is removed first. 0 or -errno.
 */
int ofs_mountpoint_prepare(const char *path, const char *store, struct ofs_error *err);

/* Returns true if `path` is the mount of a daemon that died. */
bool ofs_mountpoint_is_dead(const char *path);

/* Unmounts a dead mount. Returns false if there is none, or if it cannot be unmounted. */
bool ofs_mountpoint_clear(const char *path);
