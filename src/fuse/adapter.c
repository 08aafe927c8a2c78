/* SPDX-License-Identifier: MIT */
#include "fuse/adapter.h"

#include <pthread.h>

#include "base/clock.h"
#include "base/util.h"
#include "fuse/notify.h"
#include "fuse/relist.h"

/* How long the kernel may cache an answer: until a notification drops it. */
#define FOREVER (365.0 * 86400)
#define REQUEST_MAX (1u << 20)

static bool is_uring(fuse_req_t req)
{
#if HAVE_FUSE_REQ_IS_URING
	return fuse_req_is_uring(req);
#else
	(void)req;
	return false;
#endif
}

/*
 * Called before a request does anything else. When the session ends, libfuse cancels the threads of
 * its rings wherever they are (fuse_session_destruct_uring() in 3.18), which would leave locks held
 * for ever. It also wakes them up, so cancellation is not needed. libfuse itself disables
 * cancellation in its other threads.
 */
static struct ofs_serving *serving_of(fuse_req_t req)
{
	struct ofs_serving *s = fuse_req_userdata(req);

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	if (!s->over_uring && is_uring(req))
		s->over_uring = true;
	/* Measured to gain nothing over the classic transport (docs/PERFORMANCE.md). */
	if (s->over_uring)
		ofs_awake_note(s->awake);
	return s;
}

static struct ofs_tree *tree_of(fuse_req_t req)
{
	return serving_of(req)->tree;
}

/* The kernel knows nodes by the numbers that programs see, as it puts them into file handles. */
static ofs_node node_of(fuse_req_t req, fuse_ino_t ino)
{
	return ofs_tree_shown_node(tree_of(req), ino);
}

/* True if another thread may answer a slow request while this one goes on. */
static bool may_defer(fuse_req_t req)
{
	return FUSE_REPLIES_BY_OTHERS && is_uring(req);
}

/* True if no other thread may answer the request. */
static bool is_stuck(fuse_req_t req)
{
	return is_uring(req) && !may_defer(req);
}

static struct ofs_cred cred_of(fuse_req_t req)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	return (struct ofs_cred){ .uid = ctx->uid, .gid = ctx->gid };
}

static void want(struct fuse_conn_info *conn, uint64_t flag, bool on)
{
#if HAVE_FUSE_SET_FEATURE_FLAG
	if (on)
		fuse_set_feature_flag(conn, flag);
	else
		fuse_unset_feature_flag(conn, flag);
#else
	if (on)
		conn->want |= conn->capable & (unsigned int)flag;
	else
		conn->want &= ~(unsigned int)flag;
#endif
}

static void on_init(void *userdata, struct fuse_conn_info *conn)
{
	static const uint64_t on[] = {
		FUSE_CAP_NO_OPEN_SUPPORT,
		FUSE_CAP_NO_OPENDIR_SUPPORT,
		FUSE_CAP_READDIRPLUS,
		FUSE_CAP_PARALLEL_DIROPS,
		FUSE_CAP_CACHE_SYMLINKS,
		FUSE_CAP_EXPLICIT_INVAL_DATA,
		/* File handles (name_to_handle_at) stay valid when the kernel forgets the node. */
		FUSE_CAP_EXPORT_SUPPORT,
#ifdef FUSE_CAP_HANDLE_KILLPRIV_V2
		/* Without it, every write asks for security.capability first. */
		FUSE_CAP_HANDLE_KILLPRIV_V2,
#endif
	};
	static const uint64_t off[] = {
		FUSE_CAP_READDIRPLUS_AUTO,
		FUSE_CAP_ATOMIC_O_TRUNC,
		FUSE_CAP_AUTO_INVAL_DATA,
		/* The page cache would keep what is read during an asynchronous direct write. */
		FUSE_CAP_ASYNC_DIO,
		/* Content is safe once write() returns, so it must not wait in the kernel. */
		FUSE_CAP_WRITEBACK_CACHE,
	};
	(void)userdata;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(on); i++)
		want(conn, on[i], true);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(off); i++)
		want(conn, off[i], false);
	conn->max_write = REQUEST_MAX;
	conn->max_readahead = REQUEST_MAX;
	conn->max_background = 64;
	conn->congestion_threshold = 48;
	conn->time_gran = 1;
}

