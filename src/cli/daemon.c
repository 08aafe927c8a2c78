/* SPDX-License-Identifier: MIT */
#include "cli/daemon.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/path.h"
#include "io/process.h"
#include "store/owner.h"

#define DAEMON_NAME "offloadfs"
#define DAEMON_WAIT_NS (60 * OFS_NS_PER_S)
#define DAEMON_RETRY_NS OFS_NS_PER_S
#define DAEMON_USERS_MAX 4 /* named in a message */
#define DAEMON_POLL_NS (10 * OFS_NS_PER_MS)
#define STATUS_MAX ((size_t)1 << 16)

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

static int daemon_cannot_run(const char *program, int error, struct ofs_error *err)
{
	if (error == ENOENT)
		return ofs_error_set(
			err, ENOENT,
			"cannot find the daemon '%s': install it beside offload or in PATH, "
			"or name it in OFFLOADFS",
			program);
	return ofs_error_set(err, error, "cannot run the daemon '%s': %s", program,
			     strerror(error));
}

int ofs_daemon_become(const char *store, const char *mountpoint, struct ofs_error *err)
{
	OFS_FREE char *program = ofs_daemon_program();
	const char *const argv[] = { program, "-f", "--", store, mountpoint, NULL };

	execvp(program, (char *const *)argv);
	return daemon_cannot_run(program, errno, err);
}

static int daemon_run(const char *options, const char *store, const char *mountpoint,
		      struct ofs_error *err)
{
	OFS_FREE char *program = ofs_daemon_program();
	const char *const argv[] = { program, "-o", options, "--", store, mountpoint, NULL };
	int r = ofs_process_run_helper(argv, NULL, 0, NULL);

	if (r < 0)
		return daemon_cannot_run(program, -r, err);
	if (r > 128)
		return ofs_error_set(err, EIO, "the daemon '%s' was ended by signal %d", program,
				     r - 128);
	return r ? ofs_error_set(err, EIO, "%s", "") : 0;
}

int ofs_daemon_start(const char *store, const char *mountpoint, struct ofs_error *err)
{
	return daemon_run("supervise", store, mountpoint, err);
}

int ofs_daemon_follow(const char *url, const char *mountpoint, struct ofs_error *err)
{
	return daemon_run("supervise,follow", url, mountpoint, err);
}

/* ---- the processes that keep a mount busy */

struct users {
	const char *mountpoint;
	const char *pid; /* of the process being examined */
	int count;
	struct ofs_buf *text; /* "bash (pid 123), tail (pid 124)" */
};

/* Returns 1 if the link /proc/<pid>/fd/<name> leads into the mount. */
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

/*
 * Reports who uses the mount, by the paths of open files and working directories; never enters the
 * mount. Returns -EBUSY, or -EAGAIN if nobody is found: it may be busy for a moment only.
 */
static int daemon_busy(const char *mountpoint, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct users u = { .mountpoint = mountpoint, .text = &text };

	ofs_io_list(AT_FDCWD, "/proc", look_at_process, &u);
	return ofs_error_set(
		err, u.count ? EBUSY : EAGAIN,
		"'%s' is in use%s%.*s: leave the folder and close its files, then try again",
		mountpoint, u.count ? " by " : "", (int)text.len, (const char *)text.data);
}

static int daemon_unmount(const char *mountpoint, struct ofs_error *err)
{
	const char *const argv[] = { "fusermount3", "-u", "--", mountpoint, NULL };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *said;
	int r = ofs_process_run_helper(argv, NULL, OFS_PROCESS_ERR, &text);

	if (r == 0)
		return 0;
	if (r < 0) { /* no fusermount3, which root can do without */
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

json_t *ofs_daemon_status(const char *mountpoint)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_CLOSE int root = ofs_io_open(AT_FDCWD, mountpoint, O_PATH | O_DIRECTORY, 0), fd = -1;

	if (root >= 0) /* whoever mounted it may have put anything there */
		fd = ofs_io_open_beneath(root, ".offload/status.json", O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0 || ofs_io_read_fd(fd, STATUS_MAX, &text) < 0)
		return NULL;
	return json_loadb((const char *)text.data, text.len, 0, NULL);
}

static bool daemon_is_mounted(const char *store, const char *mountpoint)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *m =
		ofs_mounts_read(NULL, &mounts) < 0 ? NULL : ofs_mounts_at(&mounts, mountpoint);

	return m && strcmp(m->source, store) == 0;
}

/* Returns 1 if the store has an owner (which, unless `at` is NULL, is to mount it there), or 0. */
static int daemon_owns(const char *store, const char *at, struct ofs_error *err)
{
	OFS_CLOSE int dir = ofs_io_open(AT_FDCWD, store, O_RDONLY | O_DIRECTORY, 0);
	OFS_CLOSE int fd = dir < 0 ? dir : ofs_io_open(dir, "lock", O_RDONLY, 0);
	struct ofs_owner owner;
	int r;

	if (fd == -ENOENT || fd == -ENOTDIR)
		return 0;
	/* A shared lock, because asking must not make us the owner. */
	r = fd < 0 ? fd : ofs_io_lock(fd, true);
	if (r < 0 && r != -EWOULDBLOCK)
		return ofs_error_set(err, -r, "cannot lock '%s/lock': %s", store, strerror(-r));
	if (r == 0 || !at)
		return r != 0;
	ofs_owner_read(dir, &owner);
	return strcmp(owner.mountpoint, at) == 0;
}

int ofs_daemon_end(const char *store, const char *mountpoint, struct ofs_error *err)
{
	int64_t began = ofs_clock_monotonic();
	int64_t retry = began + DAEMON_RETRY_NS, give_up = began + DAEMON_WAIT_NS;
	struct timespec pause = { .tv_nsec = DAEMON_POLL_NS };
	bool ended = false;
	int r;

	for (;; nanosleep(&pause, NULL)) {
		if (daemon_is_mounted(store, mountpoint)) {
			r = daemon_unmount(mountpoint, err);
			/* Another daemon may just be replacing one that died. */
			if (r == -EBUSY || (r < 0 && ofs_clock_monotonic() > retry))
				return r;
			ended = ended || r == 0;
		} else {
			r = daemon_owns(store, ended ? NULL : mountpoint, err);
			if (r <= 0)
				return r < 0 ? r : ended;
		}
		if (ofs_clock_monotonic() > give_up)
			return ofs_error_set(err, ETIMEDOUT,
					     "unmounted, but after a minute the daemon still has "
					     "not closed the store '%s': another mount namespace "
					     "may have the mount; SIGTERM ends the daemon",
					     store);
	}
}
