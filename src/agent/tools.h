/* SPDX-License-Identifier: MIT */
/* Tools of agents, by the names that Claude Code gives them: how their outputs are filed. */
#pragma once

#include "agent/agent.h"

/* How a tool's output is filed, and which member of its input titles it. */
struct ofs_agent_tool {
	const char *name;
	const char *category; /* NULL: its result is short, or the agent must have it itself */
	const char *title; /* names of the member, as ofs_args_find() takes them */
	bool named; /* the title starts with the tool's name */
	bool saves; /* Claude Code runs it here, and saves an output that it finds too long */
};

/* NULL: it is none of them. */
const struct ofs_agent_tool *ofs_agent_tool_find(const char *name);

/* A tool of an MCP server is "mcp__SERVER__TOOL". */
bool ofs_agent_tool_is_mcp(const char *name);

/* What another agent calls one of them. */
struct ofs_agent_alias {
	const char *name, *tool;
};

/* Reads what events of all have in common; e->tool becomes the name here. */
int ofs_agent_read_event(struct ofs_span root, const struct ofs_agent_alias aliases[], size_t n,
			 struct ofs_error *err, struct ofs_hook_event *ret);
