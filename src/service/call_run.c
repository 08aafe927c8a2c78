/* SPDX-License-Identifier: MIT */
#include "service/call_run.h"

#include <string.h>

#include "base/text.h"
#include "io/path.h"

#define URI "offload://"

/* ---- arguments */

const char *ofs_call_text(const struct ofs_call_run *c, const char *name)
{
	return json_string_value(json_object_get(c->args, name));
}

int64_t ofs_call_number(const struct ofs_call_run *c, const char *name, int64_t otherwise)
{
	const json_t *value = json_object_get(c->args, name);

	if (json_is_real(value)) /* 10.0 */
		return (int64_t)json_real_value(value);
	return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

bool ofs_call_flag(const struct ofs_call_run *c, const char *name, bool otherwise)
{
	const json_t *value = json_object_get(c->args, name);

	return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Takes paths in the tree and absolute ones into it, but none relative to the current directory. */
static int to_path(struct ofs_call_run *c, const char *arg, char **ret)
{
	OFS_FREE char *path = NULL;

	if (arg[0] == '/')
		return ofs_access_inside(c->access, arg, c->err, ret);
	path = ofs_strdup(arg);
	if (ofs_path_normalize(path) < 0)
		return ofs_error_set(c->err, EINVAL, "'%s' leads out of the tree", arg);
	*ret = ofs_steal(path);
	return 0;
}

int ofs_call_path(struct ofs_call_run *c, const char *name, char **ret)
{
	const char *arg = ofs_call_text(c, name);

	return to_path(c, arg ? arg : "", ret);
}

void ofs_call_file_finish(struct ofs_call_file *f)
{
	free(f->path);
	*f = (struct ofs_call_file){ 0 };
}

int ofs_call_find_file(struct ofs_call_run *c, const char *id, struct ofs_call_file *ret)
{
	const char *arg = strncmp(id, URI, strlen(URI)) == 0 ? id + strlen(URI) : id;
	struct ofs_operand o = { .target = c->access->target, .backend = c->access->backend };
	int r = 0;

	if (!*arg)
		return ofs_error_set(c->err, EINVAL, "'%s' is neither a ref nor a path", id);
	if (ofs_operand_is_ref(arg))
		o.path = ofs_format("refs/%s", arg);
	else
		r = to_path(c, arg, &o.path);
	if (r < 0)
		return r;
	r = ofs_operand_find(arg, c->err, &o);
	c->access->target = o.target;
	json_decref(o.gone);
	if (r < 0)
		free(o.path);
	else
		*ret = (struct ofs_call_file){ id, o.path, o.attr };
	return r;
}

/* ---- results */

json_t *ofs_call_string(const char *text)
{
	OFS_FREE char *readable = NULL;

	if (!text)
		return json_null();
	readable = ofs_text_is_utf8(text) ? NULL : ofs_text_readable(text);
	return json_string(readable ? readable : text);
}

json_t *ofs_call_attribute(struct ofs_call_run *c, const char *path, const char *name)
{
	OFS_FREE char *value = NULL;

	if (ofs_backend_attribute(c->access->backend, path, name, &value) < 0 || !*value)
		return json_null();
	return ofs_call_string(value);
}

json_t *ofs_call_count(struct ofs_call_run *c, const char *path, const char *name)
{
	OFS_FREE char *value = NULL;

	if (ofs_backend_attribute(c->access->backend, path, name, &value) < 0 || !*value)
		return json_null();
	return json_integer(strtoll(value, NULL, 10));
}

char *ofs_call_shown(const struct ofs_call_run *c, const char *path)
{
	const char *agent = c->access->target.agent ? c->access->target.agent : "";

	agent += OFS_MIN(c->base, strlen(agent));
	agent += *agent == '/';
	return *agent ? ofs_path_join(agent, path) : ofs_strdup(path);
}

json_t *ofs_call_tags(const char *tags)
{
	OFS_FREE char *all = ofs_strdup(tags ? tags : "");
	json_t *list = json_array();
	char *rest = all;

	for (const char *tag; (tag = strsep(&rest, ","));)
		if (*tag)
			json_array_append_new(list, ofs_call_string(tag));
	return list;
}

int ofs_call_failed(struct ofs_call_run *c, int r, const char *what, const char *path)
{
	return ofs_error_set(c->err, -r, "cannot %s '%s': %s", what, path,
			     ofs_backend_strerror(-r));
}
