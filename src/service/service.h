/* SPDX-License-Identifier: MIT */
/*
 * The calls that programs make on a tree, as JSON in and JSON out. MCP (mcp/) and HTTP (http/) are
 * protocols on top of it.
 *
 * A service does not keep the tree open between calls, so a mount can be unmounted and a store can
 * be mounted. Calls may come from any thread. Calls on an unmounted store wait for each other.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "client/access.h"

struct ofs_service;

/* Copied. */
struct ofs_service_options {
	struct ofs_target_options target; /* nothing outside this tree can be reached */
	const char *task; /* default task of what is stored; NULL: none */
};

/* Makes a service and finds its tree. 0, or -errno with `err` set. */
int ofs_service_create(const struct ofs_service_options *options, struct ofs_error *err,
		       struct ofs_service **ret);
void ofs_service_destroy(struct ofs_service *s); /* NULL is allowed */

/* ---- the table of calls */

enum {
	OFS_CALL_TOOL = 1 << 0, /* MCP offers it as a tool */
	OFS_CALL_CHANGES = 1 << 1, /* changes the tree */
	OFS_CALL_MAKES = 1 << 2, /* makes a missing store or agent's tree */
};

struct ofs_call_run;

/*
 * A call; static. It is defined as ofs_call_<name> in a file call_<what>.c and listed in calls.c.
 * Its description and schemas are in calls.json.
 */
struct ofs_call {
	const char *name; /* "memory_fetch" */
	unsigned int flags;
	int (*run)(struct ofs_call_run *c);
};

/* All calls, ended by NULL. */
extern const struct ofs_call *const ofs_calls[];

/* Returns the call of that name, or NULL. */
const struct ofs_call *ofs_call_find(const char *name);

/*
 * Returns {"title", "description", "inputSchema", "outputSchema"} of a call, which stay valid. The
 * schemas are JSON Schema 2020-12.
 */
const json_t *ofs_call_describe(const struct ofs_call *call);

/* ---- calling */

/* Borrowed. */
struct ofs_caller {
	const char *agent; /* the agent in the service's tree to call as, "a/b"; NULL: none */
	const char *way; /* for the ledger: "mcp", "http"; NULL: no entry */
};

/*
 * Runs a call with `args`, a borrowed object or NULL. Sets *ret to an object that matches the
 * output schema and is valid UTF-8 throughout. 0, or -errno with a sentence in `err` that says what
 * is wrong and how to correct it:
 *
 *   -EINVAL                   an argument does not match the schema, or has no meaning
 *   -ENOENT                   there is no such file, task or agent; -EKEYEXPIRED: no longer
 *   -ERANGE                   the slice starts past the end
 *   -EACCES, -EPERM, -EXDEV   not allowed, or outside the tree
 *   -EEXIST                   the name is taken
 *   -ENOSPC, -EDQUOT, -EROFS  nothing can be stored
 *   -ENODEV, -ENOTCONN, -EBUSY, -ETIMEDOUT   the tree cannot be reached now
 */
int ofs_service_call(struct ofs_service *s, const struct ofs_caller *by,
		     const struct ofs_call *call, const json_t *args, struct ofs_error *err,
		     json_t **ret);

/*
 * Calls fn(access, arg, err) with the tree open and returns its result: 0, or -errno with `err`
 * set. If the mount was lost, finds the tree again and calls `fn` once more. `make` has the meaning
 * of OFS_CALL_MAKES.
 */
int ofs_service_use(struct ofs_service *s, const char *agent, bool make,
		    int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		    void *arg, struct ofs_error *err);

/* True for a -errno that says that the tree cannot be reached now: a later call may succeed. */
bool ofs_service_is_away(int r);
