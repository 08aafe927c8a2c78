/* SPDX-License-Identifier: MIT */
/* grep -rn over a tree, with limits on time and output. */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "client/backend.h"

/* All borrowed. */
struct ofs_grep {
	const char *pattern; /* a PCRE2 expression */
	bool ignore_case;
	const char *glob; /* for names of files; NULL: any */
	unsigned int context; /* lines around each match, at most 20 */
	uint64_t limit; /* maximum number of matching lines */
	const char *prefix; /* printed before each path: "" or "dir/" */
};

struct ofs_grep_result {
	uint64_t matches, files;
	bool complete; /* false: something was not searched or not reported */
};

/*
 * Searches the file `path` of a tree, or all files below that directory, sorted by name. Calls
 * fn(arg, text, len) for each line as grep prints it, in valid UTF-8 and shortened if it is long;
 * "--" separates groups. -EINVAL: the pattern is invalid. 0, or -errno with `err` set.
 */
int ofs_grep_run(const struct ofs_grep *g, struct ofs_backend *b, const char *path,
		 void (*fn)(void *arg, const char *text, size_t len), void *arg,
		 struct ofs_error *err, struct ofs_grep_result *ret);
