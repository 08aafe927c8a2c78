/* SPDX-License-Identifier: MIT */
#include "fuse/background.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/util.h"
#include "fuse/mountpoint.h"
#include "fuse/signals.h"

#define STEADY_NS (60 * OFS_NS_PER_S) /* a daemon that lived this long did not die of its start */
#define LOOK_NS (50 * OFS_NS_PER_MS)

/* Pauses before restarts. The death after the last of them is final. */
static const int64_t pauses[] = { 0, OFS_NS_PER_S / 2, OFS_NS_PER_S, 2 * OFS_NS_PER_S,
				  4 * OFS_NS_PER_S };

struct keeper {
	const char *mountpoint;
	sigset_t asking; /* the signals that ask to stop */
	sigset_t awaited; /* these and SIGCHLD; blocked */
	pid_t daemon; /* 0: none runs */
	bool asked;
};

static int exit_status(int status)
{
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Sends messages to syslog and closes our output, so that nobody waits for its end. */
static int leave_terminal(void)
{
	OFS_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd;

	if (null < 0 || chdir("/") < 0)
		return -errno;
	ofs_log_use_syslog();
	for (fd = 0; fd <= 2; fd++)
		if (dup2(null, fd) < 0)
			return -errno;
	return 0;
}

/* ---- the keeper. It holds nothing of the store: only daemons, forked from it, open the store */

/* Waits for a signal, for at most `most` unless that is NULL, and passes it on to the daemon. */
static void keeper_wait(struct keeper *k, const struct timespec *most)
{
	int number = sigtimedwait(&k->awaited, NULL, most);

	if (number <= 0 || number == SIGCHLD)
		return;
	k->asked = true;
	if (k->daemon > 0)
		kill(k->daemon, number);
}

/* Waits for the daemon to end. Returns its wait status. */
static int keeper_see_off(struct keeper *k)
{
	int status = 0;

	while (waitpid(k->daemon, &status, WNOHANG) == 0)
		keeper_wait(k, NULL);
	k->daemon = 0;
	return status;
}

/*
 * Returns true if a new daemon is to be started, which requires a dead mount. A daemon that ends in
 * order unmounts, whatever its status, and so does whoever wants a dead mount to end.
 */
static bool keeper_is_wanted(struct keeper *k, int status)
{
	return status != 0 && !k->asked &&
	       !(WIFSIGNALED(status) && sigismember(&k->asking, WTERMSIG(status))) &&
	       ofs_mountpoint_is_dead(k->mountpoint);
}

static bool keeper_pauses(struct keeper *k, int status, int64_t until)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };

	while (keeper_is_wanted(k, status)) {
		if (ofs_clock_monotonic() >= until)
			return true;
		keeper_wait(k, &look);
	}
	return false;
}

/* Called after the death of a daemon started at `started`. Returns if there is to be another. */
static void keeper_go_on(struct keeper *k, int status, int64_t started, unsigned int *deaths)
{
	int64_t now = ofs_clock_monotonic();
	const char *how = WIFSIGNALED(status) ? "signal" : "exit status";
	int number = WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);

	if (!keeper_is_wanted(k, status))
		_exit(exit_status(status));
	if (now - started >= STEADY_NS)
		*deaths = 0;
	if (*deaths == OFS_ARRAY_SIZE(pauses)) {
		ofs_log(LOG_ERR,
			"the daemon of '%s' died for the %uth time in a row (%s %d): giving up; "
			"mount it again with: offload up",
			k->mountpoint, *deaths + 1, how, number);
		_exit(exit_status(status));
	}
	ofs_log(LOG_WARNING, "the daemon of '%s' died (%s %d): starting it again", k->mountpoint,
		how, number);
	if (!keeper_pauses(k, status, now + pauses[(*deaths)++]))
		_exit(exit_status(status));
}

/* Returns in each daemon: 0 in the first, 1 in one that takes the place of another; or -errno. */
static int keep(const char *mountpoint)
{
	struct keeper k = { .mountpoint = mountpoint };
	unsigned int deaths = 0;
	bool first = true;
	sigset_t before;

	ofs_signals_choose(&k.asking);
	k.awaited = k.asking;
	sigaddset(&k.awaited, SIGCHLD);
	signal(SIGCHLD, SIG_DFL);
	sigprocmask(SIG_BLOCK, &k.awaited, &before);
	for (;; first = false) {
		int64_t started = ofs_clock_monotonic();

		k.daemon = fork();
		if (k.daemon == 0) {
			sigprocmask(SIG_SETMASK, &before, NULL);
			return !first;
		}
		if (first && k.daemon < 0)
			return -errno;
		if (first)
			leave_terminal();
		/* A failing fork, as when memory runs out, counts as a death. */
		keeper_go_on(&k, k.daemon < 0 ? SIGKILL : keeper_see_off(&k), started, &deaths);
	}
}

/* ---- the public functions */

int ofs_background_enter(const char *kept, struct ofs_background *ret)
{
	int ready[2], status = 0, r;
	char byte;
	pid_t pid;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0) {
		close(ready[0]);
		setsid();
		r = kept ? keep(kept) : 0;
		*ret = (struct ofs_background){ .ready = ready[1], .replaces = r > 0 };
		return OFS_MIN(r, 0);
	}
	close(ready[1]);
	if (read(ready[0], &byte, 1) == 1)
		_exit(EXIT_SUCCESS);
	waitpid(pid, &status, 0);
	status = exit_status(status);
	_exit(status ? status : EXIT_FAILURE);
}

static void tell_service_manager(void)
{
	static const char text[] = "READY=1";
	const char *name = getenv("NOTIFY_SOCKET");
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = name ? strlen(name) : 0;
	OFS_CLOSE int fd = -1;

	if (!len || len > sizeof(to.sun_path))
		return;
	memcpy(to.sun_path, name, len);
	if (*name == '@') /* an abstract name, which is not in the file system */
		to.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0 || sendto(fd, text, strlen(text), 0, (struct sockaddr *)&to,
			     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0)
		ofs_log(LOG_WARNING, "cannot tell '%s' that the mount stands: %s", name,
			strerror(errno));
}

int ofs_background_ready(struct ofs_background *b)
{
	int r;

	if (b->ready < 0) {
		tell_service_manager();
		return 0;
	}
	r = leave_terminal();
	/* Whoever started us may have ended, or have heard from an earlier daemon. */
	if (r == 0 && write(b->ready, "", 1) != 1 && errno != EPIPE)
		r = -errno;
	close(b->ready);
	return r;
}
