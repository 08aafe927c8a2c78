/* SPDX-License-Identifier: MIT */
/* Names in a tree: of categories, tasks and files, given and made. */
#pragma once

#include <offloadfs/error.h>

#include "base/util.h"

#define OFS_NAMING_MAX 64
/* Hex digits of the content's SHA-256 in an automatic name. */
#define OFS_NAMING_HASH 16

/*
 * A category or task: 1 to 64 of [A-Za-z0-9._-], not led by a dot. `kind` names it in the message.
 * 0 or -EINVAL.
 */
int ofs_naming_check(const char *kind, const char *label, struct ofs_error *err);

/*
 * The directory, allocated, of the agent that is called so: "agents/a" for "a", "agents/a/agents/b" for
 * "a/b". `what` names it in the message. 0 or -EINVAL.
 */
int ofs_naming_agent(const char *what, const char *name, struct ofs_error *err, char **ret);

/* Allocated: the agent's name again. */
char *ofs_naming_agent_name(const char *directory);

/*
 * The directory, allocated, of the agent whose tree a path lies in, without which it is *ret_rest;
 * NULL: it lies in none, or is such a directory itself.
 */
char *ofs_naming_agent_of(const char *path, const char **ret_rest);

/* Allocated: `text` as the name of a category or task; `fallback` where nothing is left of it. */
char *ofs_naming_label(const char *text, size_t len, const char *fallback);

/* The id of the session that the agent names which runs this program; NULL: none. */
const char *ofs_naming_session(void);

/*
 * The task of what is stored where nobody names one, allocated: that of a session (its id, or
 * NULL), else OFFLOAD_TASK; NULL: none, as also when that variable is set and empty. -EINVAL: it is
 * no name.
 */
int ofs_naming_task(const char *session, struct ofs_error *err, char **ret);

/* The name of a file: one path component of at most 255 bytes. 0 or -EINVAL. */
int ofs_naming_check_file(const char *name, struct ofs_error *err);

/* Allocated: "<category>_<unix time>_<first 16 hex digits of the hash>.<ext>". */
char *ofs_naming_auto(const char *category, int64_t seconds, const char *sha256, const char *ext);

/* Allocated: what these names end with, whatever the category and time. */
char *ofs_naming_auto_ending(const char *sha256, const char *ext);

/*
 * True when `name` is the automatic name of such a content, made at any time, which goes to
 * `ret_seconds`.
 */
bool ofs_naming_is_auto(const char *name, const char *category, const char *sha256, const char *ext,
			int64_t *ret_seconds);
