/* SPDX-License-Identifier: MIT */
#include "client/filter.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/sigpipe.h"
#include "base/util.h"
#include "base/text.h"

#define FILTER_CHUNK ((size_t)64 << 10)
/* How long what is left of a command may take to end when it is asked to. */
#define FILTER_GRACE (500 * OFS_NS_PER_MS)
/* How often it is looked for the end of a command where the kernel cannot tell of it. */
#define FILTER_LOOK_MS 20
/* A timeout that is longer is none. */
#define FILTER_TIMEOUT_MAX_S ((uint64_t)10 * 365 * 86400)

/* Of these a program is ended; a thread that runs a filter must first end the filter. */
static const int ending_signals[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

struct filter {
	const struct ofs_filter *spec;
	pid_t pid; /* and its process group; not reaped before the group has got its last signal */
	bool ended;
	int input; /* our ends of its pipes; -1: closed */
	int output;
	int error;
	int process; /* readable when it has ended; -1: the kernel has no such thing */
	int signals; /* readable when one of `ending_signals` is pending */
	sigset_t mask; /* of the thread when it came */
	struct ofs_sigpipe sigpipe;
	const char *p; /* what it has yet to be given */
	size_t left;
	struct ofs_buf text;
	char tail[4096]; /* the last of its standard error */
	size_t tail_len;
	char *chunk;
};

/* ---- starting */

/* Both ends keep clear of the standard descriptors, which the child's are moved to one after the other. */
static int filter_pipe(int ret[2])
{
	int ends[2], r = 0;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	for (int i = 0; i < 2; i++) {
		ret[i] = fcntl(ends[i], F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
		if (ret[i] < 0)
			r = -errno;
		close(ends[i]);
	}
	for (int i = 0; r < 0 && i < 2; i++) {
		if (ret[i] >= 0)
			close(ofs_steal_fd(&ret[i]));
	}
	return r;
}

/* Everything at its default but what of a terminal's signals our caller chose to ignore; nothing blocked. */
static int filter_attributes(posix_spawnattr_t *ret)
{
	sigset_t set;
	int r = posix_spawnattr_init(ret);

	if (r != 0)
		return -r;
	sigemptyset(&set);
	posix_spawnattr_setsigmask(ret, &set);
	sigfillset(&set);
	sigdelset(&set, SIGHUP);
	sigdelset(&set, SIGINT);
	sigdelset(&set, SIGQUIT);
	posix_spawnattr_setsigdefault(ret, &set);
	/* Without a terminal, whoever wants to ask for a password fails instead of being stopped. */
	posix_spawnattr_setflags(ret, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
					      POSIX_SPAWN_SETSID);
	return 0;
}

static int filter_actions(posix_spawn_file_actions_t *ret, const int ends[3])
{
	int r = posix_spawn_file_actions_init(ret);

	if (r != 0)
		return -r;
	for (int i = STDIN_FILENO; r == 0 && i <= STDERR_FILENO; i++)
		r = posix_spawn_file_actions_adddup2(ret, ends[i], i);
	if (r == 0)
		r = posix_spawn_file_actions_addclosefrom_np(ret, STDERR_FILENO + 1);
	if (r != 0)
		posix_spawn_file_actions_destroy(ret);
	return -r;
}

static bool names_one_of(const char *variable, const char *const *others)
{
	size_t len = strcspn(variable, "=") + 1;

	for (; others && *others; others++) {
		if (strncmp(variable, *others, len) == 0)
			return true;
	}
	return false;
}

/* Allocated, with borrowed strings. */
static char **filter_environment(const char *const *more)
{
	size_t n = 0, have = 0, added = 0;
	char **all;

	while (environ && environ[have])
		have++;
	while (more && more[added])
		added++;
	all = ofs_alloc((have + added + 1) * sizeof(*all));
	for (size_t i = 0; i < have; i++) {
		if (!names_one_of(environ[i], more))
			all[n++] = environ[i];
	}
	for (size_t i = 0; i < added; i++)
		all[n++] = (char *)more[i];
	return all;
}

static int filter_spawn(struct filter *f, const int ends[3])
{
	const char *const argv[] = { "sh", "-c", "--", f->spec->command, NULL };
	OFS_FREE char **environment = filter_environment(f->spec->environment);
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r;

	r = filter_attributes(&attributes);
	if (r < 0)
		return r;
	r = filter_actions(&actions, ends);
	if (r == 0) {
		/* Which changes no argument, but lacks the const. */
		r = -posix_spawn(&f->pid, "/bin/sh", &actions, &attributes, (char *const *)argv,
				 environment);
		posix_spawn_file_actions_destroy(&actions);
	}
	posix_spawnattr_destroy(&attributes);
	return r;
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(ofs_steal_fd(fd));
}

static int filter_start(struct filter *f)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, error[2] = { -1, -1 }, r;

	r = filter_pipe(in);
	if (r == 0)
		r = filter_pipe(out);
	if (r == 0)
		r = filter_pipe(error);
	if (r == 0) {
		f->input = ofs_steal_fd(&in[1]);
		f->output = ofs_steal_fd(&out[0]);
		f->error = ofs_steal_fd(&error[0]);
		/* O_NONBLOCK belongs to an end of a pipe: the command's ends stay as it expects them. */
		fcntl(f->input, F_SETFL, O_NONBLOCK);
		fcntl(f->output, F_SETFL, O_NONBLOCK);
		fcntl(f->error, F_SETFL, O_NONBLOCK);
		r = filter_spawn(f, (int[]){ in[0], out[1], error[1] });
	}
	for (int i = 0; i < 2; i++) {
		close_if_open(&in[i]);
		close_if_open(&out[i]);
		close_if_open(&error[i]);
	}
	if (r == 0)
		f->process = (int)syscall(SYS_pidfd_open, f->pid, 0);
	return r;
}

/*
 * Pending signals show on a descriptor and are taken when the thread's mask is what it was. In a program
 * of one thread that is after the command was ended; with more of them another one may take them.
 */
static int filter_hold_signals(struct filter *f)
{
	struct sigaction action;
	sigset_t set;

	ofs_sigpipe_hold(&f->sigpipe);
	sigemptyset(&set);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(ending_signals); i++) {
		/* One that is ignored would become pending by being blocked. */
		if (sigaction(ending_signals[i], NULL, &action) == 0 &&
		    action.sa_handler != SIG_IGN)
			sigaddset(&set, ending_signals[i]);
	}
	pthread_sigmask(SIG_BLOCK, &set, &f->mask);
	/* What the caller blocks is none of our business. */
	for (size_t i = 0; i < OFS_ARRAY_SIZE(ending_signals); i++) {
		if (sigismember(&f->mask, ending_signals[i]))
			sigdelset(&set, ending_signals[i]);
	}
	f->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return f->signals < 0 ? -errno : 0;
}

