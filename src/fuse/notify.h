/* SPDX-License-Identifier: MIT */
/*
 * What the kernel is told without having asked. These may be called from any thread; none but
 * ofs_notify_stop() waits for a request to be served.
 */
#ifndef OFS_FUSE_NOTIFY_H
#define OFS_FUSE_NOTIFY_H

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_notify;

/* The kernel is told nothing before ofs_notify_start(). */
struct ofs_notify *ofs_notify_create(void);

/*
 * The mount stands: begins to tell. `fuse` is borrowed until ofs_notify_finish(). 0 or -errno. After
 * ofs_notify_stop() nothing but attributes is told of.
 */
int ofs_notify_start(struct ofs_notify *n, struct fuse_session *fuse);

/* The attributes of a node, not its content, changed: tells it at once. */
void ofs_notify_attr(struct ofs_notify *n, ofs_node node);

/*
 * Queues that the kernel is to let go of the content and the attributes of `node`, and of its name
 * `name` in `parent`, which is copied. When it is in use, that name and its content go after a second.
 * Ignored unless started, and once stopped.
 */
void ofs_notify_release(struct ofs_notify *n, ofs_node node, ofs_node parent, const char *name);

/*
 * Drops what is queued and waits for the one that is on its way: requests must be served until
 * then, or the connection be over. From then on only attributes are told of. May be called more than
 * once, by several threads.
 */
void ofs_notify_stop(struct ofs_notify *n);

/* To be called after ofs_notify_stop(): nothing is told any more, and nothing is on its way. */
void ofs_notify_finish(struct ofs_notify *n);

/* NULL is allowed. To be stopped before. */
void ofs_notify_destroy(struct ofs_notify *n);

#endif