static void show(struct ofs_tree *t, struct stat *st)
{
	st->st_ino = ofs_tree_show_node(t, st->st_ino);
}

static void entry_param(struct ofs_tree *t, const struct ofs_entry *entry,
			struct fuse_entry_param *ret)
{
	*ret = (struct fuse_entry_param){
		.ino = ofs_tree_show_node(t, entry->node),
		.attr = entry->attr,
		.attr_timeout = entry->keep_attr ? FOREVER : 0,
		.entry_timeout = entry->keep_name ? FOREVER : 0,
	};
	show(t, &ret->attr);
}

static void reply_entry(fuse_req_t req, int r, const struct ofs_entry *entry)
{
	struct ofs_tree *t = tree_of(req);
	struct fuse_entry_param e;

	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	entry_param(t, entry, &e);
	/* The reply did not arrive, so the kernel took no reference. */
	if (fuse_reply_entry(req, &e) == -ENOENT)
		ofs_tree_forget(t, entry->node, 1);
}

static void reply_done(fuse_req_t req, int r)
{
	fuse_reply_err(req, r < 0 ? -r : 0);
}

static void reply_written(fuse_req_t req, ssize_t n)
{
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_write(req, (size_t)n);
}

static void reply_bytes(fuse_req_t req, ssize_t n, const char *buf)
{
	if (n < 0)
		fuse_reply_err(req, (int)-n);
	else
		fuse_reply_buf(req, buf, (size_t)n);
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

/* The caller's credentials for permission checks, with supplementary groups. */
static struct ofs_cred caller_of(fuse_req_t req)
{
	struct ofs_cred cred = cred_of(req);

	cred.in_group = in_group;
	cred.arg = req;
	return cred;
}

/* Answers a lookup; with `here`, returns false instead if it must fetch content. */
static bool answer_lookup(struct ofs_tree *t, const struct ofs_work *work, bool here)
{
	struct ofs_cred cred = caller_of(work->req);
	struct ofs_entry entry;
	int r = here ? ofs_tree_lookup_here(t, work->node, work->name, &cred, &entry)
		     : ofs_tree_lookup_as(t, work->node, work->name, &cred, &entry);

	if (here && r == -EAGAIN)
		return false;
	if (r == -ENOENT && entry.keep_name) {
		struct fuse_entry_param absent = { .ino = 0, .entry_timeout = FOREVER };

		fuse_reply_entry(work->req, &absent);
	} else {
		reply_entry(work->req, r, &entry);
	}
	return true;
}

static void serve_lookup(struct ofs_tree *t, const struct ofs_work *work)
{
	answer_lookup(t, work, false);
	free((char *)work->name);
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct ofs_serving *s = serving_of(req);
	struct ofs_work work = { .req = req, .node = node_of(req, parent), .name = name };
	struct ofs_worker *worker = ofs_tree_is_search(work.node) ? s->searches : s->fetches;

	if (is_stuck(req)) {
		answer_lookup(s->tree, &work, false);
		return;
	}
	if (worker == s->fetches && answer_lookup(s->tree, &work, true))
		return;
	/* Over the classic transport `name` is valid only during this call. */
	work.serve = serve_lookup;
	work.name = ofs_strdup(name);
	if (!ofs_worker_add(worker, s->tree, &work))
		serve_lookup(s->tree, &work);
}

static void on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *list)
{
	static const struct timespec nap = { .tv_nsec = OFS_NS_PER_MS };
	struct ofs_serving *s = serving_of(req);

	for (size_t i = 0; i < count; i++)
		ofs_tree_forget(s->tree, node_of(req, list[i].ino), list[i].nlookup);
	fuse_reply_none(req);
	/*
	 * Over io_uring this thread only serves forgets. It would be woken up for each of them;
	 * after a nap it receives those that have arrived in bulk.
	 */
	if (s->over_uring)
		nanosleep(&nap, NULL);
}

