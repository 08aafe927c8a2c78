/* SPDX-License-Identifier: MIT */
#include "io/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/thread.h"
#include "io/path.h"

#define CHUNK ((size_t)64 << 10)
/* How often to check for the end of a program where the kernel has no pidfd. */
#define LOOK_MS 20
/* How long the rest of a filter may take to end after SIGTERM. */
#define GRACE (500 * OFS_NS_PER_MS)
/* A longer timeout counts as none. */
#define TIMEOUT_MAX_S ((uint64_t)10 * 365 * 86400)

/* How long a program's pipes are read after its end: at most, and while they are silent. */
static const struct {
	int64_t most;
	int quiet_ms;
} draining[] = {
	[OFS_PROCESS_HELPER] = { INT64_MAX, -1 },
	[OFS_PROCESS_FOREGROUND] = { 2 * OFS_NS_PER_S, 250 },
	[OFS_PROCESS_FILTER] = { GRACE, 0 },
};

struct child {
	const struct ofs_process *spec;
	pid_t pid; /* reaped only after the last signal to its process group */
	bool ended;
	int fd[3]; /* our ends of the pipes of its standard descriptors; -1: closed */
	int pidfd; /* readable once it has ended; -1: not supported by the kernel */
	int signals; /* readable when a watched signal is pending */
	sigset_t mask; /* the thread's original signal mask */
	struct sigaction interrupt, quit; /* original dispositions */
	struct ofs_sigpipe sigpipe;
	const char *p; /* input not yet written */
	size_t left;
	bool unwanted; /* further output is discarded */
	char *chunk;
};

bool ofs_process_end_with(pid_t parent, int number)
{
	prctl(PR_SET_PDEATHSIG, number);
	return getppid() == parent;
}

int ofs_process_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void close_if_open(int *fd)
{
	if (*fd >= 0)
		close(ofs_steal_fd(fd));
}

/* ---- signals */

static bool is_ignored(int number)
{
	struct sigaction action;

	return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/*
 * Signals are read from a descriptor, so no handler can race with us. Signals that the thread
 * already blocks are not watched. Ignored ones are not blocked, which would make them pending.
 */
static int watch_signals(struct child *c)
{
	static const int ending[] = { SIGHUP, SIGTERM, SIGINT, SIGQUIT };
	size_t n = c->spec->kind == OFS_PROCESS_FILTER ? 4 : 2;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < n; i++)
		if (!is_ignored(ending[i]))
			sigaddset(&set, ending[i]);
	pthread_sigmask(SIG_BLOCK, &set, &c->mask);
	for (size_t i = 0; i < n; i++)
		if (sigismember(&c->mask, ending[i]))
			sigdelset(&set, ending[i]);
	c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return c->signals < 0 ? -errno : 0;
}

static int hold_signals(struct child *c)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL },
			       ignore = { .sa_handler = SIG_IGN };

	pthread_sigmask(SIG_SETMASK, NULL, &c->mask);
	sigaction(SIGINT, NULL, &c->interrupt);
	sigaction(SIGQUIT, NULL, &c->quit);
	if (c->spec->kind == OFS_PROCESS_HELPER)
		return 0;
	if (c->spec->kind == OFS_PROCESS_FILTER) {
		ofs_sigpipe_hold(&c->sigpipe);
		return watch_signals(c);
	}
	sigaction(SIGINT, &ignore, NULL);
	sigaction(SIGQUIT, &ignore, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGCHLD, &plain, NULL); /* if it were ignored, no child could be waited for */
	return watch_signals(c);
}

static void release_signals(struct child *c)
{
	close_if_open(&c->signals);
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	if (c->spec->kind == OFS_PROCESS_FILTER)
		ofs_sigpipe_release(&c->sigpipe);
}

/* ---- starting */

/* Moves a descriptor above the standard ones, which the child replaces; closes it on failure. */
static int move_clear(int fd)
{
	int moved = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);

	moved = moved < 0 ? -errno : moved;
	close_if_open(&fd);
	return moved;
}

static int make_pipe(int ret[2])
{
	int ends[2];

	ret[0] = ret[1] = -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	ret[0] = move_clear(ends[0]);
	ret[1] = move_clear(ends[1]);
	return OFS_MIN(OFS_MIN(ret[0], ret[1]), 0);
}

