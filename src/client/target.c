/* SPDX-License-Identifier: MIT */
#include "client/target.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "client/naming.h"
#include "client/workspace.h"
#include "io/file.h"
#include "io/path.h"
#include "io/probe.h"
#include "io/trust.h"
#include "store/owner.h"

void ofs_target_finish(struct ofs_target *t)
{
	free(t->workspace);
	free(t->mountpoint);
	free(t->store);
	free(t->agent);
	free(t->root);
	free(t->hint);
	*t = (struct ofs_target){ 0 };
}

static char *target_copy_text(const char *text)
{
	return text ? ofs_strdup(text) : NULL;
}

void ofs_target_copy(const struct ofs_target *t, struct ofs_target *ret)
{
	*ret = *t;
	ret->workspace = target_copy_text(t->workspace);
	ret->mountpoint = target_copy_text(t->mountpoint);
	ret->store = target_copy_text(t->store);
	ret->agent = target_copy_text(t->agent);
	ret->root = target_copy_text(t->root);
	ret->hint = target_copy_text(t->hint);
}

static int target_is_silent(const struct ofs_mount *mount, struct ofs_error *err)
{
	OFS_CLOSE int store = ofs_io_open(AT_FDCWD, mount->source, O_PATH | O_DIRECTORY, 0);
	OFS_FREE char *process = NULL, *shown = ofs_path_display(mount->point);
	struct ofs_owner owner = { 0 };

	if (store >= 0)
		ofs_owner_read(store, &owner);
	process = owner.pid ? ofs_format(" (process %ld)", owner.pid) : ofs_strdup("");
	return ofs_error_set(err, ETIMEDOUT,
			     "the daemon of '%s' does not answer%s; offload doctor says what to do",
			     shown, process);
}

/*
 * Asks a mount whether it is alive. If calls of this process have a time limit already, no further
 * child is needed for it.
 */
static enum ofs_mount_state target_ask(const struct ofs_mount *mount)
{
	struct ofs_error silent;
	bool alive;

	if (!ofs_probe_is_watched())
		return ofs_mount_ask(mount);
	target_is_silent(mount, &silent);
	ofs_probe_explain(silent.text);
	ofs_probe_enter();
	alive = ofs_mount_is_alive(mount);
	ofs_probe_leave();
	ofs_probe_explain("");
	return alive ? OFS_MOUNT_ALIVE : OFS_MOUNT_DEAD;
}

/*
 * Takes over the data of a mount. -EPERM: the caller does not trust its owner. -ETIMEDOUT: the
 * mount does not answer.
 */
static int target_set_mount(struct ofs_target *t, const struct ofs_mount *mount,
			    struct ofs_error *err)
{
	int r = ofs_trust_check_mount(mount->point, mount->owner, err);
	enum ofs_mount_state state;

	if (r < 0)
		return r;
	state = target_ask(mount);
	if (state == OFS_MOUNT_SILENT)
		return target_is_silent(mount, err);
	free(t->mountpoint);
	free(t->store);
	t->mountpoint = ofs_strdup(mount->point);
	t->store = ofs_strdup(mount->source);
	t->mounted = state == OFS_MOUNT_ALIVE;
	t->stale = !t->mounted;
	t->shared = mount->shared;
	return 0;
}

int ofs_target_from_mount(const struct ofs_mount *mount, struct ofs_error *err,
			  struct ofs_target *ret)
{
	struct ofs_target t = { 0 };
	int r = target_set_mount(&t, mount, err);

	if (r < 0)
		return r;
	t.hint = ofs_strdup("");
	ofs_target_set_agent(&t, NULL);
	*ret = t;
	return 0;
}

/* True if the current directory leads to another tree than opts->from. */
static bool target_is_elsewhere(const struct ofs_target_options *opts,
				const struct ofs_mounts *mounts)
{
	OFS_FREE char *cwd = opts->from ? ofs_path_cwd() : NULL, *here = NULL, *there = NULL;

	if (!opts->from || opts->dir || opts->store)
		return false;
	here = cwd ? ofs_workspace_find(cwd, mounts) : NULL;
	there = ofs_workspace_find(opts->from, mounts);
	return !here || strcmp(here, there) != 0;
}

static char *target_hint(const struct ofs_target *t, const struct ofs_target_options *opts,
			 const struct ofs_mounts *mounts)
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);

	if (target_is_elsewhere(opts, mounts)) {
		fputs(t->mounted ? " -d " : " --store ", out);
		ofs_text_shell_word(out, t->mounted ? t->mountpoint : t->store);
	}

	if (opts->dir) {
		fputs(" -d ", out);
		ofs_text_shell_word(out, opts->dir);
	}
	if (opts->store) {
		fputs(" --store ", out);
		ofs_text_shell_word(out, opts->store);
	}
	if (t->agent) {
		OFS_FREE char *name = ofs_naming_agent_name(t->agent);

		fputs(" --agent ", out);
		ofs_text_shell_word(out, name);
	}
	return ofs_text_close(&s);
}

