/* SPDX-License-Identifier: MIT */
/* grep -rn over a tree: the lines that match, within bounds. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "client/backend.h"

/* All borrowed. */
struct ofs_grep {
	const char *pattern; /* of PCRE2 */
	bool ignore_case;
	const char *glob; /* of the names of files; NULL: any */
	unsigned int context; /* lines around each match */
	uint64_t limit; /* matching lines at most */
	const char *prefix; /* before each path that is told, "" or "dir/" */
};

struct ofs_grep_result {
	uint64_t matches, files;
	bool complete; /* all was searched and told */
};

/*
 * Searches the file `path` of a tree, or all files below that directory, in the order of their names,
 * and calls fn(arg, text, len) for each line as grep prints it, valid UTF-8 and cut where it is long;
 * "--" parts groups. -EINVAL: the pattern is none; else 0 or -errno with `err` set.
 */
int ofs_grep_run(const struct ofs_grep *g, struct ofs_backend *b, const char *path,
		 void (*fn)(void *arg, const char *text, size_t len), void *arg,
		 struct ofs_error *err, struct ofs_grep_result *ret);
