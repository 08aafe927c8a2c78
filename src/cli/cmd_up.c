/* SPDX-License-Identifier: MIT */
/* offload up and offload down: mount and unmount the tree of a workspace. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "base/util.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/exclude.h"
#include "cli/peers.h"
#include "cli/report.h"
#include "client/target.h"
#include "client/workspace.h"
#include "io/file.h"
#include "io/path.h"
#include "store/owner.h"

#define UP_MODE 0700

extern const struct ofs_command ofs_cmd_up, ofs_cmd_down;

static bool up_foreground;
static struct ofs_option_list up_peers;

static const struct ofs_option up_options[] = {
	OFS_FLAG('f', "foreground", &up_foreground,
		 "stay in the foreground, for a service manager that starts it again"),
	OFS_LIST(0, "peer", "NAME=URL", &up_peers,
		 "show what another host replicates to URL at peers/NAME,\n"
		 "from now on; NAME= ends that"),
	OFS_OPTIONS_END
};

/* Adds and removes the peers that the options name. */
static int up_change_peers(const struct ofs_target *t, struct ofs_error *err)
{
	int r = up_peers.n ? ofs_path_make(t->store, UP_MODE) : 0;

	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the store '%s': %s", t->store,
				     strerror(-r));
	for (size_t i = 0; i < up_peers.n && r == 0; i++)
		r = ofs_peers_change(t->store, up_peers.at[i], err);
	return r;
}

/* Creates the folders of the store and the mount point, and mounts. */
static int up_mount(struct ofs_target *t, struct ofs_error *err)
{
	OFS_FREE char *data = ofs_path_parent(t->store);
	struct stat st;
	bool made;
	char *real;
	int r = ofs_path_make(data, UP_MODE);

	if (r == 0)
		r = ofs_path_make(t->store, UP_MODE);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the store '%s': %s", t->store,
				     strerror(-r));
	/* The store exists now, so this is the name by which its mount is found again. */
	real = ofs_path_real(t->store);
	free(t->store);
	t->store = real;
	/* The daemon judges whatever exists there, a dead mount included. */
	made = !t->stale && lstat(t->mountpoint, &st) < 0;
	r = made ? ofs_path_make(t->mountpoint, UP_MODE) : 0;
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make '%s': %s", t->mountpoint, strerror(-r));
	r = t->workspace ? ofs_exclude_add(t->workspace, t->mountpoint) : 0;
	if (r < 0)
		ofs_report("git will show '%s': cannot write its exclude file: %s", t->mountpoint,
			   strerror(-r));
	r = (up_foreground ? ofs_daemon_become : ofs_daemon_start)(t->store, t->mountpoint, err);
	if (r < 0 && made)
		rmdir(t->mountpoint);
	return r;
}

static int up(struct ofs_target *target)
{
	OFS_FREE char *shown = ofs_path_display(target->mountpoint);
	struct ofs_error err;

	if (up_change_peers(target, &err) < 0)
		return ofs_report("%s", err.text);
	if (target->mounted && up_foreground)
		return ofs_report("'%s' is already mounted, by another daemon: end it with "
				  "'offload down' first",
				  shown);
	if (target->mounted) {
		ofs_report_line(stdout, "Already mounted: %s (store %s)", shown, target->store);
		return ofs_peers_up(target);
	}
	if (up_mount(target, &err) < 0)
		return *err.text ? ofs_report("%s", err.text) : OFS_EXIT_FAILURE;
	ofs_report_line(stdout, "Mounted %s (store %s)", shown, target->store);
	ofs_report_line(stdout,
			"Next: offload run -- CMD keeps long output there; %s/README.md explains "
			"the rest.",
			shown);
	return ofs_peers_up(target);
}

/*
 * Checks the store of a daemon that has ended, which empties the lock file once it has written
 * everything. `before` is its status while it was mounted; NULL: unknown. Returns an exit code.
 */
