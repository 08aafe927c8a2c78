/* SPDX-License-Identifier: MIT */
#include "fuse/adapter.h"

#include <time.h>

#include "base/clock.h"
#include "base/util.h"
#include "fuse/adapter_change.h"
#include "fuse/notify.h"
#include "fuse/relist.h"
#include "fuse/serving.h"

#define REQUEST_MAX (1u << 20)

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

static bool serve_lookup(struct ofs_tree *t, const struct ofs_work *work)
{
	struct fuse_entry_param absent = { .ino = 0, .entry_timeout = OFS_REPLY_FOREVER };
	struct ofs_cred cred = ofs_serving_caller(work->req);
	struct ofs_entry entry;
	int r = ofs_tree_lookup_as(t, work->node, work->name, &cred, &entry);

	if (r != -ENOENT || !entry.keep_name)
		return ofs_reply_entry(work, r, &entry);
	fuse_reply_entry(work->req, &absent);
	return true;
}

static void on_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct ofs_serving *s = ofs_serving_of(req);
	struct ofs_work work = { .req = req,
				 .serve = serve_lookup,
				 .node = ofs_serving_node(req, parent),
				 .name = name };
	bool may_defer = !ofs_serving_is_stuck(req);

	/* A search always takes a while. */
	if (may_defer && ofs_tree_is_search(work.node) &&
	    ofs_worker_add(s->searches, s->tree, &work))
		return;
	ofs_serving_try(s->fetches, &work, may_defer);
}

static void on_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *list)
{
	static const struct timespec nap = { .tv_nsec = OFS_NS_PER_MS };
	struct ofs_serving *s = ofs_serving_of(req);

	for (size_t i = 0; i < count; i++)
		ofs_tree_forget(s->tree, ofs_serving_node(req, list[i].ino), list[i].nlookup);
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

static void on_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct ofs_serving *s = ofs_serving_of(req);
	ofs_node node = ofs_serving_node(req, ino), drop[OFS_RELIST_MAX];
	struct stat st;
	size_t n;

	(void)fi;
	ofs_reply_attr(req, ofs_tree_getattr(s->tree, node, &st), &st);
	n = ofs_relist_asked(s->listings, ofs_tree_parent(s->tree, node), drop);
	while (n)
		ofs_notify_content(s->notify, drop[--n]);
}

static void on_readlink(fuse_req_t req, fuse_ino_t ino)
{
	char target[4097];
	ssize_t n = ofs_tree_readlink(ofs_serving_tree(req), ofs_serving_node(req, ino), target,
				      sizeof(target) - 1);

	if (n < 0) {
		fuse_reply_err(req, (int)-n);
		return;
	}
	target[n] = 0;
	fuse_reply_readlink(req, target);
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

	if (ofs_serving_is_uring(req) && fuse_req_get_payload(req, &payload, &room, NULL) == 0 &&
	    room >= size)
		return payload;
#endif
	(void)req;
	(void)size;
	return NULL;
}

static bool serve_read(struct ofs_tree *t, const struct ofs_work *work)
{
	struct ofs_serving *s = ofs_serving_of(work->req);
	OFS_FREE char *own = NULL;
	char *buf = payload_of(work->req, work->size);
	ssize_t n;

	if (!buf)
		buf = own = malloc(work->size ? work->size : 1);
	n = buf ? ofs_tree_read(t, work->node, buf, work->size, (uint64_t)work->off) : -ENOMEM;
	if (ofs_reply_waits(work, n))
		return false;
	ofs_reply_bytes(work->req, n, buf);
	if (!work->off)
		ofs_relist_read(s->listings, ofs_tree_parent(t, work->node));
	return true;
}

static void on_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t off,
		    struct fuse_file_info *fi)
{
	struct ofs_serving *s = ofs_serving_of(req);
	struct ofs_work work = { .req = req,
				 .serve = serve_read,
				 .node = ofs_serving_node(req, ino),
				 .size = size,
				 .off = off };