/*
 * Sets signals as a shell would. The runtimes that call us often ignore SIGPIPE by accident, but
 * SIGHUP, SIGINT and SIGQUIT on purpose, as nohup and background jobs do.
 */
static void reset_signals(const struct child *c)
{
	const struct sigaction plain = { .sa_handler = SIG_DFL };
	sigset_t none;

	sigaction(SIGINT, &c->interrupt, NULL);
	sigaction(SIGQUIT, &c->quit, NULL);
	for (int i = 1; i < NSIG; i++)
		if ((i != SIGHUP && i != SIGINT && i != SIGQUIT) || !is_ignored(i))
			sigaction(i, &plain, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Uses only calls that are safe between fork and exec in a multithreaded program. */
__attribute__((noreturn)) static void be_child(const struct child *c, char *const *environment,
					       const int ends[3], int report)
{
	const struct ofs_process *p = c->spec;
	int error;

	reset_signals(c);
	if (p->kind == OFS_PROCESS_FILTER)
		setsid(); /* without a terminal, password prompts fail */
	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (ends[i] != i && dup2(ends[i], i) < 0)
			goto fail;
	/* A daemon lives on, so it must not keep pipes and locks of our caller open. */
	if (p->kind != OFS_PROCESS_FOREGROUND)
		close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	if (!p->dir || chdir(p->dir) == 0)
		execvpe(p->argv[0], (char *const *)p->argv, environment); /* does not modify argv */
fail:
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static bool names_one_of(const char *variable, const char *const *others)
{
	size_t len = strcspn(variable, "=") + 1;

	for (; others && *others; others++)
		if (strncmp(variable, *others, len) == 0)
			return true;
	return false;
}

/* Returns an array, which the caller frees, of borrowed strings. */
static char **make_environment(const char *const *more)
{
	size_t n = 0, have = 0, added = 0;
	char **all;

	while (environ && environ[have])
		have++;
	while (more && more[added])
		added++;
	all = ofs_alloc((have + added + 1) * sizeof(*all));
	for (size_t i = 0; i < have; i++)
		if (!names_one_of(environ[i], more))
			all[n++] = environ[i];
	for (size_t i = 0; i < added; i++)
		all[n++] = (char *)more[i];
	return all;
}

/* Forks and executes the program. Returns 0, or -errno, also that of the child if exec fails. */
static int start_child(struct child *c, const int ends[3])
{
	static const char *const plain[] = { "LC_ALL=C", NULL };
	OFS_FREE char **environment = make_environment(
		c->spec->kind == OFS_PROCESS_HELPER ? plain : c->spec->environment);
	int report[2] = { -1, -1 }, error = 0, r = make_pipe(report);
	ssize_t n;

	if (r == 0) {
		c->pid = fork();
		if (c->pid == 0)
			be_child(c, environment, ends, report[1]);
		if (c->pid < 0)
			r = -errno;
	}
	close_if_open(&report[1]);
	if (r == 0) {
		do
			n = read(report[0], &error, sizeof(error));
		while (n < 0 && errno == EINTR);
		if (n == sizeof(error)) {
			waitpid(c->pid, NULL, 0);
			r = -error;
		}
	}
	close_if_open(&report[0]);
	return r;
}

/* Returns what becomes the child's standard descriptor `i`: its end of a pipe, null, or ours. */
static int choose_end(const struct ofs_process *p, int i, const int end[3], int null)
{
	static const int taken[] = { 0, OFS_PROCESS_OUT, OFS_PROCESS_ERR };

	if (p->kind == OFS_PROCESS_FILTER)
		return end[i];
	if (p->kind == OFS_PROCESS_FOREGROUND)
		return i == STDIN_FILENO ? STDIN_FILENO : end[STDOUT_FILENO];
	if (p->flags & taken[i])
		return end[i];
	return i == STDIN_FILENO || p->flags & OFS_PROCESS_QUIET ? null : STDERR_FILENO;
}

static int start(struct child *c)
{
	int pipe[2], theirs[3] = { -1, -1, -1 }, ends[3], r;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	null = null < 0 ? -errno : move_clear(null);
	r = OFS_MIN(null, 0);
	for (int i = 0; i < 3 && r == 0; i++) {
		r = make_pipe(pipe);
		c->fd[i] = pipe[i == STDIN_FILENO];
		theirs[i] = pipe[i != STDIN_FILENO];
		/* Only our end, as the program expects its own to block. */
		fcntl(c->fd[i], F_SETFL, O_NONBLOCK);
	}
	if (r == 0) {
		for (int i = 0; i < 3; i++)
			ends[i] = choose_end(c->spec, i, theirs, null);
		r = start_child(c, ends);
	}
	for (int i = 0; i < 3; i++)
		close_if_open(&theirs[i]);
	close_if_open(&null);
	if (r == 0)
		c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	return r;
}

/* ---- running */

/* Writes once. */
static void give(struct child *c)
{
	ssize_t n = c->left ? write(c->fd[0], c->p, OFS_MIN(c->left, CHUNK)) : 0;

	if (n > 0) {
		c->p += n;
		c->left -= (size_t)n;
	} else if (n < 0 && errno != EINTR && errno != EAGAIN) {
		c->left = 0; /* EPIPE: it needs no more */
	}
	if (!c->left)
		close_if_open(&c->fd[0]);
}

/* Reads once. */
static int take(struct child *c, int which)
{
	ssize_t n = read(c->fd[which], c->chunk, CHUNK);
	int r = 0;

	if (n > 0 && !c->unwanted && c->spec->take)
		r = c->spec->take(c->spec->arg, which, c->chunk, (size_t)n);
	else if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN))
		close_if_open(&c->fd[which]);
	return c->spec->kind == OFS_PROCESS_FILTER ? r : 0;
}

/* Returns -EINTR if a filter is to end; passes signals on to other programs. */
static int take_signals(struct child *c)
{
	struct signalfd_siginfo info;

	if (c->spec->kind == OFS_PROCESS_FILTER) {
		close_if_open(&c->signals); /* the signal stays pending for our caller */
		return -EINTR;
	}
	while (read(c->signals, &info, sizeof(info)) == sizeof(info))
		if (!c->ended)
			kill(c->pid, (int)info.ssi_signo);
	return 0;
}

/* Checks whether the program has ended, without reaping it. */
static int look(struct child *c)
{
	siginfo_t info = { 0 };

	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG | WNOWAIT) < 0)
		if (errno != EINTR)
			return -errno;
	c->ended = info.si_pid != 0;
	return 0;
}

