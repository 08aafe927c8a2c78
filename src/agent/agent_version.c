/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"
#include "io/process.h"

#define VERSION_WAIT_S 5
#define VERSION_BYTES 200
#define VERSION_PARTS 3

static int take(void *arg, int fd, const void *data, size_t len)
{
	struct ofs_buf *text = arg;

	if (fd == STDOUT_FILENO && text->len < VERSION_BYTES)
		ofs_buf_append(text, data, OFS_MIN(len, (size_t)VERSION_BYTES));
	return 0;
}

/* Reads the numbers of "2.1.121 (Claude Code)", "codex-cli 0.169.0" or "0.61"; false: none. */
static bool read_version(const char *text, unsigned int ret[VERSION_PARTS])
{
	text += strcspn(text, "0123456789");
	ret[VERSION_PARTS - 1] = 0;
	return sscanf(text, "%u.%u.%u", &ret[0], &ret[1], &ret[2]) >= VERSION_PARTS - 1;
}

bool ofs_agent_is_too_old(const struct ofs_agent *agent, char **ret_version)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FILTER,
		.argv = (const char *const[]){ agent->program, "--version", NULL },
		.take = take,
		.arg = &text,
		.timeout_s = VERSION_WAIT_S,
	};
	unsigned int found[VERSION_PARTS], least[VERSION_PARTS];
	struct ofs_process_end end;

	if (!agent->program || ofs_process_run(&process, &end) < 0 || end.exit_code ||
	    !read_version(ofs_buf_str(&text), found) ||
	    !read_version(agent->minimal_version, least))
		return false;
	for (int i = 0; i < VERSION_PARTS; i++) {
		if (found[i] > least[i])
			return false;
		if (found[i] < least[i]) {
			*ret_version = ofs_format("%u.%u.%u", found[0], found[1], found[2]);
			return true;
		}
	}
	return false;
}
