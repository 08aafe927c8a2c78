/* SPDX-License-Identifier: MIT */
#include "client/operand.h"

#include <ctype.h>

#include "base/text.h"
#include "base/text_form.h"
#include "client/naming.h"
#include "io/path.h"
#include "io/probe.h"

#define OPERAND_REF_MAX 8
#define OPERAND_REFS "refs/"

/* ---- removed files */

int ofs_gone_load(struct ofs_backend *b, const char *path, json_t **ret)
{
	OFS_FREE char *info = NULL, *text = NULL;
	json_t *json;
	int r;

	if (strncmp(path, OPERAND_REFS, strlen(OPERAND_REFS)) != 0)
		return -ENOENT;
	info = ofs_format("%.*s:info", (int)strcspn(path, ":#@"), path);
	r = ofs_backend_read_text(b, info, &text);
	if (r < 0)
		return r;
	json = json_loads(text, 0, NULL);
	if (!json_is_object(json)) {
		json_decref(json);
		return -EPROTO;
	}
	*ret = json;
	return 0;
}

char *ofs_gone_sentence(const json_t *gone)
{
	struct ofs_text_stream s;

	ofs_text_form(ofs_text_open(&s), gone,
		      "{ref|it} was {path|a file}[, {size:byte}][, {lines:line}]; it was removed"
		      "[ at {removed}][ ({reason})][: {why}]");
	return ofs_text_close(&s);
}

/* ---- finding a file */

bool ofs_operand_is_ref(const char *arg)
{
	size_t len = strspn(arg, "0123456789abcdefghijklmnopqrstuvwxyz");

	return len > 0 && len <= OPERAND_REF_MAX && arg[len] == '\0';
}

/* Frees everything but the tree. */
static void operand_clear(struct ofs_operand *o)
{
	free(o->path);
	json_decref(o->gone);
	o->path = NULL;
	o->gone = NULL;
}

void ofs_operand_finish(struct ofs_operand *o)
{
	operand_clear(o);
	ofs_backend_close(o->backend);
	ofs_target_finish(&o->target);
	*o = (struct ofs_operand){ 0 };
}

/* Selects the innermost agent's tree that `path`, in the tree of `agent` or NULL, lies in. */
static void operand_take_path(struct ofs_operand *o, const char *agent, const char *path)
{
	const char *rest = path;
	OFS_FREE char *inner = ofs_naming_agent_of(path, &rest);
	OFS_FREE char *whole = agent && inner ? ofs_path_join(agent, inner) : NULL;

	ofs_target_set_agent(&o->target, whole ? whole : inner ? inner : agent);
	o->path = ofs_strdup(rest);
}

static bool is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Finds the tree and the path in it. `real` is the absolute form of `arg`. */
static int operand_locate(const struct ofs_target_options *options, const char *arg,
			  const char *real, struct ofs_error *err, struct ofs_operand *o)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	const struct ofs_mount *mount = NULL;
	OFS_FREE char *agent = NULL;
	const char *rest = NULL;
	struct stat st;
	int r;

	if (real && ofs_mounts_read(NULL, &mounts) == 0)
		mount = ofs_mounts_around(&mounts, real);
	/* In a mounted tree, a file in the current directory takes precedence over a ref. */
	if (mount && (!ofs_operand_is_ref(arg) || lstat(arg, &st) == 0)) {
		r = ofs_target_from_mount(mount, err, &o->target);
		if (r < 0)
			return r;
		operand_take_path(o, NULL, ofs_path_below(mount->point, real));
		return 0;
	}
	r = ofs_target_find(options, NULL, err, &o->target);
	if (r < 0)
		return r;
	if (ofs_operand_is_ref(arg)) {
		o->path = ofs_format(OPERAND_REFS "%s", arg);
		return 0;
	}
	if (real && o->target.mountpoint)
		rest = ofs_path_below(o->target.mountpoint, real);
	if (!rest && arg[0] == '/')
		return ofs_error_set(
			err, ENOENT,
			"'%s' is not in a mounted tree, nor below the mountpoint of this "
			"workspace",
			arg);
	agent = o->target.agent ? ofs_strdup(o->target.agent) : NULL;
	operand_take_path(o, rest ? NULL : agent, rest ? rest : arg);
	return 0;
}

/* Takes and opens `target`, unless the same tree is open already and reached in the same way. */
static int operand_open_tree(struct ofs_target *target, struct ofs_error *err,
			     struct ofs_operand *o)
{
	if (o->backend && o->target.mounted == target->mounted &&
	    strcmp(o->target.store, target->store) == 0 && is_same(o->target.agent, target->agent))
		return 0;
	ofs_backend_close(o->backend);
	o->backend = NULL;
	ofs_target_finish(&o->target);
	o->target = *target;
	*target = (struct ofs_target){ 0 };
	return ofs_target_open(&o->target, false, err, &o->backend);
}