static int check_end(const struct ofs_target *target, const char *shown, const json_t *before)
{
	OFS_CLOSE int store = ofs_io_open(AT_FDCWD, target->store, O_RDONLY | O_DIRECTORY, 0);
	const char *state = json_string_value(json_object_get(before, "state"));
	const char *error = json_string_value(json_object_get(before, "error"));
	struct ofs_owner owner = { 0 };

	if (store >= 0)
		ofs_owner_read(store, &owner);
	if (state && error && strcmp(state, "read-only") == 0)
		return ofs_report("unmounted %s, but not everything may be in the store '%s': %s",
				  shown, target->store, error);
	if (store < 0)
		return ofs_report("unmounted %s, but its store '%s' cannot be opened: %s", shown,
				  target->store, strerror(-store));
	if (owner.pid)
		return ofs_report("unmounted %s, but its daemon could not write everything to the "
				  "store '%s': its journal has the rest, and 'offload up' reads it",
				  shown, target->store);
	return OFS_EXIT_OK;
}

static int down(struct ofs_target *target)
{
	const char *mountpoint = target->mountpoint;
	OFS_FREE char *shown = ofs_path_display(mountpoint ? mountpoint : target->store);
	struct ofs_error err;
	struct statvfs fs;
	json_auto_t *status = NULL;
	int code = OFS_EXIT_OK, r = 0;
	bool writes = target->mounted && statvfs(mountpoint, &fs) == 0 && !(fs.f_flag & ST_RDONLY);

	if (writes)
		status = ofs_daemon_status(mountpoint);
	/* If we were started inside the tree, we must not keep it busy ourselves. */
	if (chdir("/") < 0)
		return ofs_report("cannot leave the current directory: %s", strerror(errno));
	if (mountpoint && target->mounted && ofs_peers_down(mountpoint, &err) < 0)
		return ofs_report("%s", err.text);
	if (mountpoint)
		r = ofs_daemon_end(target->store, mountpoint, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	if (r == 0) {
		ofs_report_line(stdout, "Not mounted: %s", shown);
		return OFS_EXIT_OK;
	}
	/* Remove a mount point that `offload up` made. One that the user chose stays. */
	if (strcmp(strrchr(mountpoint, '/') + 1, OFS_WORKSPACE_MOUNT) == 0)
		rmdir(mountpoint);
	if (writes)
		code = check_end(target, shown, status);
	if (code != OFS_EXIT_OK)
		return code;
	ofs_report_line(stdout, "Unmounted %s; its files stay in the store %s", shown,
			target->store);
	return OFS_EXIT_OK;
}

/* Both commands take [WORKSPACE]. */
static int run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	OFS_FREE char *workspace = NULL;
	struct ofs_error err;
	struct stat st;

	if (argc) {
		workspace = realpath(argv[0], NULL);
		if (!workspace || stat(workspace, &st) < 0)
			return ofs_report("cannot use '%s' as a workspace: %s", argv[0],
					  strerror(errno));
		if (!S_ISDIR(st.st_mode))
			return ofs_report("'%s' is not a folder, so it cannot be a workspace",
					  argv[0]);
	}
	ofs_command_target.mounting = true;
	if (ofs_target_find(&ofs_command_target, workspace, &err, &target) < 0)
		return ofs_report("%s", err.text);
	return self == &ofs_cmd_up ? up(&target) : down(&target);
}

const struct ofs_command ofs_cmd_up = {
	.name = "up",
	.synopsis = "[--peer NAME=URL]... [WORKSPACE]",
	.summary = "Mounts the workspace's tree on WORKSPACE/.offload",
	.help = "The workspace is the nearest folder from here upwards that has .offload or\n"
		".git, else this folder. Its store is in\n"
		"${XDG_DATA_HOME:-~/.local/share}/offloadfs. .git/info/exclude hides the\n"
		"mountpoint from git. A daemon that dies is restarted.\n",
	.options = up_options,
	.operands = 1,
	.run = run,
};

const struct ofs_command ofs_cmd_down = {
	.name = "down",
	.synopsis = "[WORKSPACE]",
	.summary = "Unmounts the workspace's tree; everything stays in the store",
	.help = "Returns when the daemon has closed the store. A tree in use is left alone.\n",
	.operands = 1,
	.no_content = true,
	.run = run,
};
