/* SPDX-License-Identifier: MIT */
/* The tools of Claude Code: how their outputs are filed, and which of them stay as they are. */
#ifndef OFS_CONTEXT_HOOK_HOOK_TOOL_H
#define OFS_CONTEXT_HOOK_HOOK_TOOL_H

#include <stdbool.h>
#include <stddef.h>

#include "client/access.h"
#include "context/json/span.h"

/* Whether it is a tool of a server: "mcp__SERVER__TOOL". */
bool ofs_hook_tool_is_mcp(const char *tool);

/* Whether the agent must have its results before it, or they are short. */
bool ofs_hook_tool_is_kept(const char *tool);

/* Allocated: the category of its output; that of a server's tool is the server's name. */
char *ofs_hook_tool_category(const char *tool);

/* Allocated: what a pointer says that its output is: the command, the path, the query, ... */
char *ofs_hook_tool_what(const char *tool, struct ofs_span input);

/* Allocated: `text` as the name of a category or task; `fallback` where nothing is left of it. */
char *ofs_hook_tool_label(const char *text, size_t len, const char *fallback);

/*
 * Whether the tool is used on what is offloaded: with a path in the tree, from within it, or with a
 * command of ours. The tree must have been found.
 */
bool ofs_hook_tool_reads_back(const char *tool, struct ofs_span input,
			      const struct ofs_access *access);

#endif
