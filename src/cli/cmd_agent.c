/* SPDX-License-Identifier: MIT */
/* offload agent: runs a command in the tree of an agent; lists, shows and ends agents. */
#include <fcntl.h>

#include "cli/command.h"
#include "cli/ending.h"
#include "cli/report.h"
#include "cli/sandbox.h"
#include "client/agent_list.h"
#include "client/naming.h"
#include "client/target.h"
#include "io/file.h"
#include "io/path.h"
#include "service/http/bearer.h"
#include "store/owner.h"

/* Exit codes of `run`, as of env(1) and other programs that run a command. */
#define RUN_EXIT_REFUSED 125
#define RUN_EXIT_CANNOT 126
#define RUN_EXIT_NOT_FOUND 127

/* ---- run */

/*
 * Finds the store's directory, whose owner must say that it serves a mount of this tree. *ret stays
 * zero if the caller cannot reach it anyway: inside another sandbox, or in a container that has
 * only the tree of an agent, the store is already cut off.
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
				     "the store of '%s' is no longer at '%s', so it cannot be "
				     "hidden: end its daemon and mount it again",
				     t->mountpoint, t->store);
	return 0;
}

/* Inside, the tree is found from any directory, and the agent's tree is the whole. */
static void set_environment(const struct ofs_target *t)
{
	unsetenv("OFFLOAD_AGENT");
	unsetenv("OFFLOAD_STORE");
	setenv("OFFLOAD_DIR", t->mountpoint, true);
}

/* Creates the agent and sets what is to be hidden from it. */
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
	OFS_FREE char *dir = ofs_path_cwd(), *servers = ofs_bearer_folder();
	struct ofs_sandbox sandbox = { .dir = dir, .argv = argv };
	struct ofs_sandbox_end end;
	struct ofs_error err;

	if (!dir)
		ofs_error_set(&err, ENOENT, "the current directory no longer exists");
	if (!dir || prepare(&t, &err, &sandbox.cover) < 0)
		return refuse(&err);
	/* Made now, so that a server which starts later is hidden as well. */
	if (servers)
		ofs_path_make(servers, S_IRWXU);
	sandbox.cover.servers = servers;
	set_environment(&t);
	if (ofs_sandbox_run(&sandbox, &err, &end) < 0)
		return refuse(&err);
	if (!end.error)
		return ofs_sandbox_end_like(end.status);
	ofs_report("cannot run '%s': %s", argv[0], strerror(end.error));
	return end.error == ENOENT || end.error == ENOTDIR ? RUN_EXIT_NOT_FOUND : RUN_EXIT_CANNOT;
}

/* ---- the files of an agent */

static bool dry_run, drop_all;

static const struct ofs_option options[] = {
	OFS_FLAG(0, "dry-run", &dry_run,
		 "with done: remove nothing, list what would be removed and what not"),
	OFS_FLAG(0, "drop-all", &drop_all,
		 "with done: remove all of its files, persistent/ and archive/ too"),
	OFS_OPTIONS_END,
};

struct agent {
	struct ofs_access access;
	struct ofs_backend *b; /* of the tree that contains the agent's */
	const char *name; /* "a/b"; NULL: all */
	char *dir; /* "agents/a/agents/b" */
	json_t *list; /* with --json: collects what is printed otherwise */
	struct ofs_files *files; /* gather_more() adds to it; borrowed */
};

static int failed(int r, const char *what, const char *path)
{
	return ofs_report("cannot %s '%s': %s", what, path, ofs_backend_strerror(-r));
}

static int gather_more(void *arg, const char *dir)
{
	struct agent *a = arg;

	return ofs_agents_gather(a->b, dir, a->files);
}

static char *state_of(struct agent *a, const char *dir)
{
	char *state;

	return ofs_backend_attribute(a->b, dir, "state", &state) < 0 ? NULL : state;
}

/* ---- list and show */

