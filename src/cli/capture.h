/* SPDX-License-Identifier: MIT */
/*
 * Running the user's command with its standard output and error in one pipe, so that their order is
 * kept.
 */
#ifndef OFS_CLI_CAPTURE_H
#define OFS_CLI_CAPTURE_H

#include <stddef.h>

struct ofs_capture {
	/*
	 * As a shell gives it: 127 not found, 126 not executable, 128 + N when signal N ended it.
	 */
	int exit_code;
	int signal; /* that ended it, or 0 */
	int error; /* positive errno when it could not be run */
};

/*
 * Runs argv[0] (looked up in PATH) with our standard input and hands what it writes to `sink`,
 * which must not fail. While it runs, the terminal's SIGINT and SIGQUIT are left to the command,
 * SIGTERM and SIGHUP passed on to it. After its end, output of processes that it left behind is
 * awaited for a moment only. SIGINT and SIGQUIT stay ignored afterwards, so that what was captured
 * can be stored in peace. 0, or -errno when not even the attempt could be made.
 */
int ofs_capture_run(const char *const argv[], void (*sink)(void *arg, const void *data, size_t len),
		    void *arg, struct ofs_capture *ret);

#endif
