/* SPDX-License-Identifier: MIT */
#include "cli/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "io/process.h"

#define PROBE_WAIT_NS (2 * OFS_NS_PER_S)
#define PROBE_POLL_NS_MIN (OFS_NS_PER_MS / 4)
#define PROBE_POLL_NS_MAX (10 * OFS_NS_PER_MS)

/* The exit code of the child, or -ETIMEDOUT. */
static int probe_wait(pid_t pid)
{
	int64_t give_up = ofs_clock_monotonic() + PROBE_WAIT_NS;
	struct timespec pause = { .tv_nsec = PROBE_POLL_NS_MIN };
	int status;

	for (;;) {
		pid_t ended = waitpid(pid, &status, WNOHANG);

		if (ended == pid)
			return ofs_process_exit_code(status);
		if (ended < 0 && errno != EINTR)
			return -errno;
		if (ofs_clock_monotonic() > give_up)
			break;
		nanosleep(&pause, NULL);
		pause.tv_nsec = OFS_MIN(pause.tv_nsec * 2, PROBE_POLL_NS_MAX);
	}
	/* Whether it dies of that is not waited for: it may be where no signal reaches it. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	waitpid(pid, &status, WNOHANG);
	return -ETIMEDOUT;
}

/* A child that is left behind must hold no pipe that somebody reads to its end. */
static void probe_let_go(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
	close_range(STDERR_FILENO + 1, ~0U, 0);
}

int ofs_probe_run(int (*fn)(const void *arg, char *text), const void *arg, char *ret_text)
{
	char *text = mmap(NULL, OFS_PROBE_TEXT, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			  -1, 0);
	pid_t pid;
	int r;

	if (text == MAP_FAILED)
		return -errno;
	pid = fork();
	if (pid == 0) {
		setpgid(0, 0);
		probe_let_go();
		_exit(fn(arg, text));
	}
	r = pid < 0 ? -errno : probe_wait(pid);
	if (ret_text)
		memcpy(ret_text, text, OFS_PROBE_TEXT);
	munmap(text, OFS_PROBE_TEXT);
	return r;
}

static int probe_ask(const void *arg, char *text)
{
	(void)text;
	return ofs_mount_is_alive(arg) ? OFS_PROBE_ALIVE : OFS_PROBE_DEAD;
}

enum ofs_probe_mount ofs_probe_mount(const struct ofs_mount *m)
{
	int r = ofs_probe_run(probe_ask, m, NULL);

	return r == OFS_PROBE_ALIVE || r == OFS_PROBE_DEAD ? (enum ofs_probe_mount)r
							   : OFS_PROBE_SILENT;
}
