/* SPDX-License-Identifier: MIT */
/* A command of the user's that is given one text and gives back another. */
#ifndef OFS_CLIENT_FILTER_H
#define OFS_CLIENT_FILTER_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* All borrowed. */
struct ofs_filter {
	const char *command; /* for the shell */
	const char *const *
		environment; /* "NAME=value", besides ours or in its place; NULL at the end. NULL: none */
	uint64_t timeout_s; /* 0: none */
	size_t max; /* bytes that it may give back */
};

#define OFS_FILTER_LAST_MAX 200

struct ofs_filter_end {
	int exit_code; /* when no signal ended it */
	int signal; /* that ended it, or 0 */
	char last[OFS_FILTER_LAST_MAX +
		  1]; /* last line of its standard error, fit to be shown; may be empty */
};

/*
 * Runs the command in a session of its own, with our environment and folder, signals as a shell gives
 * them, and no descriptors but the three standard ones. It need not read what it is given. When it has
 * ended by itself, `ret_output` (an empty buffer) is what it wrote until then, and 0 comes back, whatever
 * its exit code is.
 *
 * Else -ETIMEDOUT: it took too long, -EFBIG: it wrote more than `max`, -EINTR: a signal has come that
 * ends programs (it is taken as soon as this returns), -ECHILD: how it ended is unknown, since the program
 * ignores SIGCHLD; `ret_end` has its last line then. Or -errno, when it could not be run.
 *
 * In each case it is over: what is left of its process group gets SIGTERM and, after half a second at most,
 * SIGKILL. Processes that left the group are not followed.
 */
int ofs_filter_run(const struct ofs_filter *filter, const void *input, size_t len,
		   struct ofs_filter_end *ret_end, struct ofs_buf *ret_output);

#endif
