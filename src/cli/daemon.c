/* SPDX-License-Identifier: MIT */
#include "cli/daemon.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/probe.h"
#include "cli/users.h"
#include "io/file.h"
#include "io/path.h"
#include "io/process.h"

#define DAEMON_NAME "offloadfs"
#define DAEMON_WAIT_NS (60 * OFS_NS_PER_S)
#define DAEMON_POLL_NS (10 * OFS_NS_PER_MS)

char *ofs_daemon_program(void)
{
	const char *named = getenv("OFFLOADFS");
	OFS_FREE char *self = NULL, *folder = NULL, *beside = NULL;

	if (named && *named)
		return ofs_strdup(named);
	self = realpath("/proc/self/exe", NULL);
	if (self) {
		folder = ofs_path_parent(self);
		beside = ofs_path_join(folder, DAEMON_NAME);
		if (access(beside, X_OK) == 0)
			return ofs_steal(beside);
	}
	return ofs_strdup(DAEMON_NAME);
}

static int daemon_ask_version(const void *arg, char *text)
{
	const char *const argv[] = { arg, "--version", NULL };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	int r = ofs_process_run_helper(argv, NULL, OFS_PROCESS_OUT | OFS_PROCESS_QUIET, &said);

	if (r < 0)
		return -r;
	if (said.len)
		memcpy(text, said.data, OFS_MIN(said.len, (size_t)OFS_PROBE_TEXT - 1));
	text[strcspn(text, "\n")] = '\0';
	return 0;
}

int ofs_daemon_version(const char *program, char **ret)
{
	char text[OFS_PROBE_TEXT];
	int r = ofs_probe_run(daemon_ask_version, program, text);

	if (r != 0)
		return r < 0 ? r : -r;
	*ret = ofs_strdup(text);
	return 0;
}

int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err)
{
	OFS_FREE char *program = ofs_daemon_program();
	const char *const argv[] = { program, "--", store, mountpoint, NULL };
	int r = ofs_process_run_helper(argv, NULL, 0, NULL);

	if (r == -ENOENT)
		return ofs_error_set(
			err, ENOENT,
			"cannot find the daemon '%s': install it beside offload or in PATH, "
			"or name it in OFFLOADFS",
			program);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot run the daemon '%s': %s", program,
				     strerror(-r));
	if (r > 128)
		return ofs_error_set(err, EIO, "the daemon '%s' was ended by signal %d", program,
				     r - 128);
	return r ? ofs_error_set(err, EIO, "%s", "") : 0;
}

static int daemon_busy(const char *mountpoint, struct ofs_error *err)
{
	OFS_FREE char *users = ofs_users_find(mountpoint);

	return ofs_error_set(
		err, EBUSY,
		"'%s' is in use%s%s: leave the folder and close its files, then try again",
		mountpoint, *users ? " by " : "", users);
}

int ofs_daemon_unmount(const char *mountpoint, struct ofs_error *err)
{
	const char *const argv[] = { "fusermount3", "-u", "--", mountpoint, NULL };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *said;
	int r = ofs_process_run_helper(argv, NULL, OFS_PROCESS_ERR, &text);

	if (r == 0)
		return 0;
	if (r < 0) { /* no fusermount3: root can do without */
		if (umount2(mountpoint, UMOUNT_NOFOLLOW) == 0)
			return 0;
		if (errno == EBUSY)
			return daemon_busy(mountpoint, err);
		return ofs_error_set(err, errno, "cannot unmount '%s': %s%s", mountpoint,
				     strerror(errno),
				     errno == EPERM ? "; install fusermount3 (package fuse3)" : "");
	}
	ofs_buf_append(&text, "", 1);
	said = (const char *)text.data;
	if (strcasestr(said, "busy"))
		return daemon_busy(mountpoint, err);
	return ofs_error_set(err, EIO, "cannot unmount '%s': %.*s", mountpoint,
			     (int)strcspn(said, "\n"), said);
}

int ofs_daemon_wait(const char *store, struct ofs_error *err)
{
	OFS_FREE char *path = ofs_path_join(store, "lock");
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, path, O_RDONLY, 0);
	int64_t give_up = ofs_clock_monotonic() + DAEMON_WAIT_NS;
	struct timespec pause = { .tv_nsec = DAEMON_POLL_NS };

	if (fd == -ENOENT)
		return 0;
	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s': %s", path, strerror(-fd));
	/* Shared: to ask is not to own. */
	while (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return ofs_error_set(err, errno, "cannot lock '%s': %s", path,
					     strerror(errno));
		if (ofs_clock_monotonic() > give_up)
			return ofs_error_set(
				err, ETIMEDOUT,
				"unmounted, but the daemon still has not closed the store "
				"'%s' after a minute",
				store);
		nanosleep(&pause, NULL);
	}
	return 0;
}