static void on_forget(fuse_req_t req, fuse_ino_t ino, uint64_t n)
{
	struct fuse_forget_data one = { .ino = ino, .nlookup = n };

	on_forget_multi(req, 1, &one);
}

static void reply_attr(fuse_req_t req, int r, struct stat *st)
{
	if (r < 0) {
		fuse_reply_err(req, -r);
		return;
	}
	show(tree_of(req), st);
	fuse_reply_attr(req, st, FOREVER);
}

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ofs_serving *s = serving_of(req);
	ofs_node node = node_of(req, ino), drop[OFS_RELIST_MAX];
	struct stat st;
	size_t n;

	(void)fi;
	reply_attr(req, ofs_tree_getattr(s->tree, node, &st), &st);
	n = ofs_relist_asked(s->listings, ofs_tree_parent(s->tree, node), drop);
	while (n)
		ofs_notify_content(s->notify, drop[--n]);
}

/* Bit 11 of `valid`, as the kernel sends it: the change drops set-user-ID and set-group-ID. */
#define SET_KILL_PRIV (1 << 11)

static int kill_priv(struct ofs_tree *t, ofs_node node, struct ofs_setattr *attr)
{
	struct stat st;
	int r;

	if (!(attr->set & OFS_SET_MODE)) {
		r = ofs_tree_getattr(t, node, &st);
		if (r < 0)
			return r;
		attr->mode = st.st_mode;
		if (S_ISDIR(st.st_mode) || !(st.st_mode & (S_ISUID | S_ISGID)))
			return 0;
	}
	attr->set |= OFS_SET_MODE;
	attr->mode &= ~(mode_t)S_ISUID;
	if (attr->mode & S_IXGRP)
		attr->mode &= ~(mode_t)S_ISGID;
	return 0;
}

/* A time outside the range of 64-bit nanoseconds is clamped to it. */
static int64_t time_ns(const struct timespec *ts, bool now)
{
	int64_t ns;

	if (now)
		return ofs_clock_wall();
	if (__builtin_mul_overflow((int64_t)ts->tv_sec, OFS_NS_PER_S, &ns) ||
	    __builtin_add_overflow(ns, (int64_t)ts->tv_nsec, &ns))
		return ts->tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

static void on_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *st, int valid,
		       struct fuse_file_info *fi)
{
	struct ofs_setattr attr = {
		.mode = st->st_mode,
		.uid = st->st_uid,
		.gid = st->st_gid,
		.size = (uint64_t)st->st_size,
		.atime = time_ns(&st->st_atim, valid & FUSE_SET_ATTR_ATIME_NOW),
		.mtime = time_ns(&st->st_mtim, valid & FUSE_SET_ATTR_MTIME_NOW),
	};
	struct stat now;
	int r = 0;

	(void)fi;
	attr.set = (valid & FUSE_SET_ATTR_MODE ? OFS_SET_MODE : 0) |
		   (valid & FUSE_SET_ATTR_UID ? OFS_SET_UID : 0) |
		   (valid & FUSE_SET_ATTR_GID ? OFS_SET_GID : 0) |
		   (valid & FUSE_SET_ATTR_SIZE ? OFS_SET_SIZE : 0) |
		   (valid & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW) ? OFS_SET_ATIME : 0) |
		   (valid & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW) ? OFS_SET_MTIME : 0);
	/*
	 * The kernel sends an empty change for chown(-1, -1), and before a write by a user who may
	 * not keep the set-ID bits.
	 */
	if (valid & SET_KILL_PRIV || !attr.set)
		r = kill_priv(tree_of(req), node_of(req, ino), &attr);
	if (r == 0)
		r = ofs_tree_setattr(tree_of(req), node_of(req, ino), &attr, &now);
	reply_attr(req, r, &now);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[4097];
	ssize_t n = ofs_tree_readlink(tree_of(req), node_of(req, ino), target, sizeof(target) - 1);

	if (n < 0) {
		fuse_reply_err(req, (int)-n);
		return;
	}
	target[n] = 0;
	fuse_reply_readlink(req, target);
}

