/* SPDX-License-Identifier: MIT */
/*
 * What a sandbox must not see of a store, covered by mounts. For a process that is alone in a user,
 * a mount and a PID namespace of its own, and has all capabilities in them.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include <offloadfs/error.h>

/* All borrowed. */
struct ofs_cover {
	const char *mountpoint; /* of the tree that the agent's takes the place of */
	const char *tree; /* the agent's directory in it: "agents/a" */
	const char *store; /* without symbolic links */
	struct stat store_attr; /* of that directory; st_ino 0: it is not to be seen here anyhow */
	bool root; /* the sandbox is for root */
};

/*
 * Puts the agent's tree onto the mountpoint and a new /proc onto the old one. Covers every other
 * mount of the tree, the store wherever a mount shows it, other mounts of proc, and fusectl, which
 * can end the daemon's connection. What the kernel lets its users change by files becomes
 * read-only. Then looks again, so that nothing it tells of success with is still to be seen. 0, or
 * -errno with the reason in `err`.
 *
 * Not covered, as no mount tells of it: the files of another filesystem that the store's lies on or
 * is exported from (a disk's image, a directory that is an overlay's layer), and copies of the store.
 */
int ofs_cover_make(const struct ofs_cover *c, struct ofs_error *err);

/* For root, after the user namespace that locks what ofs_cover_make() did: closes /proc to writing. */
int ofs_cover_close_proc(struct ofs_error *err);
