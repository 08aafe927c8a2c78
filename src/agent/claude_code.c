/* SPDX-License-Identifier: MIT */
/* Claude Code: its events and answers, its tools, and where its settings are. */
#include "agent/agent.h"
#include "agent/claude_output.h"
#include "client/workspace.h"
#include "context/json/literal.h"
#include "io/path.h"

#define MCP_PREFIX "mcp__"
#define MCP_CATEGORY "mcp"
#define OTHER_CATEGORY "general"
#define SETTINGS_FOLDER ".claude"
/* The session TRANSCRIPT.jsonl has its saved outputs in TRANSCRIPT/tool-results. */
#define TRANSCRIPT_END ".jsonl"
#define SAVED_FOLDER "tool-results"
/* All outputs of commands are first written to TEMPORARY/claude-UID/PROJECT/SESSION/tasks. */
#define TASKS_FOLDER "tasks"
#define FAILED_EVENT "PostToolUseFailure"
#define FAILED_TEXT "The output of this command was cut. The whole of it:\n"

/* ---- tools */

/* How a tool's output is filed, and which member of its input titles it. */
struct tool {
	const char *name;
	const char *category; /* NULL: its result is short, or the agent must have it itself */
	const char *title;
	bool named; /* the title starts with the tool's name */
	bool saves; /* Claude Code runs it here, and saves an output that it finds too long */
};

static const struct tool tools[] = {
	{ "Bash", "shell", "command", false, true },
	{ "BashOutput", "shell", "bash_id", true, true },
	{ "TaskOutput", "shell", "task_id", true, true },
	{ "Read", "file_read", "file_path", false, true },
	{ "NotebookRead", "file_read", "notebook_path", false, false },
	{ "WebFetch", "web", "url", false, false },
	{ "WebSearch", "search", "query", false, false },
	{ "Grep", "search", "pattern", true, true },
	{ "Glob", "search", "pattern", true, true },
	{ "LS", "search", "path", true, true },
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

static const struct tool *find_tool(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tools); i++)
		if (strcmp(tools[i].name, name) == 0)
			return &tools[i];
	return NULL;
}

/* A tool of an MCP server is "mcp__SERVER__TOOL". */
static bool is_mcp(const char *name)
{
	return strncmp(name, MCP_PREFIX, strlen(MCP_PREFIX)) == 0;
}

/* Allocated: that of a server's tool is the server's name. */
static char *make_category(const char *name, const struct tool *tool)
{
	const char *server, *end;

	if (tool && tool->category)
		return ofs_strdup(tool->category);
	if (!is_mcp(name))
		return ofs_strdup(OTHER_CATEGORY);
	server = name + strlen(MCP_PREFIX);
	end = strstr(server, "__");
	return ofs_hook_label(server, end ? (size_t)(end - server) : strlen(server), MCP_CATEGORY);
}

static char *make_title(const char *name, const struct tool *tool, struct ofs_span input)
{
	OFS_FREE char *said = NULL;

	if (tool && tool->title)
		said = ofs_span_text(ofs_span_member(input, tool->title));
	if (!said || !*said)
		return ofs_strdup(name);
	return tool->named ? ofs_format("%s %s", name, said) : ofs_steal(said);
}

/* The lines that are read of a file are not numbered from 1. */
static void name_part(struct ofs_hook_event *e)
{
	struct ofs_span file = ofs_span_member(e->response, "file");
	long long start, lines, all;
	char *title;

	if (!ofs_span_integer(ofs_span_member(file, "startLine"), &start) ||
	    !ofs_span_integer(ofs_span_member(file, "numLines"), &lines) ||
	    !ofs_span_integer(ofs_span_member(file, "totalLines"), &all) || lines < 1 ||
	    (start <= 1 && lines >= all))
		return;
	title = ofs_format("lines %lld-%lld of %s", start, start + lines - 1, e->title);
	free(e->title);
	e->title = title;
}

