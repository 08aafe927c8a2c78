/* SPDX-License-Identifier: MIT */
#include "cli/daemon.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "io/file.h"
#include "io/path.h"
#include "io/process.h"

#define DAEMON_NAME "offloadfs"
#define DAEMON_WAIT_NS (60 * OFS_NS_PER_S)
#define DAEMON_USERS_MAX 4 /* in a message */
#define DAEMON_POLL_NS (10 * OFS_NS_PER_MS)

char *ofs_program_find(const char *program)
{
	const char *path = getenv("PATH");
	OFS_FREE char *folders = ofs_strdup(path ? path : "/usr/bin:/bin");
	char *save = NULL, *folder;

	for (folder = strtok_r(folders, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, program);
		struct stat st;

		if (stat(file, &st) == 0 && S_ISREG(st.st_mode) && access(file, X_OK) == 0)
			return ofs_steal(file);
	}
	return NULL;
}

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

/* ---- the processes that keep a mount busy */

struct users {
	const char *mountpoint;
	const char *pid; /* of the process being looked at */
	int count;
	struct ofs_buf *text; /* "bash (pid 123), tail (pid 124)" */
};

/* 1 when the link /proc/<pid>/fd/<name> leads into the mount. */
static int look_at_link(void *arg, const char *name)
{
	const struct users *u = arg;
	char link[64], target[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%.20s/fd/%.20s", u->pid, name);
	n = readlink(link, target, sizeof(target) - 1);
	if (n <= 0)
		return 0;
	target[n] = '\0';
	return ofs_path_below(u->mountpoint, target) != NULL;
}

static int look_at_process(void *arg, const char *name)
{
	struct users *u = arg;
	char path[64], comm[32] = "a process";
	FILE *in;

	if (!isdigit((unsigned char)name[0]))
		return 0;
	u->pid = name;
	snprintf(path, sizeof(path), "/proc/%.20s/fd", name);
	if (!look_at_link(u, "../cwd") && !look_at_link(u, "../root") &&
	    !look_at_link(u, "../exe") && ofs_io_list(AT_FDCWD, path, look_at_link, u) <= 0)
		return 0;
	snprintf(path, sizeof(path), "/proc/%.20s/comm", name);
	in = fopen(path, "re");
	if (in) {
		if (fgets(comm, sizeof(comm), in))
			comm[strcspn(comm, "\n")] = '\0';
		fclose(in);
	}
	ofs_buf_printf(u->text, "%s%s (pid %s)", u->count ? ", " : "", comm, name);
	return ++u->count == DAEMON_USERS_MAX;
}

/* Looks at the paths of open files and working directories only, never into the mount. */
static int daemon_busy(const char *mountpoint, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct users u = { .mountpoint = mountpoint, .text = &text };

	ofs_io_list(AT_FDCWD, "/proc", look_at_process, &u);
	return ofs_error_set(
		err, EBUSY,
		"'%s' is in use%s%.*s: leave the folder and close its files, then try again",
		mountpoint, u.count ? " by " : "", (int)text.len, (const char *)text.data);
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
	said = ofs_buf_str(&text);
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
