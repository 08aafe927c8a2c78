/* SPDX-License-Identifier: MIT */
/* offload doctor: reports what is in order here, what is not, and what to do about it. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/checks.h"
#include "cli/command.h"
#include "cli/daemon.h"
#include "cli/exclude.h"
#include "cli/report.h"
#include "client/target.h"
#include "client/workspace.h"
#include "io/mounts.h"
#include "io/path.h"

/* Exit codes of this command. */
enum {
	DOCTOR_HEALTHY = 0,
	DOCTOR_PROBLEMS = 1,
	DOCTOR_FAILED = 2
};

struct doctor {
	const char *operand; /* NULL: none */
	struct ofs_mounts mounts;
	/* One for each mount. */
	enum ofs_mount_state *states;
	json_t **status; /* NULL: unknown */
	struct ofs_target target;
};

/* ---- the mounts */

static int ask_mount(const void *arg, char *text)
{
	const struct ofs_mount *m = arg;
	json_t *status;

	if (!ofs_mount_is_alive(m))
		return OFS_MOUNT_DEAD;
	status = ofs_daemon_status(m->point);
	if (status)
		json_dumpb(status, text, OFS_PROBE_TEXT - 1, 0);
	return OFS_MOUNT_ALIVE;
}

/* Mounts that were silent once are not asked again. */
static void probe_mounts(struct doctor *d)
{
	for (size_t i = 0; i < d->mounts.count; i++) {
		OFS_FREE char *text = NULL;
		int r;

		if (d->states[i] == OFS_MOUNT_SILENT)
			continue;
		r = ofs_probe_run(ask_mount, &d->mounts.list[i], OFS_MOUNT_WAIT_NS, &text);
		d->states[i] = r == OFS_MOUNT_ALIVE || r == OFS_MOUNT_DEAD ? (enum ofs_mount_state)r
									   : OFS_MOUNT_SILENT;
		json_decref(d->status[i]);
		d->status[i] = text ? json_loads(text, 0, NULL) : NULL;
	}
}

/* Returns allocated text, quoted for a shell. */
static char *shell_word(const char *text)
{
	return ofs_text_command((const char *const[]){ text, NULL });
}

/* Reports a dead or silent mount. */
static void tell_mount(struct doctor *d, size_t i, enum ofs_state state, const char *name)
{
	const struct ofs_mount *m = &d->mounts.list[i];
	const char *unmount = geteuid() == 0 ? "umount -l" : "fusermount3 -u -z";
	OFS_FREE char *point = shell_word(m->point);

	if (d->states[i] == OFS_MOUNT_DEAD)
		ofs_found(state, name,
			  "%s is the mount of a daemon that died; the store %s has everything\n"
			  "-> %s %s; mounting there again also does that",
			  m->point, m->source, unmount, point);
	else
		ofs_found(state, name,
			  "%s: its daemon is running, but does not answer (store %s)\n"
			  "-> end the process that %s/lock names, then: %s %s",
			  m->point, m->source, m->source, unmount, point);
}

/* Returns allocated words that lead `offload up` to the tree, each after a blank. */
static char *up_hint(const struct doctor *d)
{
	OFS_FREE char *word = NULL;

	if (d->target.hint || !d->operand || !d->target.workspace)
		return ofs_strdup(d->target.hint ? d->target.hint : "");
	word = shell_word(d->target.workspace);
	return ofs_format(" %s", word);
}

static void check_status(const json_t *status)
{
	const char *state = json_string_value(json_object_get(status, "state"));
	const char *error = json_string_value(json_object_get(status, "error"));
	const char *warning = json_string_value(json_object_get(status, "warning"));

	if (!state)
		return;
	if (strcmp(state, "ok") != 0)
		ofs_found(OFS_PROBLEM, "state",
			  "%s%s%s: nothing more can be written\n"
			  "-> %s; journalctl -t offloadfs says more",
			  state, error ? ": " : "", error ? error : "",
			  strcmp(state, "disk full") == 0
				  ? "remove files from the tree, or make room on the store's disk"
				  : "correct that, then: offload down; offload up");
	else if (error)
		ofs_found(OFS_WARNING, "state",
			  "ok, but the daemon's last try to seal failed: %s\n"
			  "-> journalctl -t offloadfs says what it tried",
			  error);
	else
		ofs_found(OFS_FINE, "state", "%s", state);
	if (warning)
		ofs_found(OFS_WARNING, "state", "%s\n-> offload verify", warning);
}

/* After an upgrade, the old daemon serves until the next mount. */
static void check_version(const json_t *status)
{
	const char *version = json_string_value(json_object_get(status, "version"));

	if (version && strcmp(version, OFS_VERSION) != 0)
		ofs_found(OFS_NOTE, "version",
			  "the daemon that serves it has version %s, this tool " OFS_VERSION
			  "\n-> offload down, then offload up",
			  version);
}

