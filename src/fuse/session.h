/* SPDX-License-Identifier: MIT */
/* One mount of one tree, from opening the store to closing it. */
#pragma once

#include "fuse/options.h"

struct ofs_session;

/* Parses the mount options; opens nothing yet. Returns -EINVAL if one of them is wrong. */
int ofs_session_create(struct ofs_options *o, struct ofs_error *err, struct ofs_session **ret);

/*
 * Opens the store and mounts it, with `replaces` in place of a dead mount. `o` is borrowed until
 * the session is destroyed. Returns 0, -errno, or 1 if a signal asked to stop before there was a
 * mount, or if somebody unmounted the dead one. Unless it returns 0, destroying the session leaves
 * nothing mounted or locked. From here on, a thread handles the signals that ask to stop.
 */
int ofs_session_mount(struct ofs_session *s, const struct ofs_options *o, bool replaces,
		      struct ofs_error *err);

/* Serves requests until the tree is unmounted or a signal asks to stop. 0 or -errno. */
int ofs_session_serve(struct ofs_session *s);

/* Unmounts, writes the last checkpoint and frees; -errno if that failed. NULL is allowed. */
int ofs_session_destroy(struct ofs_session *s);
