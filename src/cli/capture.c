/* SPDX-License-Identifier: MIT */
#include "cli/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "cli/process.h"
#include "io/path.h"

#define CAPTURE_CHUNK ((size_t)64 << 10)
/*
 * How long what the command left behind may be silent, and may go on, before it is no longer
 * listened to.
 */
#define CAPTURE_QUIET_MS 250
#define CAPTURE_DRAIN_MS 2000

struct capture {
	pid_t child;
	int output; /* read end; -1 after the end of the file */
	int signals;
	bool hangup; /* SIGHUP was not ignored when we came */
	sigset_t mask; /* when we came */
	struct sigaction interrupt; /* dispositions when we came */
	struct sigaction quit;
	char *chunk;
	void (*sink)(void *arg, const void *data, size_t len);
	void *arg;
};

/*
 * What a shell would give the command: everything at its default but what our caller had chosen to
 * ignore of a terminal's signals, as nohup and background jobs do. SIGPIPE is often ignored by the
 * runtimes that call us, by accident.
 */
static void capture_reset_signals(const struct capture *c)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	for (int i = 1; i < NSIG; i++) {
		if (i != SIGHUP && i != SIGINT && i != SIGQUIT)
			sigaction(i, &plain, NULL);
	}
	sigaction(SIGINT, &c->interrupt, NULL);
	sigaction(SIGQUIT, &c->quit, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/*
 * execvp says EACCES as soon as PATH has a folder that may not be searched; for a shell the command is
 * then merely not found. Whether a folder that may be searched has the file, executable or not.
 */
static bool capture_is_in_path(const char *command)
{
	OFS_FREE char *path = ofs_strdup(getenv("PATH") ? getenv("PATH") : "");
	char *save = NULL, *folder;
	bool found = false;

	for (folder = strtok_r(path, ":", &save); folder && !found;
	     folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, command);

		found = access(file, F_OK) == 0;
	}
	return found;
}

/* What the shells call it: 127 not found, 126 found and not to be run. */
static int capture_exit_code(const char *command, int *error)
{
	if (*error == EACCES && !strchr(command, '/') && !capture_is_in_path(command))
		*error = ENOENT;
	return *error == ENOENT || *error == ENOTDIR ? 127 : 126;
}

__attribute__((noreturn)) static void
capture_child(const struct capture *c, const char *const argv[], int output, int report)
{
	int error;

	capture_reset_signals(c);
	if (dup2(output, STDOUT_FILENO) >= 0 && dup2(output, STDERR_FILENO) >= 0)
		execvp(argv[0],
		       (char *const *)argv); /* which changes nothing, but lacks the const */
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

/* From here on signals are read, not taken: no handler, so no race with one. */
static int capture_take_signals(struct capture *c)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL },
			       ignore = { .sa_handler = SIG_IGN };
	struct sigaction hangup;
	sigset_t set;

	sigaction(SIGHUP, NULL, &hangup);
	c->hangup = hangup.sa_handler != SIG_IGN;
	sigaction(SIGINT, &ignore, &c->interrupt);
	sigaction(SIGQUIT, &ignore, &c->quit);
	sigaction(SIGPIPE, &ignore, NULL);
	/* Were it ignored, the child's end could not be waited for. */
	sigaction(SIGCHLD, &plain, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigaddset(&set, SIGTERM);
	if (c->hangup)
		sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, &c->mask);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? -errno : 0;
}

static int capture_start(struct capture *c, const char *const argv[], int *ret_error)
{
	int output[2], report[2], error = 0, r = 0;

	if (pipe2(output, O_CLOEXEC) < 0)
		return -errno;
	c->output = output[0];
	if (pipe2(report, O_CLOEXEC) < 0) {
		r = -errno;
		close(output[1]);
		return r;
	}
	c->child = fork();
	if (c->child == 0)
		capture_child(c, argv, output[1], report[1]);
	if (c->child < 0)
		r = -errno;
	close(output[1]);
	close(report[1]);
	if (r == 0 && read(report[0], &error, sizeof(error)) != sizeof(error))
		error = 0;
	close(report[0]);
	*ret_error = error;
	return r;
}

/* Reads once. */
static void capture_read(struct capture *c)
{
	ssize_t n = read(c->output, c->chunk, CAPTURE_CHUNK);

	if (n > 0)
		c->sink(c->arg, c->chunk, (size_t)n);
	else if (n == 0 || (errno != EINTR && errno != EAGAIN))
		close(ofs_steal_fd(&c->output));
}

/* Takes what has arrived; passes it on to `child` when that is still ours to signal (else 0). */
static void capture_take_pending(const struct capture *c, pid_t child)
{
	struct signalfd_siginfo info;

	while (read(c->signals, &info, sizeof(info)) == sizeof(info)) {
		if (child && info.ssi_signo != SIGCHLD)
			kill(child, (int)info.ssi_signo);
	}
}

static int capture_until_exit(struct capture *c)
{
	int status = 0;

	for (;;) {
		struct pollfd fds[] = {
			{ .fd = c->signals, .events = POLLIN },
			{ .fd = c->output, .events = POLLIN },
		};

		if (poll(fds, OFS_ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[1].revents)
			capture_read(c);
		if (!fds[0].revents)
			continue;
		capture_take_pending(c, c->child);
		if (waitpid(c->child, &status, WNOHANG) == c->child)
			return status;
	}
}

static void capture_drain(struct capture *c)
{
	int64_t end = ofs_clock_monotonic() + CAPTURE_DRAIN_MS * OFS_NS_PER_MS;

	while (c->output >= 0) {
		struct pollfd fd = { .fd = c->output, .events = POLLIN };
		int64_t left = (end - ofs_clock_monotonic()) / OFS_NS_PER_MS;

		int n;

		if (left <= 0)
			return;
		n = poll(&fd, 1, (int)OFS_MIN(left, CAPTURE_QUIET_MS));
		if (n == 0 || (n < 0 && errno != EINTR))
			return;
		if (n > 0)
			capture_read(c);
	}
}

int ofs_capture_run(const char *const argv[], void (*sink)(void *arg, const void *data, size_t len),
		    void *arg, struct ofs_capture *ret)
{
	OFS_FREE char *chunk = malloc(CAPTURE_CHUNK);
	struct capture c = { .output = -1, .signals = -1, .chunk = chunk, .sink = sink, .arg = arg };
	int status, error = 0, r;

	if (!chunk)
		return -ENOMEM;
	r = capture_take_signals(&c);
	if (r == 0)
		r = capture_start(&c, argv, &error);
	if (r == 0 && error) {
		waitpid(c.child, &status, 0);
		*ret = (struct ofs_capture){ .exit_code = capture_exit_code(argv[0], &error) };
		ret->error = error;
	} else if (r == 0) {
		status = capture_until_exit(&c);
		capture_drain(&c);
		capture_take_pending(&c, 0);
		*ret = (struct ofs_capture){
			.exit_code = ofs_process_exit_code(status),
			.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0,
		};
	}
	if (c.output >= 0)
		close(c.output);
	if (c.signals >= 0)
		close(c.signals);
	sigprocmask(SIG_SETMASK, &c.mask, NULL);
	return r;
}