/* ---- events */

/* Allocated; NULL: it is no string. A NUL, which would end it, becomes another character. */
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

/* Allocated; NULL: the event does not tell. */
static char *make_saved_in(struct ofs_span transcript)
{
	OFS_FREE char *path = ofs_span_text(transcript);
	size_t len = path ? strlen(path) : 0, end = strlen(TRANSCRIPT_END);

	if (len <= end || path[0] != '/' || strcmp(path + len - end, TRANSCRIPT_END) != 0)
		return NULL;
	return ofs_format("%.*s/" SAVED_FOLDER, (int)(len - end), path);
}

/* Allocated; the project and the session are named as in the path of the transcript. */
static char *make_tasks_folder(struct ofs_span transcript)
{
	OFS_FREE char *path = ofs_span_text(transcript);
	size_t len = path ? strlen(path) : 0, end = strlen(TRANSCRIPT_END);
	const char *temporary = getenv("CLAUDE_CODE_TMPDIR"), *session, *project;

	if (len <= end || path[0] != '/' || strcmp(path + len - end, TRANSCRIPT_END) != 0)
		return NULL;
	path[len - end] = '\0';
	session = strrchr(path, '/');
	project = memrchr(path, '/', (size_t)(session - path));
	if (!project)
		return NULL;
	if (!temporary || !*temporary)
		temporary = getenv("TMPDIR");
	if (!temporary || !*temporary)
		temporary = "/tmp";
	return ofs_format("%s/claude-%u%s/" TASKS_FOLDER, temporary, (unsigned int)geteuid(),
			  project);
}

/* An event without a name is a PostToolUse. */
static enum ofs_hook_kind event_kind(struct ofs_span name)
{
	return !name.len || ofs_span_is(name, "PostToolUse") || ofs_span_is(name, FAILED_EVENT)
		       ? OFS_HOOK_POST
		       : OFS_HOOK_OTHER;
}

/* Of a tool that failed there is the text of the error alone. */
static void read_failure(struct ofs_span root, struct ofs_hook_event *e)
{
	OFS_FREE char *error = ofs_span_text(ofs_span_member(root, "error"));

	e->failed = true;
	e->response = ofs_span_member(root, "error");
	free(e->saved_in);
	e->saved_in = make_tasks_folder(ofs_span_member(root, "transcript_path"));
	if (error)
		sscanf(error, "Exit code %d", &e->exit_code);
}

static int read_event(const char *text, size_t len, struct ofs_error *err,
		      struct ofs_hook_event *ret)
{
	const struct tool *tool;
	struct ofs_span root;
	int r = ofs_span_parse(text, len, err, &root);

	if (r < 0)
		return r;
	if (!ofs_span_is_object(root))
		return ofs_error_set(err, EINVAL,
				     "an event is a JSON object with tool_name, "
				     "tool_input and tool_response");
	*ret = (struct ofs_hook_event){
		.kind = event_kind(ofs_span_member(root, "hook_event_name")),
		.tool = read_name(ofs_span_member(root, "tool_name")),
		.session = ofs_span_text(ofs_span_member(root, "session_id")),
		.cwd = ofs_span_text(ofs_span_member(root, "cwd")),
		.saved_in = make_saved_in(ofs_span_member(root, "transcript_path")),
		.input = ofs_span_member(root, "tool_input"),
		.response = ofs_span_member(root, "tool_response"),
		.exit_code = -1,
	};
	if (ofs_span_is(ofs_span_member(root, "hook_event_name"), FAILED_EVENT))
		read_failure(root, ret);
	if (ret->kind == OFS_HOOK_OTHER)
		return 0;
	if (!ret->tool) {
		ofs_hook_event_finish(ret);
		return ofs_error_set(err, EINVAL, "the event has no tool_name");
	}
	tool = find_tool(ret->tool);
	ret->category = make_category(ret->tool, tool);
	ret->title = make_title(ret->tool, tool, ret->input);
	name_part(ret);
	ret->kept = tool && !tool->category;
	ret->reads_file = strcmp(ret->tool, "Read") == 0;
	ret->delegates = strcmp(ret->tool, "Task") == 0 || strcmp(ret->tool, "Agent") == 0;
	return 0;
}

