/* SPDX-License-Identifier: MIT */
/*
 * Access to a mounted tree through system calls. Anybody who writes to the tree can leave symbolic
 * links in it, so no path is followed through a link or out of the mount.
 */
#include "client/backend.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "io/file.h"
#include "io/path.h"
#include "io/probe.h"

struct backend_mount {
	struct ofs_backend backend;
	char *point;
	dev_t dev;
};

static int root_dev(int root, dev_t *ret)
{
	struct statx st;

	/* The kernel answers this without a request to the daemon. */
	if (statx(root, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &st) < 0)
		return ofs_errno();
	*ret = makedev(st.stx_dev_major, st.stx_dev_minor);
	return 0;
}

/* Opens the root each time: a descriptor kept between calls would prevent unmounting. */
static int mount_open_beneath(struct ofs_backend *b, const char *path, int flags, mode_t mode)
{
	const struct backend_mount *m = (const struct backend_mount *)b;
	OFS_CLOSE int root = ofs_io_open(AT_FDCWD, m->point, O_PATH | O_DIRECTORY, 0);
	OFS_CLOSE int agent = -1;
	dev_t dev;
	int r = root < 0 ? root : root_dev(root, &dev);

	if (r < 0)
		return r;
	if (dev != m->dev)
		return -ENODEV;
	if (!b->agent)
		return ofs_io_open_beneath(root, path, flags, mode);
	agent = ofs_io_open_beneath(root, b->agent, O_PATH | O_DIRECTORY, 0);
	return agent < 0 ? agent : ofs_io_open_beneath(agent, path, flags, mode);
}

/* Opens with O_PATH, which asks the daemon only for names that the kernel does not know. */
static int mount_find(struct ofs_backend *b, const char *path, int flags)
{
	return mount_open_beneath(b, path, O_PATH | flags, 0);
}

/* Opens the directory that holds `path`. *ret_name points into `path`. */
static int mount_find_parent(struct ofs_backend *b, const char *path, const char **ret_name)
{
	const char *slash = strrchr(path, '/');
	OFS_FREE char *parent = ofs_strdup(path);

	parent[slash ? slash - path : 0] = '\0';
	*ret_name = slash ? slash + 1 : path;
	return mount_find(b, parent, O_DIRECTORY);
}

static void mount_destroy(struct ofs_backend *b)
{
	free(((struct backend_mount *)b)->point);
	free(b);
}

static int mount_stat_flags(struct ofs_backend *b, const char *path, int flags, struct stat *ret)
{
	OFS_CLOSE int fd = mount_find(b, path, flags);

	if (fd < 0)
		return fd;
	return fstat(fd, ret) < 0 ? -errno : 0;
}

static int mount_stat(struct ofs_backend *b, const char *path, struct stat *ret)
{
	return mount_stat_flags(b, path, 0, ret);
}

static int mount_lstat(struct ofs_backend *b, const char *path, struct stat *ret)
{
	return mount_stat_flags(b, path, O_NOFOLLOW, ret);
}

/* Names an O_PATH descriptor in /proc: its attributes can only be reached by name. */
static void mount_name(int fd, char ret[32])
{
	snprintf(ret, 32, "/proc/self/fd/%d", fd);
}