static void check_replication(const json_t *status)
{
	const json_t *remote = json_object_get(status, "remote");
	const char *state = json_string_value(json_object_get(remote, "state"));
	const char *error = json_string_value(json_object_get(remote, "error"));

	if (!state)
		return;
	if (strcmp(state, "deposed") == 0)
		ofs_found(
			OFS_PROBLEM, "remote",
			"another host has taken the store over: nothing more can be written here\n"
			"-> offload salvage keeps what that host lacks; continue work there");
	else if (error)
		ofs_found(OFS_WARNING, "remote", "%s: %s\n-> offload remote status", state, error);
	else
		ofs_found(OFS_FINE, "remote", "%s", state);
}

static void check_mount(struct doctor *d)
{
	const struct ofs_target *t = &d->target;
	OFS_FREE char *hint = up_hint(d);
	size_t i = d->mounts.count;

	/* The last mount at a path covers earlier ones. */
	while (t->mountpoint && i > 0 && strcmp(d->mounts.list[i - 1].point, t->mountpoint) != 0)
		i--;
	if (!t->mountpoint)
		ofs_found(OFS_NOTE, "mount",
			  "the store is not mounted\n"
			  "-> offloadfs STORE MOUNTPOINT mounts it; offload also works without");
	else if (i == 0)
		ofs_found(OFS_NOTE, "mount",
			  "nothing is mounted at %s\n"
			  "-> offload up%s mounts it; offload also works without",
			  t->mountpoint, hint);
	else if (d->states[i - 1] != OFS_MOUNT_ALIVE)
		tell_mount(d, i - 1, OFS_PROBLEM, "mount");
	else
		ofs_found(OFS_FINE, "mount", "%s (store %s)", t->mountpoint, t->store);
	if (i > 0) {
		check_status(d->status[i - 1]);
		check_version(d->status[i - 1]);
		check_replication(d->status[i - 1]);
	}
}

/* Checks all mounts except that of the tree in question. */
static void check_others(struct doctor *d)
{
	const char *ours = d->target.mountpoint;
	size_t alive = 0;

	for (size_t i = 0; i < d->mounts.count; i++) {
		if (ours && strcmp(d->mounts.list[i].point, ours) == 0)
			continue;
		if (d->states[i] == OFS_MOUNT_ALIVE)
			alive++;
		else
			tell_mount(d, i, OFS_WARNING, "others");
	}
	if (alive)
		ofs_found(OFS_FINE, "others", "%zu more mounted", alive);
}

/* ---- git */

static void check_exclude(const void *arg)
{
	const struct doctor *d = arg;
	OFS_CLEANUP(ofs_exclude_finish) struct ofs_exclude e = { 0 };
	const char *point = d->target.mountpoint;
	OFS_FREE char *workspace = point ? ofs_path_parent(point) : NULL;
	int r;

	if (!point || strcmp(strrchr(point, '/') + 1, OFS_WORKSPACE_MOUNT) != 0)
		return;
	r = ofs_exclude_find(workspace, point, &e);
	if (r == -ENOENT) {
		ofs_found(OFS_FINE, "exclude", "%s is not in a git repository", workspace);
	} else if (r < 0) {
		ofs_found(OFS_WARNING, "exclude",
			  "git's info/exclude cannot be read: %s\n-> give yourself rights to it",
			  strerror(-r));
	} else if (e.is_there) {
		ofs_found(OFS_FINE, "exclude", OFS_WORKSPACE_MOUNT " is in git's info/exclude");
	} else if (!d->target.mounted) {
		ofs_found(OFS_NOTE, "exclude",
			  OFS_WORKSPACE_MOUNT
			  " is not in git's info/exclude yet\n-> offload up adds it");
	} else {
		OFS_FREE char *file = shell_word(e.file), *line = shell_word(e.line);

		ofs_found(OFS_WARNING, "exclude",
			  OFS_WORKSPACE_MOUNT " is not in git's info/exclude: git sees it\n"
					      "-> echo %s >> %s",
			  line, file);
	}
}

/* ---- the tree in question */

enum found_tree {
	TREE_ERROR, /* the text says which */
	TREE_FOUND,
	TREE_MOUNTED, /* and its daemon is alive */
	TREE_SILENT,
};

/* The strings in the text of the probe, in this order. Each ends with NUL; "" stands for NULL. */
static const size_t target_strings[] = {
	offsetof(struct ofs_target, workspace),
	offsetof(struct ofs_target, mountpoint),
	offsetof(struct ofs_target, store),
	offsetof(struct ofs_target, hint),
};

static char **target_string(struct ofs_target *t, size_t i)
{
	return (char **)((char *)t + target_strings[i]);
}

static int try_find(const void *arg, char *text)
{
	const struct doctor *d = arg;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf found = OFS_BUF_INIT;
	struct ofs_error err;
	struct ofs_target t;
	int r;

	ofs_command_target.whole = true;
	r = ofs_target_find_operand(&ofs_command_target, d->operand, &err, &t);

	if (r < 0) {
		strcpy(text, err.text);
		return r == -ETIMEDOUT ? TREE_SILENT : TREE_ERROR;
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(target_strings); i++) {
		const char *string = *target_string(&t, i);

		ofs_buf_append(&found, string ? string : "", string ? strlen(string) + 1 : 1);
	}
	memcpy(text, found.data, OFS_MIN(found.len, OFS_PROBE_TEXT - 1));
	return t.mounted ? TREE_MOUNTED : TREE_FOUND;
}

