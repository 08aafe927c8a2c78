/* SPDX-License-Identifier: MIT */
/* Running another program to its end. */
#pragma once

#include "base/buf.h"

enum ofs_process_kind {
	/*
	 * A helper (git, fusermount3, the daemon): no input, messages in the C locale. Its output
	 * is read to the end of the pipes.
	 */
	OFS_PROCESS_HELPER,
	/*
	 * The user's command in the foreground. Input and every descriptor are ours, and standard
	 * output and error share one pipe, so that their order is kept. SIGINT and SIGQUIT are left
	 * to it, and stay ignored afterwards; SIGTERM and SIGHUP are passed on. After its end,
	 * output of processes that it left behind is awaited for a moment only.
	 */
	OFS_PROCESS_FOREGROUND,
	/*
	 * A filter of text, which any thread may run: it has a session of its own and is given
	 * `input`, which it need not read. Whatever happens it is over afterwards: the rest of its
	 * process group gets SIGTERM and, after half a second at most, SIGKILL. Processes that left
	 * the group are not followed.
	 */
	OFS_PROCESS_FILTER,
};

/* All borrowed. */
struct ofs_process {
	enum ofs_process_kind kind;
	const char *const *argv; /* argv[0] is looked up in PATH */
	const char *dir; /* to run in; NULL: ours */
	/* "NAME=value", beside our variables or in their place, up to NULL; NULL: none. */
	const char *const *environment;
	/*
	 * Gets what the program writes to `fd`, STDOUT_FILENO or STDERR_FILENO (FOREGROUND: always
	 * the former). -errno ends a filter; of other programs it is ignored.
	 */
	int (*take)(void *arg, int fd, const void *data, size_t len);
	void *arg;
	const void *input;
	size_t input_len;
	uint64_t timeout_s; /* of a filter; 0: none */
	/* Where a helper's output goes. */
	enum {
		OFS_PROCESS_OUT = 1
				  << 0, /* standard output to `take`; else to our standard error */
		OFS_PROCESS_ERR = 1 << 1, /* standard error to `take`; else to ours */
		OFS_PROCESS_QUIET = 1 << 2, /* what is not taken goes nowhere */
	} flags;
};

struct ofs_process_end {
	int exit_code; /* as a shell gives it: 128 + N when signal N ended it */
	int signal; /* that ended it, or 0 */
};

/*
 * Runs a program. Its signals are at their defaults, except those of a terminal (SIGHUP, SIGINT,
 * SIGQUIT) that were ignored when we were started; none is blocked. 0: it has ended; or -errno:
 * -ENOENT it was not found, another when it could not be run. Of a filter also -ETIMEDOUT; -EINTR:
 * a signal that ends programs has come, and is taken as soon as this returns; -ECHILD: how it ended
 * is unknown, since this program ignores SIGCHLD; and what `take` returned.
 */
int ofs_process_run(const struct ofs_process *process, struct ofs_process_end *ret);

/*
 * Runs a helper with those flags. Appends what it wrote to `ret_text` (NULL when nothing is taken).
 * Returns its exit code or -errno.
 */
int ofs_process_run_helper(const char *const argv[], const char *dir, int flags,
			   struct ofs_buf *ret_text);

/* Exit code of a wait status, as a shell gives it. */
int ofs_process_exit_code(int status);
