/* SPDX-License-Identifier: MIT */
/*
 * The calls that programs make on a tree, whichever protocol brings them: JSON in, JSON and a text
 * out. MCP (mcp/) and HTTP (http/) speak to their clients and leave the rest to this.
 *
 * A service holds no tree between calls, so that it neither keeps one from being unmounted nor a
 * store from being mounted. Calls may come from any thread; those on a store that is not mounted
 * wait for each other.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "client/target.h"

struct ofs_service;

struct ofs_service_options {
	/* The tree; its strings are copied. All that is outside of it is refused. */
	struct ofs_target_options target;
	/* For the ledger: "mcp" or "http"; static. */
	const char *way;
	/* The task of what is stored where a call names none; copied; NULL: none. */
	const char *task;
};

/* Finds the tree. 0 or -errno with the reason in `err`. */
int ofs_service_create(const struct ofs_service_options *options, struct ofs_error *err,
		       struct ofs_service **ret);
void ofs_service_destroy(struct ofs_service *s); /* NULL is allowed */

/* ---- the table of calls */

enum {
	OFS_CALL_TOOL = 1 << 0, /* a tool of MCP, too */
	OFS_CALL_CHANGES = 1 << 1, /* it changes the tree */
};

struct ofs_call_run;

/* A call; all is static. Its description and schemas stand in calls.json. */
struct ofs_call {
	const char *name; /* "memory_fetch" */
	unsigned int flags;
	int (*run)(struct ofs_call_run *c);
};

/* The calls, up to one without a name. */
const struct ofs_call *ofs_service_calls(void);

/* NULL: there is none of that name. */
const struct ofs_call *ofs_service_find(const char *name);

/*
 * {"title", "description", "inputSchema", "outputSchema"} of a call, borrowed for good. The schemas
 * are JSON Schema 2020-12.
 */
const json_t *ofs_call_describe(const struct ofs_call *call);

/* ---- calling */

struct ofs_reply {
	json_t *json; /* an object that matches the output schema */
	char *text; /* the same as a person or a model reads it best */
};

void ofs_reply_finish(struct ofs_reply *r);

/*
 * Runs a call in the tree of the service, or in that of its agent `agent` ("a", "a/b"; NULL: none),
 * with arguments `args`, an object (NULL: none), which is borrowed. 0, or -errno with a
 * sentence in `err` that names what was wrong and what would be right:
 *
 *   -EINVAL       an argument is not what the schema says, or has no meaning
 *   -ENOENT       there is no such file, task or agent; -EKEYEXPIRED: not any more
 *   -ERANGE       the slice starts past the end
 *   -EACCES, -EPERM, -EXDEV   not allowed; outside of the tree
 *   -EEXIST       the name is taken
 *   -ENOSPC, -EDQUOT, -EROFS  nothing can be stored
 *   -ENODEV, -ENOTCONN, -EBUSY, -ETIMEDOUT   the tree cannot be reached now
 */
int ofs_service_call(struct ofs_service *s, const char *agent, const struct ofs_call *call,
		     const json_t *args, struct ofs_error *err, struct ofs_reply *ret);
