/* SPDX-License-Identifier: MIT */
/*
 * A request: its tree, its caller, how it came, and its reply. What may wait is tried first by the
 * thread that received it, and left to a worker if it would have to wait.
 */
#pragma once

#include <fuse_lowlevel.h>
#include <stdatomic.h>

#include <offloadfs/tree.h>

#include "fuse/awake.h"
#include "fuse/worker.h"

/* How long the kernel may cache an answer: until a notification drops it. */
#define OFS_REPLY_FOREVER (365.0 * 86400)

/* The userdata of every request. */
struct ofs_serving {
	struct ofs_tree *tree; /* set before the first request */
	struct ofs_worker *syncs; /* one sync answers every fsync that waits */
	struct ofs_worker *writes; /* changes that wait for room */
	struct ofs_worker *searches; /* slow, and run one at a time anyway */
	struct ofs_worker *fetches; /* requests for content that only the remote has */
	struct ofs_awake *awake;
	struct ofs_relist *listings;
	struct ofs_notify *notify;
	atomic_bool over_uring; /* set once a request comes over io_uring */
};

/* One of the following four is called before a request does anything else. */
struct ofs_serving *ofs_serving_of(fuse_req_t req);
struct ofs_tree *ofs_serving_tree(fuse_req_t req);

/* The kernel knows nodes by the numbers that programs see, as it puts them into file handles. */
ofs_node ofs_serving_node(fuse_req_t req, fuse_ino_t ino);

bool ofs_serving_is_uring(fuse_req_t req);

/* True if another thread may answer a request over io_uring while this one goes on. */
bool ofs_serving_may_defer(fuse_req_t req);

/* True if no other thread may answer the request. */
bool ofs_serving_is_stuck(fuse_req_t req);

struct ofs_cred ofs_serving_cred(fuse_req_t req);
/* For permission checks: with supplementary groups. */
struct ofs_cred ofs_serving_caller(fuse_req_t req);

/*
 * Some attributes start jobs and report on all files, even in directories that other users may not
 * search. So only root and the daemon's user may use them, whoever may write to the root.
 */
bool ofs_serving_may_use(fuse_req_t req, const char *name);

/*
 * Serves a request. With `may_defer`, it is left to `worker` if it would have to wait. What the
 * work points to must stay valid then.
 */
void ofs_serving_try(struct ofs_worker *worker, struct ofs_work *work, bool may_defer);

/* The function of workers that serve requests in turn. */
void ofs_serving_all(struct ofs_tree *t, const struct ofs_work *list, size_t n);

/* Node and attributes as the kernel gets them. */
void ofs_reply_show(struct ofs_tree *t, struct stat *st);
void ofs_reply_entry_param(struct ofs_tree *t, const struct ofs_entry *entry,
			   struct fuse_entry_param *ret);

void ofs_reply_attr(fuse_req_t req, int r, struct stat *st);
void ofs_reply_bytes(fuse_req_t req, ssize_t n, const char *buf);

/* These return false, and reply nothing, if the work would have to wait and must not here. */
bool ofs_reply_waits(const struct ofs_work *work, ssize_t r);
bool ofs_reply_done(const struct ofs_work *work, int r);
bool ofs_reply_entry(const struct ofs_work *work, int r, const struct ofs_entry *entry);
bool ofs_reply_written(const struct ofs_work *work, ssize_t n);
