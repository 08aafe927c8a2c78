/* SPDX-License-Identifier: MIT */
/* Events that a harness passes to the hook, and any other JSON. The answer is JSON. */
#include <sys/stat.h>

#include "agent/agent.h"
#include "client/naming.h"
#include "fuzz.h"

static void check_json(const struct ofs_buf *out)
{
	struct ofs_error err = { "" };
	struct ofs_span answer;

	FUZZ_ASSERT(ofs_span_parse((const char *)out->data, out->len, &err, &answer) == 0);
	FUZZ_ASSERT(ofs_span_is_object(ofs_span_member(answer, "hookSpecificOutput")));
}

static void check_text(const struct ofs_agent *agent, const struct ofs_hook_event *e,
		       enum ofs_hook_form form)
{
	OFS_CLEANUP(ofs_hook_text_finish) struct ofs_hook_text text = OFS_HOOK_TEXT_INIT;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	struct ofs_error err = { "" };
	int r = agent->find_text(e, form, &err, &text);

	FUZZ_ASSERT(r >= 0 || err.text[0]);
	FUZZ_ASSERT(!text.saved_elsewhere || r > 0);
	if (r <= 0)
		return;
	agent->write_pointer(e, form, &text, "[offloaded] \"x\"\n\t\x7f", &out);
	check_json(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OFS_CLEANUP(ofs_hook_event_finish) struct ofs_hook_event e = { 0 };
	OFS_FREE char *text = fuzz_copy(data, size);
	const struct ofs_agent *agent = ofs_agent_number(0);
	struct ofs_error err = { "" };
	OFS_FREE char *label = ofs_naming_label(text, size, "x");

	FUZZ_ASSERT(label[0] && label[0] != '.' && !strchr(label, '/'));
	if (agent->read_event(text, size, &err, &e) < 0) {
		FUZZ_ASSERT(err.text[0]);
		return 0;
	}
	if (e.kind == OFS_HOOK_POST) {
		check_text(agent, &e, OFS_HOOK_TEXT);
		check_text(agent, &e, OFS_HOOK_TOOL);
	}
	return 0;
}
