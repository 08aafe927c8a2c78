/* SPDX-License-Identifier: MIT */
/* The tools of agents, by the names of Claude Code, and how their outputs are filed. */
#pragma once

#include "agent/agent.h"

/* How a tool's output is filed, and which member of its input is the title. */
struct ofs_agent_tool {
	const char *name;
	const char *category; /* NULL: the result is short, or the agent itself needs it */
	const char *title; /* names of the member, for ofs_args_find() */
	bool named; /* the title starts with the tool's name */
	bool saves; /* Claude Code runs it locally, and saves outputs that it finds too long */
};

/* Returns the tool with that name, or NULL. */
const struct ofs_agent_tool *ofs_agent_tool_find(const char *name);

/* Returns whether this is a tool of an MCP server, "mcp__SERVER__TOOL". */
bool ofs_agent_tool_is_mcp(const char *name);

/* Another agent's name for one of the tools. */
struct ofs_agent_alias {
	const char *name, *tool;
};

/*
 * Reads what the events of all agents have in common; e->tool becomes Claude Code's name. Returns
 * 0, or -EINVAL with the reason in `err`.
 */
int ofs_agent_read_event(struct ofs_span root, const struct ofs_agent_alias aliases[], size_t n,
			 struct ofs_error *err, struct ofs_hook_event *ret);
