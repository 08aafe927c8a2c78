/* SPDX-License-Identifier: MIT */
/* Runs another program to its end. */
#pragma once

#include "base/buf.h"

enum ofs_process_kind {
	/*
	 * A helper (git, fusermount3, the daemon): no input, messages in the C locale. Its output
	 * is read until all writers have closed it.
	 */
	OFS_PROCESS_HELPER,
	/*
	 * The user's command in the foreground. It has our input and all our descriptors. Its
	 * standard output and error share a pipe, which keeps their order. SIGINT and SIGQUIT are
	 * left to it, and stay ignored here afterwards; SIGTERM and SIGHUP are passed on. After its
	 * end, output of processes that it left behind is read only for a moment.
	 */
	OFS_PROCESS_FOREGROUND,
	/*
	 * A text filter, which any thread may run. It has its own session, and receives `input`,
	 * which it need not read. None of its process group is left afterwards: the rest gets
	 * SIGTERM and, within half a second, SIGKILL. Processes that have left the group are not
	 * followed.
	 */
	OFS_PROCESS_FILTER,
};

/* All members are borrowed. */
struct ofs_process {
	enum ofs_process_kind kind;
	const char *const *argv; /* argv[0] is searched for in PATH */
	const char *dir; /* working directory; NULL for ours */
	/* "NAME=value", added to our variables or replacing them, ending with NULL; may be NULL. */
	const char *const *environment;
	/*
	 * Receives what the program writes to `fd`, STDOUT_FILENO or STDERR_FILENO (FOREGROUND:
	 * always the former). A result of -errno ends a filter and is ignored for others.
	 */
	int (*take)(void *arg, int fd, const void *data, size_t len);
	void *arg;
	const void *input;
	size_t input_len;
	uint64_t timeout_s; /* limit for a filter; 0 for none */
	/* Where a helper's output goes: to `take`, or else to our standard error. */
	enum {
		OFS_PROCESS_OUT = 1 << 0, /* take standard output */
		OFS_PROCESS_ERR = 1 << 1, /* take standard error */
		OFS_PROCESS_QUIET = 1 << 2, /* discard what is not taken */
	} flags;
};

struct ofs_process_end {
	int exit_code; /* as in a shell: 128 + N if signal N ended it */
	int signal; /* signal that ended it, or 0 */
};

/*
 * Runs a program. Its signals have their default dispositions, except SIGHUP, SIGINT and SIGQUIT if
 * they were ignored when we were started; none is blocked. Returns 0 once it has ended, or -errno:
 * -ENOENT if it was not found, others if it could not be run. For a filter also -ETIMEDOUT; -EINTR
 * if a terminating signal has arrived, which is delivered after the return; -ECHILD if its exit
 * status is unknown because this program ignores SIGCHLD; or what `take` returned.
 */
int ofs_process_run(const struct ofs_process *process, struct ofs_process_end *ret);

/*
 * Runs a helper with these flags and appends what is taken to `ret_text` (NULL if nothing is).
 * Returns its exit code or -errno.
 */
int ofs_process_run_helper(const char *const argv[], const char *dir, int flags,
			   struct ofs_buf *ret_text);

/* In a child: it gets signal `number` when `parent` ends. False: that has ended already. */
bool ofs_process_end_with(pid_t parent, int number);

/* Returns the exit code for a wait status, as in a shell. */
int ofs_process_exit_code(int status);
