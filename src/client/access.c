/* SPDX-License-Identifier: MIT */
#include "client/access.h"

#include <offloadfs/config.h>

#include "base/redact.h"
#include "io/path.h"

void ofs_access_init(struct ofs_access *a, const struct ofs_target_options *options)
{
	*a = (struct ofs_access){ .options = *options };
}

void ofs_access_finish(struct ofs_access *a)
{
	ofs_backend_close(a->backend);
	ofs_target_finish(&a->target);
	free(a->mount);
	free(a->key);
	*a = (struct ofs_access){ 0 };
}

/* Called again after opening, which may find that the tree has been mounted meanwhile. */
static void access_name_mount(struct ofs_access *a)
{
	if (a->target.mounted && !a->mount)
		a->mount = ofs_path_display(a->target.root);
}

/* Ignores errors in the configuration: the daemon or the opening of the store reports them. */
static void access_take_config(const char *store)
{
	struct ofs_config *config = ofs_config_create();
	struct ofs_error ignored;

	if (ofs_config_load_store(config, store, &ignored) == 0 && ofs_config_get(config, "redact"))
		ofs_redact_set_enabled(false);
	ofs_config_destroy(config);
}

int ofs_access_find(struct ofs_access *a, struct ofs_error *err)
{
	int r;

	if (a->found)
		return 0;
	r = ofs_target_find_operand(&a->options, a->place, err, &a->target);
	if (r < 0)
		return r;
	a->found = true;
	access_take_config(a->target.store);
	access_name_mount(a);
	return 0;
}

void ofs_access_take(struct ofs_access *a, const struct ofs_target *found)
{
	ofs_target_copy(found, &a->target);
	a->found = true;
	access_name_mount(a);
}

void ofs_access_set_agent(struct ofs_access *a, const char *agent)
{
	ofs_target_set_agent(&a->target, agent);
	free(a->mount);
	a->mount = NULL;
	access_name_mount(a);
}

int ofs_access_open(struct ofs_access *a, bool create, struct ofs_error *err)
{
	int r = ofs_access_find(a, err);

	if (r < 0 || a->backend)
		return r;
	a->target.read_only = a->read_only;
	r = ofs_target_open(&a->target, create, err, &a->backend);
	if (r == 0)
		access_name_mount(a);
	return r;
}

int ofs_access_key(struct ofs_access *a, struct ofs_error *err, const char **ret)
{
	int r = ofs_access_open(a, false, err);

	if (r < 0)
		return r;
	if (!a->key) {
		r = ofs_backend_attribute(a->backend, "", "key", &a->key);
		if (r < 0)
			return ofs_error_set(err, EPROTO, "cannot read the key of the store: %s",
					     ofs_backend_strerror(-r));
	}
	*ret = a->key;
	return 0;
}

char *ofs_access_display(const struct ofs_access *a, const char *path)
{
	return a->target.mounted ? ofs_path_join(a->target.root, path) : ofs_strdup(path);
}

int ofs_access_inside(const struct ofs_access *a, const char *path, struct ofs_error *err,
		      char **ret)
{
	const char *point = a->target.root;
	OFS_FREE char *real = point ? ofs_path_real(path) : NULL;
	const char *rest = real ? ofs_path_below(point, real) : NULL;
	OFS_FREE char *inside = NULL;

	if (!rest && path[0] == '/')
		return ofs_error_set(err, EINVAL, "'%s' is not in the tree%s%s", path,
				     point ? " at " : "", point ? point : "");
	inside = ofs_strdup(rest ? rest : path);
	if (ofs_path_normalize(inside) < 0)
		return ofs_error_set(err, EINVAL, "'%s' leads out of the tree", path);
	*ret = ofs_steal(inside);
	return 0;
}