/* Serves a request that needs room in the journal; another thread does if it would wait. */
static void serve_or_defer(const struct ofs_work *work)
{
	struct ofs_serving *s = serving_of(work->req);

	if (!ofs_tree_would_wait(s->tree) || !may_defer(work->req) ||
	    !ofs_worker_add(s->writes, s->tree, work))
		work->serve(s->tree, work);
}

void ofs_adapter_serve(struct ofs_tree *t, const struct ofs_work *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		list[i].serve(t, &list[i]);
}

static void serve_mknod(struct ofs_tree *t, const struct ofs_work *work)
{
	struct ofs_cred cred = cred_of(work->req);
	struct ofs_entry entry;

	reply_entry(work->req,
		    ofs_tree_mknod(t, work->node, work->name, work->mode, work->rdev, &cred,
				   &entry),
		    &entry);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	struct ofs_work work = { .req = req,
				 .serve = serve_mknod,
				 .node = node_of(req, parent),
				 .name = name,
				 .mode = mode,
				 .rdev = rdev };

	serve_or_defer(&work);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	struct ofs_cred cred = cred_of(req);
	struct ofs_entry entry;

	reply_entry(req,
		    ofs_tree_mkdir(tree_of(req), node_of(req, parent), name, mode, &cred, &entry),
		    &entry);
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	struct ofs_cred cred = cred_of(req);
	struct ofs_entry entry;

	reply_entry(req,
		    ofs_tree_symlink(tree_of(req), node_of(req, parent), name, target, &cred,
				     &entry),
		    &entry);
}

static void on_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	struct ofs_entry entry;

	reply_entry(req,
		    ofs_tree_link(tree_of(req), node_of(req, ino), node_of(req, parent), name,
				  &entry),
		    &entry);
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_done(req, ofs_tree_unlink(tree_of(req), node_of(req, parent), name));
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	reply_done(req, ofs_tree_rmdir(tree_of(req), node_of(req, parent), name));
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
		      const char *newname, unsigned int flags)
{
	reply_done(req, ofs_tree_rename(tree_of(req), node_of(req, parent), name,
					node_of(req, newparent), newname, flags));
}

/*
 * ENOSYS tells the kernel never to ask again. An older libfuse without this handler would answer
 * each open with success, and the kernel would keep asking.
 */
static void on_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	(void)fi;
	fuse_reply_err(req, ENOSYS);
}

/* Returns a buffer from which the kernel takes `size` bytes without a copy, or NULL. */
static char *payload_of(fuse_req_t req, size_t size)
{
#if HAVE_FUSE_REQ_GET_PAYLOAD
	char *payload;
	size_t room;

	if (is_uring(req) && fuse_req_get_payload(req, &payload, &room, NULL) == 0 && room >= size)
		return payload;
#endif
	(void)req;
	(void)size;
	return NULL;
}

/* Answers a read; with `here`, returns false instead if it must fetch content. */
static bool answer_read(struct ofs_tree *t, const struct ofs_work *work, bool here)
{
	struct ofs_serving *s = serving_of(work->req);
	OFS_FREE char *own = NULL;
	char *buf = payload_of(work->req, work->size);
	ssize_t n;

	if (!buf)
		buf = own = malloc(work->size ? work->size : 1);
	n = !buf   ? -ENOMEM
	    : here ? ofs_tree_read_here(t, work->node, buf, work->size, (uint64_t)work->off)
		   : ofs_tree_read(t, work->node, buf, work->size, (uint64_t)work->off);
	if (here && n == -EAGAIN)
		return false;
	reply_bytes(work->req, n, buf);
	if (!work->off)
		ofs_relist_read(s->listings, ofs_tree_parent(t, work->node));
	return true;
}

