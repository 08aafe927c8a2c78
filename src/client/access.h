/* SPDX-License-Identifier: MIT */
/* A tree that is found and opened when it is first needed, and how paths in it are written. */
#pragma once

#include "client/backend.h"
#include "client/target.h"

struct ofs_access {
	struct ofs_target_options options; /* borrowed strings */
	/* An operand in place of options, as of ofs_target_find_operand(); borrowed; NULL: none. */
	const char *place;
	bool read_only; /* an unmounted store is opened so */
	bool found;
	struct ofs_target target;
	struct ofs_backend *backend; /* NULL: not opened yet */
	/* The root of the tree as it may be written in the current directory; NULL: not mounted. */
	char *mount;
	char *key; /* NULL: not asked for yet */
};

/* Finds and opens nothing yet. */
void ofs_access_init(struct ofs_access *a, const struct ofs_target_options *options);
void ofs_access_finish(struct ofs_access *a);

/* The tree is one that was found before, which is copied. */
void ofs_access_take(struct ofs_access *a, const struct ofs_target *found);

/* The tree is that of the agent with this directory; it must have been found and not be open. */
void ofs_access_set_agent(struct ofs_access *a, const char *agent);

/* Finds the tree, once: from then on `target` and `mount` are set. */
int ofs_access_find(struct ofs_access *a, struct ofs_error *err);

/*
 * Opens the tree, once; `create` makes a missing store, else that is -ENOENT. From then on
 * `backend` can be used.
 */
int ofs_access_open(struct ofs_access *a, bool create, struct ofs_error *err);

/*
 * The key of the store, which tells pointers that were made with it from texts that imitate one;
 * borrowed. -ENOENT: there is no store.
 */
int ofs_access_key(struct ofs_access *a, struct ofs_error *err, const char **ret);

/* Allocated: a path in the tree as it may be written in any directory; unmounted, in the tree. */
char *ofs_access_display(const struct ofs_access *a, const char *path);

/*
 * The path in the tree, allocated, that `path` leads to: relative to the root of the tree, to the
 * current directory or to the root of the filesystem. -EINVAL: it lies outside. The tree must have
 * been found.
 */
int ofs_access_inside(const struct ofs_access *a, const char *path, struct ofs_error *err,
		      char **ret);