static void filter_release_signals(struct filter *f)
{
	close_if_open(&f->signals);
	pthread_sigmask(SIG_SETMASK, &f->mask, NULL);
	ofs_sigpipe_release(&f->sigpipe);
}

/* ---- running */

/* Writes once. */
static void filter_give(struct filter *f)
{
	ssize_t n = f->left ? write(f->input, f->p, OFS_MIN(f->left, FILTER_CHUNK)) : 0;

	if (n > 0) {
		f->p += n;
		f->left -= (size_t)n;
	} else if (n < 0 && errno != EINTR && errno != EAGAIN) {
		f->left = 0; /* EPIPE: it has read enough */
	}
	if (!f->left)
		close_if_open(&f->input);
}

/* Reads once from one of its pipes; the count of bytes, or 0. */
static size_t filter_read(struct filter *f, int *fd)
{
	ssize_t n = read(*fd, f->chunk, FILTER_CHUNK);

	if (n > 0)
		return (size_t)n;
	if (n == 0 || (errno != EINTR && errno != EAGAIN))
		close_if_open(fd);
	return 0;
}

static int filter_take_output(struct filter *f)
{
	size_t n = filter_read(f, &f->output);

	if (n > f->spec->max - f->text.len)
		return -EFBIG;
	if (n)
		ofs_buf_append(&f->text, f->chunk, n);
	return 0;
}

static void filter_take_error(struct filter *f)
{
	size_t n = filter_read(f, &f->error);
	const char *p = f->chunk + (n - OFS_MIN(n, sizeof(f->tail)));
	size_t more = (size_t)(f->chunk + n - p);
	size_t kept = OFS_MIN(f->tail_len, sizeof(f->tail) - more);

	memmove(f->tail, f->tail + (f->tail_len - kept), kept);
	memcpy(f->tail + kept, p, more);
	f->tail_len = kept + more;
}

/* Whether it has ended; it stays what it was, a zombie. */
static int filter_look(struct filter *f)
{
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)f->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0) {
		if (errno != EINTR)
			return -errno;
	}
	f->ended = info.si_pid != 0;
	return 0;
}

/* Milliseconds from now to a time, at least 0, as poll(2) wants them. */
static int milliseconds_until(int64_t time)
{
	int64_t left = time - ofs_clock_monotonic();

	return left <= 0 ? 0 : (int)OFS_MIN(left / OFS_NS_PER_MS + 1, INT32_MAX);
}

/*
 * Moves what can be moved, after waiting for it until that time at most. 1: something was there, 0: nothing, or
 * what ends the filter.
 */
