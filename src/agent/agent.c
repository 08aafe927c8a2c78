/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

extern const struct ofs_agent ofs_agent_claude_code;

static const struct ofs_agent *const agents[] = {
	&ofs_agent_claude_code,
};

const struct ofs_agent *ofs_agent_number(size_t number)
{
	return number < OFS_ARRAY_SIZE(agents) ? agents[number] : NULL;
}

const struct ofs_agent *ofs_agent_find(const char *name)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(agents); i++)
		if (strcmp(agents[i]->name, name) == 0)
			return agents[i];
	return NULL;
}