static int agent_list(struct agent *a)
{
	json_t *agents, *each;
	int code = OFS_EXIT_OK, r = ofs_agents_load(a->b, &agents);
	size_t i;

	if (r < 0)
		return failed(r, "list", "agents");
	json_array_foreach(agents, i, each) code |=
		ofs_print_item(a->list, json_incref(each),
			       "{name}  {state|live}  {files:file}  {bytes:byte}[  used {used}]\n");
	json_decref(agents);
	return a->list ? ofs_print_json(json_pack("{s:O}", "agents", a->list), "") : code;
}

static int agent_show(struct agent *a)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	OFS_FREE char *state = state_of(a, a->dir);
	int r = ofs_agents_gather(a->b, a->dir, &files), code = OFS_EXIT_OK;

	if (r < 0)
		return failed(r, "list", a->dir);
	for (size_t i = 0; i < files.count; i++)
		code |= ofs_print_item(a->list, ofs_file_describe(a->b, &files.list[i]),
				       "{path}  {ref|-}  {size:byte}[  {lifecycle}]\n");
	if (!a->list)
		return code;
	return code | ofs_print_json(json_pack("{s:s, s:o, s:O}", "name", a->name, "state",
					       ofs_json_string(state), "files", a->list),
				     a->name);
}

/* ---- done */

static bool is_working(const struct agent *a, const struct ofs_file *file)
{
	for (size_t i = 0; i < OFS_AGENT_WORKING_TOPS; i++) {
		OFS_FREE char *top = ofs_path_join(a->dir, ofs_agent_tops[i]);

		if (ofs_path_below(top, file->path))
			return true;
	}
	return false;
}

static bool has(struct agent *a, const struct ofs_file *file, const char *name, const char *value)
{
	OFS_FREE char *is = NULL;

	return ofs_backend_attribute(a->b, file->path, name, &is) == 0 && strcmp(is, value) == 0;
}

/* Reports what ending the agent would do. Its working tier is treated like that of a task. */
static int would(struct agent *a, struct ofs_ending *e, const struct ofs_files *files)
{
	int code = OFS_EXIT_OK;

	for (size_t i = 0; i < files->count; i++) {
		const struct ofs_file *file = &files->list[i];
		const char *action = "remove";
		json_t *item;

		if (!drop_all && !is_working(a, file))
			continue;
		if (!drop_all && (has(a, file, "important", "1") || has(a, file, "ttl", "never")))
			action = "promote";
		item = ofs_file_describe(a->b, file);
		json_object_del(item, "lifecycle");
		json_object_set_new(item, "action", json_string(action));
		json_object_set_new(item, "why", json_string("its agent would have ended"));
		json_object_set_new(item, "at", json_null());
		json_object_set_new(item, "to", json_null());
		code |= ofs_ending_take(e, item);
		json_decref(item);
	}
	return code;
}

/* Removes a directory with everything in it, links included. 0 or -errno. */
static int remove_all(struct agent *a, const char *dir)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files here = { 0 };
	int r = ofs_files_list(a->b, dir, &here);

	for (size_t i = 0; i < here.count && r == 0; i++) {
		const struct ofs_file *each = &here.list[i];

		r = S_ISDIR(each->attr.st_mode) ? remove_all(a, each->path)
						: a->b->ops->unlink(a->b, each->path);
		r = r == -ENOENT ? 0 : r;
	}
	return r < 0 ? r : a->b->ops->rmdir(a->b, dir);
}

