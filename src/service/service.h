/* SPDX-License-Identifier: MIT */
/*
 * The calls that programs make on a tree, whichever protocol brings them: JSON in, JSON out. MCP
 * (mcp/) and HTTP (http/) speak to their clients and leave the rest to this.
 *
 * A service holds no tree between calls, so it keeps neither a mount from being unmounted nor a
 * store from being mounted. Calls may come from any thread; those on a store that is not mounted
 * wait for each other.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "client/access.h"

struct ofs_service;

/* Copied. */
struct ofs_service_options {
	struct ofs_target_options target; /* nothing outside of this tree can be reached */
	const char *task; /* of what is stored where a call names none; NULL: none */
};

/* Finds the tree. 0 or -errno with the reason in `err`. */
int ofs_service_create(const struct ofs_service_options *options, struct ofs_error *err,
		       struct ofs_service **ret);
void ofs_service_destroy(struct ofs_service *s); /* NULL is allowed */

/* ---- the table of calls */

enum {
	OFS_CALL_TOOL = 1 << 0, /* MCP offers it as a tool */
	OFS_CALL_CHANGES = 1 << 1, /* it changes the tree */
	OFS_CALL_MAKES = 1 << 2, /* it makes a store, or an agent's tree, where there is none */
};

struct ofs_call_run;

/*
 * A call; all is static. Each is defined in a file call_<what>.c as ofs_call_<name>; to add one, list
 * it in calls.c. Its description and schemas stand in calls.json.
 */
struct ofs_call {
	const char *name; /* "memory_fetch" */
	unsigned int flags;
	int (*run)(struct ofs_call_run *c);
};

/* The calls, up to NULL. */
extern const struct ofs_call *const ofs_calls[];

/* NULL: there is none of that name. */
const struct ofs_call *ofs_call_find(const char *name);

/*
 * {"title", "description", "inputSchema", "outputSchema"} of a call, borrowed for good. The schemas
 * are JSON Schema 2020-12.
 */
const json_t *ofs_call_describe(const struct ofs_call *call);

/* ---- calling */

/* Borrowed. */
struct ofs_caller {
	const char *agent; /* in whose tree below the service's, "a/b"; NULL: in that itself */
	const char *way; /* for the ledger: "mcp", "http"; NULL: nothing is told to it */
};

/*
 * Runs a call with `args`, an object (NULL: none), which is borrowed. `ret` gets an object that matches the
 * output schema and is valid UTF-8 throughout. 0, or -errno with a sentence in `err` that names
 * what was wrong and what would be right:
 *
 *   -EINVAL                   an argument is not what the schema says, or has no meaning
 *   -ENOENT                   there is no such file, task or agent; -EKEYEXPIRED: not any more
 *   -ERANGE                   the slice starts past the end
 *   -EACCES, -EPERM, -EXDEV   not allowed, or outside of the tree
 *   -EEXIST                   the name is taken
 *   -ENOSPC, -EDQUOT, -EROFS  nothing can be stored
 *   -ENODEV, -ENOTCONN, -EBUSY, -ETIMEDOUT   the tree cannot be reached now
 */
int ofs_service_call(struct ofs_service *s, const struct ofs_caller *by,
		     const struct ofs_call *call, const json_t *args, struct ofs_error *err,
		     json_t **ret);

/*
 * Calls fn(access, arg, err) with the tree open; it returns 0 or -errno with `err` set, which is
 * returned. When a mount was lost it is found again and `fn` is called once more. `make`: as
 * OFS_CALL_MAKES.
 */
int ofs_service_use(struct ofs_service *s, const char *agent, bool make,
		    int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		    void *arg, struct ofs_error *err);

/* The tree cannot be reached now: trying again later may help. */
bool ofs_service_is_away(int r);
