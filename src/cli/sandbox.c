/* SPDX-License-Identifier: MIT */
/*
 * Runs a command in a sandbox. There are three processes:
 *
 *   supervisor   this program, outside: passes on signals; stops and ends as the command does
 *   init         process 1 inside: reaps, and hands the command what the supervisor sends it
 *   command
 *
 * The order in which init enters the sandbox:
 *
 *   1. A user namespace, which gives it the right to mount; a mount namespace that later mounts
 *      outside no longer reach; PID and IPC namespaces.
 *   2. The covers (cover.h).
 *   3. A second user and mount namespace. Mounts that enter a namespace from a more privileged one
 *      are locked: they can be removed together, but never one by one, so nobody gets at what lies
 *      below, whatever namespaces they make. In the first namespace, whoever had its capabilities
 *      could unmount the covers.
 *   4. No capability is left, and none can be gained (bounding set, no_new_privs), so neither root
 *      nor a setuid program can undo anything.
 *   5. The current directory, by its path: as a descriptor it would lead below the covers. So would
 *      all other descriptors, which are therefore closed.
 */
#include "cli/sandbox.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/util.h"
#include "cli/call_filter.h"
#include "io/file.h"
#include "io/process.h"

#define CAPABILITIES_MAX 64
#define REPORT_FD (STDERR_FILENO + 1) /* of init */

/* What init tells the supervisor. */
struct report {
	enum {
		REPORT_REFUSED, /* `err` says why */
		REPORT_CANNOT_RUN, /* `value` is an errno */
		REPORT_STARTED,
		REPORT_STOPPED,
		REPORT_ENDED, /* `value` is a wait status */
	} kind;
	int value;
	struct ofs_error err;
};

struct sandbox {
	const struct ofs_sandbox *s;
	uid_t uid;
	gid_t gid;
	sigset_t mask; /* of the command */
	/*
	 * The command shares the supervisor's process group, as job control of a terminal requires.
	 * Without a terminal it has its own, so that signals to the group stay inside.
	 */
	bool terminal;
};

/* ---- reasons for refusal */

static int read_number(const char *path, int missing)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	return ofs_io_read_file(AT_FDCWD, path, 64, &text) < 0 ? missing : atoi(ofs_buf_str(&text));
}

/* Sets the reason, if settings tell it, why a call that makes a namespace failed with `r`. */
static int refused(int r, const char *what, struct ofs_error *err)
{
	const char *why = "this container or its seccomp filter forbids it; give the agent a "
			  "container of its own, with its directory as a bind mount";

	if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
		why = "no user namespaces are allowed; as root: sysctl "
		      "user.max_user_namespaces=10000";
	else if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
		why = "user namespaces are for root alone; as root: sysctl "
		      "kernel.unprivileged_userns_clone=1";
	else if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0) == 1)
		why = "AppArmor restricts user namespaces; as root: sysctl "
		      "kernel.apparmor_restrict_unprivileged_userns=0";
	else if (r == -EROFS)
		why = "root cannot make one inside another: run it as a user";
	else if (r != -EPERM && r != -EACCES)
		why = strerror(-r);
	return ofs_error_set(err, -r, "cannot %s: %s", what, why);
}

/* ---- init enters the sandbox */

static int write_own(const char *path, const char *text)
{
	OFS_CLOSE int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 || write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

/*
 * Maps the caller to itself, and nobody else, in a new user namespace. The kernel allows that to
 * processes that give up changing their groups. FUSE compares the numbers outside, which stay the
 * same.
 */
static int map_self(const struct sandbox *b)
{
	OFS_FREE char *uid = ofs_format("%u %u 1\n", b->uid, b->uid);
	OFS_FREE char *gid = ofs_format("%u %u 1\n", b->gid, b->gid);
	int r = write_own("/proc/self/setgroups", "deny");

	if (r == 0)
		r = write_own("/proc/self/uid_map", uid);
	return r < 0 ? r : write_own("/proc/self/gid_map", gid);
}

static int drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { { 0 } };

	for (unsigned long i = 0; i < CAPABILITIES_MAX; i++)
		if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) < 0 && errno != EINVAL)
			return -errno;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -errno;
	return syscall(SYS_capset, &head, none) < 0 ? -errno : 0;
}