static int operand_missing(const char *arg, int code, struct ofs_error *err, struct ofs_operand *o)
{
	bool ref = ofs_operand_is_ref(arg);

	if (code == EKEYEXPIRED && ofs_gone_load(o->backend, o->path, &o->gone) == 0) {
		OFS_FREE char *sentence = ofs_gone_sentence(o->gone);

		return ofs_error_set(err, code, "%s", sentence);
	}
	if (code == ENOENT)
		return ofs_error_set(err, code,
				     ref ? "no file has the ref '%s'" : "no such file: '%s'", arg);
	return ofs_error_set(err, code, "'%s': %s", arg, ofs_backend_strerror(code));
}

/* Resolves links in the path within a mounted tree; views/ consists of links. */
static int operand_follow(const char *arg, struct ofs_error *err, struct ofs_operand *o)
{
	OFS_FREE char *full = ofs_path_join(o->target.root, o->path);
	OFS_FREE char *real = ofs_path_real(full);
	const char *rest = real ? ofs_path_below(o->target.root, real) : NULL;

	if (!rest)
		return ofs_error_set(err, EXDEV, "'%s' is a link that leads out of the tree", arg);
	free(o->path);
	o->path = ofs_strdup(rest);
	return o->backend->ops->stat(o->backend, o->path, &o->attr);
}

/* If a ref is that of a file of an agent, enters the agent's tree, as for a path into it. */
static int operand_enter(struct ofs_error *err, struct ofs_operand *o)
{
	OFS_FREE char *name = NULL, *ours = NULL, *dir = NULL, *whole = NULL;
	const char *rest;
	int r;

	if (ofs_backend_attribute(o->backend, o->path, "agent", &name) < 0)
		return 0;
	if (ofs_backend_attribute(o->backend, "", "agent", &ours) < 0)
		ours = ofs_strdup("");
	rest = *ours ? ofs_path_below(ours, name) : name;
	if (!rest || !*rest)
		return 0;
	r = ofs_naming_agent("the agent", rest, err, &dir);
	if (r == 0)
		r = ofs_backend_enter(o->backend, dir, false, err);
	if (r < 0)
		return r;
	whole = o->target.agent ? ofs_path_join(o->target.agent, dir) : ofs_strdup(dir);
	ofs_target_set_agent(&o->target, whole);
	return 0;
}

int ofs_operand_find(const char *arg, struct ofs_error *err, struct ofs_operand *o)
{
	int r = o->backend->ops->stat(o->backend, o->path, &o->attr);

	/* A name at the root may have the form of a ref, as "cache" does. */
	if (r == -ENOENT && ofs_operand_is_ref(arg) &&
	    o->backend->ops->stat(o->backend, arg, &o->attr) == 0) {
		free(o->path);
		o->path = ofs_strdup(arg);
		r = 0;
	}
	if (r == -ELOOP && o->target.mounted) {
		r = operand_follow(arg, err, o);
		if (r == -EXDEV)
			return r;
	}
	if (r < 0)
		return operand_missing(arg, -r, err, o);
	return strncmp(o->path, OPERAND_REFS, strlen(OPERAND_REFS)) == 0 ? operand_enter(err, o)
									 : 0;
}

int ofs_operand_open(const struct ofs_target_options *options, const char *arg,
		     struct ofs_error *err, struct ofs_operand *o)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand found = { 0 };
	OFS_FREE char *real = NULL;
	int r;

	operand_clear(o);
	if (!*arg)
		return ofs_error_set(err, EINVAL, "an empty name is neither a ref nor a path");
	ofs_probe_enter();
	real = ofs_path_real(arg);
	r = operand_locate(options, arg, real, err, &found);
	ofs_probe_leave();
	if (r < 0)
		return r;
	if (ofs_path_normalize(found.path) < 0)
		return ofs_error_set(err, EINVAL, "'%s': '..' leads nowhere in a tree", arg);
	r = operand_open_tree(&found.target, err, o);
	if (r < 0)
		return r;
	o->path = ofs_steal(found.path);
	return ofs_operand_find(arg, err, o);
}

char *ofs_slice_suffix(const char *spec)
{
	char *suffix, *to;

	spec += *spec && strchr(":#@", *spec);
	if (!*spec || strchr(spec, '/'))
		return NULL;
	suffix = to = ofs_alloc(strlen(spec) + 2);
	*to++ = ':';
	/* An L before a number is dropped, since slices are in lines by default. */
	for (const char *p = spec; *p; p++) {
		if (*p != 'L' || !isdigit((unsigned char)p[1]) || (p != spec && p[-1] != '-'))
			*to++ = *p;
	}
	return suffix;
}

char *ofs_operand_display(const struct ofs_operand *o)
{
	OFS_FREE char *full = NULL;

	if (!o->target.mounted)
		return ofs_strdup(o->path);
	full = ofs_path_join(o->target.root, o->path);
	return ofs_path_display(full);
}