static void serve_read(struct ofs_tree *t, const struct ofs_work *work)
{
	answer_read(t, work, false);
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct ofs_serving *s = serving_of(req);
	struct ofs_work work = {
		.req = req, .serve = serve_read, .node = node_of(req, ino), .size = size, .off = off
	};

	(void)fi;
	if (!is_stuck(req) &&
	    (answer_read(s->tree, &work, true) || ofs_worker_add(s->fetches, s->tree, &work)))
		return;
	serve_read(s->tree, &work);
}

static void serve_write(struct ofs_tree *t, const struct ofs_work *work)
{
	reply_written(work->req,
		      ofs_tree_write(t, work->node, work->data, work->size, (uint64_t)work->off));
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	struct ofs_work work = { .req = req,
				 .serve = serve_write,
				 .node = node_of(req, ino),
				 .data = buf,
				 .size = size,
				 .off = off };

	(void)fi;
	serve_or_defer(&work);
}

static void on_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	(void)fi;
	reply_done(req, ofs_tree_fallocate(tree_of(req), node_of(req, ino), mode, (uint64_t)off,
					   (uint64_t)len));
}

static void on_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	int64_t r = ofs_tree_seek(tree_of(req), node_of(req, ino), (uint64_t)off, whence);

	(void)fi;
	if (r < 0)
		fuse_reply_err(req, (int)-r);
	else
		fuse_reply_lseek(req, r);
}

/* The reply has only 32 bits for the length. */
static void on_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_off,
			       struct fuse_file_info *from_fi, fuse_ino_t to, off_t to_off,
			       struct fuse_file_info *to_fi, size_t len, int flags)
{
	ssize_t n = ofs_tree_copy(tree_of(req), node_of(req, from), (uint64_t)from_off,
				  node_of(req, to), (uint64_t)to_off,
				  OFS_MIN(len, (size_t)INT32_MAX));

	(void)from_fi;
	(void)to_fi;
	(void)flags;
	reply_written(req, n);
}

void ofs_adapter_sync(struct ofs_tree *t, const struct ofs_work *list, size_t n)
{
	int r = ofs_tree_sync(t);

	for (size_t i = 0; i < n; i++)
		reply_done(list[i].req, r);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct ofs_serving *s = serving_of(req);
	struct ofs_work work = { .req = req };

	(void)ino;
	(void)datasync;
	(void)fi;
	if (!may_defer(req) || !ofs_worker_add(s->syncs, s->tree, &work))
		ofs_adapter_sync(s->tree, &work, 1);
}

struct listing {
	fuse_req_t req;
	ofs_node dir;
	char *buf;
	size_t size;
	size_t used;
	size_t n;
	bool plus;
};

static int add_entry(void *arg, const char *name, const struct ofs_entry *entry, uint64_t next)
{
	struct listing *l = arg;
	struct ofs_tree *t = tree_of(l->req);
	char *at = l->buf + l->used;
	size_t room = l->size - l->used, need;
	struct stat st = entry->attr;

	next = ofs_tree_show_cookie(t, l->dir, next);
	if (l->plus) {
		struct fuse_entry_param e;

		entry_param(t, entry, &e);
		/* The kernel takes no reference to "." and "..". */
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			e.ino = 0;
		need = fuse_add_direntry_plus(l->req, at, room, name, &e, (off_t)next);
	} else {
		show(t, &st);
		need = fuse_add_direntry(l->req, at, room, name, &st, (off_t)next);
	}
	if (need > room)
		return 1;
	l->used += need;
	l->n++;
	return 0;
}

