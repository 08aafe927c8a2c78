/* SPDX-License-Identifier: MIT */
/*
 * Kinds of tools, recognized by name. Every harness has its own names for the same few tools; case,
 * separators and the prefixes of servers ("mcp__fs__read_file") are ignored.
 */
#pragma once

#include "context/settings.h"

enum ofs_tool_rule {
	OFS_TOOL_OTHER,
	OFS_TOOL_READ, /* reads a file */
	OFS_TOOL_WRITE, /* creates or changes one */
	OFS_TOOL_LIST, /* lists names of files */
	OFS_TOOL_GREP, /* finds matching lines in files */
	OFS_TOOL_SEARCH, /* searches the web */
	OFS_TOOL_VISIT, /* reads a page of the web */
	OFS_TOOL_SHELL, /* runs a command */
	OFS_TOOL_COUNT,
};

/* Returns the rule for a tool of that name (any bytes), regardless of settings. */
enum ofs_tool_rule ofs_tool_rule(const char *name);

/* Returns the part of `name` after its prefixes: "read_file" of "mcp__fs__read_file". */
const char *ofs_tool_own_name(const char *name);

/* Returns the canonical name of a rule's tool, as "fs:read_file" or "other". Static. */
const char *ofs_tool_name(enum ofs_tool_rule rule);

/* Returns the rule with that canonical name; OFS_TOOL_OTHER if there is none, or for NULL. */
enum ofs_tool_rule ofs_tool_by_name(const char *canonical);

/*
 * Returns the section [tool NAME] for a tool (the last of several), borrowed, or NULL. Sets
 * *ret_rule to the rule of the section's `like`, or else the tool's own.
 */
const struct ofs_tool_setting *ofs_tool_setting(const struct ofs_settings *s, const char *name,
						enum ofs_tool_rule *ret_rule);
