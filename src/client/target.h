/* SPDX-License-Identifier: MIT */
/* Finds the tree of a command by its options, the environment and the current directory. */
#pragma once

#include <stdbool.h>

#include <offloadfs/error.h>

#include "client/backend.h"
#include "io/mounts.h"

/* Options that every command takes. */
struct ofs_target_options {
	const char *dir; /* --dir */
	const char *store; /* --store */
	const char *agent; /* --agent; NULL: OFFLOAD_AGENT, if it is set */
	const char *from; /* absolute; used instead of the current directory; NULL: none */
	bool whole; /* the tree of the store, ignoring any agent */
	bool mounting; /* as `whole`; --dir need not be mounted yet */
};

struct ofs_target {
	char *workspace; /* NULL: not found by a workspace */
	char *mountpoint; /* where it is or would be mounted; NULL: undecided */
	char *store;
	char *agent; /* directory of the agent whose tree is meant: "agents/a"; NULL: none */
	char *root; /* of that tree: the mountpoint, or the directory in it; NULL: no mountpoint */
	bool mounted; /* with a live daemon */
	bool stale; /* mounted, but the daemon is dead */
	bool shared; /* mounted for other users, too */
	bool read_only; /* open an unmounted store read-only; set by the caller */
	/* Options by which another `offload` finds this tree, each after a blank; may be "". */
	char *hint;
};

/*
 * Finds the tree by the options, else the variables, else the current directory. `workspace`,
 * unless NULL, replaces the current directory and overrides the variables. Makes and opens nothing.
 * 0, or -errno with `err` set.
 */
int ofs_target_find(const struct ofs_target_options *opts, const char *workspace,
		    struct ofs_error *err, struct ofs_target *ret);

/* As ofs_target_find() for an operand: a path in a tree, a store or a workspace; NULL: none. */
int ofs_target_find_operand(const struct ofs_target_options *opts, const char *operand,
			    struct ofs_error *err, struct ofs_target *ret);
void ofs_target_finish(struct ofs_target *t);

/* Makes a deep copy. */
void ofs_target_copy(const struct ofs_target *t, struct ofs_target *ret);

/* Sets *ret to the tree of a mount. -EPERM: the caller does not trust its owner; or -errno. */
int ofs_target_from_mount(const struct ofs_mount *mount, struct ofs_error *err,
			  struct ofs_target *ret);

/* Selects the tree of the agent with this directory, or that of the store (NULL). */
void ofs_target_set_agent(struct ofs_target *t, const char *agent);

/*
 * Opens the mount, or the store if that is not mounted. If a daemon has taken the store over
 * meanwhile, opens its mount and updates `t`. `create` makes a missing store and a missing agent.
 * 0, or -errno with `err` set.
 */
int ofs_target_open(struct ofs_target *t, bool create, struct ofs_error *err,
		    struct ofs_backend **ret);
