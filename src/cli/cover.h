/* SPDX-License-Identifier: MIT */
/*
 * Hides from a sandbox what it must not see of a store, by mounting over it. The process must be
 * alone in a user, a mount and a PID namespace of its own, and have all capabilities in them.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include <offloadfs/error.h>

/* All pointers are borrowed. */
struct ofs_cover {
	const char *mountpoint; /* of the tree that the agent's tree replaces */
	const char *tree; /* the agent's directory in that tree: "agents/a" */
	const char *store; /* without symbolic links */
	struct stat store_attr; /* of the store; st_ino 0: it cannot be seen here anyway */
	const char *servers; /* has sockets and tokens of servers of the store; may be missing */
	bool root; /* the sandbox is for root */
};

/*
 * Puts the agent's tree onto the mount point, and a new /proc onto the old one. Covers every other
 * mount of the tree, the store and `servers` wherever a mount shows them, other mounts of proc, and
 * fusectl, which can end the daemon's connection. Filesystems that let their users control the
 * kernel become read-only. Before it reports success, it checks that nothing is still visible.
 * Returns 0, or -errno with the reason in `err`.
 *
 * Not covered, because no mount shows them: the files of another filesystem that the store's
 * filesystem lies on or is exported from (the image of a disk, a directory that is a layer of an
 * overlay), and copies of the store.
 */
int ofs_cover_make(const struct ofs_cover *c, struct ofs_error *err);

/* For root: makes /proc read-only, after a user namespace has locked the covers. 0 or -errno. */
int ofs_cover_close_proc(struct ofs_error *err);
