/* SPDX-License-Identifier: MIT */
/*
 * Sends notifications to the kernel. These functions may be called from any thread. Only
 * ofs_notify_stop() waits for requests to be served.
 */
#pragma once

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_notify;

/* Nothing is sent before ofs_notify_start(). */
struct ofs_notify *ofs_notify_create(void);

/*
 * Starts sending. The tree must be mounted. `fuse` and `tree` are borrowed until
 * ofs_notify_finish(). 0 or -errno.
 */
int ofs_notify_start(struct ofs_notify *n, struct fuse_session *fuse, const struct ofs_tree *tree);

/* Tells the kernel at once that the attributes of a node changed, but not its content. */
void ofs_notify_attr(struct ofs_notify *n, ofs_node node);

/*
 * Asks the kernel, through a queue, to drop the content and attributes of `node` from its caches,
 * and its name `name` (copied) in `parent`. If the node is in use, only that name and the content
 * go, after a second. `node` 0: only the name, which the kernel may remember as absent. Ignored
 * before the start and after the stop.
 */
void ofs_notify_release(struct ofs_notify *n, ofs_node node, ofs_node parent, const char *name);

/*
 * Asks the kernel, through the queue, to drop the cached content of a file, or listing of a
 * directory, and the attributes. Ignored before the start and after the stop.
 */
void ofs_notify_content(struct ofs_notify *n, ofs_node node);

/*
 * Discards the queue and waits for a notification that is under way. Requests must be served until
 * it returns, unless the connection is over. Afterwards only ofs_notify_attr() sends anything. May
 * be called more than once, and by several threads.
 */
void ofs_notify_stop(struct ofs_notify *n);

/* Ends notifications of attributes, too; none is under way any more. Call it after the stop. */
void ofs_notify_finish(struct ofs_notify *n);

/* Frees `n`, which must be stopped. NULL is allowed. */
void ofs_notify_destroy(struct ofs_notify *n);
