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

/* A request and its arguments. What they point to, but `name`, stays valid until the answer. */
struct ofs_work {
	fuse_req_t req;
	/* Called by `fn`. Returns false, without an answer, if it would have to wait `here`. */
	bool (*serve)(struct ofs_tree *t, const struct ofs_work *work);
	bool here; /* set by ofs_serving_try() */
	ofs_node node, to;
	const char *name; /* copied by ofs_worker_add() */
	const char *to_name;
	const char *data;
	size_t size;
	off_t off, to_off;
	mode_t mode;
	dev_t rdev;
	int flags;
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
