/* SPDX-License-Identifier: MIT */
/* opencode: a short plugin runs `offload hook opencode` after each tool. */
#include "agent/text_event.h"
#include "agent/tools.h"
#include "context/json/literal.h"

static const struct ofs_agent_alias aliases[] = {
	{ "bash", "Bash" },
	{ "read", "Read" },
	{ "grep", "Grep" },
	{ "glob", "Glob" },
	{ "list", "LS" },
	{ "webfetch", "WebFetch" },
	{ "websearch", "WebSearch" },
	{ "task", "Task" },
	{ "edit", "Edit" },
	{ "write", "Write" },
	{ "patch", "Edit" },
	{ "todowrite", "TodoWrite" },
	{ "todoread", "TodoRead" },
	{ "question", "AskUserQuestion" },
	{ "skill", "Skill" },
};

static int read_event(const char *text, size_t len, struct ofs_error *err,
		      struct ofs_hook_event *ret)
{
	long long code;
	int r = ofs_agent_read_text_event(text, len, "PostToolUse", aliases,
					  OFS_ARRAY_SIZE(aliases), err, ret);

	if (r == 0 && ofs_span_integer(ofs_span_member(ret->root, "exit_code"), &code) &&
	    code >= 0 && code < 256)
		ret->exit_code = (int)code;
	return r;
}

static int find_text(const struct ofs_hook_event *e, enum ofs_hook_form form, struct ofs_error *err,
		     struct ofs_hook_text *ret)
{
	return ofs_agent_take_text(e->response, ret);
}

static void write_pointer(const struct ofs_hook_event *e, enum ofs_hook_form form,
			  const struct ofs_hook_text *t, const char *pointer, struct ofs_buf *out)
{
	ofs_buf_append_str(out, "{\"output\":");
	ofs_literal_encode(NULL, pointer, strlen(pointer), out);
	ofs_buf_append_str(out, "}");
}

static const char plugin_text[] =
	"// Made by `offload hook install`; `offload hook uninstall` removes it.\n"
	"import { spawnSync } from \"node:child_process\"\n"
	"import { readFileSync } from \"node:fs\"\n"
	"\n"
	"const command = %s\n"
	"\n"
	"// All of an output: opencode may have cut it, or numbered the lines of a file.\n"
	"function whole(output) {\n"
	"  const known = output.metadata ?? {}\n"
	"  if (known.display?.type === \"file\" && !known.truncated) return known.display.text\n"
	"  if (known.truncated && known.outputPath) return readFileSync(known.outputPath, \"utf8\")\n"
	"  return output.output\n"
	"}\n"
	"\n"
	"export const Offload = async ({ directory }) => ({\n"
	"  \"tool.execute.after\": async (input, output) => {\n"
	"    try {\n"
	"      if (typeof output.output !== \"string\" || output.output.length <= 1024) return\n"
	"      const event = {\n"
	"        hook_event_name: \"PostToolUse\",\n"
	"        session_id: input.sessionID,\n"
	"        cwd: directory,\n"
	"        tool_name: input.tool,\n"
	"        tool_input: input.args ?? {},\n"
	"        tool_response: whole(output),\n"
	"        exit_code: output.metadata?.exit,\n"
	"      }\n"
	"      const done = spawnSync(\"/bin/sh\", [\"-c\", command], {\n"
	"        cwd: directory,\n"
	"        input: JSON.stringify(event),\n"
	"        encoding: \"utf8\",\n"
	"        timeout: 40000,\n"
	"        maxBuffer: 16 << 20,\n"
	"      })\n"
	"      if (done.status === 0 && done.stdout) output.output = JSON.parse(done.stdout).output\n"
	"    } catch {} // the output stays as it is\n"
	"  },\n"
	"})\n";

/* Returns the text of the plugin, allocated, with the command as a JavaScript string. */
static char *plugin(const char *command)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf string = OFS_BUF_INIT, text = OFS_BUF_INIT;
	const char *place = strstr(plugin_text, "%s");

	ofs_literal_encode(NULL, command, strlen(command), &string);
	ofs_buf_append(&text, plugin_text, (size_t)(place - plugin_text));
	ofs_buf_append(&text, string.data, string.len);
	ofs_buf_append_str(&text, place + 2);
	return ofs_buf_steal_str(&text);
}

extern const struct ofs_agent ofs_agent_opencode;

const struct ofs_agent ofs_agent_opencode = {
	.name = "opencode",
	.title = "opencode",
	.minimal_version = "1.18",
	.program = "opencode",
	.read_event = read_event,
	.find_text = find_text,
	.write_pointer = write_pointer,
	.allow = "in \"permission\", \"bash\": {\"offload slice*\": \"allow\", \"offload show*\": "
		 "\"allow\", \"offload search*\": \"allow\", \"cat *.offload/refs/*\": \"allow\"}",
	.plugin = plugin,
	.folder = ".opencode/plugin",
	.user_folder = ".config/opencode/plugin",
	.file = "offload.js",
};
