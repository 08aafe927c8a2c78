/* SPDX-License-Identifier: MIT */
/*
 * Serves requests that have to wait. Over io_uring one thread serves all that come from one
 * processor, so it leaves them to a worker and goes on.
 */
#ifndef OFS_FUSE_WORKER_H
#define OFS_FUSE_WORKER_H

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_worker;

/* A request, and what it came with: it stays where it is until the request is answered. */
struct ofs_task {
	fuse_req_t req;
	void (*serve)(struct ofs_tree *t, const struct ofs_task *task); /* for the worker's `fn` */
	fuse_ino_t node;
	const char *name;
	const char *data;
	size_t size;
	off_t off;
	mode_t mode;
	dev_t rdev;
};

/* Answers all of the requests. */
typedef void (*ofs_worker_fn)(struct ofs_tree *t, const struct ofs_task *tasks, size_t n);

/* Starts no thread before there is something to do. NULL: out of memory. */
struct ofs_worker *ofs_worker_create(ofs_worker_fn fn);

/*
 * Takes a request over, with all others that come while `fn` is at work. A thread that has given one
 * does not end before all are answered, so that nothing of the session goes before. False: it could
 * not be taken.
 */
bool ofs_worker_add(struct ofs_worker *w, struct ofs_tree *t, const struct ofs_task *task);

/* The threads that gave requests have ended. NULL is allowed. */
void ofs_worker_destroy(struct ofs_worker *w);

#endif
