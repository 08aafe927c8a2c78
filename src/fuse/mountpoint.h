/* SPDX-License-Identifier: MIT */
/* What must be true before a mount is tried, said in words where it is not. */
#ifndef OFS_FUSE_MOUNTPOINT_H
#define OFS_FUSE_MOUNTPOINT_H

#include <offloadfs/error.h>

/* /dev/fuse is there and may be used. */
int ofs_device_check(struct ofs_error *err);

/*
 * `path` is an empty directory that is no mount of ours; a dead mount left by a daemon that was
 * killed is unmounted first. `store` must not lie below it.
 */
int ofs_mountpoint_prepare(const char *path, const char *store, struct ofs_error *err);

#endif
