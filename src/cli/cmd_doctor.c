/* SPDX-License-Identifier: MIT */
/* offload doctor: what is in order here, what is not, and what to do about it. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/checks.h"
#include "cli/command.h"
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

enum mount_state {
	MOUNT_ALIVE,
	MOUNT_DEAD, /* its daemon was killed */
	MOUNT_SILENT, /* its daemon is there and does not answer */
};

struct doctor {
	const char *operand; /* NULL: none */
	struct ofs_mounts mounts;
	enum mount_state *states; /* of each of them */
	struct ofs_target target;
};

/* ---- the mounts */

static int ask_mount(const void *arg, char *text)
{
	(void)text;
	return ofs_mount_is_alive(arg) ? MOUNT_ALIVE : MOUNT_DEAD;
}

static void probe_mounts(struct doctor *d)
{
	ofs_mounts_read(NULL, &d->mounts);
	d->states = ofs_alloc((d->mounts.count + 1) * sizeof(*d->states));
	for (size_t i = 0; i < d->mounts.count; i++) {
		int r = ofs_probe_run(ask_mount, &d->mounts.list[i], NULL);

		d->states[i] = r == MOUNT_ALIVE || r == MOUNT_DEAD ? (enum mount_state)r
								   : MOUNT_SILENT;
	}
}

/* Allocated: a word of a shell's command line. */
static char *shell_word(const char *text)
{
	return ofs_text_command((const char *const[]){ text, NULL });
}

/* Tells of one that is dead or silent. */
static void tell_mount(struct doctor *d, size_t i, enum ofs_state state, const char *name)
{
	const struct ofs_mount *m = &d->mounts.list[i];
	const char *unmount = geteuid() == 0 ? "umount -l" : "fusermount3 -u -z";
	OFS_FREE char *point = shell_word(m->point);

	if (d->states[i] == MOUNT_DEAD)
		ofs_found(state, name,
			  "%s is the mount of a daemon that died; the store %s has it all\n"
			  "-> %s %s; mounting there again does that, too",
			  m->point, m->source, unmount, point);
	else
		ofs_found(state, name,
			  "%s: its daemon is there and does not answer (store %s)\n"
			  "-> end the process that %s/lock names, then: %s %s",
			  m->point, m->source, m->source, unmount, point);
}

/* Allocated: the words that lead `offload up` to the tree, each with a blank before it. */
static char *up_hint(const struct doctor *d)
{
	OFS_FREE char *word = NULL;

	if (*d->target.hint || !d->operand || !d->target.workspace)
		return ofs_strdup(d->target.hint);
	word = shell_word(d->target.workspace);
	return ofs_format(" %s", word);
}

static void check_mount(struct doctor *d)
{
	const struct ofs_target *t = &d->target;
	OFS_FREE char *hint = up_hint(d);
	size_t i = d->mounts.count;

	/* The last one covers those before it. */
	while (t->mountpoint && i > 0 && strcmp(d->mounts.list[i - 1].point, t->mountpoint) != 0)
		i--;
	if (!t->mountpoint)
		ofs_found(OFS_NOTE, "mount",
			  "the store is not mounted\n"
			  "-> offloadfs STORE MOUNTPOINT mounts it; offload works without, too");
	else if (i == 0)
		ofs_found(OFS_NOTE, "mount",
			  "nothing is mounted at %s\n"
			  "-> offload up%s mounts it; offload works without, too",
			  t->mountpoint, hint);
	else if (d->states[i - 1] != MOUNT_ALIVE)
		tell_mount(d, i - 1, OFS_PROBLEM, "mount");
	else
		ofs_found(OFS_FINE, "mount", "%s (store %s)", t->mountpoint, t->store);
}

/* Those that are not the one in question. */
static void check_others(struct doctor *d)
{
	const char *ours = d->target.mountpoint;
	size_t alive = 0;

	for (size_t i = 0; i < d->mounts.count; i++) {
		if (ours && strcmp(d->mounts.list[i].point, ours) == 0)
			continue;
		if (d->states[i] == MOUNT_ALIVE)
			alive++;
		else
			tell_mount(d, i, OFS_WARNING, "others");
	}
	if (alive)
		ofs_found(OFS_FINE, "others", "%zu more mounted", alive);
}

/* ---- git */

static void check_exclude(struct doctor *d)
{
	OFS_CLEANUP(ofs_exclude_finish) struct ofs_exclude e = { 0 };
	const char *point = d->target.mountpoint;
	OFS_FREE char *workspace = point ? ofs_path_parent(point) : NULL;
	int r;

	if (!point || strcmp(strrchr(point, '/') + 1, OFS_WORKSPACE_MOUNT) != 0)
		return;
	r = ofs_exclude_find(workspace, point, &e);
	if (r == -ENOENT) {
		ofs_found(OFS_FINE, "exclude", "%s is in no git repository", workspace);
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

static int try_find(const void *arg, char *text)
{
	const struct doctor *d = arg;
	struct ofs_target target;

	(void)text;
	if (ofs_target_find_operand(&ofs_command_target, d->operand, NULL, &target) == 0)
		ofs_target_finish(&target);
	return 0;
}

/*
 * Finding the tree looks at mounts, and waits for one that does not answer: that one is then the
 * tree in question.
 */
static int find_tree(struct doctor *d, struct ofs_error *err)
{
	size_t i = 0;

	while (i < d->mounts.count && d->states[i] != MOUNT_SILENT)
		i++;
	if (i == d->mounts.count || ofs_probe_run(try_find, d, NULL) != -ETIMEDOUT)
		return ofs_target_find_operand(&ofs_command_target, d->operand, err, &d->target);
	d->target = (struct ofs_target){
		.mountpoint = ofs_strdup(d->mounts.list[i].point),
		.store = ofs_strdup(d->mounts.list[i].source),
		.hint = ofs_strdup(""),
	};
	return 0;
}

static int examine(struct doctor *d)
{
	struct ofs_error err;

	probe_mounts(d);
	if (find_tree(d, &err) < 0) {
		ofs_report("%s", err.text);
		return DOCTOR_FAILED;
	}
	ofs_check_machine(d->target.mounted);
	check_mount(d);
	check_others(d);
	ofs_check_store(d->target.store);
	check_exclude(d);
	ofs_check_tools();
	ofs_findings_print(ofs_command_json, stdout);
	if (ferror(stdout) && errno != EPIPE) /* main() says so */
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
	ofs_mounts_finish(&d.mounts);
	free(d.states);
	return code;
}

const struct ofs_command ofs_cmd_doctor = {
	.name = "doctor",
	.synopsis = "[--json] [WORKSPACE|MOUNT|STORE]",
	.summary = "Checks the machine, the mount and the store, and says what to do",
	.help = "Looks at kernel, /dev/fuse, the daemon, FUSE over io_uring, fusermount3,\n"
		"mounts whose daemon is dead, and the store: rights, owner, lock, format,\n"
		"config.ini, room. Changes nothing, and needs neither a mount nor a store.\n",
	.notes = "Each line starts with ok, note, warning or problem. Exits with 0 when there\n"
		 "is no problem, with 1 when there is, with 2 when it could not look.\n",
	.json = "print a JSON object: checks (name, state, found, advice)\n"
		"and problems, their number",
	.operands = 1,
	.no_content = true,
	.run = doctor_run,
};
