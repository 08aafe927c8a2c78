/* SPDX-License-Identifier: MIT */
/* Checks before a mount, with an error message for each that fails. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

/* /dev/fuse exists and may be opened. */
int ofs_device_check(struct ofs_error *err);

/*
 * `path` must be an empty directory that is not mounted; the mount of a daemon that was killed is
 * removed first. `store` must not lie below it.
 */
int ofs_mountpoint_prepare(const char *path, const char *store, struct ofs_error *err);

/* The mount of a daemon that died is there. */
bool ofs_mountpoint_is_dead(const char *path);

/* Unmounts it. False: there is none, or it cannot be unmounted. */
bool ofs_mountpoint_clear(const char *path);
