/* SPDX-License-Identifier: MIT */
/* Claude Code: its events and answers, its tools, and the location of its settings. */
#include "agent/agent.h"
#include "agent/claude_output.h"
#include "agent/tools.h"
#include "context/json/literal.h"

/* The outputs saved in the session of TRANSCRIPT.jsonl are in TRANSCRIPT/tool-results. */
#define TRANSCRIPT_END ".jsonl"
#define SAVED_FOLDER "tool-results"
/* Outputs of all commands are first written to TEMPORARY/claude-UID/PROJECT/SESSION/tasks. */
#define TASKS_FOLDER "tasks"
#define FAILED_EVENT "PostToolUseFailure"
#define FAILED_TEXT "The output of this command was cut. The whole of it:\n"

/*
 * Puts the range of lines into the title if only a part of a file was read: the pointer's lines are
 * numbered from 1.
 */
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

/* Returns the folder of saved outputs, allocated, or NULL if the event does not tell it. */
static char *make_saved_in(struct ofs_span transcript)
{
	OFS_FREE char *path = ofs_span_text(transcript);
	size_t len = path ? strlen(path) : 0, end = strlen(TRANSCRIPT_END);

	if (len <= end || path[0] != '/' || strcmp(path + len - end, TRANSCRIPT_END) != 0)
		return NULL;
	return ofs_format("%.*s/" SAVED_FOLDER, (int)(len - end), path);
}

/*
 * Returns the folder of commands' outputs, allocated. The transcript's path has the names of
 * project and session.
 */
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

/* Events without a name are of the kind PostToolUse. */
static enum ofs_hook_kind event_kind(struct ofs_span name)
{
	return !name.len || ofs_span_is(name, "PostToolUse") || ofs_span_is(name, FAILED_EVENT)
		       ? OFS_HOOK_POST
		       : OFS_HOOK_OTHER;
}

/* Reads the event of a failed tool, whose only result is the text of the error. */
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
	struct ofs_span root;
	int r = ofs_span_parse(text, len, err, &root);

	if (r < 0)
		return r;
	if (!ofs_span_is_object(root))
		return ofs_error_set(err, EINVAL,
				     "an event is a JSON object with tool_name, "
				     "tool_input and tool_response");
	*ret = (struct ofs_hook_event){ .kind = OFS_HOOK_OTHER };
	if (event_kind(ofs_span_member(root, "hook_event_name")) == OFS_HOOK_OTHER)
		return 0;
	r = ofs_agent_read_event(root, NULL, 0, err, ret);
	if (r < 0)
		return r;
	ret->kind = OFS_HOOK_POST;
	ret->saved_in = make_saved_in(ofs_span_member(root, "transcript_path"));
	if (ofs_span_is(ofs_span_member(root, "hook_event_name"), FAILED_EVENT))
		read_failure(root, ret);
	name_part(ret);
	return 0;
}

/* ---- texts */

/* Appends the rest on a new line, whether or not it starts with a line break. */
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

/* Reads the file `path`, and appends `rest`, which it lacks. */
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
 * Reads the whole of an output that Claude Code saved. Its path is in a member beside the streams
 * of a shell, or in a notice, which may just as well have been printed by a command. Returns 1, 0
 * if the output was not saved, or -errno.
 */
static int take_saved(const struct ofs_hook_event *e, const struct ofs_claude_output *o,
		      struct ofs_error *err, struct ofs_spool *spool)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool saved = OFS_SPOOL_INIT;
	const struct ofs_agent_tool *tool = ofs_agent_tool_find(e->tool);
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

/* Reads the whole output of a failed command, of which the model was shown only parts. */
static int find_failure(const struct ofs_hook_event *e, struct ofs_error *err,
			struct ofs_hook_text *ret)
{
	const struct ofs_agent_tool *tool = ofs_agent_tool_find(e->tool);
	int r;

	if (!tool || !tool->saves || !e->saved_in || !ofs_span_is_string(e->response))
		return 0;
	ofs_span_decode(e->response, &ret->inline_text);
	r = ofs_failure_take(e->saved_in, (char *)ret->inline_text.data, ret->inline_text.len, err,
			     &ret->spool);
	ret->saved_elsewhere = r > 0;
	return r;
}

/* Claude Code accepts a string only from tools of MCP servers; its own need their own shape. */
static int find_text(const struct ofs_hook_event *e, enum ofs_hook_form form, struct ofs_error *err,
		     struct ofs_hook_text *ret)
{
	OFS_CLEANUP(ofs_claude_output_finish) struct ofs_claude_output o = { 0 };
	int r;

	if (e->failed)
		return find_failure(e, err, ret);
	if (!ofs_claude_output_read(e->response, &o))
		return 0;
	if (form == OFS_HOOK_TOOL ? o.shape == OFS_CLAUDE_OTHER && !ofs_agent_tool_is_mcp(e->tool)
				  : o.images)
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

/* As a matcher with characters other than those of names and "|", this is a regular expression. */
static const struct ofs_agent_entry entries[] = {
	{ "PostToolUse",
	  "^(Bash|BashOutput|TaskOutput|Read|Grep|Glob|LS|WebFetch|WebSearch|Task|Agent|"
	  "mcp__.*)$" },
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
	.takes_form = true,
	.allow = "in \"permissions\", \"allow\": [\"Bash(offload slice:*)\", "
		 "\"Bash(offload show:*)\", \"Bash(offload search:*)\", "
		 "\"Bash(cat .offload/refs/:*)\", \"Read(.offload/**)\"]",
	.folder = ".claude",
	.user_folder = ".claude",
	.user_variable = "CLAUDE_CONFIG_DIR",
	.file = "settings.json",
	.local_file = "settings.local.json",
};
