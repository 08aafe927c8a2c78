/* SPDX-License-Identifier: MIT */
#include "fuse/adapter_change.h"

#include "base/clock.h"
#include "base/util.h"

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
		r = kill_priv(ofs_serving_tree(req), ofs_serving_node(req, ino), &attr);
	if (r == 0)
		r = ofs_tree_setattr(ofs_serving_tree(req), ofs_serving_node(req, ino), &attr,
				     &now);
	ofs_reply_attr(req, r, &now);
}

/* Serves a change, which may have to wait for room. */
static void change(struct ofs_work *work)
{
	struct ofs_serving *s = ofs_serving_of(work->req);

	ofs_serving_try(s->writes, work, ofs_serving_may_defer(work->req));
}

static bool serve_mknod(struct ofs_tree *t, const struct ofs_work *w)
{
	struct ofs_cred cred = ofs_serving_cred(w->req);
	struct ofs_entry entry;
	int r = ofs_tree_mknod(t, w->node, w->name, w->mode, w->rdev, &cred, &entry);

	return ofs_reply_entry(w, r, &entry);
}

static void on_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_mknod,
				   .node = ofs_serving_node(req, parent),
				   .name = name,
				   .mode = mode,
				   .rdev = rdev });
}

static bool serve_mkdir(struct ofs_tree *t, const struct ofs_work *w)
{
	struct ofs_cred cred = ofs_serving_cred(w->req);
	struct ofs_entry entry;
	int r = ofs_tree_mkdir(t, w->node, w->name, w->mode, &cred, &entry);

	return ofs_reply_entry(w, r, &entry);
}

static void on_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_mkdir,
				   .node = ofs_serving_node(req, parent),
				   .name = name,
				   .mode = mode });
}

static bool serve_symlink(struct ofs_tree *t, const struct ofs_work *w)
{
	struct ofs_cred cred = ofs_serving_cred(w->req);
	struct ofs_entry entry;
	int r = ofs_tree_symlink(t, w->node, w->name, w->data, &cred, &entry);

	return ofs_reply_entry(w, r, &entry);
}

static void on_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_symlink,
				   .node = ofs_serving_node(req, parent),
				   .name = name,
				   .data = target });
}

static bool serve_link(struct ofs_tree *t, const struct ofs_work *w)
{
	struct ofs_entry entry;
	int r = ofs_tree_link(t, w->node, w->to, w->name, &entry);

	return ofs_reply_entry(w, r, &entry);
}

static void on_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent, const char *name)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_link,
				   .node = ofs_serving_node(req, ino),
				   .to = ofs_serving_node(req, parent),
				   .name = name });
}

static bool serve_unlink(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w, ofs_tree_unlink(t, w->node, w->name));
}

static void on_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_unlink,
				   .node = ofs_serving_node(req, parent),
				   .name = name });
}

static bool serve_rmdir(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w, ofs_tree_rmdir(t, w->node, w->name));
}

static void on_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_rmdir,
				   .node = ofs_serving_node(req, parent),
				   .name = name });
}

static bool serve_rename(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w, ofs_tree_rename(t, w->node, w->name, w->to, w->to_name,
						 (unsigned int)w->flags));
}

static void on_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent,
		      const char *newname, unsigned int flags)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_rename,
				   .node = ofs_serving_node(req, parent),
				   .name = name,
				   .to = ofs_serving_node(req, newparent),
				   .to_name = newname,
				   .flags = (int)flags });
}

static bool serve_write(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_written(w, ofs_tree_write(t, w->node, w->data, w->size, (uint64_t)w->off));
}

static void on_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t off,
		     struct fuse_file_info *fi)
{
	(void)fi;
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_write,
				   .node = ofs_serving_node(req, ino),
				   .data = buf,
				   .size = size,
				   .off = off });
}

static bool serve_fallocate(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w, ofs_tree_fallocate(t, w->node, w->flags, (uint64_t)w->off,
						    (uint64_t)w->size));
}

static void on_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t off, off_t len,
			 struct fuse_file_info *fi)
{
	(void)fi;
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_fallocate,
				   .node = ofs_serving_node(req, ino),
				   .flags = mode,
				   .off = off,
				   .size = (size_t)len });
}

static bool serve_copy(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_written(w, ofs_tree_copy(t, w->node, (uint64_t)w->off, w->to,
						  (uint64_t)w->to_off, w->size));
}

/* The reply has only 32 bits for the length. */
static void on_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_off,
			       struct fuse_file_info *from_fi, fuse_ino_t to, off_t to_off,
			       struct fuse_file_info *to_fi, size_t len, int flags)
{
	(void)from_fi;
	(void)to_fi;
	(void)flags;
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_copy,
				   .node = ofs_serving_node(req, from),
				   .off = from_off,
				   .to = ofs_serving_node(req, to),
				   .to_off = to_off,
				   .size = OFS_MIN(len, (size_t)INT32_MAX) });
}

static bool serve_setxattr(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w,
			      ofs_tree_setxattr(t, w->node, w->name, w->data, w->size, w->flags));
}

static void on_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value,
			size_t size, int flags)
{
	if (!ofs_serving_may_use(req, name)) {
		fuse_reply_err(req, EACCES);
		return;
	}
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_setxattr,
				   .node = ofs_serving_node(req, ino),
				   .name = name,
				   .data = value,
				   .size = size,
				   .flags = flags });
}

static bool serve_removexattr(struct ofs_tree *t, const struct ofs_work *w)
{
	return ofs_reply_done(w, ofs_tree_removexattr(t, w->node, w->name));
}

static void on_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	change(&(struct ofs_work){ .req = req,
				   .serve = serve_removexattr,
				   .node = ofs_serving_node(req, ino),
				   .name = name });
}

void ofs_adapter_sync(struct ofs_tree *t, const struct ofs_work *list, size_t n)
{
	int r = ofs_tree_sync(t);

	for (size_t i = 0; i < n; i++)
		ofs_reply_done(&list[i], r);
}

static void on_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct ofs_serving *s = ofs_serving_of(req);
	struct ofs_work work = { .req = req };

	(void)ino;
	(void)datasync;
	(void)fi;
	if (!ofs_serving_may_defer(req) || !ofs_worker_add(s->syncs, s->tree, &work))
		ofs_adapter_sync(s->tree, &work, 1);
}

void ofs_adapter_add_changes(struct fuse_lowlevel_ops *ret)
{
	ret->setattr = on_setattr;
	ret->mknod = on_mknod;
	ret->mkdir = on_mkdir;
	ret->symlink = on_symlink;
	ret->link = on_link;
	ret->unlink = on_unlink;
	ret->rmdir = on_rmdir;
	ret->rename = on_rename;
	ret->write = on_write;
	ret->fallocate = on_fallocate;
	ret->copy_file_range = on_copy_file_range;
	ret->setxattr = on_setxattr;
	ret->removexattr = on_removexattr;
	ret->fsync = on_fsync;
	ret->fsyncdir = on_fsync;
}