static int filter_turn(struct filter *f, int64_t until)
{
	struct pollfd fds[] = {
		{ .fd = f->input, .events = POLLOUT },
		{ .fd = f->output, .events = POLLIN },
		{ .fd = f->error, .events = POLLIN },
		/* Once told is enough. */
		{ .fd = f->ended ? -1 : f->process, .events = POLLIN },
		{ .fd = f->ended ? -1 : f->signals, .events = POLLIN },
	};
	int wait = milliseconds_until(until), n, r = 0;
	bool late = wait == 0;

	if (f->process < 0 && !f->ended)
		wait = OFS_MIN(wait, FILTER_LOOK_MS);
	n = OFS_MAX(poll(fds, OFS_ARRAY_SIZE(fds), wait), 0); /* EINTR: `revents` are 0 */
	if (fds[0].revents)
		filter_give(f);
	if (fds[1].revents)
		r = filter_take_output(f);
	if (fds[2].revents)
		filter_take_error(f);
	if (r == 0 && fds[4].revents) {
		close_if_open(&f->signals);
		r = -EINTR;
	}
	if (r == 0 && !f->ended)
		r = filter_look(f);
	if (r == 0 && late && !f->ended)
		r = -ETIMEDOUT;
	return r < 0 ? r : n > 0;
}

/* ---- ending */

static bool filter_is_over(const struct filter *f)
{
	return f->ended && f->output < 0 && f->error < 0;
}

/*
 * Ends what is left of the process group. The command is still ours to be waited for: neither its
 * number nor that of its group can be somebody else's.
 */
static void filter_end(struct filter *f, siginfo_t *ret)
{
	int64_t until = ofs_clock_monotonic() + FILTER_GRACE;

	kill(-f->pid, SIGTERM);
	while (!filter_is_over(f) && ofs_clock_monotonic() < until) {
		f->text.len = 0; /* is not wanted any more, however much there is */
		if (filter_turn(f, until) == -ECHILD)
			break;
	}
	kill(-f->pid, SIGKILL);
	while (waitid(P_PID, (id_t)f->pid, ret, WEXITED) < 0 && errno == EINTR)
		continue;
}

/* Reads what the command had written when it ended. Others may go on to write. */
static int filter_drain(struct filter *f)
{
	int64_t now = ofs_clock_monotonic();
	int r = 1;

	close_if_open(&f->input);
	while (r > 0 && ofs_clock_monotonic() < now + FILTER_GRACE)
		r = filter_turn(f, now);
	return OFS_MIN(r, 0);
}

static void filter_last_line(const struct filter *f, char *ret, size_t size)
{
	size_t end = f->tail_len, start, used;
	FILE *out = fmemopen(ret, size, "w");

	ret[0] = '\0';
	while (end && strchr(" \t\r\n", f->tail[end - 1]) && f->tail[end - 1])
		end--;
	start = end;
	while (start && f->tail[start - 1] != '\n' && f->tail[start - 1] != '\r')
		start--;
	if (!out)
		return;
	ofs_text_printable(out, f->tail + start, end - start, false, size - 1, &used);
	fclose(out);
}

static int filter_to_its_end(struct filter *f, struct ofs_filter_end *ret_end,
			     struct ofs_buf *ret_output)
{
	uint64_t timeout_s = f->spec->timeout_s;
	int64_t until = INT64_MAX;
	struct ofs_buf text;
	siginfo_t info = { 0 };
	int r = 0;

	if (timeout_s && timeout_s <= FILTER_TIMEOUT_MAX_S)
		until = ofs_clock_monotonic() + (int64_t)timeout_s * OFS_NS_PER_S;
	while (r >= 0 && !f->ended)
		r = filter_turn(f, until);
	if (r >= 0)
		r = filter_drain(f);
	close_if_open(&f->input);
	text = f->text;
	f->text = (struct ofs_buf)OFS_BUF_INIT;
	filter_last_line(f, ret_end->last, sizeof(ret_end->last));
	filter_end(f, &info);
	if (r < 0) {
		ofs_buf_finish(&text);
		return r;
	}
	ret_end->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	ret_end->exit_code = info.si_code == CLD_EXITED ? info.si_status : 0;
	*ret_output = text;
	return 0;
}

int ofs_filter_run(const struct ofs_filter *filter, const void *input, size_t len,
		   struct ofs_filter_end *ret_end, struct ofs_buf *ret_output)
{
	OFS_FREE char *chunk = ofs_alloc(FILTER_CHUNK);
	struct filter f = {
		.spec = filter,
		.input = -1,
		.output = -1,
		.error = -1,
		.process = -1,
		.signals = -1,
		.p = input,
		.left = len,
		.chunk = chunk,
	};
	int r;

	*ret_end = (struct ofs_filter_end){ 0 };
	r = filter_hold_signals(&f);
	if (r == 0)
		r = filter_start(&f);
	if (r == 0)
		r = filter_to_its_end(&f, ret_end, ret_output);
	close_if_open(&f.input);
	close_if_open(&f.output);
	close_if_open(&f.error);
	close_if_open(&f.process);
	filter_release_signals(&f);
	ofs_buf_finish(&f.text);
	return r;
}
