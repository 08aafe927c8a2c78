/* SPDX-License-Identifier: MIT */
/*
 * Kinds of tools, by their names. Every harness has names of its own for the same few tools: case,
 * separators and the prefixes of servers ("mcp__fs__read_file") make no difference.
 */
#pragma once

#include "context/settings.h"

enum ofs_tool_rule {
	OFS_TOOL_OTHER,
	OFS_TOOL_READ, /* a file is read */
	OFS_TOOL_WRITE, /* made or changed */
	OFS_TOOL_LIST, /* names of files */
	OFS_TOOL_GREP, /* lines in files that match */
	OFS_TOOL_SEARCH, /* of the web */
	OFS_TOOL_VISIT, /* a page of the web is read */
	OFS_TOOL_SHELL, /* a command is run */
	OFS_TOOL_COUNT,
};

/*
 * The rule for a tool of that name (a NUL-terminated text of any bytes), without regard to
 * settings.
 */
enum ofs_tool_rule ofs_tool_rule(const char *name);

/* The name without its prefixes, within `name`: "read_file" of "mcp__fs__read_file". */
const char *ofs_tool_own_name(const char *name);

/* The canonical name of a rule's tool, "fs:read_file"; "other" for OFS_TOOL_OTHER. Static. */
const char *ofs_tool_name(enum ofs_tool_rule rule);

/* The rule of that canonical name; OFS_TOOL_OTHER: there is none. NULL is allowed. */
enum ofs_tool_rule ofs_tool_by_name(const char *canonical);

/*
 * The section [tool NAME] for a tool (the last of several), borrowed, or NULL. `ret_rule` is the
 * rule to use: that of its `like`, else the tool's own.
 */
const struct ofs_tool_setting *ofs_tool_setting(const struct ofs_settings *s, const char *name,
						enum ofs_tool_rule *ret_rule);
