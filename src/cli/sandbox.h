/* SPDX-License-Identifier: MIT */
/* A command that sees of a store the tree of one agent alone. SECURITY.md says what that keeps. */
#pragma once

#include "cli/cover.h"

/* All borrowed. */
struct ofs_sandbox {
	struct ofs_cover cover; /* `root` is set by ofs_sandbox_run() */
	const char *dir; /* to run in: absolute, and looked up inside */
	const char *const *argv; /* argv[0] is looked up in PATH */
};

struct ofs_sandbox_end {
	int error; /* the command could not be run: an errno; else 0 */
	int status; /* how it ended, as of waitpid(2) */
};

/*
 * Runs a command with our environment and standard descriptors, to its end. What it left running
 * ends with it. Signals are passed on; where it stops, so do we. 0; or -errno with the reason in
 * `err`: it was not run.
 */
int ofs_sandbox_run(const struct ofs_sandbox *s, struct ofs_error *err,
		    struct ofs_sandbox_end *ret);

/* Ends this process by the signal that ended another one; else returns the other one's exit code. */
int ofs_sandbox_end_like(int status);
