/* SPDX-License-Identifier: MIT */
#include "context/hook/hook_tool.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "client/naming.h"
#include "context/readback.h"
#include "io/path.h"

#define HOOK_MCP "mcp__"
#define HOOK_MCP_CATEGORY "mcp"
#define HOOK_CATEGORY "general"

/* How a tool's output is filed, and which member of its input says what it is. */
struct tool {
	const char *name;
	const char *category;
	const char *what;
	bool named; /* `what` is led by the tool's name */
};

static const struct tool tools[] = {
	{ "Bash", "shell", "command", false },
	{ "BashOutput", "shell", "bash_id", true },
	{ "TaskOutput", "shell", "task_id", true },
	{ "Read", "file_read", "file_path", false },
	{ "NotebookRead", "file_read", "notebook_path", false },
	{ "WebFetch", "web", "url", false },
	{ "WebSearch", "search", "query", false },
	{ "Grep", "search", "pattern", true },
	{ "Glob", "search", "pattern", true },
	{ "LS", "search", "path", true },
	{ "Task", HOOK_CATEGORY, "description", true },
	{ "Agent", HOOK_CATEGORY, "description", true },
};

/* Their results are short, or what the agent must have before it: instructions, plans, answers. */
static const char *const kept_tools[] = {
	"Write",	   "Edit",  "MultiEdit",    "NotebookEdit", "TodoWrite",    "TodoRead",
	"AskUserQuestion", "Skill", "SlashCommand", "ToolSearch",   "ExitPlanMode", "EnterPlanMode",
};

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tools); i++) {
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	}
	return NULL;
}

bool ofs_hook_tool_is_kept(const char *tool)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kept_tools); i++) {
		if (strcmp(kept_tools[i], tool) == 0)
			return true;
	}
	return false;
}

char *ofs_hook_tool_label(const char *text, size_t len, const char *fallback)
{
	char label[OFS_NAMING_MAX + 1];
	size_t n = 0;

	while (len && *text == '.') {
		text++;
		len--;
	}
	for (; len && n < OFS_NAMING_MAX; len--, text++)
		label[n++] = isalnum((unsigned char)*text) || strchr("._-", *text) ? *text : '-';
	label[n] = '\0';
	return ofs_strdup(n ? label : fallback);
}

bool ofs_hook_tool_is_mcp(const char *tool)
{
	return strncmp(tool, HOOK_MCP, strlen(HOOK_MCP)) == 0;
}

char *ofs_hook_tool_category(const char *name)
{
	const struct tool *tool = find_tool(name);
	const char *server, *end;

	if (tool)
		return ofs_strdup(tool->category);
	if (!ofs_hook_tool_is_mcp(name))
		return ofs_strdup(HOOK_CATEGORY);
	server = name + strlen(HOOK_MCP);
	end = strstr(server, "__");
	return ofs_hook_tool_label(server, end ? (size_t)(end - server) : strlen(server),
				   HOOK_MCP_CATEGORY);
}

char *ofs_hook_tool_what(const char *name, struct ofs_span input)
{
	const struct tool *tool = find_tool(name);
	OFS_FREE char *said = tool ? ofs_span_text(ofs_span_member(input, tool->what)) : NULL;
	char *what;

	if (!said || !*said)
		return ofs_strdup(name);
	if (!tool->named)
		return ofs_steal(said);
	what = ofs_alloc(strlen(name) + strlen(said) + 2);
	sprintf(what, "%s %s", name, said);
	return what;
}

/* ---- reading back */

/* Whether the current directory lies in the tree, where no path need name it. */
static bool is_in_tree(const struct ofs_access *access)
{
	OFS_FREE char *cwd = ofs_path_cwd();

	return access->target.mountpoint && cwd &&
	       ofs_path_below(access->target.mountpoint, cwd) != NULL;
}

bool ofs_hook_tool_reads_back(const char *tool, struct ofs_span input,
			      const struct ofs_access *access)
{
	struct ofs_span_cursor c = ofs_span_enter(input);
	struct ofs_span name, value;

	if (is_in_tree(access))
		return true;
	/* What a helper is told may name the tree; its answer is another text all the same. */
	if (strcmp(tool, "Task") == 0 || strcmp(tool, "Agent") == 0)
		return false;
	if (!ofs_span_is_object(input))
		return false;
	while (ofs_span_next_member(&c, &name, &value)) {
		OFS_FREE char *text = ofs_span_text(value);

		if (!text || ofs_span_is(name, "description"))
			continue;
		if (ofs_readback_names(text, access))
			return true;
	}
	return false;
}