static int target_gone(struct ofs_error *err)
{
	return ofs_error_set(err, ENOENT, "the current directory no longer exists");
}

/* Uses the mount of the store, if there is one. */
static int target_look_for_store(struct ofs_target *t, const struct ofs_mounts *mounts,
				 struct ofs_error *err)
{
	const struct ofs_mount *mount = ofs_mounts_of_store(mounts, t->store);

	return mount ? target_set_mount(t, mount, err) : 0;
}

static int target_by_workspace(struct ofs_target *t, const struct ofs_mounts *mounts,
			       const char *store, struct ofs_error *err)
{
	const struct ofs_mount *mount;

	if (!t->mountpoint) {
		OFS_FREE char *point = ofs_path_join(t->workspace, OFS_WORKSPACE_MOUNT);
		struct stat st;

		/* Do not touch a mount, which may not answer. */
		if (!ofs_mounts_at(mounts, point) && lstat(point, &st) == 0 && S_ISLNK(st.st_mode))
			return ofs_error_set(err, ELOOP,
					     "'%s' is a symbolic link, which is not followed: "
					     "remove it, or name the tree that is meant with "
					     "--dir or OFFLOAD_DIR",
					     point);
		t->mountpoint = ofs_path_real(point);
	}
	mount = store ? NULL : ofs_mounts_at(mounts, t->mountpoint);
	if (mount)
		return target_set_mount(t, mount, err);
	if (store) {
		t->store = ofs_path_real(store);
		if (!t->store)
			return target_gone(err);
	} else {
		OFS_FREE char *usual = NULL;
		int r = ofs_workspace_store(t->workspace, err, &usual);

		if (r < 0)
			return r;
		t->store = ofs_path_real(usual);
	}
	return target_look_for_store(t, mounts, err);
}

/*
 * Finds the tree by --dir or its variable: a mount or a mountpoint. `store` is the store that was
 * named, or NULL.
 */
static int target_by_dir(struct ofs_target *t, const struct ofs_mounts *mounts,
			 const struct ofs_target_options *opts, const char *dir, const char *store,
			 struct ofs_error *err)
{
	OFS_FREE char *point = ofs_path_real(dir),
		      *real_store = store ? ofs_path_real(store) : NULL;
	const struct ofs_mount *mount = point ? ofs_mounts_at(mounts, point) : NULL;

	if (!point)
		return target_gone(err);
	if (mount) {
		int r = target_set_mount(t, mount, err);

		if (r < 0)
			return r;
		if (opts->store && real_store && strcmp(real_store, mount->source) != 0)
			return ofs_error_set(err, EINVAL, "'%s' is mounted on another store: '%s'",
					     dir, mount->source);
		return 0;
	}
	t->mountpoint = ofs_steal(point);
	if (!opts->mounting && opts->dir && !store &&
	    strcmp(strrchr(t->mountpoint, '/') + 1, OFS_WORKSPACE_MOUNT) != 0)
		return ofs_error_set(
			err, ENOENT,
			"'%s' is not a mounted tree; 'offload up -d' mounts one there, or "
			"name the store with --store",
			dir);
	if (!opts->mounting) {
		free(t->workspace);
		t->workspace = ofs_path_parent(t->mountpoint);
	}
	return target_by_workspace(t, mounts, store, err);
}

static int target_search(struct ofs_target *t, const struct ofs_target_options *opts,
			 const struct ofs_mounts *mounts, const char *workspace,
			 struct ofs_error *err)
{
	const char *dir = opts->dir, *store = opts->store;
	OFS_FREE char *cwd = opts->from ? ofs_path_real(opts->from) : ofs_path_cwd();
	const struct ofs_mount *mount;

	if (!workspace && !dir && !store)
		dir = getenv("OFFLOAD_DIR");
	if (!workspace && !store)
		store = getenv("OFFLOAD_STORE");
	dir = dir && *dir ? dir : NULL;
	store = store && *store ? store : NULL;
	if (!cwd && !workspace && !dir && !store)
		return target_gone(err);
	if (workspace)
		t->workspace = ofs_strdup(workspace);
	else
		t->workspace = ofs_workspace_find(cwd ? cwd : "/", mounts);
	if (dir)
		return target_by_dir(t, mounts, opts, dir, store, err);
	if (store && !opts->mounting) {
		t->store = ofs_path_real(store);
		if (!t->store)
			return target_gone(err);
		return target_look_for_store(t, mounts, err);
	}
	mount = workspace || store ? NULL : ofs_mounts_around(mounts, cwd);
	if (mount)
		return target_set_mount(t, mount, err);
	return target_by_workspace(t, mounts, store, err);
}

/* Sets *ret to the directory of the agent that is named, allocated, or NULL. 0 or -errno. */
static int target_agent(const struct ofs_target_options *opts, struct ofs_error *err, char **ret)
{
	const char *name = opts->agent ? opts->agent : getenv("OFFLOAD_AGENT");

	*ret = NULL;
	if (opts->whole || opts->mounting || !name || (!opts->agent && !*name))
		return 0;
	return ofs_naming_agent(opts->agent ? "--agent" : "OFFLOAD_AGENT", name, err, ret);
}

