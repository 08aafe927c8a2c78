/* SPDX-License-Identifier: MIT */
/* Moving a file or a directory into a tier that keeps it. */
#pragma once

#include <jansson.h>

#include "client/backend.h"

#define OFS_TAGS_MAX 4096

/* Borrowed. */
struct ofs_promotion {
	const char *top; /* "persistent" or "archive" */
	const char *category; /* NULL: the one that the file has */
	const char *name; /* NULL: the one that it has */
	const char *tags; /* to be added, separated by commas; NULL: none */
	bool numbered; /* where its name is taken, it gets the next one (base/name.h) */
	bool dry; /* only say where it would go */
};

/*
 * Moves what `path` names, a file or directory of which stat says `attr`, to
 * <top>/<category>/<name>, unless it lies in that tier and, where one was named, category already.
 * The category of a directory that is one is its own name. Tags are those of the file, or of every
 * file below the directory. Nothing that exists is replaced: -EEXIST, unless it is `numbered`; what is no file or directory
 * of one of the tiers is -EINVAL. What failed has changed nothing, unless the tree itself fails
 * meanwhile. `ret`: an object with ref and tags (both null for a directory), path, was, category
 * and moved.
 */
int ofs_promote(const struct ofs_promotion *p, struct ofs_backend *b, const char *path,
		const struct stat *attr, struct ofs_error *err, json_t **ret);

/*
 * Allocated: `tags`, and those of `more` that are not among them; "" counts as none. Blanks around
 * a tag do not count.
 */
char *ofs_tags_join(const char *tags, const char *more);
