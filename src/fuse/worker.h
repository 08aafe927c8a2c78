/* SPDX-License-Identifier: MIT */
/*
 * Threads for requests that have to wait. Over io_uring one thread serves all requests of one
 * processor, so it leaves those to a worker. Searches, and what has to be fetched from a remote, go
 * to a worker over either transport.
 */
#pragma once

#include <fuse_lowlevel.h>

#include <offloadfs/tree.h>

struct ofs_worker;

/* A request and its arguments. What they point to stays valid until the request is answered. */
struct ofs_work {
	fuse_req_t req;
	void (*serve)(struct ofs_tree *t, const struct ofs_work *work); /* called by `fn` */
	fuse_ino_t node;
	const char *name;
	const char *data;
	size_t size;
	off_t off;
	mode_t mode;
	dev_t rdev;
};

/* Answers all requests of the list. */
typedef void (*ofs_worker_fn)(struct ofs_tree *t, const struct ofs_work *list, size_t n);

#define OFS_WORKER_THREADS_MAX 4

/* Up to `max` threads start when they are needed. Returns NULL if no pthread key is left. */
struct ofs_worker *ofs_worker_create(ofs_worker_fn fn, unsigned int max);

/*
 * Queues a request. With one thread, `fn` gets all that arrived while it was busy; with several,
 * one at a time. A thread that has queued a request does not end before all are answered, so the
 * session outlives them. Returns false if the worker cannot take the request.
 */
bool ofs_worker_add(struct ofs_worker *w, struct ofs_tree *t, const struct ofs_work *work);

/* Frees a worker. The threads that queued requests must have ended. NULL is allowed. */
void ofs_worker_destroy(struct ofs_worker *w);