/* ---- texts */

/* Appends the rest on a line of its own, whether it starts with a line break or not. */
static int add_rest(struct ofs_spool *spool, const uint8_t *text, size_t len)
{
	int r = 0;

	if (len && *text == '\n') {
		text++;
		len--;
	}
	if (len && spool->last != '\n')
		r = ofs_spool_append(spool, "\n", 1);
	return r == 0 ? ofs_spool_append(spool, text, len) : r;
}

/* Takes in the file `path` and `rest`, what it does not have. */
static int take_file(const char *folder, const char *path, const uint8_t *rest, size_t len,
		     struct ofs_error *err, struct ofs_spool *spool)
{
	int r = ofs_persisted_take(folder, path, err, spool);

	if (r < 0)
		return r;
	r = add_rest(spool, rest, len);
	return r < 0 ? ofs_error_set(err, -r, "%s", strerror(-r)) : 0;
}

/*
 * The whole of an output that Claude Code saved: named by a member of its own beside the streams of
 * a shell, or in a notice, which may as well be part of what a command printed. 1; 0: it was not
 * saved; or -errno.
 */
static int take_saved(const struct ofs_hook_event *e, const struct ofs_claude_output *o,
		      struct ofs_error *err, struct ofs_spool *spool)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool saved = OFS_SPOOL_INIT;
	const struct tool *tool = find_tool(e->tool);
	struct ofs_persisted notice = { 0 };
	OFS_FREE char *path = NULL;
	struct ofs_error ignored;
	int r;

	if (!tool || !tool->saves || !e->saved_in)
		return 0;
	if (o->persisted.len) {
		path = ofs_span_text(o->persisted);
		if (!path || path[0] != '/')
			return 0;
		r = take_file(e->saved_in, path, o->text.data ? o->text.data + o->beside : NULL,
			      o->text.len - o->beside, err, &saved);
		if (r < 0)
			return r;
	} else {
		if (!ofs_persisted_read((char *)o->text.data, o->text.len, &notice))
			return 0;
		path = notice.path;
		r = take_file(e->saved_in, path, o->text.data + notice.end,
			      o->text.len - notice.end, &ignored, &saved);
		if (r < 0 || !ofs_persisted_previews(&notice, &saved))
			return 0;
	}
	*spool = saved;
	saved = (struct ofs_spool)OFS_SPOOL_INIT;
	return 1;
}

/* The whole of an output that the model was shown in part. */
static int find_failure(const struct ofs_hook_event *e, struct ofs_error *err,
			struct ofs_hook_text *ret)
{
	const struct tool *tool = find_tool(e->tool);
	int r;

	if (!tool || !tool->saves || !e->saved_in || !ofs_span_is_string(e->response))
		return 0;
	ofs_span_decode(e->response, &ret->inline_text);
	r = ofs_failure_take(e->saved_in, (char *)ret->inline_text.data, ret->inline_text.len, err,
			     &ret->spool);
	ret->saved_elsewhere = r > 0;
	return r;
}

/* Claude Code takes a string from servers' tools alone; for its own it wants the tool's shape. */
static int find_text(const struct ofs_hook_event *e, enum ofs_hook_form form, struct ofs_error *err,
		     struct ofs_hook_text *ret)
{
	OFS_CLEANUP(ofs_claude_output_finish) struct ofs_claude_output o = { 0 };
	int r;

