/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "client/workspace.h"
#include "io/path.h"

extern const struct ofs_agent ofs_agent_claude_code, ofs_agent_codex, ofs_agent_gemini,
	ofs_agent_opencode;

static const struct ofs_agent *const agents[] = {
	&ofs_agent_claude_code,
	&ofs_agent_codex,
	&ofs_agent_gemini,
	&ofs_agent_opencode,
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

/* Returns a folder of the workspace, allocated, in *ret. */
static int workspace_folder(const char *folder, struct ofs_error *err, char **ret)
{
	OFS_FREE char *workspace = NULL;
	int r = ofs_workspace_here(err, &workspace);

	if (r < 0)
		return r;
	*ret = ofs_path_join(workspace, folder);
	return 0;
}

static int user_folder(const struct ofs_agent *agent, struct ofs_error *err, char **ret)
{
	const char *other = agent->user_variable ? getenv(agent->user_variable) : NULL;
	const char *home = getenv("HOME");

	if (other && other[0] == '/') {
		*ret = ofs_strdup(other);
		return 0;
	}
	if (!home || home[0] != '/')
		return ofs_error_set(err, ENOENT, "HOME is not set, so there is no settings file");
	*ret = ofs_path_join(home, agent->user_folder);
	return 0;
}

int ofs_agent_settings_path(const struct ofs_agent *agent, enum ofs_agent_place place,
			    struct ofs_error *err, char **ret)
{
	const char *file = place == OFS_AGENT_LOCAL ? agent->local_file : agent->file;
	OFS_FREE char *folder = NULL;
	int r;

	if (!file)
		return ofs_error_set(err, EINVAL,
				     "%s has no personal settings in a project: give --project "
				     "or --user",
				     agent->title);
	r = place == OFS_AGENT_USER ? user_folder(agent, err, &folder)
				    : workspace_folder(agent->folder, err, &folder);
	if (r == 0)
		*ret = ofs_path_join(folder, file);
	return r;
}
