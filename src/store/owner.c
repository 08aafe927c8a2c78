/* SPDX-License-Identifier: MIT */
#include "store/owner.h"

#include <fcntl.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/file.h"
#include "io/mounts.h"

#define WAIT_MAX (10 * OFS_NS_PER_S)
#define POLL_NS (20 * OFS_NS_PER_MS)

void ofs_owner_read(int dirfd, struct ofs_owner *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char *end;

	*ret = (struct ofs_owner){ .mountpoint = "-" };
	if (ofs_io_read_file(dirfd, "lock", sizeof(ret->mountpoint), &text) < 0)
		return;
	ofs_buf_append(&text, "", 1);
	ret->pid = strtol((const char *)text.data, &end, 10);
	if (*end == ' ')
		snprintf(ret->mountpoint, sizeof(ret->mountpoint), "%s", end + 1);
	ret->mountpoint[strcspn(ret->mountpoint, "\n")] = 0;
}

static int owner_write(int fd, const char *mountpoint)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r;

	ofs_buf_printf(&text, "%ld %s\n", (long)getpid(), mountpoint ? mountpoint : "-");
	r = ofs_io_truncate(fd, 0);
	if (r == 0)
		r = ofs_io_pwrite(fd, text.data, text.len, 0);
	return r;
}

/*
 * The owner's mount is there and answers. An owner whose mount has gone is closing, and a killed
 * one holds the lock until the kernel has torn it down.
 */
static bool owner_serves(const struct ofs_owner *o)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *mount;

	if (strcmp(o->mountpoint, "-") == 0 || ofs_mounts_read(NULL, &mounts) < 0)
		return false;
	mount = ofs_mounts_at(&mounts, o->mountpoint);
	return mount && ofs_mount_ask(mount) != OFS_MOUNT_DEAD;
}

/* Opens and locks the file; returns the descriptor that holds the lock. */
static int owner_lock(int dirfd, const char *path, bool shared, struct ofs_error *err)
{
	int64_t until = ofs_clock_monotonic() + WAIT_MAX;
	OFS_CLOSE int fd = ofs_io_open(dirfd, "lock", shared ? O_RDONLY : O_RDWR | O_CREAT, 0600);
	struct ofs_owner owner;
	int r, served = 0;

	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s/lock': %s", path, strerror(-fd));
	while ((r = ofs_io_lock(fd, shared)) == -EWOULDBLOCK) {
		ofs_owner_read(dirfd, &owner);
		/* An owner that is being killed may answer once more. */
		served = owner_serves(&owner) ? served + 1 : 0;
		if (served == 2)
			return ofs_error_set(
				err, EBUSY,
				"store '%s' is in use by process %ld, mounted at '%s': use that "
				"mount, or unmount it first with: fusermount3 -u '%s'",
				path, owner.pid, owner.mountpoint, owner.mountpoint);
		if (ofs_clock_monotonic() > until)
			return ofs_error_set(
				err, EBUSY,
				"store '%s' is in use by process %ld: wait until it has ended",
				path, owner.pid);
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
	}
	if (r < 0)
		return ofs_error_set(err, -r, "cannot lock '%s/lock': %s", path, strerror(-r));
	return ofs_steal_fd(&fd);
}

int ofs_owner_keep_away(int dirfd, const char *path, struct ofs_error *err)
{
	return owner_lock(dirfd, path, true, err);
}

int ofs_owner_acquire(int dirfd, const char *path, const char *mountpoint, struct ofs_error *err)
{
	OFS_CLOSE int fd = owner_lock(dirfd, path, false, err);
	struct ofs_owner last;
	int r;

	if (fd < 0)
		return ofs_steal_fd(&fd);
	ofs_owner_read(dirfd, &last);
	if (last.pid && mountpoint)
		ofs_log(LOG_NOTICE,
			"process %ld, the last owner of '%s', was killed or could not write "
			"everything: reading its journal",
			last.pid, path);
	/* The text is only informative: a full disk must not keep the owner out. */
	r = owner_write(fd, mountpoint);
	if (r < 0 && r != -ENOSPC && r != -EDQUOT)
		return ofs_error_set(err, -r, "cannot write '%s/lock': %s", path, strerror(-r));
	return ofs_steal_fd(&fd);
}

void ofs_owner_release(int *fd, bool clean)
{
	if (*fd >= 0 && clean)
		ofs_io_truncate(*fd, 0);
	ofs_io_close(fd);
}
