/* SPDX-License-Identifier: MIT */
#include "context/settings.h"

#include <stdlib.h>

#include "base/alloc.h"

void ofs_settings_init(struct ofs_settings *s)
{
	*s = (struct ofs_settings){
		.redact = true,
		.max_bytes = 2048,
		.max_lines = 50,
		.read_bytes = 1024,
		.list_items = 10,
		.search_results = 5,
		.shell_chars = 500,
		.keep = 3,
		.steps = 5,
		.tokens = 2000,
		.budget = 500,
		.max_total_tokens = 20000,
		.max_tool_message_tokens = 2000,
		.bare_tokens = 40000,
		.snapshot_tokens = 1500,
		.summarizer_timeout_s = 60,
		.ttl = ofs_strdup("30d"),
	};
}

void ofs_settings_finish(struct ofs_settings *s)
{
	for (size_t i = 0; i < s->n_tools; i++) {
		free(s->tools[i].name);
		free(s->tools[i].like);
		free(s->tools[i].category);
		free(s->tools[i].observation);
		free(s->tools[i].summary);
	}
	free(s->tools);
	free(s->summarizer);
	free(s->ttl);
	*s = (struct ofs_settings){ 0 };
}
