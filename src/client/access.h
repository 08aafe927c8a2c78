/* SPDX-License-Identifier: MIT */
/* A tree that is found and opened on first use, and the conversion of paths to and from it. */
#pragma once

#include "client/backend.h"
#include "client/target.h"

struct ofs_access {
	struct ofs_target_options options; /* borrowed strings */
	/* Operand for ofs_target_find_operand(), used instead of `options`; borrowed, or NULL. */
	const char *place;
	bool read_only; /* open an unmounted store read-only */
	bool found;
	struct ofs_target target;
	struct ofs_backend *backend; /* NULL: not opened yet */
	/* The root of the tree, as displayed in the current directory; NULL: not mounted. */
	char *mount;
	char *key; /* NULL: not read yet */
};

/* Initialises `a` without finding or opening anything. Borrows the strings of `options`. */
void ofs_access_init(struct ofs_access *a, const struct ofs_target_options *options);
void ofs_access_finish(struct ofs_access *a);

/* Uses a tree that was found before. Copies `found`. */
void ofs_access_take(struct ofs_access *a, const struct ofs_target *found);

/* Selects the tree of the agent with this directory. The tree must be found but not open. */
void ofs_access_set_agent(struct ofs_access *a, const char *agent);

/* On the first call, finds the tree and sets `target` and `mount`. 0 or -errno. */
int ofs_access_find(struct ofs_access *a, struct ofs_error *err);

/*
 * On the first call, opens the tree and sets `backend`. A missing store is made if `create` is set;
 * otherwise the result is -ENOENT. 0 or -errno.
 */
int ofs_access_open(struct ofs_access *a, bool create, struct ofs_error *err);

/*
 * Opens the tree and sets *ret to the key of the store, borrowed. The key distinguishes genuine
 * pointers from text that imitates one. -ENOENT: there is no store; or another -errno.
 */
int ofs_access_key(struct ofs_access *a, struct ofs_error *err, const char **ret);

/* Returns the absolute path of `path`, or a copy of it if the tree is not mounted. Allocated. */
char *ofs_access_display(const struct ofs_access *a, const char *path);

/*
 * Sets *ret to the path in the tree that `path` leads to, allocated. `path` is absolute, or
 * relative to the current directory or to the root of the tree. The tree must have been found.
 * -EINVAL: the path lies outside the tree.
 */
int ofs_access_inside(const struct ofs_access *a, const char *path, struct ofs_error *err,
		      char **ret);
