/* SPDX-License-Identifier: MIT */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/exclude.h"
#include "cli/mounting.h"
#include "cli/report.h"
#include "client/target.h"
#include "io/path.h"

#define UP_MODE 0700

/* Makes the folders of the store and the mountpoint; `ret_made`: the latter was missing. */
static int up_prepare(struct ofs_target *t, struct ofs_error *err, bool *ret_made)
{
	OFS_FREE char *data = ofs_path_parent(t->store);
	struct stat st;
	char *real;
	int r = ofs_path_make(data, UP_MODE);

	*ret_made = false;
	if (r == 0)
		r = ofs_path_make(t->store, UP_MODE);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the store '%s': %s", t->store,
				     strerror(-r));
	/* Now that it is there: the name by which its mount is found again. */
	real = ofs_path_real(t->store);
	free(t->store);
	t->store = real;
	/* Whether what is there will do, a dead mount included, the daemon judges. */
	if (t->stale || lstat(t->mountpoint, &st) == 0)
		return 0;
	r = ofs_path_make(t->mountpoint, UP_MODE);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make '%s': %s", t->mountpoint, strerror(-r));
	*ret_made = true;
	return 0;
}

static int up_mount(struct ofs_target *t, struct ofs_error *err)
{
	bool made;
	int r = up_prepare(t, err, &made);

	if (r < 0)
		return r;
	if (t->workspace) {
		r = ofs_exclude_add(t->workspace, t->mountpoint);
		if (r < 0)
			ofs_report("git will show '%s': cannot write its exclude file: %s",
				   t->mountpoint, strerror(-r));
	}
	r = ofs_daemon_start(t->store, t->mountpoint, err);
	if (r < 0 && made)
		rmdir(t->mountpoint);
	return r;
}

static int up_workspace(const struct ofs_target_options *opts, const char *workspace)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	OFS_FREE char *shown = NULL;
	struct ofs_error err;

	if (ofs_target_find(opts, workspace, &err, &target) < 0)
		return ofs_report_failure("%s", err.text);
	shown = ofs_path_display(target.mountpoint);
	if (target.mounted) {
		printf("Already mounted: %s (store %s)\n", shown, target.store);
		return OFS_EXIT_OK;
	}
	if (up_mount(&target, &err) < 0)
		return *err.text ? ofs_report_failure("%s", err.text) : OFS_EXIT_FAILURE;
	printf("Mounted %s (store %s)\n"
	       "Next: offload run -- CMD keeps long output there; %s/README.md tells the rest.\n",
	       shown, target.store, shown);
	return OFS_EXIT_OK;
}

static int up_run(const struct ofs_command *self, int argc, char **argv)
{
	return ofs_mounting_run(self, argc, argv, up_workspace);
}

const struct ofs_command ofs_cmd_up = {
	.name = "up",
	.synopsis = "[WORKSPACE]",
	.summary = "Mounts the workspace's tree on WORKSPACE/.offload",
	.help = "The workspace is the nearest folder from here upwards that has .offload or .git, else\n"
		"this folder. Its store lies under ${XDG_DATA_HOME:-~/.local/share}/offloadfs. The\n"
		"mountpoint is kept out of git by .git/info/exclude.\n",
	.run = up_run,
};
