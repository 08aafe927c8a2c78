/* SPDX-License-Identifier: MIT */
#include "client/agent_list.h"

#include "base/text_form.h"
#include "client/naming.h"
#include "io/path.h"

const char *const ofs_agent_tops[] = { "cache", "tasks", "persistent", "archive" };

int ofs_agents_gather(struct ofs_backend *b, const char *dir, struct ofs_files *ret)
{
	int r = 0;

	for (size_t i = 0; i < OFS_AGENT_TOPS && r == 0; i++) {
		OFS_FREE char *top = ofs_path_join(dir, ofs_agent_tops[i]);

		r = ofs_files_gather(b, top, ret);
		r = r == -ENOENT ? 0 : r; /* a finished agent is removed with its last file */
	}
	return r;
}

int ofs_agents_each(struct ofs_backend *b, const char *dir, int (*fn)(void *arg, const char *dir),
		    void *arg)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files dirs = { 0 };
	OFS_FREE char *agents = ofs_path_join(dir, *dir ? "agents" : "");
	int r = ofs_files_list(b, *dir ? agents : "agents", &dirs);

	for (size_t i = 0; i < dirs.count && r == 0; i++) {
		if (!S_ISDIR(dirs.list[i].attr.st_mode))
			continue;
		r = fn(arg, dirs.list[i].path);
		if (r == 0)
			r = ofs_agents_each(b, dirs.list[i].path, fn, arg);
	}
	return r == -ENOENT ? 0 : r;
}

struct loading {
	struct ofs_backend *b;
	json_t *agents;
};

static int load_one(void *arg, const char *dir)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	const struct loading *l = arg;
	OFS_FREE char *name = ofs_naming_agent_name(dir), *state = NULL, *used = NULL;
	json_int_t bytes = 0;
	int r = ofs_agents_gather(l->b, dir, &files);

	if (r < 0)
		return r;
	if (ofs_backend_attribute(l->b, dir, "state", &state) < 0)
		state = NULL;
	for (size_t i = 0; i < files.count; i++) {
		OFS_FREE char *one = NULL;

		bytes += files.list[i].attr.st_size;
		if (ofs_backend_attribute(l->b, files.list[i].path, "used", &one) < 0)
			one = NULL;
		if (one && (!used || strcmp(one, used) > 0)) {
			free(used);
			used = ofs_steal(one);
		}
	}
	json_array_append_new(l->agents,
			      json_pack("{s:o, s:o, s:I, s:I, s:o}", "name", ofs_json_string(name),
					"state", ofs_json_string(state), "files",
					(json_int_t)files.count, "bytes", bytes, "used",
					ofs_json_string(used)));
	return 0;
}

int ofs_agents_load(struct ofs_backend *b, json_t **ret)
{
	struct loading l = { b, json_array() };
	int r = ofs_agents_each(b, "", load_one, &l);

	if (r < 0)
		json_decref(l.agents);
	else
		*ret = l.agents;
	return r;
}
