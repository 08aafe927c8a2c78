/* SPDX-License-Identifier: MIT */
/* One mount of one tree, from opening the store to closing it. */
#ifndef OFS_FUSE_SESSION_H
#define OFS_FUSE_SESSION_H

#include <offloadfs/tree.h>

#include "fuse/options.h"

struct ofs_session;

/* Takes the mount options in, without doing anything yet. -EINVAL: one of them is wrong. */
int ofs_session_create(struct ofs_options *o, struct ofs_error *err, struct ofs_session **ret);

/*
 * Opens the store and mounts it. After an error, destroying the session leaves nothing mounted or
 * locked.
 */
int ofs_session_mount(struct ofs_session *s, const struct ofs_options *o, struct ofs_error *err);

/* Serves requests until the tree is unmounted or a signal asks for the end. 0 or -errno. */
int ofs_session_serve(struct ofs_session *s);

/*
 * Has the kernel ask again for attributes that a request has changed without its reply telling so.
 * `tree` is the userdata of a request of the session.
 */
void ofs_session_attr_changed(struct ofs_tree *const *tree, ofs_node node);

/* Unmounts, writes the last checkpoint and frees. NULL is allowed. */
void ofs_session_destroy(struct ofs_session *s);

#endif
