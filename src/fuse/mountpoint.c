/* SPDX-License-Identifier: MIT */
#include "fuse/mountpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/log.h"
#include "io/mounts.h"
#include "io/path.h"

#define DEVICE "/dev/fuse"

int ofs_device_check(struct ofs_error *err)
{
	OFS_CLOSE int fd = open(DEVICE, O_RDWR | O_CLOEXEC);

	if (fd >= 0)
		return 0;
	if (errno == ENOENT || errno == ENXIO || errno == ENODEV)
		return ofs_error_set(
			err, errno,
			"%s is missing: load the module with 'modprobe fuse', or start the "
			"container with '--device %s --cap-add SYS_ADMIN'",
			DEVICE, DEVICE);
	return ofs_error_set(err, errno,
			     "%s cannot be opened: %s: give this user read and write access to it",
			     DEVICE, strerror(errno));
}

bool ofs_mountpoint_is_dead(const char *path)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *m =
		ofs_mounts_read(NULL, &mounts) < 0 ? NULL : ofs_mounts_at(&mounts, path);

	return m && ofs_mount_ask(m) == OFS_MOUNT_DEAD;
}

bool ofs_mountpoint_clear(const char *path)
{
	const char *const argv[] = { "fusermount3", "-u", "-z", "--", path, NULL };
	int status = 1;
	pid_t pid;

	if (!ofs_mountpoint_is_dead(path))
		return false;
	ofs_log(LOG_WARNING, "'%s' is the mount of a daemon that died: unmounting it", path);
	if (umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) == 0)
		return true;
	if (posix_spawnp(&pid, argv[0], NULL, NULL, (char *const *)argv, environ) == 0)
		waitpid(pid, &status, 0);
	return status == 0;
}

static int is_empty(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;
	int entries = 0;

	if (!dir)
		return -errno;
	while ((e = readdir(dir)))
		entries += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return entries == 0;
}

/* Returns -EBUSY with a message if a daemon has a tree mounted there. */
static int check_not_mounted(const char *path, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *m;
	enum ofs_mount_state state;

	if (ofs_mounts_read(NULL, &mounts) < 0)
		return 0;
	m = ofs_mounts_at(&mounts, path);
	state = m ? ofs_mount_ask(m) : OFS_MOUNT_DEAD;
	if (state == OFS_MOUNT_DEAD)
		return 0;
	if (state == OFS_MOUNT_SILENT)
		return ofs_error_set(
			err, EBUSY,
			"'%s' is already the mount of the store '%s', whose daemon does "
			"not answer; offload doctor says what to do",
			path, m->source);
	return ofs_error_set(
		err, EBUSY,
		"'%s' is already the mount of the store '%s': use it, or unmount it first with: "
		"fusermount3 -u '%s'",
		path, m->source, path);
}

int ofs_mountpoint_prepare(const char *path, const char *store, struct ofs_error *err)
{
	struct stat st;
	int r = check_not_mounted(path, err);

	if (r < 0)
		return r;
	ofs_mountpoint_clear(path);
	r = stat(path, &st) < 0 ? -errno : 0;
	if (r == -ENOENT)
		return ofs_error_set(
			err, ENOENT,
			"mount point '%s' does not exist: create it with: mkdir -p '%s'", path,
			path);
	if (r < 0)
		return ofs_error_set(err, -r, "mount point '%s' cannot be used: %s", path,
				     strerror(-r));
	if (!S_ISDIR(st.st_mode))
		return ofs_error_set(err, ENOTDIR,
				     "mount point '%s' is not a directory: name an empty directory",
				     path);
	if (ofs_path_below(path, store))
		return ofs_error_set(err, EINVAL,
				     "the store '%s' lies in the mount point '%s': keep it outside",
				     store, path);
	r = is_empty(path);
	if (r < 0)
		return ofs_error_set(err, -r, "mount point '%s' cannot be read: %s", path,
				     strerror(-r));
	if (r == 0)
		return ofs_error_set(
			err, ENOTEMPTY,
			"mount point '%s' is not empty: name an empty directory, or a new one",
			path);
	return 0;
}
