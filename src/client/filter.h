/* SPDX-License-Identifier: MIT */
/* A command of the user's that is given one text and gives back another. */
#pragma once

#include "base/buf.h"
#include "io/process.h"

/* All borrowed. */
struct ofs_filter {
	const char *command; /* for the shell */
	const char *const *environment; /* "NAME=value", over ours; NULL at the end. NULL: none */
	uint64_t timeout_s; /* 0: none */
	size_t max; /* bytes that it may give back */
};

#define OFS_FILTER_LAST_MAX 200

struct ofs_filter_end {
	struct ofs_process_end end;
	/* The last line of its standard error, fit to be shown; may be empty. */
	char last[OFS_FILTER_LAST_MAX + 1];
};

/*
 * Runs the command as OFS_PROCESS_FILTER of io/process.h, with the same errors, and -EFBIG: it
 * wrote more than `max`. When it has ended by itself, `ret_output` (an empty buffer) is what it
 * wrote until then, whatever its exit code is. `ret_end` is set in each case, as far as it is
 * known.
 */
int ofs_filter_run(const struct ofs_filter *filter, const void *input, size_t len,
		   struct ofs_filter_end *ret_end, struct ofs_buf *ret_output);
