/* SPDX-License-Identifier: MIT */
/* Runs a command that sees only one agent's tree of a store. SECURITY.md says what that keeps. */
#pragma once

#include "cli/cover.h"

/* All pointers are borrowed. */
struct ofs_sandbox {
	struct ofs_cover cover; /* `root` is set by ofs_sandbox_run() */
	const char *dir; /* to run in: absolute, and looked up inside */
	const char *const *argv; /* argv[0] is looked up in PATH */
};

struct ofs_sandbox_end {
	int error; /* an errno if the command could not be run; else 0 */
	int status; /* how it ended: a wait status, as of waitpid(2) */
};

/*
 * Runs a command to its end, with our environment and standard descriptors. What it left running
 * ends with it. Signals are passed on; if it stops, so do we. Returns 0, or -errno with the reason
 * in `err` if it was not run.
 */
int ofs_sandbox_run(const struct ofs_sandbox *s, struct ofs_error *err,
		    struct ofs_sandbox_end *ret);

/* Ends this process by the signal that ended the other one, or returns the other's exit code. */
int ofs_sandbox_end_like(int status);
