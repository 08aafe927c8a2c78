/* SPDX-License-Identifier: MIT */
/* Running a helper program (git, fusermount3, the daemon) to its end. */
#ifndef OFS_CLI_PROCESS_H
#define OFS_CLI_PROCESS_H

#include "base/buf.h"

enum {
	OFS_PROCESS_OUT = 1 << 0, /* capture standard output; else it goes to our standard error */
	OFS_PROCESS_ERR = 1 << 1, /* capture standard error; else it goes to ours */
	OFS_PROCESS_QUIET = 1 << 2, /* what is not captured goes nowhere */
};

/*
 * Runs argv[0] (looked up in PATH) in the directory `dir` (NULL: ours) with no input and no
 * descriptor but the three standard ones. Appends what it wrote to `ret_text` (NULL when nothing is
 * captured). Messages are asked for in the C locale. Returns its exit code, 128 + N when signal N
 * ended it, or -errno when it could not be run.
 */
int ofs_process_run(const char *const argv[], const char *dir, int flags, struct ofs_buf *ret_text);

/* Exit code of a wait status, as a shell gives it. */
int ofs_process_exit_code(int status);

#endif
