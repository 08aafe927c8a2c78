/* SPDX-License-Identifier: MIT */
#include "io/probe.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <offloadfs/error.h>

#include "base/clock.h"
#include "base/util.h"
#include "io/process.h"

/* How often the parent checks how long its child's call has taken. */
#define PROBE_LOOK_NS (100 * OFS_NS_PER_MS)

/* Shared memory of a watched child and its parent. */
struct shared {
	_Atomic int64_t began; /* when the current call began; 0 if there is none */
	struct ofs_error reason; /* reason to report if that call is given up, or "" */
};

static struct shared *shared;
static int depth;
static struct ofs_error given_up; /* reason of the last call given up */

bool ofs_probe_is_watched(void)
{
	return shared;
}

void ofs_probe_enter(void)
{
	if (!shared)
		return;
	depth++;
	shared->began = ofs_clock_monotonic();
}

void ofs_probe_leave(void)
{
	if (shared)
		shared->began = --depth ? ofs_clock_monotonic() : 0;
}

void ofs_probe_explain(const char *reason)
{
	if (shared)
		ofs_error_set(&shared->reason, 0, "%s", reason);
}

const char *ofs_probe_reason(void)
{
	return *given_up.text ? given_up.text : NULL;
}

/* ---- the parent */

struct watch {
	int64_t give_up;
	int64_t patience; /* longest time for one call */
	const struct shared *shared; /* NULL if only `give_up` counts */
};

/* Returns how long to wait next, in nanoseconds. */
static int64_t watch_left(const struct watch *w)
{
	int64_t now = ofs_clock_monotonic(), began = w->shared ? w->shared->began : 0;
	int64_t left = w->give_up - now;

	if (began)
		left = OFS_MIN(left, began + w->patience - now);
	return w->shared ? OFS_MIN(left, PROBE_LOOK_NS) : left;
}

/* Returns the child's answer, its exit code if there is none, -ETIMEDOUT, or another -errno. */
static int probe_wait(pid_t pid, int answer, const struct watch *w)
{
	struct pollfd told = { .fd = answer, .events = POLLIN };
	int64_t left = watch_left(w);
	unsigned char code;
	int status, r = 0;

	while (r == 0 && left > 0) {
		r = poll(&told, 1, (int)(left / OFS_NS_PER_MS) + 1);
		r = r < 0 && errno != EINTR ? -errno : r > 0;
		left = watch_left(w);
	}
	if (r > 0) {
		r = read(answer, &code, 1) == 1 ? code : -ECHILD;
		return waitpid(pid, &status, 0) == pid && r < 0 ? ofs_process_exit_code(status) : r;
	}
	/* Does not wait for the death of the child, which may be where no signal reaches it. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, WNOHANG);
	return r < 0 ? r : -ETIMEDOUT;
}

/* ---- the child */

/* A child left behind must not hold pipes that somebody reads to the end. */
static void let_go_of_standard(int out, int err)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(out < 0 ? null : out, STDOUT_FILENO);
	dup2(err < 0 ? null : err, STDERR_FILENO);
}

/* Closes all other descriptors and returns the new number of `answer`. */
static int let_go_of_all(int answer)
{
	int kept = STDERR_FILENO + 1;

	dup2(answer, kept);
	fcntl(kept, F_SETFD, FD_CLOEXEC);
	close_range((unsigned int)kept + 1, ~0U, 0);
	return kept;
}

/* Closes the descriptors that this program has inherited. */
static void let_go_of_inherited(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);

		if (fd > STDERR_FILENO && !(fcntl(fd, F_GETFD) & FD_CLOEXEC))
			close(fd);
	}
	if (dir)
		closedir(dir);
}

static int run(int (*fn)(const void *arg), const void *arg, const struct watch *w, int out, int err)
{
	pid_t parent = getpid(), pid;
	unsigned char code;
	int answer[2], r;

	if (pipe2(answer, O_CLOEXEC) < 0)
		return -errno;
	pid = fork();
	r = pid < 0 ? -errno : 0;
	if (pid == 0) {
		setpgid(0, 0);
		if (!ofs_process_end_with(parent, SIGKILL))
			_exit(EXIT_SUCCESS);
		let_go_of_standard(out, err);
		if (w->shared)
			let_go_of_inherited();
		else
			answer[1] = let_go_of_all(answer[1]);
		code = (unsigned char)fn(arg);
		/*
		 * The answer is not given as the exit code, since an orphan, to which nobody
		 * listens any more, must not seem to have failed.
		 */
		if (write(answer[1], &code, 1) != 1)
			errno = 0;
		_exit(EXIT_SUCCESS);
	}
	close(answer[1]);
	if (r == 0)
		r = probe_wait(pid, answer[0], w);
	close(answer[0]);
	return r;
}

int ofs_process_probe(int (*fn)(const void *arg), const void *arg, int64_t patience, int out,
		      int err)
{
	const struct watch w = { .give_up = ofs_clock_monotonic() + patience };

	return run(fn, arg, &w, out, err);
}

int ofs_process_watch(int (*fn)(const void *arg), const void *arg, int64_t limit, int64_t patience,
		      int out, int err)
{
	struct shared *page = mmap(NULL, sizeof(*page), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct watch w = { .give_up = INT64_MAX, .patience = patience, .shared = page };
	int r;

	if (page == MAP_FAILED)
		return -errno;
	if (limit != INT64_MAX)
		w.give_up = ofs_clock_monotonic() + limit;
	shared = page;
	r = run(fn, arg, &w, out, err);
	shared = NULL;
	ofs_error_set(&given_up, 0, "%s", r == -ETIMEDOUT ? page->reason.text : "");
	munmap(page, sizeof(*page));
	return r;
}