/* Does the same for an agent's tree. Its directories can only be emptied; they go with the tree. */
static int remove_tree(struct agent *a, const char *dir)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files here = { 0 };
	OFS_FREE char *agents = ofs_path_join(dir, "agents");
	int r = 0;

	for (size_t i = 0; i < OFS_AGENT_TOPS && r == 0; i++) {
		OFS_FREE char *top = ofs_path_join(dir, ofs_agent_tops[i]);

		r = ofs_files_list(a->b, top, &here);
		r = r == -ENOENT ? 0 : r;
	}
	for (size_t i = 0; i < here.count && r == 0; i++)
		r = S_ISDIR(here.list[i].attr.st_mode) ? remove_all(a, here.list[i].path)
						       : a->b->ops->unlink(a->b, here.list[i].path);
	ofs_files_finish(&here);
	if (r == 0)
		r = ofs_files_list(a->b, agents, &here);
	r = r == -ENOENT ? 0 : r;
	for (size_t i = 0; i < here.count && r == 0; i++)
		if (S_ISDIR(here.list[i].attr.st_mode))
			r = remove_tree(a, here.list[i].path);
	return r < 0 ? r : a->b->ops->rmdir(a->b, dir);
}

static int end_agent(struct agent *a, struct ofs_ending *e, struct ofs_error *err)
{
	int r = ofs_backend_set_attribute(a->b, a->dir, "state",
					  drop_all ? "done drop-all" : "done");

	if (r == -EOPNOTSUPP || r == -EINVAL || r == -ENODATA)
		return ofs_error_set(err, -r,
				     "the daemon is older than this tool and knows no states of "
				     "agents: mount the tree again");
	if (r < 0)
		return ofs_error_set(err, -r, "cannot end '%s': %s", a->name,
				     ofs_backend_strerror(-r));
	return ofs_collection_run(&e->job, false, NULL, err);
}

/* Reports what is left; with --drop-all, removes it. */
static int tell_rest(struct agent *a, struct ofs_ending *e)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = { 0 };
	int code = OFS_EXIT_OK, r = ofs_agents_gather(a->b, a->dir, &files);

	a->files = &files;
	if (r == 0 && drop_all)
		r = ofs_agents_each(a->b, a->dir, gather_more, a);
	if (r < 0)
		return failed(r, "list", a->dir);
	if (dry_run || drop_all)
		code = would(a, e, &files);
	code |= ofs_ending_take_rest(e, &files);
	if (dry_run || !drop_all)
		return code;
	r = remove_tree(a, a->dir);
	return r < 0 && r != -ENOENT ? failed(r, "remove", a->dir) : code;
}

static int sum_up(struct agent *a, const struct ofs_ending *e)
{
	json_t *json = ofs_ending_sum(e);

	json_object_set_new(json, "agent", json_string(a->name));
	if (ofs_command_json)
		return ofs_print_json(json, a->name);
	if (!dry_run)
		ofs_job_print_untold(&e->job, "file", stdout);
	return ofs_print_item(
		NULL, json,
		dry_run ? "offload: agent '{agent}' would be done: [{+promoted:file} would be "
			  "promoted, ]{removed:file} would be removed, {removed_bytes:size}; "
			  "{kept} would be kept\n"
			: "offload: agent '{agent}' is done: [{+promoted:file} promoted, "
			  "]{removed:file} removed, {removed_bytes:size}; {kept} kept\n");
}

static int agent_done(struct agent *a)
{
	struct ofs_ending e;
	struct ofs_error err;
	int r = 0, code;

	ofs_ending_init(&e, &a->access, a->dir, true, dry_run);
	if (!dry_run)
		r = end_agent(a, &e, &err);
	if (r == -EINTR) {
		ofs_report("the agent is done; its remaining files are removed in time");
		code = ofs_job_exit_code();
	} else if (r < 0) {
		code = ofs_report("%s", err.text);
	} else {
		code = tell_rest(a, &e);
		code = code == OFS_EXIT_OK ? sum_up(a, &e) : code;
	}
	ofs_ending_finish(&e);
	return code;
}

/* ---- the command */

static const struct verb {
	const char *word;
	bool named; /* it takes the name of an agent */
	int (*run)(struct agent *a);
} verbs[] = {
	{ "list", false, agent_list },
	{ "show", true, agent_show },
	{ "done", true, agent_done },
};

