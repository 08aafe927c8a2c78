/* SPDX-License-Identifier: MIT */
#include "cli/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

int ofs_process_exit_code(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Ends in the program or, with the reason written to `report`, in _exit(). */
__attribute__((noreturn)) static void process_child(const char *const argv[], const char *dir,
						    int flags, int output, int report)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), error;

	if (null < 0)
		goto fail;
	if (dup2(null, STDIN_FILENO) < 0 || dup2(flags & OFS_PROCESS_OUT     ? output
						 : flags & OFS_PROCESS_QUIET ? null
									     : STDERR_FILENO,
						 STDOUT_FILENO) < 0)
		goto fail;
	if (flags & (OFS_PROCESS_ERR | OFS_PROCESS_QUIET) &&
	    dup2(flags & OFS_PROCESS_ERR ? output : null, STDERR_FILENO) < 0)
		goto fail;
	/* A daemon lives on: it must not hold pipes and locks of whoever called us. */
	close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
	if (dir && chdir(dir) < 0)
		goto fail;
	setenv("LC_ALL", "C", 1);
	execvp(argv[0], (char *const *)argv); /* which changes nothing, but lacks the const */
fail:
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

static int process_collect(int fd, struct ofs_buf *ret_text)
{
	char chunk[4096];
	ssize_t n;

	for (;;) {
		n = read(fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		ofs_buf_append(ret_text, chunk, (size_t)n);
	}
}

int ofs_process_run(const char *const argv[], const char *dir, int flags, struct ofs_buf *ret_text)
{
	int output[2] = { -1, -1 }, report[2] = { -1, -1 };
	int status, error = 0, r = 0;
	pid_t pid;

	if (pipe2(output, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0) {
		r = -errno;
		goto out;
	}
	pid = fork();
	if (pid < 0) {
		r = -errno;
		goto out;
	}
	if (pid == 0)
		process_child(argv, dir, flags, output[1], report[1]);
	close(ofs_steal_fd(&output[1]));
	close(ofs_steal_fd(&report[1]));
	if (flags & (OFS_PROCESS_OUT | OFS_PROCESS_ERR))
		r = process_collect(output[0], ret_text);
	if (read(report[0], &error, sizeof(error)) == sizeof(error))
		r = -error;
	while (waitpid(pid, &status, 0) < 0) {
		if (errno != EINTR) {
			r = -errno;
			goto out;
		}
	}
	if (r == 0)
		r = ofs_process_exit_code(status);
out:
	for (int i = 0; i < 2; i++) {
		if (output[i] >= 0)
			close(output[i]);
		if (report[i] >= 0)
			close(report[i]);
	}
	return r;
}