	if (e->failed)
		return find_failure(e, err, ret);
	if (!ofs_claude_output_read(e->response, &o))
		return 0;
	if (form == OFS_HOOK_TOOL ? o.shape == OFS_CLAUDE_OTHER && !is_mcp(e->tool) : o.images)
		return 0;
	ret->shape = o.shape;
	r = take_saved(e, &o, err, &ret->spool);
	ret->saved_elsewhere = r > 0;
	ret->inline_text = ofs_buf_steal(&o.text);
	if (!ret->saved_elsewhere)
		ofs_spool_wrap(&ret->spool, ret->inline_text.data, ret->inline_text.len);
	return r < 0 ? r : 1;
}

static void write_pointer(const struct ofs_hook_event *e, enum ofs_hook_form form,
			  const struct ofs_hook_text *t, const char *pointer, struct ofs_buf *out)
{
	if (e->failed) {
		OFS_FREE char *said = ofs_format(FAILED_TEXT "%s", pointer);

		ofs_buf_append_str(out, "{\"hookSpecificOutput\":{\"hookEventName\":\"" FAILED_EVENT
					"\",\"additionalContext\":");
		ofs_literal_encode(NULL, said, strlen(said), out);
		ofs_buf_append_str(out, "}}");
		return;
	}
	ofs_buf_append_str(out, "{\"hookSpecificOutput\":{\"hookEventName\":\"PostToolUse\","
				"\"updatedToolOutput\":");
	if (form == OFS_HOOK_TOOL && t->shape != OFS_CLAUDE_OTHER)
		ofs_claude_output_write(e->response, (enum ofs_claude_shape)t->shape, pointer, out);
	else
		ofs_literal_encode(NULL, pointer, strlen(pointer), out);
	ofs_buf_append_str(out, "}}");
}

/* ---- settings */

/* The workspace's folder of settings, allocated. */
static int project_folder(struct ofs_error *err, char **ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_FREE char *cwd = ofs_path_cwd(), *workspace = NULL;
	int r;

	if (!cwd)
		return ofs_error_set(err, ENOENT, "the current directory is gone");
	r = ofs_mounts_read(NULL, &mounts);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the list of mounts: %s", strerror(-r));
	workspace = ofs_workspace_find(cwd, &mounts);
	*ret = ofs_path_join(workspace, SETTINGS_FOLDER);
	return 0;
}

static int user_folder(struct ofs_error *err, char **ret)
{
	const char *config = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");

	if (config && config[0] == '/') {
		*ret = ofs_strdup(config);
		return 0;
	}
	if (!home || home[0] != '/')
		return ofs_error_set(err, ENOENT, "HOME is not set, so there is no settings file");
	*ret = ofs_path_join(home, SETTINGS_FOLDER);
	return 0;
}

static int settings_path(enum ofs_agent_place place, struct ofs_error *err, char **ret)
{
	OFS_FREE char *folder = NULL;
	int r = place == OFS_AGENT_USER ? user_folder(err, &folder) : project_folder(err, &folder);

	if (r < 0)
		return r;
	*ret = ofs_path_join(folder,
			     place == OFS_AGENT_LOCAL ? "settings.local.json" : "settings.json");
	return 0;
}

/* A matcher of more than names and "|" is a regular expression. */
static const struct ofs_agent_entry entries[] = {
	{ "PostToolUse",
	  "^(Bash|BashOutput|TaskOutput|Read|Grep|Glob|LS|WebFetch|WebSearch|Task|Agent|mcp__.*)$" },
	{ FAILED_EVENT, "Bash" },
};

extern const struct ofs_agent ofs_agent_claude_code;

const struct ofs_agent ofs_agent_claude_code = {
	.name = "claude-code",
	.title = "Claude Code",
	.minimal_version = "2.1.121",
	.project_variable = "CLAUDE_PROJECT_DIR",
	.program = "claude",
	.entries = entries,
	.n_entries = OFS_ARRAY_SIZE(entries),
	.read_event = read_event,
	.find_text = find_text,
	.write_pointer = write_pointer,
	.settings_path = settings_path,
};