/* Returns the milliseconds until a time, at least 0, for poll(2). */
static int milliseconds_until(int64_t time)
{
	int64_t left = time == INT64_MAX ? time : time - ofs_clock_monotonic();

	return left <= 0 ? 0 : (int)OFS_MIN(left / OFS_NS_PER_MS + 1, INT32_MAX);
}

/*
 * Transfers what it can, after waiting up to `wait_ms` for something (-1: for ever). Returns 1 if
 * there was something, or a signal cut the wait short, 0 if not, or an error that ends the run.
 */
static int turn(struct child *c, int wait_ms)
{
	struct pollfd fds[] = {
		{ .fd = c->fd[0], .events = POLLOUT },
		{ .fd = c->fd[1], .events = POLLIN },
		{ .fd = c->fd[2], .events = POLLIN },
		{ .fd = c->ended ? -1 : c->pidfd, .events = POLLIN }, /* one report is enough */
		{ .fd = c->ended ? -1 : c->signals, .events = POLLIN },
	};
	int n, r = 0;

	if (c->pidfd < 0 && !c->ended)
		wait_ms = wait_ms < 0 ? LOOK_MS : OFS_MIN(wait_ms, LOOK_MS);
	n = poll(fds, OFS_ARRAY_SIZE(fds), wait_ms); /* EINTR: `revents` are 0 */
	if (fds[0].revents)
		give(c);
	if (fds[1].revents)
		r = take(c, STDOUT_FILENO);
	if (fds[2].revents && r == 0)
		r = take(c, STDERR_FILENO);
	if (r == 0 && fds[4].revents)
		r = take_signals(c);
	if (r == 0 && !c->ended)
		r = look(c);
	return r < 0 ? r : n != 0;
}