static ssize_t mount_getxattr(struct ofs_backend *b, const char *path, const char *name, void *buf,
			      size_t size)
{
	OFS_CLOSE int fd = mount_find(b, path, 0);
	char full[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	mount_name(fd, full);
	n = getxattr(full, name, buf, size);
	return n < 0 ? -errno : n;
}

static int mount_setxattr(struct ofs_backend *b, const char *path, const char *name,
			  const void *value, size_t size)
{
	OFS_CLOSE int fd = mount_find(b, path, 0);
	char full[32];

	if (fd < 0)
		return fd;
	mount_name(fd, full);
	return setxattr(full, name, value, size, 0) < 0 ? -errno : 0;
}

static int mount_mkdir(struct ofs_backend *b, const char *path, mode_t mode)
{
	const char *name;
	OFS_CLOSE int parent = mount_find_parent(b, path, &name);
	bool is_open = mode & S_IWOTH;
	mode_t mask;
	int r;

	if (parent < 0)
		return parent;
	/*
	 * A chmod afterwards would lock others out for a moment. The mask becomes this thread's
	 * own, so that other threads keep theirs.
	 */
	if (is_open) {
		unshare(CLONE_FS);
		mask = umask(0);
	}
	r = mkdirat(parent, name, mode) < 0 ? -errno : 0;
	if (is_open)
		umask(mask);
	return r;
}

static int mount_list(struct ofs_backend *b, const char *path,
		      int (*fn)(void *arg, const char *name), void *arg)
{
	OFS_CLOSE int fd = mount_find(b, path, O_DIRECTORY);

	return fd < 0 ? fd : ofs_io_list(fd, ".", fn, arg);
}

static int mount_open_flags(struct ofs_backend *b, const char *path, int flags, mode_t mode,
			    ofs_handle *ret)
{
	int fd = mount_open_beneath(b, path, flags, mode);

	if (fd < 0)
		return fd;
	*ret = (ofs_handle)fd;
	return 0;
}

static int mount_open(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	return mount_open_flags(b, path, O_RDONLY | O_NONBLOCK, 0, ret);
}

static int mount_create(struct ofs_backend *b, const char *path, mode_t mode, ofs_handle *ret)
{
	return mount_open_flags(b, path, O_RDWR | O_CREAT | O_EXCL, mode, ret);
}

static int mount_edit(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	return mount_open_flags(b, path, O_RDWR | O_NONBLOCK, 0, ret);
}

static int64_t mount_seek(struct ofs_backend *b, ofs_handle h, uint64_t off, int whence)
{
	off_t at = lseek((int)h, (off_t)off, whence);

	(void)b;
	return at < 0 ? -errno : at;
}

static ssize_t mount_listxattr(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	OFS_CLOSE int fd = mount_find(b, path, 0);
	char full[32];
	ssize_t n;

	if (fd < 0)
		return fd;
	mount_name(fd, full);
	n = listxattr(full, buf, size);
	return n < 0 ? -errno : n;
}

static ssize_t mount_readlink(struct ofs_backend *b, const char *path, char *buf, size_t size)
{
	OFS_CLOSE int fd = mount_find(b, path, O_NOFOLLOW);
	ssize_t n = fd < 0 ? fd : readlinkat(fd, "", buf, size);

	return fd >= 0 && n < 0 ? -errno : n;
}

static int mount_symlink(struct ofs_backend *b, const char *target, const char *path)
{
	const char *name;
	OFS_CLOSE int parent = mount_find_parent(b, path, &name);

	if (parent < 0)
		return parent;
	return symlinkat(target, parent, name) < 0 ? -errno : 0;
}

static int mount_link(struct ofs_backend *b, const char *of, const char *path)
{
	const char *name;
	OFS_CLOSE int fd = mount_find(b, of, O_NOFOLLOW);
	OFS_CLOSE int parent = mount_find_parent(b, path, &name);
	char full[32];

	if (fd < 0 || parent < 0)
		return fd < 0 ? fd : parent;
	mount_name(fd, full);
	return linkat(AT_FDCWD, full, parent, name, AT_SYMLINK_FOLLOW) < 0 ? -errno : 0;
}

static int mount_stamp(struct ofs_backend *b, const char *path, mode_t mode, int64_t mtime)
{
	int64_t seconds = ofs_seconds(mtime);
	const struct timespec times[] = { { .tv_nsec = UTIME_OMIT },
					  { seconds, (long)(mtime - seconds * OFS_NS_PER_S) } };
	OFS_CLOSE int fd = mount_find(b, path, 0);
	char full[32];

	if (fd < 0)
		return fd;
	mount_name(fd, full);
	return chmod(full, mode) < 0 || utimensat(AT_FDCWD, full, times, 0) < 0 ? -errno : 0;
}

static ssize_t mount_read(struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off)
{
	(void)b;
	return ofs_io_pread((int)h, buf, size, off);
}

static int mount_write(struct ofs_backend *b, ofs_handle h, const void *buf, size_t size,
		       uint64_t off)
{
	(void)b;
	return ofs_io_pwrite((int)h, buf, size, off);
}

static void mount_close(struct ofs_backend *b, ofs_handle h)
{
	(void)b;
	close((int)h);
}

static int mount_rename(struct ofs_backend *b, const char *from, const char *to, unsigned int flags)
{
	const char *from_name, *to_name;
	OFS_CLOSE int from_parent = mount_find_parent(b, from, &from_name);
	OFS_CLOSE int to_parent = mount_find_parent(b, to, &to_name);

	if (from_parent < 0)
		return from_parent;
	if (to_parent < 0)
		return to_parent;
	return renameat2(from_parent, from_name, to_parent, to_name, flags) < 0 ? -errno : 0;
}

static int mount_remove(struct ofs_backend *b, const char *path, int flags)
{
	const char *name;
	OFS_CLOSE int parent = mount_find_parent(b, path, &name);

	if (parent < 0)
		return parent;
	return unlinkat(parent, name, flags) < 0 ? -errno : 0;
}

static int mount_unlink(struct ofs_backend *b, const char *path)
{
	return mount_remove(b, path, 0);
}

static int mount_rmdir(struct ofs_backend *b, const char *path)
{
	return mount_remove(b, path, AT_REMOVEDIR);
}

static int mount_lock(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	OFS_CLOSE int fd = mount_open_beneath(b, path, O_RDONLY | O_DIRECTORY, 0);
	struct stat st;

	if (fd < 0)
		return fd;
	if (b->shared && (fstat(fd, &st) < 0 || ofs_backend_is_seen(b, &st)))
		return -ENOLCK;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	*ret = (ofs_handle)ofs_steal_fd(&fd);
	return 0;
}

/* ---- calls with a time limit */

#define TIMED(type, name, parameters, ...)        \
	static type timed_##name parameters       \
	{                                         \
		type r;                           \
                                                  \
		ofs_probe_enter();                \
		r = mount_##name(b, __VA_ARGS__); \
		ofs_probe_leave();                \
		return r;                         \
	}

/* clang-format off */
TIMED(int, stat, (struct ofs_backend *b, const char *path, struct stat *ret), path, ret)
TIMED(int, lstat, (struct ofs_backend *b, const char *path, struct stat *ret), path, ret)
TIMED(ssize_t, getxattr,
      (struct ofs_backend *b, const char *path, const char *name, void *buf, size_t size),
      path, name, buf, size)
TIMED(int, setxattr,
      (struct ofs_backend *b, const char *path, const char *name, const void *value, size_t size),
      path, name, value, size)
TIMED(int, mkdir, (struct ofs_backend *b, const char *path, mode_t mode), path, mode)
TIMED(int, list,
      (struct ofs_backend *b, const char *path, int (*fn)(void *arg, const char *name), void *arg),
      path, fn, arg)
TIMED(int, open, (struct ofs_backend *b, const char *path, ofs_handle *ret), path, ret)
TIMED(int, create, (struct ofs_backend *b, const char *path, mode_t mode, ofs_handle *ret),
      path, mode, ret)
TIMED(ssize_t, read,
      (struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off),
      h, buf, size, off)
TIMED(int, write,
      (struct ofs_backend *b, ofs_handle h, const void *buf, size_t size, uint64_t off),
      h, buf, size, off)
TIMED(int, edit, (struct ofs_backend *b, const char *path, ofs_handle *ret), path, ret)
TIMED(int64_t, seek, (struct ofs_backend *b, ofs_handle h, uint64_t off, int whence),
      h, off, whence)
TIMED(ssize_t, listxattr, (struct ofs_backend *b, const char *path, char *buf, size_t size),
      path, buf, size)
TIMED(ssize_t, readlink, (struct ofs_backend *b, const char *path, char *buf, size_t size),
      path, buf, size)
TIMED(int, symlink, (struct ofs_backend *b, const char *target, const char *path), target, path)
TIMED(int, link, (struct ofs_backend *b, const char *of, const char *path), of, path)
TIMED(int, stamp, (struct ofs_backend *b, const char *path, mode_t mode, int64_t mtime),
      path, mode, mtime)
TIMED(int, rename,
      (struct ofs_backend *b, const char *from, const char *to, unsigned int flags),
      from, to, flags)
TIMED(int, unlink, (struct ofs_backend *b, const char *path), path)
TIMED(int, rmdir, (struct ofs_backend *b, const char *path), path)
TIMED(int, lock, (struct ofs_backend *b, const char *path, ofs_handle *ret), path, ret)
/* clang-format on */

static void timed_close(struct ofs_backend *b, ofs_handle h)
{
	ofs_probe_enter();
	mount_close(b, h);
	ofs_probe_leave();
}

static const struct ofs_backend_ops mount_ops = {
	.destroy = mount_destroy,
	.stat = timed_stat,
	.lstat = timed_lstat,
	.getxattr = timed_getxattr,
	.setxattr = timed_setxattr,
	.mkdir = timed_mkdir,
	.list = timed_list,
	.open = timed_open,
	.create = timed_create,
	.read = timed_read,
	.write = timed_write,
	.close = timed_close,
	.edit = timed_edit,
	.seek = timed_seek,
	.listxattr = timed_listxattr,
	.readlink = timed_readlink,
	.symlink = timed_symlink,
	.link = timed_link,
	.stamp = timed_stamp,
	.rename = timed_rename,
	.unlink = timed_unlink,
	.rmdir = timed_rmdir,
	.lock = timed_lock,
	.unlock = timed_close,
};

int ofs_backend_open_mount(const char *point, bool shared, struct ofs_error *err,
			   struct ofs_backend **ret)
{
	OFS_CLOSE int root = ofs_io_open(AT_FDCWD, point, O_PATH | O_DIRECTORY, 0);
	struct backend_mount *m;
	struct statfs fs;
	struct stat st;
	dev_t dev;

	/* Opening with O_PATH does not ask the daemon; fstat does. */
	if (root < 0 || fstat(root, &st) < 0 || fstatfs(root, &fs) < 0 || root_dev(root, &dev) < 0)
		return ofs_error_set(err, root < 0 ? -root : errno, "cannot use the mount '%s': %s",
				     point, strerror(root < 0 ? -root : errno));
	if (fs.f_type != FUSE_SUPER_MAGIC) /* unmounted since it was found */
		return ofs_error_set(err, ENOTCONN, "'%s' is no longer mounted", point);
	m = ofs_alloc(sizeof(*m));
	m->backend.ops = &mount_ops;
	m->backend.shared = shared;
	m->point = ofs_path_real(point);
	m->dev = dev;
	*ret = &m->backend;
	return 0;
}