void ofs_target_set_agent(struct ofs_target *t, const char *agent)
{
	free(t->agent);
	free(t->root);
	t->agent = agent ? ofs_strdup(agent) : NULL;
	t->root = t->mountpoint ? ofs_path_join(t->mountpoint, agent ? agent : "") : NULL;
}

int ofs_target_find(const struct ofs_target_options *opts, const char *workspace,
		    struct ofs_error *err, struct ofs_target *ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_FREE char *agent = NULL;
	struct ofs_target t = { 0 };
	int r = target_agent(opts, err, &agent);

	if (r < 0)
		return r;
	/* Without /proc no mounts are known; then the lock of the store prevents double use. */
	ofs_mounts_read(NULL, &mounts);
	ofs_probe_enter();
	r = target_search(&t, opts, &mounts, workspace, err);
	ofs_probe_leave();
	if (r < 0) {
		ofs_target_finish(&t);
		return r;
	}
	ofs_target_set_agent(&t, agent);
	t.hint = target_hint(&t, opts, &mounts);
	*ret = t;
	return 0;
}

/* True if the names in a directory are those of a store rather than of a workspace. */
static bool target_is_store(const char *path)
{
	static const char *const names[] = { "index.db", "journal", "packs" };
	int found = 0;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		OFS_FREE char *name = ofs_path_join(path, names[i]);
		struct stat st;

		found += stat(name, &st) == 0;
	}
	return found > 1;
}

int ofs_target_find_operand(const struct ofs_target_options *opts, const char *operand,
			    struct ofs_error *err, struct ofs_target *ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	struct ofs_target_options by_store = *opts;
	OFS_FREE char *real = NULL;
	const struct ofs_mount *mount;
	struct stat st;

	if (!operand)
		return ofs_target_find(opts, NULL, err, ret);
	real = ofs_path_real(operand);
	if (!real)
		return ofs_error_set(err, ENOENT, "the current directory no longer exists");
	mount = ofs_mounts_read(NULL, &mounts) == 0 ? ofs_mounts_around(&mounts, real) : NULL;
	if (mount) {
		int r = ofs_target_from_mount(mount, err, ret);

		if (r < 0 || !ret->stale)
			return r;
		ofs_target_finish(ret); /* the daemon is dead, so use its store */
		by_store.store = mount->source;
		return ofs_target_find(&by_store, NULL, err, ret);
	}
	if (stat(real, &st) < 0)
		return ofs_error_set(err, errno, "cannot use '%s': %s", operand, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return ofs_error_set(err, ENOTDIR,
				     "'%s' is neither a store nor a mounted tree nor a workspace",
				     operand);
	if (!target_is_store(real))
		return ofs_target_find(opts, real, err, ret);
	by_store.store = real;
	return ofs_target_find(&by_store, NULL, err, ret);
}

static int target_open_store(const struct ofs_target *t, bool create, struct ofs_error *err,
			     struct ofs_backend **ret)
{
	OFS_FREE char *parent = ofs_path_parent(t->store);
	struct stat st;
	int r;

	if (!create && stat(t->store, &st) < 0 && errno == ENOENT)
		return ofs_error_set(err, ENOENT,
				     "nothing was offloaded here yet: there is no store '%s' "
				     "(offload put, run and up make it)",
				     t->store);
	if (create) {
		r = ofs_path_make(parent, 0700);
		if (r < 0)
			return ofs_error_set(err, -r, "cannot make '%s': %s", parent, strerror(-r));
	}
	return ofs_backend_open_store(t->store, create, t->read_only, err, ret);
}

static int target_open_mount(const struct ofs_target *t, struct ofs_error *err,
			     struct ofs_backend **ret)
{
	int r;

	ofs_probe_enter();
	r = ofs_backend_open_mount(t->mountpoint, t->shared, err, ret);
	ofs_probe_leave();
	return r;
}

static int target_open_whole(struct ofs_target *t, bool create, struct ofs_error *err,
			     struct ofs_backend **ret)
{
	return t->mounted ? target_open_mount(t, err, ret) : target_open_store(t, create, err, ret);
}

int ofs_target_open(struct ofs_target *t, bool create, struct ofs_error *err,
		    struct ofs_backend **ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	struct ofs_backend *b = NULL;
	int r = target_open_whole(t, create, err, &b);

	/*
	 * The engine waits for an owner that is about to end. If the store is still in use, a
	 * daemon has just been started.
	 */
	if (r == -EBUSY && !t->mounted && ofs_mounts_read(NULL, &mounts) == 0) {
		OFS_FREE char *agent = ofs_steal(t->agent);

		r = target_look_for_store(t, &mounts, err);
		ofs_target_set_agent(t, agent);
		if (r == 0)
			r = t->mounted ? target_open_mount(t, err, &b) : -EBUSY;
	}
	if (r == 0 && t->agent)
		r = ofs_backend_enter(b, t->agent, create, err);
	if (r < 0)
		ofs_backend_close(b);
	else
		*ret = b;
	return r;
}
