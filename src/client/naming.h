/* SPDX-License-Identifier: MIT */
/* Names of categories, tasks, agents and files in a tree: checking and making them. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

#define OFS_NAMING_MAX 64
/* Hex digits of the content's SHA-256 in an automatic name. */
#define OFS_NAMING_HASH 16

/*
 * Checks the name of a category or task: 1 to 64 of [A-Za-z0-9._-], not starting with a dot. `kind`
 * is the word for it in the message. 0 or -EINVAL.
 */
int ofs_naming_check(const char *kind, const char *label, struct ofs_error *err);

/*
 * Sets *ret to the directory of the agent `name`, allocated: "agents/a" for "a",
 * "agents/a/agents/b" for "a/b". `what` is the word for it in the message. 0 or -EINVAL.
 */
int ofs_naming_agent(const char *what, const char *name, struct ofs_error *err, char **ret);

/* The inverse of ofs_naming_agent(): returns the name of an agent, allocated. */
char *ofs_naming_agent_name(const char *directory);

/*
 * Returns the directory of the agent whose tree `path` lies in, allocated, and sets *ret_rest to
 * the rest of the path. Returns NULL, and leaves *ret_rest alone, if the path lies in no agent's
 * tree or is the directory of an agent itself.
 */
char *ofs_naming_agent_of(const char *path, const char **ret_rest);

/* Makes a name of a category or task from `text`, or `fallback` if nothing is left. Allocated. */
char *ofs_naming_label(const char *text, size_t len, const char *fallback);

/* Returns the session id that the agent running this program has set; NULL: none. */
const char *ofs_naming_session(void);

/*
 * Sets *ret to the default task, allocated: the one of the session (its id, or NULL), else
 * OFFLOAD_TASK. NULL: none, which an empty OFFLOAD_TASK also requests. 0, or -EINVAL if
 * OFFLOAD_TASK is not a valid name.
 */
int ofs_naming_task(const char *session, struct ofs_error *err, char **ret);

/* Checks the name of a file: one path component of at most 255 bytes. 0 or -EINVAL. */
int ofs_naming_check_file(const char *name, struct ofs_error *err);

/* Returns "<category>_<unix time>_<first 16 hex digits of the hash>.<ext>", allocated. */
char *ofs_naming_auto(const char *category, int64_t seconds, const char *sha256, const char *ext);

/* Returns the end of such a name, after category and time, allocated. */
char *ofs_naming_auto_ending(const char *sha256, const char *ext);

/*
 * True if `name` is an automatic name for that category, hash and ext. Sets *ret_seconds to the
 * time in it.
 */
bool ofs_naming_is_auto(const char *name, const char *category, const char *sha256, const char *ext,
			int64_t *ret_seconds);
