/* SPDX-License-Identifier: MIT */
/* A mounted tree, through system calls. */
#include "client/backend.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/xattr.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/file.h"
#include "io/path.h"

struct backend_mount {
	struct ofs_backend backend;
	char *point;
};

static char *mount_path(struct ofs_backend *b, const char *path)
{
	return ofs_path_join(((struct backend_mount *)b)->point, path);
}

static void mount_destroy(struct ofs_backend *b)
{
	free(((struct backend_mount *)b)->point);
	free(b);
}

static int mount_stat(struct ofs_backend *b, const char *path, struct stat *ret)
{
	OFS_FREE char *full = mount_path(b, path);

	return stat(full, ret) < 0 ? -errno : 0;
}

static int mount_lstat(struct ofs_backend *b, const char *path, struct stat *ret)
{
	OFS_FREE char *full = mount_path(b, path);

	return lstat(full, ret) < 0 ? -errno : 0;
}

static ssize_t mount_getxattr(struct ofs_backend *b, const char *path, const char *name, void *buf,
			      size_t size)
{
	OFS_FREE char *full = mount_path(b, path);
	ssize_t n = getxattr(full, name, buf, size);

	return n < 0 ? -errno : n;
}

static int mount_setxattr(struct ofs_backend *b, const char *path, const char *name,
			  const void *value, size_t size)
{
	OFS_FREE char *full = mount_path(b, path);

	return setxattr(full, name, value, size, 0) < 0 ? -errno : 0;
}

static int mount_mkdir(struct ofs_backend *b, const char *path, mode_t mode)
{
	OFS_FREE char *full = mount_path(b, path);

	return mkdir(full, mode) < 0 ? -errno : 0;
}

static int mount_list(struct ofs_backend *b, const char *path,
		      int (*fn)(void *arg, const char *name), void *arg)
{
	OFS_FREE char *full = mount_path(b, path);

	return ofs_io_list(AT_FDCWD, full, fn, arg);
}

static int mount_open_flags(struct ofs_backend *b, const char *path, int flags, mode_t mode,
			    ofs_handle *ret)
{
	OFS_FREE char *full = mount_path(b, path);
	int fd = ofs_io_open(AT_FDCWD, full, flags, mode);

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
	OFS_FREE char *full_from = mount_path(b, from), *full_to = mount_path(b, to);

	return renameat2(AT_FDCWD, full_from, AT_FDCWD, full_to, flags) < 0 ? -errno : 0;
}

static int mount_unlink(struct ofs_backend *b, const char *path)
{
	OFS_FREE char *full = mount_path(b, path);

	return unlink(full) < 0 ? -errno : 0;
}

static int mount_lock(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	OFS_FREE char *full = mount_path(b, path);
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, full, O_RDONLY | O_DIRECTORY, 0);

	if (fd < 0)
		return fd;
	while (flock(fd, LOCK_EX) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	*ret = (ofs_handle)ofs_steal_fd(&fd);
	return 0;
}

static const struct ofs_backend_ops mount_ops = {
	.destroy = mount_destroy,
	.stat = mount_stat,
	.lstat = mount_lstat,
	.getxattr = mount_getxattr,
	.setxattr = mount_setxattr,
	.mkdir = mount_mkdir,
	.list = mount_list,
	.open = mount_open,
	.create = mount_create,
	.read = mount_read,
	.write = mount_write,
	.close = mount_close,
	.rename = mount_rename,
	.unlink = mount_unlink,
	.lock = mount_lock,
	.unlock = mount_close,
};

int ofs_backend_open_mount(const char *point, struct ofs_error *err, struct ofs_backend **ret)
{
	struct backend_mount *m;
	struct stat st;

	if (stat(point, &st) < 0)
		return ofs_error_set(err, errno, "cannot use the mount '%s': %s", point,
				     strerror(errno));
	m = ofs_alloc(sizeof(*m));
	m->backend.ops = &mount_ops;
	m->point = ofs_strdup(point);
	*ret = &m->backend;
	return 0;
}