static bool is_silent(const struct child *c)
{
	return c->fd[1] < 0 && c->fd[2] < 0;
}

/* Reads what is left of the program's output. Processes that it left behind may still write. */
static int drain(struct child *c)
{
	int64_t most = draining[c->spec->kind].most, until = INT64_MAX;
	int quiet = draining[c->spec->kind].quiet_ms, r = 1;

	if (most != INT64_MAX)
		until = ofs_clock_monotonic() + most;
	close_if_open(&c->fd[0]);
	while (r > 0 && !is_silent(c) && ofs_clock_monotonic() < until)
		r = turn(c, quiet < 0 ? -1 : OFS_MIN(quiet, milliseconds_until(until)));
	return OFS_MIN(r, 0);
}

/*
 * Ends the rest of a filter's process group. Since the filter is not reaped yet, the numbers of it
 * and of its group cannot have been reused.
 */
static void end_group(struct child *c)
{
	int64_t until = ofs_clock_monotonic() + GRACE;

	c->unwanted = true;
	close_if_open(&c->fd[0]);
	kill(-c->pid, SIGTERM);
	while (!(c->ended && is_silent(c)) && ofs_clock_monotonic() < until)
		if (turn(c, milliseconds_until(until)) == -ECHILD)
			break;
	kill(-c->pid, SIGKILL);
}

static int run_to_its_end(struct child *c, struct ofs_process_end *ret)
{
	const struct ofs_process *p = c->spec;
	bool timed = p->kind == OFS_PROCESS_FILTER && p->timeout_s && p->timeout_s <= TIMEOUT_MAX_S;
	int64_t until = timed ? ofs_clock_monotonic() + (int64_t)p->timeout_s * OFS_NS_PER_S : 0;
	siginfo_t info = { 0 };
	int r = 0;

	while (r >= 0 && !c->ended) {
		int wait = timed ? milliseconds_until(until) : -1;

		r = turn(c, wait);
		if (r >= 0 && wait == 0 && !c->ended)
			r = -ETIMEDOUT;
	}
	if (r >= 0)
		r = drain(c);
	if (p->kind == OFS_PROCESS_FILTER)
		end_group(c);
	while (waitid(P_PID, (id_t)c->pid, &info, WEXITED) < 0 && errno == EINTR)
		continue;
	ret->signal = info.si_code == CLD_EXITED ? 0 : info.si_status;
	ret->exit_code = ret->signal ? 128 + ret->signal : info.si_status;
	return OFS_MIN(r, 0);
}

/*
 * True if PATH has the file, executable or not, in a directory that may be searched. execvp() fails
 * with EACCES if PATH has a directory that may not be searched, where a shell merely reports that
 * the command was not found.
 */
static bool is_in_path(const char *command)
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

int ofs_process_run(const struct ofs_process *process, struct ofs_process_end *ret)
{
	OFS_FREE char *chunk = ofs_alloc(CHUNK);
	const char *program = process->argv[0];
	struct child c = {
		.spec = process,
		.fd = { -1, -1, -1 },
		.pidfd = -1,
		.signals = -1,
		.p = process->input,
		.left = process->input_len,
		.chunk = chunk,
	};
	int r;

	*ret = (struct ofs_process_end){ 0 };
	r = hold_signals(&c);
	if (r == 0)
		r = start(&c);
	if (r == -EACCES && !strchr(program, '/') && !is_in_path(program))
		r = -ENOENT;
	else if (r == 0)
		r = run_to_its_end(&c, ret);
	for (int i = 0; i < 3; i++)
		close_if_open(&c.fd[i]);
	close_if_open(&c.pidfd);
	release_signals(&c);
	return r;
}

static int append(void *arg, int fd, const void *data, size_t len)
{
	if (arg)
		ofs_buf_append(arg, data, len);
	return 0;
}

int ofs_process_run_helper(const char *const argv[], const char *dir, int flags,
			   struct ofs_buf *ret_text)
{
	const struct ofs_process process = {
		.kind = OFS_PROCESS_HELPER,
		.argv = argv,
		.dir = dir,
		.take = append,
		.arg = ret_text,
		.flags = flags,
	};
	struct ofs_process_end end;
	int r = ofs_process_run(&process, &end);

	return r < 0 ? r : end.exit_code;
}
