/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/mounting.h"
#include "cli/report.h"
#include "client/target.h"
#include "client/workspace.h"
#include "io/path.h"

/* The mountpoint that `offload up` made is taken away; one that was chosen by its user stays. */
static void down_remove_mountpoint(const char *mountpoint)
{
	if (strcmp(strrchr(mountpoint, '/') + 1, OFS_WORKSPACE_MOUNT) == 0)
		rmdir(mountpoint);
}

static int down_workspace(const struct ofs_target_options *opts, const char *workspace)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	OFS_FREE char *shown = NULL;
	struct ofs_error err;

	if (ofs_target_find(opts, workspace, &err, &target) < 0)
		return ofs_report_failure("%s", err.text);
	shown = ofs_path_display(target.mountpoint ? target.mountpoint : target.store);
	if (!target.mounted && !target.stale) {
		printf("Not mounted: %s\n", shown);
		return OFS_EXIT_OK;
	}
	/* From inside the tree it is the caller's shell that is in the way, not we. */
	if (chdir("/") < 0)
		return ofs_report_failure("cannot leave the current directory: %s",
					  strerror(errno));
	if (ofs_daemon_unmount(target.mountpoint, &err) < 0 ||
	    ofs_daemon_wait(target.store, &err) < 0)
		return ofs_report_failure("%s", err.text);
	down_remove_mountpoint(target.mountpoint);
	printf("Unmounted %s; its files stay in the store %s\n", shown, target.store);
	return OFS_EXIT_OK;
}

static int down_run(const struct ofs_command *self, int argc, char **argv)
{
	return ofs_mounting_run(self, argc, argv, down_workspace);
}

const struct ofs_command ofs_cmd_down = {
	.name = "down",
	.synopsis = "[WORKSPACE]",
	.summary = "Unmounts the workspace's tree; everything stays in the store",
	.help = "Returns when the daemon has closed the store. A tree in use is left alone.\n",
	.run = down_run,
};
