/* SPDX-License-Identifier: MIT */
/* offload agent: runs a command in the tree of an agent. */
#include <fcntl.h>

#include "cli/command.h"
#include "cli/report.h"
#include "cli/sandbox.h"
#include "client/naming.h"
#include "client/target.h"
#include "io/file.h"
#include "io/path.h"
#include "store/owner.h"

/* Of `run`: as env(1) and others that run a command have it. */
#define RUN_EXIT_REFUSED 125
#define RUN_EXIT_CANNOT 126
#define RUN_EXIT_NOT_FOUND 127

/* ---- run */

/*
 * The store's directory, if the caller can come to it at all: the one whose owner says that it serves
 * a mount of this tree. What is inside another sandbox, or in a container that has an agent's tree
 * alone, has been cut off from the store already.
 */
static int find_store(const struct ofs_target *t, struct ofs_error *err, struct stat *ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_CLOSE int dir = ofs_io_open(AT_FDCWD, t->store, O_PATH | O_DIRECTORY, 0), lock = -1;
	int r = ofs_mounts_read(NULL, &mounts);
	const struct ofs_mount *tree = r < 0 ? NULL : ofs_mounts_at(&mounts, t->mountpoint),
			       *served;
	struct ofs_owner owner;

	*ret = (struct stat){ 0 };
	if (!tree)
		return ofs_error_set(err, ENOTCONN, "'%s' is no longer mounted", t->mountpoint);
	if (dir == -EACCES || (dir < 0 && strcmp(tree->root, "/") != 0))
		return 0;
	lock = dir < 0 ? dir : ofs_io_open(dir, "lock", O_RDONLY, 0);
	if (lock == -EACCES || (lock < 0 && strcmp(tree->root, "/") != 0))
		return 0;
	if (lock >= 0)
		ofs_owner_read(dir, &owner);
	served = lock < 0 ? NULL : ofs_mounts_at(&mounts, owner.mountpoint);
	if (!served || strcmp(served->device, tree->device) != 0 ||
	    ofs_io_lock(lock, true) != -EWOULDBLOCK || fstat(dir, ret) < 0)
		return ofs_error_set(err, ENOENT,
				     "the store of '%s' is not at '%s' any more, so it cannot be "
				     "hidden: end its daemon and mount it again",
				     t->mountpoint, t->store);
	return 0;
}

/* Inside the tree is found wherever the command goes, and is the whole. */
static void set_environment(const struct ofs_target *t)
{
	unsetenv("OFFLOAD_AGENT");
	unsetenv("OFFLOAD_STORE");
	setenv("OFFLOAD_DIR", t->mountpoint, true);
}

/* Makes the agent, and says what is to be hidden from it. */
static int prepare(struct ofs_target *t, struct ofs_error *err, struct ofs_cover *ret)
{
	struct ofs_backend *b;
	int r = ofs_target_find(&ofs_command_target, NULL, err, t);

	if (r < 0)
		return r;
	if (!t->mounted)
		return ofs_error_set(err, ENOTCONN,
				     "the tree of '%s' is not mounted: 'offload up' mounts it",
				     t->store);
	r = ofs_target_open(t, true, err, &b);
	if (r < 0)
		return r;
	ofs_backend_close(b);
	*ret = (struct ofs_cover){
		.mountpoint = t->mountpoint,
		.tree = t->agent,
		.store = t->store,
	};
	return find_store(t, err, &ret->store_attr);
}

static int refuse(const struct ofs_error *err)
{
	ofs_report("%s", err->text);
	return RUN_EXIT_REFUSED;
}

static int agent_run(const char *const argv[])
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target t = { 0 };
	OFS_FREE char *dir = ofs_path_cwd();
	struct ofs_sandbox sandbox = { .dir = dir, .argv = argv };
	struct ofs_sandbox_end end;
	struct ofs_error err;

	if (!dir)
		ofs_error_set(&err, ENOENT, "the current directory no longer exists");
	if (!dir || prepare(&t, &err, &sandbox.cover) < 0)
		return refuse(&err);
	set_environment(&t);
	if (ofs_sandbox_run(&sandbox, &err, &end) < 0)
		return refuse(&err);
	if (!end.error)
		return ofs_sandbox_end_like(end.status);
	ofs_report("cannot run '%s': %s", argv[0], strerror(end.error));
	return end.error == ENOENT || end.error == ENOTDIR ? RUN_EXIT_NOT_FOUND : RUN_EXIT_CANNOT;
}

/* ---- the command */

/* Allocated: one that is named here is an agent of the one whose tree is used. */
static char *full_name(const char *name)
{
	const char *above = ofs_command_target.agent ? ofs_command_target.agent
						     : getenv("OFFLOAD_AGENT");

	return above && *above ? ofs_format("%s/%s", above, name) : ofs_strdup(name);
}

static int agent_choose(const struct ofs_command *self, int argc, char **argv)
{
	OFS_FREE char *name = NULL;

	if (strcmp(argv[0], "run") != 0)
		return ofs_report_usage("'%s' is not run", argv[0]);
	if (argc < 2)
		return ofs_report_usage("%s which agent?", argv[0]);
	if (argc < 3)
		return ofs_report_usage("no command given: offload agent run %s -- CMD...",
					argv[1]);
	name = full_name(argv[1]);
	ofs_command_target.agent = name;
	return agent_run((const char *const *)argv + 2);
}

const struct ofs_command ofs_cmd_agent = {
	.name = "agent",
	.synopsis = "run AGENT -- CMD...",
	.summary = "Runs a command in the tree of an agent",
	.help = "  run AGENT -- CMD...  run a command for which the mount is this agent's tree, and\n"
		"                       that can reach nothing else of the store\n",
	.operands = OFS_OPERANDS_ANY,
	.missing = "no word given: run",
	.unknown = "; a command to run, with its options, goes after --",
	.run = agent_choose,
};
