/* SPDX-License-Identifier: MIT */
/*
 * The mounted trees, from the kernel's list: whole ones, and those of an agent, which a sandbox or a
 * container has as a bind mount of its directory. A bind mount of another directory is no tree:
 * paths in it do not start at the root.
 */
#pragma once

#include <sys/types.h>

#include "base/clock.h"
#include "base/util.h"

struct ofs_mount {
	int id; /* as statx(2) gives it */
	char *device; /* of its filesystem, "98:0" */
	char *root; /* the part of the filesystem that it shows, "/" for all */
	char *point; /* without symbolic links */
	char *type;
	unsigned long flags; /* MS_RDONLY, MS_NOSUID, MS_NODEV and MS_NOEXEC as they are set */
	char *source; /* of a tree: the store; what the daemon named it */
	uid_t owner; /* who mounted it */
	bool shared; /* other users come in */
};

struct ofs_mounts {
	struct ofs_mount *list; /* in the order of mounting */
	size_t count;
	size_t cap;
};

#define OFS_MOUNTS_INIT    \
	{                  \
		NULL, 0, 0 \
	}

/* Reads a file in the form of /proc/self/mountinfo (NULL: that file itself). 0 or -errno. */
int ofs_mounts_read(const char *mountinfo, struct ofs_mounts *ret);

/* The same with all other filesystems' mounts. */
int ofs_mounts_read_all(const char *mountinfo, struct ofs_mounts *ret);
void ofs_mounts_finish(struct ofs_mounts *m);

/* Each NULL when there is none. The paths are absolute and without symbolic links. */
const struct ofs_mount *ofs_mounts_at(const struct ofs_mounts *m, const char *point);
const struct ofs_mount *ofs_mounts_around(const struct ofs_mounts *m, const char *path);
/*
 * A whole tree, and only root's or the caller's: whoever mounts something can name any store as its
 * source.
 */
const struct ofs_mount *ofs_mounts_of_store(const struct ofs_mounts *m, const char *store);

/* False for one that has gone, or whose daemon was killed. Waits for one that does not answer. */
bool ofs_mount_is_alive(const struct ofs_mount *m);

enum ofs_mount_state {
	OFS_MOUNT_ALIVE,
	OFS_MOUNT_DEAD, /* it has gone, or its daemon was killed */
	OFS_MOUNT_SILENT, /* its daemon is there and does not answer */
};

/* How long a mount may take to answer unless another time is set, in nanoseconds. */
#define OFS_MOUNT_WAIT_NS (2 * OFS_NS_PER_S)

/* That time, and setting it, which is to be done before there are threads. */
int64_t ofs_mount_wait(void);
void ofs_mount_set_wait(int64_t ns);

/* The same from a child, which is left to wait. */
enum ofs_mount_state ofs_mount_ask(const struct ofs_mount *m);
