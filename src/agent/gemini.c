/* SPDX-License-Identifier: MIT */
/* Gemini CLI: a result is replaced by denying it, with the pointer as the reason. */
#include "agent/text_event.h"
#include "agent/tools.h"

/* Text from outside is marked for the model, so the pointer to it must be marked, too. */
#define UNTRUSTED "<untrusted_context>\n"
#define UNTRUSTED_END "\n</untrusted_context>"

static const struct ofs_agent_alias aliases[] = {
	{ "run_shell_command", "Bash" },
	{ "read_background_output", "BashOutput" },
	{ "read_file", "Read" },
	{ "read_many_files", "Read" },
	{ "grep_search", "Grep" },
	{ "search_file_content", "Grep" },
	{ "glob", "Glob" },
	{ "list_directory", "LS" },
	{ "web_fetch", "WebFetch" },
	{ "google_web_search", "WebSearch" },
	{ "invoke_agent", "Agent" },
	{ "replace", "Edit" },
	{ "write_file", "Write" },
	{ "write_todos", "TodoWrite" },
};

enum {
	SHAPE_PLAIN,
	SHAPE_UNTRUSTED
};

static int read_event(const char *text, size_t len, struct ofs_error *err,
		      struct ofs_hook_event *ret)
{
	return ofs_agent_read_text_event(text, len, "AfterTool", aliases, OFS_ARRAY_SIZE(aliases),
					 err, ret);
}

static int find_text(const struct ofs_hook_event *e, enum ofs_hook_form form, struct ofs_error *err,
		     struct ofs_hook_text *ret)
{
	int r = ofs_agent_take_text(ofs_span_member(e->response, "llmContent"), ret);
	size_t begin = strlen(UNTRUSTED), end = strlen(UNTRUSTED_END);
	const uint8_t *text = ret->inline_text.data;
	size_t len = ret->inline_text.len;

	if (r <= 0 || len < begin + end || memcmp(text, UNTRUSTED, begin) != 0 ||
	    memcmp(text + len - end, UNTRUSTED_END, end) != 0)
		return r;
	ret->shape = SHAPE_UNTRUSTED;
	ofs_spool_wrap(&ret->spool, text + begin, len - begin - end);
	return 1;
}

static void write_pointer(const struct ofs_hook_event *e, enum ofs_hook_form form,
			  const struct ofs_hook_text *t, const char *pointer, struct ofs_buf *out)
{
	OFS_FREE char *marked = NULL;

	if (t->shape == SHAPE_UNTRUSTED)
		marked = ofs_format(UNTRUSTED "%s" UNTRUSTED_END, pointer);
	ofs_agent_write_refusal("deny", marked ? marked : pointer, out);
}

static const struct ofs_agent_entry entries[] = {
	{ "AfterTool",
	  "^(run_shell_command|read_background_output|read_file|read_many_files|grep_search|"
	  "search_file_content|glob|list_directory|web_fetch|google_web_search|invoke_agent|"
	  "mcp_.*)$" },
};

extern const struct ofs_agent ofs_agent_gemini;

const struct ofs_agent ofs_agent_gemini = {
	.name = "gemini",
	.title = "Gemini CLI",
	.minimal_version = "0.61",
	.project_variable = "GEMINI_PROJECT_DIR",
	.program = "gemini",
	.entries = entries,
	.n_entries = OFS_ARRAY_SIZE(entries),
	.read_event = read_event,
	.find_text = find_text,
	.write_pointer = write_pointer,
	.allow = "in \"tools\", \"allowed\": [\"run_shell_command(offload slice)\", "
		 "\"run_shell_command(offload show)\", \"run_shell_command(offload search)\"]",
	.todo = "Gemini CLI uses them only in a trusted folder.",
	.folder = ".gemini",
	.user_folder = ".gemini",
	.file = "settings.json",
};
