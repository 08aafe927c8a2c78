/* SPDX-License-Identifier: MIT */
/*
 * Mounted trees, from the kernel's list of mounts: whole trees, and trees of agents, which
 * sandboxes and containers see as bind mounts of their directories. A bind mount of any other
 * directory is not a tree, since paths in it do not start at the root.
 */
#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "base/util.h"

struct ofs_mount {
	int id; /* mount ID as in statx(2) */
	char *device; /* device number of the filesystem, "98:0" */
	char *root; /* directory of the filesystem that is mounted; "/" for all of it */
	char *point; /* mount point, without symbolic links */
	char *type;
	unsigned long flags; /* the set ones of MS_RDONLY, MS_NOSUID, MS_NODEV and MS_NOEXEC */
	char *source; /* source as named by the daemon: the store of a tree */
	uid_t owner; /* user who mounted it */
	bool shared; /* other users have access (allow_other) */
};

struct ofs_mounts {
	struct ofs_mount *list; /* in order of mounting */
	size_t count;
	size_t cap;
};

#define OFS_MOUNTS_INIT    \
	{                  \
		NULL, 0, 0 \
	}

/*
 * Reads the trees from a file in the format of /proc/self/mountinfo (NULL: from that). 0 or -errno.
 */
int ofs_mounts_read(const char *mountinfo, struct ofs_mounts *ret);

/* As ofs_mounts_read(), with mounts of all filesystems. */
int ofs_mounts_read_all(const char *mountinfo, struct ofs_mounts *ret);
void ofs_mounts_finish(struct ofs_mounts *m);

/*
 * Return the mount at `point` or around `path`, or NULL. Paths are absolute, without symbolic
 * links.
 */
const struct ofs_mount *ofs_mounts_at(const struct ofs_mounts *m, const char *point);
const struct ofs_mount *ofs_mounts_around(const struct ofs_mounts *m, const char *path);
/*
 * Returns a mount of the whole tree of `store`, or NULL. Only root's and the caller's mounts count,
 * since anybody can name any store as the source of a mount.
 */
const struct ofs_mount *ofs_mounts_of_store(const struct ofs_mounts *m, const char *store);

/* False if the mount is gone or its daemon was killed. Waits if the daemon does not answer. */
bool ofs_mount_is_alive(const struct ofs_mount *m);

enum ofs_mount_state {
	OFS_MOUNT_ALIVE,
	OFS_MOUNT_DEAD, /* it is gone, or its daemon was killed */
	OFS_MOUNT_SILENT, /* its daemon runs but does not answer */
};

/* Default time for a mount to answer, in nanoseconds. */
#define OFS_MOUNT_WAIT_NS (2 * OFS_NS_PER_S)

/* The time for a mount to answer. Set it before there are threads. */
int64_t ofs_mount_wait(void);
void ofs_mount_set_wait(int64_t ns);

/* Asks from a child, which is left behind if the daemon does not answer in time. */
enum ofs_mount_state ofs_mount_ask(const struct ofs_mount *m);