static int enter(const struct sandbox *b, struct ofs_error *err)
{
	struct ofs_cover cover = b->s->cover;
	int r;

	/* Otherwise root would own our files in /proc. Nothing in memory is secret. */
	prctl(PR_SET_DUMPABLE, 1);
	r = map_self(b);
	if (r == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		r = -errno;
	if (r < 0)
		return refused(r, "make a sandbox", err);
	cover.root = b->uid == 0;
	r = ofs_cover_make(&cover, err);
	if (r < 0)
		return r;
	r = unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 ? -errno : map_self(b);
	if (r < 0)
		return refused(r, "lock the sandbox", err);
	if (cover.root)
		r = ofs_cover_close_proc(err);
	if (r < 0)
		return r;
	prctl(PR_SET_DUMPABLE, 0);
	r = drop_capabilities();
	if (r < 0)
		return ofs_error_set(err, -r, "cannot give up capabilities: %s", strerror(-r));
	if (chdir(b->s->dir) < 0)
		return ofs_error_set(err, errno,
				     "cannot enter '%s' in the sandbox: %s; run it from another "
				     "directory",
				     b->s->dir, strerror(errno));
	return 0;
}

/* ---- init */

static void tell(const struct report *report)
{
	/* The supervisor has gone. We go, too, by the signal that follows. */
	if (write(REPORT_FD, report, sizeof(*report)) < 0)
		errno = 0;
}

__attribute__((noreturn)) static void be_command(const struct sandbox *b, int answer)
{
	int r = 0, error;

	if (!b->terminal)
		setpgid(0, 0);
	if (close_range(REPORT_FD, ~0U, CLOSE_RANGE_CLOEXEC) < 0)
		r = -errno;
	if (r == 0)
		r = ofs_call_filter_set(b->terminal);
	if (r == 0) {
		sigprocmask(SIG_SETMASK, &b->mask, NULL);
		execvp(b->s->argv[0], (char *const *)b->s->argv);
		r = -errno;
	}
	error = -r;
	_exit(write(answer, &error, sizeof(error)) < 0 ? 126 : 127);
}

/* Starts the command. Returns its PID, or the -errno of the exec that failed. */
static pid_t start(const struct sandbox *b)
{
	int answer[2], error;
	pid_t pid;

	if (pipe2(answer, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	if (pid < 0)
		pid = -errno;
	if (pid == 0)
		be_command(b, answer[1]);
	close(answer[1]);
	if (pid > 0 && read(answer[0], &error, sizeof(error)) == sizeof(error))
		pid = -error;
	close(answer[0]);
	return pid;
}

/* Whoever reads our output or writes our input must see when the command closes it. */
static void let_go_of_standard(void)
{
	OFS_CLOSE int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int i = STDIN_FILENO; i <= STDERR_FILENO && null >= 0; i++)
		dup2(null, i);
}

/* Reaps all that have ended. If the command has, ends init, and the kernel then ends the others. */
static void reap(pid_t command)
{
	struct report report = { .kind = REPORT_STOPPED };
	pid_t pid;

	while ((pid = waitpid(-1, &report.value, WNOHANG | WUNTRACED)) > 0) {
		if (pid != command)
			continue;
		if (!WIFSTOPPED(report.value))
			report.kind = REPORT_ENDED;
		tell(&report);
		if (report.kind == REPORT_ENDED)
			_exit(EXIT_SUCCESS);
	}
}

/*
 * Passes on signals from outside, which the supervisor sent. The terminal sends its own signals to
 * the command. Signals from inside are meant for process 1, which ignores them.
 */
static void pass_on(pid_t command, const siginfo_t *info)
{
	bool outside = info->si_code == SI_USER && info->si_pid == 0;

	if (outside && (info->si_signo != SIGCONT || kill(-command, SIGCONT) < 0))
		kill(command, info->si_signo);
}

__attribute__((noreturn)) static void be_init(const struct sandbox *b, int to_supervisor)
{
	struct report report = { .kind = REPORT_REFUSED };
	siginfo_t info;
	sigset_t all;
	pid_t command;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (dup2(to_supervisor, REPORT_FD) < 0 || close_range(REPORT_FD + 1, ~0U, 0) < 0)
		_exit(EXIT_FAILURE);
	if (enter(b, &report.err) < 0) {
		tell(&report);
		_exit(EXIT_FAILURE);
	}
	command = start(b);
	report.kind = command < 0 ? REPORT_CANNOT_RUN : REPORT_STARTED;
	report.value = -command;
	tell(&report);
	if (command < 0)
		_exit(EXIT_FAILURE);
	setpgid(0, 0); /* the supervisor passes on signals to its group */
	let_go_of_standard();
	/* Set late, because a change of credentials clears it. The supervisor may be gone. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (poll(&(struct pollfd){ .fd = REPORT_FD }, 1, 0) > 0)
		_exit(EXIT_SUCCESS); /* nobody is left to report to */
	for (;;) {
		int number = sigwaitinfo(&all, &info);

		if (number == SIGCHLD)
			reap(command);
		else if (number > 0)
			pass_on(command, &info);
	}
}

/* ---- the supervisor */

struct supervisor {
	pid_t init;
	int reports, signals;
	int terminal; /* -1: there is none */
	bool in_front; /* our group had the terminal at the start */
};

/* A shell inside may have taken the terminal, and cannot name the group that had it before. */
static void take_terminal_back(const struct supervisor *v)
{
	if (v->in_front && tcgetpgrp(v->terminal) != getpgrp())
		tcsetpgrp(v->terminal, getpgrp()); /* SIGTTOU is blocked */
}

/* Sets *ret to all signals, except those meant for us or raised by a fault of ours. */
static void watched_signals(sigset_t *ret)
{
	static const int ours[] = { SIGCHLD, SIGSEGV, SIGBUS,  SIGFPE,
				    SIGILL,  SIGTRAP, SIGABRT, SIGSYS };

	sigfillset(ret);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(ours); i++)
		sigdelset(ret, ours[i]);
}

static void pass_signals(const struct supervisor *v)
{
	struct signalfd_siginfo info;

	while (read(v->signals, &info, sizeof(info)) == sizeof(info))
		/* Signals from the terminal have reached the command as well. */
		if (v->terminal < 0 || info.ssi_code != SI_KERNEL)
			kill(v->init, (int)info.ssi_signo);
}

/* Returns 1 to go on, 0 if it has ended, or -errno. */
static int take_report(const struct supervisor *v, struct ofs_error *err,
		       struct ofs_sandbox_end *ret)
{
	struct report report;
	ssize_t n = read(v->reports, &report, sizeof(report));

	if (n < 0 && errno == EINTR)
		return 1;
	if (n != sizeof(report))
		return 0;
	switch (report.kind) {
	case REPORT_REFUSED:
		*err = report.err;
		return -EPERM;
	case REPORT_CANNOT_RUN:
		ret->error = report.value;
		return 0;
	case REPORT_STARTED:
		let_go_of_standard();
		return 1;
	case REPORT_STOPPED:
		take_terminal_back(v);
		kill(getpid(), SIGSTOP);
		return 1;
	case REPORT_ENDED:
		ret->status = report.value;
		return 0;
	}
	return 1;
}

static int supervise(const struct supervisor *v, struct ofs_error *err, struct ofs_sandbox_end *ret)
{
	struct pollfd fds[] = {
		{ .fd = v->reports, .events = POLLIN },
		{ .fd = v->signals, .events = POLLIN },
	};
	int r = 1, status = 0;

	ret->status = -1;
	while (r > 0) {
		if (poll(fds, OFS_ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[1].revents)
			pass_signals(v);
		if (fds[0].revents)
			r = take_report(v, err, ret);
	}
	while (waitpid(v->init, &status, 0) < 0 && errno == EINTR)
		continue;
	if (ret->status < 0) /* init reported nothing: it was killed */
		ret->status = status;
	take_terminal_back(v);
	return r;
}

/* A directory is a way out of the sandbox, wherever it was opened. */
static int check_standard(struct ofs_error *err)
{
	static const char *const names[] = { "input", "output", "error" };
	struct stat st;

	for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++)
		if (fstat(i, &st) == 0 && S_ISDIR(st.st_mode))
			return ofs_error_set(err, EISDIR, "standard %s is a directory", names[i]);
	return 0;
}

int ofs_sandbox_run(const struct ofs_sandbox *s, struct ofs_error *err, struct ofs_sandbox_end *ret)
{
	unsigned long flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD;
	OFS_CLOSE int terminal = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	OFS_CLOSE int reports = -1, signals = -1;
	struct sandbox b = { s, geteuid(), getegid(), .terminal = terminal >= 0 };
	struct supervisor v = { .terminal = terminal };
	sigset_t watched;
	int pipe[2], r = check_standard(err);

	if (r < 0)
		return r;
	*ret = (struct ofs_sandbox_end){ 0 };
	v.in_front = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
	watched_signals(&watched);
	sigprocmask(SIG_BLOCK, &watched, &b.mask);
	signals = signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals < 0 || pipe2(pipe, O_CLOEXEC) < 0)
		return ofs_error_set(err, errno, "cannot start: %s", strerror(errno));
	reports = pipe[0];
	fflush(NULL);
	/* Not fork() and unshare(), which needs a program that never had a second thread. */
	v.init = (pid_t)syscall(SYS_clone, flags, NULL, NULL, NULL, NULL);
	r = v.init < 0 ? -errno : 0;
	if (v.init == 0)
		be_init(&b, pipe[1]);
	close(pipe[1]);
	if (r < 0)
		return refused(r, "make a sandbox", err);
	v.reports = reports;
	v.signals = signals;
	return supervise(&v, err, ret);
}

int ofs_sandbox_end_like(int status)
{
	if (WIFSIGNALED(status)) {
		sigset_t one;

		signal(WTERMSIG(status), SIG_DFL);
		sigemptyset(&one);
		sigaddset(&one, WTERMSIG(status));
		sigprocmask(SIG_UNBLOCK, &one, NULL);
		kill(getpid(), WTERMSIG(status));
	}
	return ofs_process_exit_code(status);
}
