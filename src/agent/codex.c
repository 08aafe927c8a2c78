/* SPDX-License-Identifier: MIT */
/*
 * Codex: its hooks follow Claude Code's, but a result is replaced by refusing it, with the pointer
 * as the reason. An event has no exit code, and of a long output only what the model would have
 * seen.
 */
#include "agent/text_event.h"
#include "agent/tools.h"

static int read_event(const char *text, size_t len, struct ofs_error *err,
		      struct ofs_hook_event *ret)
{
	return ofs_agent_read_text_event(text, len, "PostToolUse", NULL, 0, err, ret);
}

static int find_text(const struct ofs_hook_event *e, enum ofs_hook_form form, struct ofs_error *err,
		     struct ofs_hook_text *ret)
{
	return ofs_agent_take_text(e->response, ret);
}

static void write_pointer(const struct ofs_hook_event *e, enum ofs_hook_form form,
			  const struct ofs_hook_text *t, const char *pointer, struct ofs_buf *out)
{
	ofs_agent_write_refusal("block", pointer, out);
}

static const struct ofs_agent_entry entries[] = {
	{ "PostToolUse", "^(Bash|mcp__.*)$" },
};

extern const struct ofs_agent ofs_agent_codex;

const struct ofs_agent ofs_agent_codex = {
	.name = "codex",
	.title = "Codex",
	.minimal_version = "0.169",
	.program = "codex",
	.entries = entries,
	.n_entries = OFS_ARRAY_SIZE(entries),
	.read_event = read_event,
	.find_text = find_text,
	.write_pointer = write_pointer,
	.todo = "Codex runs a hook only once you trust it: start codex and enter /hooks.",
	.folder = ".codex",
	.user_folder = ".codex",
	.user_variable = "CODEX_HOME",
	.file = "hooks.json",
};
