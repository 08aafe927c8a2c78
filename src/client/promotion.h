/* SPDX-License-Identifier: MIT */
/* Promotes a file or directory: moves it to a tier in which it does not expire. */
#pragma once

#include <jansson.h>

#include "client/backend.h"

#define OFS_TAGS_MAX 4096

/* Borrowed. */
struct ofs_promotion {
	const char *top; /* "persistent" or "archive" */
	const char *category; /* NULL: the current one */
	const char *name; /* NULL: the current one */
	const char *tags; /* to add, separated by commas; NULL: none */
	bool numbered; /* if the name is taken, use a numbered one (base/name.h) */
	bool dry; /* only report where it would go */
};

/*
 * Moves the file or directory `path`, whose stat is `attr`, to <top>/<category>/<name>, unless it
 * is already in that tier and, if one is given, in that category. The category of a category's
 * directory is its own name. Adds tags to the file, or to every file below the directory. Replaces
 * nothing: -EEXIST, unless `numbered`. -EINVAL: not a file or directory of a tier. A failure leaves
 * tags and place unchanged, unless the tree itself fails meanwhile. Sets *ret to an object with ref
 * and tags (both null for a directory), path, was, category and moved.
 */
int ofs_promote(const struct ofs_promotion *p, struct ofs_backend *b, const char *path,
		const struct stat *attr, struct ofs_error *err, json_t **ret);

/*
 * Returns `tags` and those of `more` that are not among them, without blanks around tags and
 * without empty ones. Allocated.
 */
char *ofs_tags_join(const char *tags, const char *more);
