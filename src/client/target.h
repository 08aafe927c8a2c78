/* SPDX-License-Identifier: MIT */
/* The tree a command is about, by its options, the environment and the current directory. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

#include "client/backend.h"
#include "io/mounts.h"

/* Options that every command takes. */
struct ofs_target_options {
	const char *dir; /* --dir */
	const char *store; /* --store */
	const char *agent; /* --agent; NULL: that of OFFLOAD_AGENT, if it is set */
	const char *from; /* in place of the current directory; absolute; NULL: none */
	bool whole; /* the tree of the store, whatever agent is named */
	bool mounting; /* the same, and --dir names a place that need not be mounted yet */
};

struct ofs_target {
	char *workspace; /* NULL: not found by a workspace */
	char *mountpoint; /* where it is mounted or would be; NULL: nowhere in particular */
	char *store;
	char *agent; /* the directory of one, whose tree is meant: "agents/a"; NULL: none */
	char *root; /* of the tree that is meant: the mountpoint, or that directory in it */
	bool mounted; /* and its daemon alive */
	bool stale; /* mounted, and its daemon gone */
	bool shared; /* mounted, and other users come in */
	bool read_only; /* to be opened so where it is not mounted; not set by finding it */
	/* Options, each with a blank before it, that lead another `offload` here; may be "". */
	char *hint;
};

/*
 * Finds the tree: by the options, else by the variables, else by the current directory. `workspace`
 * (NULL: none was named) stands for the current directory and goes before the variables. Makes and
 * opens nothing.
 */
int ofs_target_find(const struct ofs_target_options *opts, const char *workspace,
		    struct ofs_error *err, struct ofs_target *ret);

/* The same for an operand: a path that lies in a tree, a store, or a workspace; NULL: none. */
int ofs_target_find_operand(const struct ofs_target_options *opts, const char *operand,
			    struct ofs_error *err, struct ofs_target *ret);
void ofs_target_finish(struct ofs_target *t);

/* `ret` gets strings of its own. */
void ofs_target_copy(const struct ofs_target *t, struct ofs_target *ret);

/* The tree of a mount. -EPERM: of another user, whom the caller does not trust. */
int ofs_target_from_mount(const struct ofs_mount *mount, struct ofs_error *err,
			  struct ofs_target *ret);

/* From then on the tree of the agent with this directory is meant; NULL: that of the store. */
void ofs_target_set_agent(struct ofs_target *t, const char *agent);

/*
 * Opens it: the mount, or the store where it is not mounted. When a daemon takes the store over
 * meanwhile, its mount is used, and `t` says so afterwards. `create` makes a missing store,
 * and a missing agent.
 */
int ofs_target_open(struct ofs_target *t, bool create, struct ofs_error *err,
		    struct ofs_backend **ret);
