/* SPDX-License-Identifier: MIT */
#include "service/http/reme_place.h"

#include "base/buf.h"
#include "client/agent_list.h"
#include "client/naming.h"
#include "io/path.h"

#define ROOT "cache/context/reme"
#define DEPTH_MAX 16

/* True if the first component shows that the path is one in the tree. */
static bool is_inside(const char *path)
{
	size_t len = strcspn(path, "/");

	if (len == 4 && strncmp(path, "refs", 4) == 0)
		return true;
	for (size_t i = 0; i < OFS_AGENT_TOPS; i++)
		if (strlen(ofs_agent_tops[i]) == len && strncmp(path, ofs_agent_tops[i], len) == 0)
			return true;
	return false;
}

/* Returns the path in the tree, allocated, or NULL if it lies elsewhere. */
static char *find_inside(const struct ofs_access *access, const char *path)
{
	OFS_FREE char *inside = NULL;

	if (path[0] == '/' && ofs_access_inside(access, path, NULL, &inside) < 0)
		return NULL;
	if (!inside) {
		inside = ofs_strdup(path);
		if (ofs_path_normalize(inside) < 0)
			return NULL;
	}
	return is_inside(inside) ? ofs_steal(inside) : NULL;
}

/* Makes a harmless name of each component. Leaves out "." and what exceeds DEPTH_MAX. */
static char *map(const char *dir)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;
	unsigned int depth = 0;

	ofs_buf_append_str(&out, ROOT);
	for (const char *at = dir; *at && depth < DEPTH_MAX;) {
		size_t len = strcspn(at, "/");
		OFS_FREE char *name = ofs_naming_label(at, len, "_");

		if (len && !(len == 1 && *at == '.')) {
			ofs_buf_printf(&out, "/%s", name);
			depth++;
		}
		at += len + (at[len] == '/');
	}
	return ofs_buf_steal_str(&out);
}

char *ofs_reme_folder(const struct ofs_access *access, const char *dir, bool *ret_mapped)
{
	char *inside = dir && *dir ? find_inside(access, dir) : NULL;

	*ret_mapped = !inside;
	return inside ? inside : map(dir ? dir : "");
}

char *ofs_reme_file(const struct ofs_access *access, const char *path)
{
	const char *slash = strrchr(path, '/');
	OFS_FREE char *dir = slash ? ofs_strndup(path, (size_t)(slash - path)) : NULL;
	OFS_FREE char *folder = NULL;
	char *inside = find_inside(access, path);
	const char *name = slash ? slash + 1 : path;
	bool mapped;

	if (inside)
		return inside;
	/* A file in the root directory of the machine is mapped, too. */
	folder = dir && !*dir ? ofs_strdup(ROOT) : ofs_reme_folder(access, dir, &mapped);
	return ofs_path_join(folder, strcmp(name, "..") == 0 ? "_" : name);
}