/* Sets a->dir. Returns -ENOENT if the tree has no such agent. */
static int check(struct agent *a, struct ofs_error *err)
{
	struct stat st;
	int r = ofs_naming_agent("the name", a->name, err, &a->dir);

	if (r < 0)
		return r;
	r = a->b->ops->lstat(a->b, a->dir, &st);
	if (r == 0 && S_ISDIR(st.st_mode))
		return 0;
	return ofs_error_set(err, ENOENT,
			     "there is no agent '%s'; 'offload agent list' shows the existing ones",
			     a->name);
}

static int run_verb(const struct verb *verb, const char *name)
{
	struct agent a = { .name = name, .list = ofs_command_json ? json_array() : NULL };
	struct ofs_error err;
	int code;

	ofs_access_init(&a.access, &ofs_command_target);
	if (ofs_access_open(&a.access, false, &err) < 0)
		code = ofs_report("%s", err.text);
	else if (a.b = a.access.backend, verb->named && check(&a, &err) < 0)
		code = ofs_report("%s", err.text);
	else
		code = verb->run(&a);
	ofs_access_finish(&a.access);
	json_decref(a.list);
	free(a.dir);
	return code;
}

/* Returns an allocated name: `name` is relative to the agent whose tree is used, if any. */
static char *full_name(const char *name)
{
	const char *above = ofs_command_target.agent ? ofs_command_target.agent
						     : getenv("OFFLOAD_AGENT");

	return above && *above ? ofs_format("%s/%s", above, name) : ofs_strdup(name);
}

static int choose_run(int argc, char **argv)
{
	OFS_FREE char *name = NULL;

	if (argc < 2)
		return ofs_report_usage("run which agent?");
	if (argc < 3)
		return ofs_report_usage("no command given: offload agent run %s -- CMD...",
					argv[1]);
	name = full_name(argv[1]);
	ofs_command_target.agent = name;
	return agent_run((const char *const *)argv + 2);
}

static int agent_choose(const struct ofs_command *self, int argc, char **argv)
{
	const struct verb *verb = argc ? NULL : &verbs[0];

	for (size_t i = 0; !verb && i < OFS_ARRAY_SIZE(verbs); i++)
		if (strcmp(verbs[i].word, argv[0]) == 0)
			verb = &verbs[i];
	if ((dry_run || drop_all) && (!verb || verb->run != agent_done))
		return ofs_report_usage("%s is for 'done' only",
					dry_run ? "--dry-run" : "--drop-all");
	if (!verb && strcmp(argv[0], "run") == 0)
		return choose_run(argc, argv);
	if (!verb)
		return ofs_report_usage("unknown action '%s': there are run, list, show and done",
					argv[0]);
	if (verb->named && argc < 2)
		return ofs_report_usage("%s which agent?", verb->word);
	if (argc > 1 + verb->named)
		return ofs_report_usage("unexpected argument '%s'", argv[1 + verb->named]);
	return run_verb(verb, verb->named ? argv[1] : NULL);
}

const struct ofs_command ofs_cmd_agent = {
	.name = "agent",
	.synopsis = "run AGENT -- CMD...\n"
		    "       offload agent [list | show AGENT] [--json]\n"
		    "       offload agent done AGENT [--drop-all] [--dry-run] [--json]",
	.summary = "Runs a command in an agent's tree; lists, shows and ends agents",
	.help = "  run AGENT -- CMD   run a command that has this agent's tree in place of the mount,\n"
		"                     and can reach nothing else of the store; the exit code is the\n"
		"                     command's, or 125 if it was not run\n"
		"  list               each agent: its state, files and bytes, and when it was last\n"
		"                     used (the default); a/b is an agent of a\n"
		"  show AGENT         its files: path, ref, size, and when they are removed\n"
		"  done AGENT         end it: its persistent/ and archive/ stay, its other files\n"
		"                     are removed as at the end of a task\n",
	.options = options,
	.json = "print a JSON object",
	.operands = OFS_OPERANDS_ANY,
	.unknown = "; a command to run, with its options, goes after --",
	.run = agent_choose,
};
