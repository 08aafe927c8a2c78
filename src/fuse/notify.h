/* SPDX-License-Identifier: MIT */
/*
 * Notifications to the kernel. These functions may be called from any thread; only
 * ofs_notify_stop() waits for a request to be served.
 */
#pragma once

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_notify;

/* No notification is sent before ofs_notify_start(). */
struct ofs_notify *ofs_notify_create(void);

/*
 * To be called once the tree is mounted. `fuse` and `tree` are borrowed until ofs_notify_finish().
 * 0 or -errno.
 */
int ofs_notify_start(struct ofs_notify *n, struct fuse_session *fuse, const struct ofs_tree *tree);

/* Tells the kernel at once that the attributes of a node, not its content, changed. */
void ofs_notify_attr(struct ofs_notify *n, ofs_node node);

/*
 * Queues a request to the kernel to drop the content and attributes of `node` from its caches, and
 * its name `name` (copied) in `parent`. If the node is in use, that name and its content are
 * dropped after a second. `node` 0: the name, which may be remembered as absent. Ignored before the start and after the stop.
 */
void ofs_notify_release(struct ofs_notify *n, ofs_node node, ofs_node parent, const char *name);

/*
 * Queues a request to the kernel to drop its copy of a file's content, or of a directory's listing,
 * and the attributes. The same limits.
 */
void ofs_notify_content(struct ofs_notify *n, ofs_node node);

/*
 * Empties the queue and waits for a notification that is on its way: requests must be served until
 * then, unless the connection is over. Afterwards only changes of attributes are sent. May be
 * called more than once, by several threads.
 */
void ofs_notify_stop(struct ofs_notify *n);

/* Ends the notifications of attributes as well; none is on its way any more. After the stop. */
void ofs_notify_finish(struct ofs_notify *n);

/* NULL is allowed. After the stop. */
void ofs_notify_destroy(struct ofs_notify *n);
