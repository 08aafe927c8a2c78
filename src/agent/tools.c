/* SPDX-License-Identifier: MIT */
#include "agent/tools.h"

#include "client/naming.h"
#include "context/json/args.h"

#define MCP_PREFIX "mcp__"
#define MCP_CATEGORY "mcp"
#define OTHER_CATEGORY "general"

static const struct ofs_agent_tool tools[] = {
	{ "Bash", "shell", "command cmd", false, true },
	{ "BashOutput", "shell", "bashid", true, true },
	{ "TaskOutput", "shell", "taskid", true, true },
	{ "Read", "file_read", "filepath absolutepath path", false, true },
	{ "NotebookRead", "file_read", "notebookpath", false, false },
	{ "WebFetch", "web", "url prompt", false, false },
	{ "WebSearch", "search", "query", false, false },
	{ "Grep", "search", "pattern", true, true },
	{ "Glob", "search", "pattern", true, true },
	{ "LS", "search", "path dirpath", true, true },
	{ "Task", OTHER_CATEGORY, "description", true, false },
	{ "Agent", OTHER_CATEGORY, "description", true, false },
	{ .name = "Write" },
	{ .name = "Edit" },
	{ .name = "MultiEdit" },
	{ .name = "NotebookEdit" },
	{ .name = "TodoWrite" },
	{ .name = "TodoRead" },
	{ .name = "AskUserQuestion" },
	{ .name = "Skill" },
	{ .name = "SlashCommand" },
	{ .name = "ToolSearch" },
	{ .name = "ExitPlanMode" },
	{ .name = "EnterPlanMode" },
};

const struct ofs_agent_tool *ofs_agent_tool_find(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

bool ofs_agent_tool_is_mcp(const char *name)
{
	return strncmp(name, MCP_PREFIX, strlen(MCP_PREFIX)) == 0;
}

/* Returns the category, allocated. For a tool of an MCP server it is the server's name. */
static char *make_category(const char *name, const struct ofs_agent_tool *tool)
{
	const char *server, *end;

	if (tool && tool->category)
		return ofs_strdup(tool->category);
	if (!ofs_agent_tool_is_mcp(name))
		return ofs_strdup(OTHER_CATEGORY);
	server = name + strlen(MCP_PREFIX);
	end = strstr(server, "__");
	return ofs_naming_label(server, end ? (size_t)(end - server) : strlen(server),
				MCP_CATEGORY);
}

static char *make_title(const char *name, const struct ofs_agent_tool *tool, struct ofs_span input)
{
	OFS_FREE char *said = NULL;

	if (tool && tool->title && ofs_span_is_object(input))
		said = ofs_span_text(ofs_args_find(input, tool->title));
	if (!said || !*said)
		return ofs_strdup(name);
	return tool->named ? ofs_format("%s %s", name, said) : ofs_steal(said);
}

/* Returns the name, allocated, with any NUL in it replaced; NULL if it is not a string. */
static char *read_name(struct ofs_span name)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (!ofs_span_is_string(name))
		return NULL;
	ofs_span_decode(name, &text);
	for (size_t i = 0; i < text.len; i++)
		if (!text.data[i])
			text.data[i] = '?';
	return ofs_buf_steal_str(&text);
}

int ofs_agent_read_event(struct ofs_span root, const struct ofs_agent_alias aliases[], size_t n,
			 struct ofs_error *err, struct ofs_hook_event *ret)
{
	const struct ofs_agent_tool *tool;
	struct ofs_hook_event e = {
		.tool = read_name(ofs_span_member(root, "tool_name")),
		.session = ofs_span_text(ofs_span_member(root, "session_id")),
		.cwd = ofs_span_text(ofs_span_member(root, "cwd")),
		.root = root,
		.input = ofs_span_member(root, "tool_input"),
		.response = ofs_span_member(root, "tool_response"),
		.exit_code = -1,
	};

	if (!e.tool) {
		ofs_hook_event_finish(&e);
		return ofs_error_set(err, EINVAL, "the event has no tool_name");
	}
	for (size_t i = 0; i < n; i++) {
		if (strcmp(aliases[i].name, e.tool) == 0) {
			free(e.tool);
			e.tool = ofs_strdup(aliases[i].tool);
			break;
		}
	}
	tool = ofs_agent_tool_find(e.tool);
	e.category = make_category(e.tool, tool);
	e.title = make_title(e.tool, tool, e.input);
	e.kept = tool && !tool->category;
	e.reads_file = strcmp(e.tool, "Read") == 0;
	e.delegates = strcmp(e.tool, "Task") == 0 || strcmp(e.tool, "Agent") == 0;
	*ret = e;
	return 0;
}
