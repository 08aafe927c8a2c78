/* SPDX-License-Identifier: MIT */
#include "fuse/serving.h"

#include <errno.h>
#include <pthread.h>

#include "base/util.h"

bool ofs_serving_is_uring(fuse_req_t req)
{
#if HAVE_FUSE_REQ_IS_URING
	return fuse_req_is_uring(req);
#else
	(void)req;
	return false;
#endif
}

/*
 * When the session ends, libfuse cancels the threads of its rings wherever they are
 * (fuse_session_destruct_uring() in 3.18), which would leave locks held for ever. It also wakes
 * them up, so cancellation is not needed. libfuse itself disables cancellation in its other
 * threads.
 */
struct ofs_serving *ofs_serving_of(fuse_req_t req)
{
	struct ofs_serving *s = fuse_req_userdata(req);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (!s->over_uring && ofs_serving_is_uring(req))
		s->over_uring = true;
	/* Measured to gain nothing over the classic transport (docs/PERFORMANCE.md). */
	if (s->over_uring)
		ofs_awake_note(s->awake);
	return s;
}

struct ofs_tree *ofs_serving_tree(fuse_req_t req)
{
	return ofs_serving_of(req)->tree;
}

ofs_node ofs_serving_node(fuse_req_t req, fuse_ino_t ino)
{
	return ofs_tree_shown_node(ofs_serving_tree(req), ino);
}

bool ofs_serving_may_defer(fuse_req_t req)
{
	return FUSE_REPLIES_BY_OTHERS && ofs_serving_is_uring(req);
}

bool ofs_serving_is_stuck(fuse_req_t req)
{
	return ofs_serving_is_uring(req) && !ofs_serving_may_defer(req);
}

/* ---- the caller */

struct ofs_cred ofs_serving_cred(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct ofs_cred){ .uid = ctx->uid, .gid = ctx->gid };
}

#define GROUPS_MAX 65536 /* of one process */

/* Returns true if the caller has this supplementary group, which libfuse looks up in /proc. */
static bool in_group(void *arg, gid_t gid)
{
	fuse_req_t req = arg;
	int n = fuse_req_getgroups(req, 0, NULL), i;
	OFS_FREE gid_t *list = NULL;

	if (n <= 0 || n > GROUPS_MAX)
		return false;
	list = malloc((size_t)n * sizeof(*list));
	n = list ? OFS_MIN(n, fuse_req_getgroups(req, n, list)) : 0;
	for (i = 0; i < n && list[i] != gid; i++)
		;
	return i < n;
}

struct ofs_cred ofs_serving_caller(fuse_req_t req)
{
	struct ofs_cred cred = ofs_serving_cred(req);

	cred.in_group = in_group;
	cred.arg = req;
	return cred;
}

bool ofs_serving_may_use(fuse_req_t req, const char *name)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	return !uid || uid == geteuid() ||
	       (strncmp(name, "user.offload.gc", strlen("user.offload.gc")) != 0 &&
		strncmp(name, "user.offload.verify", strlen("user.offload.verify")) != 0 &&
		strcmp(name, "user.offload.remote") != 0 &&
		strcmp(name, "user.offload.bring") != 0);
}

/* ---- waiting */

void ofs_serving_try(struct ofs_worker *worker, struct ofs_work *work, bool may_defer)
{
	struct ofs_tree *t = ofs_serving_tree(work->req);
	bool served;

	work->here = may_defer;
	ofs_tree_set_nonblocking(may_defer);
	served = work->serve(t, work);
	ofs_tree_set_nonblocking(false);
	if (served)
		return;
	work->here = false;
	if (!ofs_worker_add(worker, t, work))
		work->serve(t, work);
}

void ofs_serving_all(struct ofs_tree *t, const struct ofs_work *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		list[i].serve(t, &list[i]);
}

bool ofs_reply_waits(const struct ofs_work *work, ssize_t r)
{
	return work->here && r == -EAGAIN;
}

/* ---- replies */

void ofs_reply_show(struct ofs_tree *t, struct stat *st)
{
	st->st_ino = ofs_tree_show_node(t, st->st_ino);
}

void ofs_reply_entry_param(struct ofs_tree *t, const struct ofs_entry *entry,
			   struct fuse_entry_param *ret)
{
	*ret = (struct fuse_entry_param){
		.ino = ofs_tree_show_node(t, entry->node),
		.attr = entry->attr,
		.attr_timeout = entry->keep_attr ? OFS_REPLY_FOREVER : 0,
		.entry_timeout = entry->keep_name ? OFS_REPLY_FOREVER : 0,
	};
	ofs_reply_show(t, &ret->attr);
}

void ofs_reply_attr(fuse_req_t req, int r, struct stat *st)
{
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	ofs_reply_show(ofs_serving_tree(req), st);
	fuse_reply_attr(req, st, OFS_REPLY_FOREVER);
}

void ofs_reply_bytes(fuse_req_t req, ssize_t n, const char *buf)
{
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
}

bool ofs_reply_done(const struct ofs_work *work, int r)
{
	if (ofs_reply_waits(work, r))
		return false;
	fuse_reply_err(work->req, r < 0 ? -r : 0);
	return true;
}

bool ofs_reply_entry(const struct ofs_work *work, int r, const struct ofs_entry *entry)
{
	struct ofs_tree *t = ofs_serving_tree(work->req);
	struct fuse_entry_param e;

	if (r < 0)
		return ofs_reply_done(work, r);
	ofs_reply_entry_param(t, entry, &e);
	/* The reply did not arrive, so the kernel took no reference. */
	if (fuse_reply_entry(work->req, &e) == -ENOENT)
		ofs_tree_forget(t, entry->node, 1);
	return true;
}

bool ofs_reply_written(const struct ofs_work *work, ssize_t n)
{
	if (n < 0)
		return ofs_reply_done(work, (int)n);
	fuse_reply_write(work->req, (size_t)n);
	return true;
}