	(void)fi;
	ofs_serving_try(s->fetches, &work, !ofs_serving_is_stuck(req));
}

static void on_lseek(fuse_req_t req, fuse_ino_t ino, off_t off, int whence,
		     struct fuse_file_info *fi)
{
	int64_t r = ofs_tree_seek(ofs_serving_tree(req), ofs_serving_node(req, ino), (uint64_t)off,
				  whence);

	(void)fi;
	if (r < 0)
		fuse_reply_err(req, (int)-r);
	else
		fuse_reply_lseek(req, r);
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
	struct ofs_tree *t = ofs_serving_tree(l->req);
	char *at = l->buf + l->used;
	size_t room = l->size - l->used, need;
	struct stat st = entry->attr;

	next = ofs_tree_show_cookie(t, l->dir, next);
	if (l->plus) {
		struct fuse_entry_param e;

		ofs_reply_entry_param(t, entry, &e);
		/* The kernel takes no reference to "." and "..". */
		if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
			e.ino = 0;
		need = fuse_add_direntry_plus(l->req, at, room, name, &e, (off_t)next);
	} else {
		ofs_reply_show(t, &st);
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
	struct listing l = {
		.req = req, .dir = ofs_serving_node(req, ino), .size = size, .plus = plus
	};
	struct ofs_tree *t = ofs_serving_tree(req);
	uint64_t from = ofs_tree_shown_cookie(t, l.dir, (uint64_t)off);
	OFS_FREE char *buf = malloc(size ? size : 1);
	int r;

	l.buf = buf;
	r = buf ? ofs_tree_readdir(t, l.dir, from, plus, add_entry, &l) : -ENOMEM;
	if (plus)
		ofs_relist_listed(ofs_serving_of(req)->listings, l.dir, l.n, !off);
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
	int r = ofs_tree_statfs(ofs_serving_tree(req), ofs_serving_node(req, ino), &st);

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
		ofs_reply_bytes(req, n, buf);
}

static bool serve_getxattr(struct ofs_tree *t, const struct ofs_work *work)
{
	struct ofs_cred cred = ofs_serving_caller(work->req);
	OFS_FREE char *buf = malloc(work->size ? work->size : 1);
	ssize_t n = buf ? ofs_tree_getxattr_as(t, work->node, work->name, buf, work->size, &cred)
			: -ENOMEM;

	if (ofs_reply_waits(work, n))
		return false;
	reply_xattr(work->req, n, buf, work->size);
	return true;
}

static void on_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	struct ofs_serving *s = ofs_serving_of(req);
	struct ofs_work work = { .req = req,
				 .serve = serve_getxattr,
				 .node = ofs_serving_node(req, ino),
				 .name = name,
				 .size = size };

	if (ofs_serving_may_use(req, name))
		ofs_serving_try(s->fetches, &work, !ofs_serving_is_stuck(req));
	else
		fuse_reply_err(req, EACCES);
}

static void on_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	struct ofs_cred cred = ofs_serving_caller(req);
	OFS_FREE char *buf = malloc(size ? size : 1);
	ssize_t n = buf ? ofs_tree_listxattr_as(ofs_serving_tree(req), ofs_serving_node(req, ino),
						buf, size, &cred)
			: -ENOMEM;

	reply_xattr(req, n, buf, size);
}

void ofs_adapter_fill(struct fuse_lowlevel_ops *ret)
{
	*ret = (struct fuse_lowlevel_ops){
		.init = on_init,
		.lookup = on_lookup,
		.forget = on_forget,
		.forget_multi = on_forget_multi,
		.getattr = on_getattr,
		.readlink = on_readlink,
		.open = on_open,
		.opendir = on_open,
		.read = on_read,
		.lseek = on_lseek,
		.readdir = on_readdir,
		.readdirplus = on_readdirplus,
		.statfs = on_statfs,
		.getxattr = on_getxattr,
		.listxattr = on_listxattr,
	};
	ofs_adapter_add_changes(ret);
}