static void take_target(struct doctor *d, const char *text, bool mounted)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(target_strings); i++) {
		if (*text)
			*target_string(&d->target, i) = ofs_strdup(text);
		text += strlen(text) + 1;
	}
	d->target.mounted = mounted;
}

/*
 * Finding the tree examines mounts. If it waits for one that does not answer, that is the tree in
 * question.
 */
static int find_tree(struct doctor *d)
{
	OFS_FREE char *text = NULL;
	int r = ofs_probe_run(try_find, d, OFS_CHECK_WAIT_NS, &text);
	size_t i = 0;

	if (r == TREE_FOUND || r == TREE_MOUNTED) {
		take_target(d, text, r == TREE_MOUNTED);
		return 0;
	}
	r = r == TREE_SILENT ? -ETIMEDOUT : r;
	if (r == -ETIMEDOUT) /* a mount may have stopped answering since */
		probe_mounts(d);
	while (r == -ETIMEDOUT && i < d->mounts.count && d->states[i] != OFS_MOUNT_SILENT)
		i++;
	if (r != -ETIMEDOUT || i == d->mounts.count)
		return ofs_report(
			"%s", r == TREE_ERROR
				      ? text
				      : "cannot look for the tree: a filesystem does not answer");
	d->target.mountpoint = ofs_strdup(d->mounts.list[i].point);
	d->target.store = ofs_strdup(d->mounts.list[i].source);
	return 0;
}

static void check_machine(const void *mounted)
{
	ofs_check_machine(mounted != NULL);
}

/* Returns true in an agent's tree, in a sandbox or container, where no store can be examined. */
static bool is_of_agent(const struct doctor *d)
{
	const struct ofs_mount *m =
		d->target.mountpoint ? ofs_mounts_at(&d->mounts, d->target.mountpoint) : NULL;

	return m && strcmp(m->root, "/") != 0;
}

static void check_store(const void *arg)
{
	const struct doctor *d = arg;

	if (is_of_agent(d))
		ofs_found(OFS_NOTE, "store", "hidden: this is the tree of an agent");
	else
		ofs_check_store(d->target.store, d->target.mounted);
}

static void check_tools(const void *unused)
{
	(void)unused;
	ofs_check_tools();
}

/* Work that might wait for a filesystem that does not answer is left to a child. */
static int examine(struct doctor *d)
{
	ofs_mounts_read(NULL, &d->mounts);
	d->states = ofs_alloc((d->mounts.count + 1) * sizeof(*d->states));
	d->status = ofs_alloc((d->mounts.count + 1) * sizeof(*d->status));
	probe_mounts(d);
	if (find_tree(d) != 0)
		return DOCTOR_FAILED;
	ofs_probe_check("machine", check_machine, d->target.mounted ? d : NULL);
	check_mount(d);
	check_others(d);
	ofs_probe_check("store", check_store, d);
	ofs_probe_check("exclude", check_exclude, d);
	ofs_probe_check("tools", check_tools, NULL);
	ofs_findings_print(ofs_command_json, stdout);
	if (ferror(stdout) && errno != EPIPE) /* main() reports that */
		return DOCTOR_FAILED;
	return ofs_findings_count(OFS_PROBLEM) ? DOCTOR_PROBLEMS : DOCTOR_HEALTHY;
}

static int doctor_run(const struct ofs_command *self, int argc, char **argv)
{
	struct doctor d = { .operand = argc ? argv[0] : NULL };
	int code = ofs_command_check_place(argc, argv);

	if (code >= 0)
		return code;
	code = examine(&d);
	ofs_target_finish(&d.target);
	ofs_findings_clear();
	for (size_t i = 0; i < d.mounts.count; i++)
		json_decref(d.status[i]);
	ofs_mounts_finish(&d.mounts);
	free(d.states);
	free(d.status);
	return code;
}

const struct ofs_command ofs_cmd_doctor = {
	.name = "doctor",
	.synopsis = "[--json] [WORKSPACE|MOUNT|STORE]",
	.summary = "Checks the machine, the mount and the store, and says what to do",
	.help = "Checks the kernel, /dev/fuse, the daemon, FUSE over io_uring, fusermount3, mounts\n"
		"whose daemon is dead, the mount's state, and the store: rights, lock, format,\n"
		"config.ini, room; and says what would make it faster or safer here. Changes\n"
		"nothing, and needs neither a mount nor a store.\n",
	.notes = "Each line starts with ok, note, warning or problem. Exits with 0 when there\n"
		 "is no problem, with 1 when there is, with 2 when it could not check.\n",
	.json = "print a JSON object: checks (name, state, found, advice)\n"
		"and problems, their number",
	.operands = 1,
	.no_content = true,
	.run = doctor_run,
};