static void list(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off, bool plus)
{
	struct listing l = { .req = req, .dir = node_of(req, ino), .size = size, .plus = plus };
	struct ofs_tree *t = tree_of(req);
	uint64_t from = ofs_tree_shown_cookie(t, l.dir, (uint64_t)off);
	OFS_FREE char *buf = malloc(size ? size : 1);
	int r;

	l.buf = buf;
	r = buf ? ofs_tree_readdir(t, l.dir, from, plus, add_entry, &l) : -ENOMEM;
	if (plus)
		ofs_relist_listed(serving_of(req)->listings, l.dir, l.n, !off);
	/* Entries listed before the error carry references, so they must be delivered. */
	if (r < 0 && !l.used)
		fuse_reply_err(req, -r);
	else
		fuse_reply_buf(req, buf, l.used);
}

static void on_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		       struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, false);
}

static void on_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
			   struct fuse_file_info *fi)
{
	(void)fi;
	list(req, ino, size, off, true);
}

static void on_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;
	int r = ofs_tree_statfs(tree_of(req), node_of(req, ino), &st);

	if (r < 0)
		fuse_reply_err(req, -r);
	else
		fuse_reply_statfs(req, &st);
}

static void reply_xattr(fuse_req_t req, ssize_t n, const char *buf, size_t size)
{
	if (n >= 0 && !size)
		fuse_reply_xattr(req, (size_t)n);
	else
		reply_bytes(req, n, buf);
}

/*
 * These attributes start jobs and report on all files, even in directories that other users may not
 * search. So only root and the daemon's user may use them, whoever may write to the root.
 */
static bool is_forbidden(fuse_req_t req, const char *name)
{
	uid_t uid = fuse_req_ctx(req)->uid;

	return uid && uid != geteuid() &&
	       (strncmp(name, "user.offload.gc", strlen("user.offload.gc")) == 0 ||
		strncmp(name, "user.offload.verify", strlen("user.offload.verify")) == 0 ||
		strcmp(name, "user.offload.remote") == 0 ||
		strcmp(name, "user.offload.bring") == 0);
}

static void on_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct ofs_cred cred = caller_of(req);
	OFS_FREE char *buf = malloc(size ? size : 1);
	ssize_t n = -ENOMEM;

	if (is_forbidden(req, name))
		n = -EACCES;
	else if (buf)
		n = ofs_tree_getxattr_as(tree_of(req), node_of(req, ino), name, buf, size, &cred);
	reply_xattr(req, n, buf, size);
}

static void on_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	reply_done(req, is_forbidden(req, name) ? -EACCES
						: ofs_tree_setxattr(tree_of(req), node_of(req, ino),
								    name, value, size, flags));
}

static void on_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	reply_done(req, ofs_tree_removexattr(tree_of(req), node_of(req, ino), name));
}

static void on_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct ofs_cred cred = caller_of(req);
	OFS_FREE char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? ofs_tree_listxattr_as(tree_of(req), node_of(req, ino), buf, size, &cred)
			: -ENOMEM;

	reply_xattr(req, n, buf, size);
}

const struct fuse_lowlevel_ops ofs_adapter_ops = {
	.init = on_init,
	.lookup = on_lookup,
	.forget = on_forget,
	.forget_multi = on_forget_multi,
	.getattr = on_getattr,
	.setattr = on_setattr,
	.readlink = on_readlink,
	.mknod = on_mknod,
	.mkdir = on_mkdir,
	.unlink = on_unlink,
	.rmdir = on_rmdir,
	.symlink = on_symlink,
	.rename = on_rename,
	.link = on_link,
	.open = on_open,
	.opendir = on_open,
	.read = on_read,
	.write = on_write,
	.fsync = on_fsync,
	.fsyncdir = on_fsync,
	.readdir = on_readdir,
	.readdirplus = on_readdirplus,
	.statfs = on_statfs,
	.fallocate = on_fallocate,
	.lseek = on_lseek,
	.copy_file_range = on_copy_file_range,
	.setxattr = on_setxattr,
	.getxattr = on_getxattr,
	.listxattr = on_listxattr,
	.removexattr = on_removexattr,
};
