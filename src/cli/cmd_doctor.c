/* SPDX-License-Identifier: MIT */
/* offload doctor: what is in order here, what is not, and what to do about it. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/checks.h"
#include "cli/exclude.h"
#include "cli/findings.h"
#include "cli/command.h"
#include "cli/probe.h"
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
	struct ofs_target_options options;
	const char *operand; /* NULL: none */
	bool json;
	struct ofs_mounts mounts;
	enum ofs_probe_mount *states; /* of each of them */
	struct ofs_target target;
	struct ofs_findings findings;
};

static void doctor_finish(struct doctor *d)
{
	ofs_target_finish(&d->target);
	ofs_findings_finish(&d->findings);
	ofs_mounts_finish(&d->mounts);
	free(d->states);
}

/* ---- the mounts */

static void doctor_probe_mounts(struct doctor *d)
{
	ofs_mounts_read(NULL, &d->mounts);
	d->states = ofs_alloc((d->mounts.count + 1) * sizeof(*d->states));
	for (size_t i = 0; i < d->mounts.count; i++)
		d->states[i] = ofs_probe_mount(&d->mounts.list[i]);
}

/* Allocated: a word of a shell's command line. */
static char *doctor_word(const char *text)
{
	return ofs_text_command((const char *const[]){ text, NULL });
}

/* One that does not answer, or no longer. */
static void doctor_tell_mount(struct doctor *d, size_t i, enum ofs_state state, const char *name)
{
	const struct ofs_mount *m = &d->mounts.list[i];
	const char *unmount = geteuid() == 0 ? "umount -l" : "fusermount3 -u -z";
	OFS_FREE char *point = doctor_word(m->point), *lock = ofs_path_join(m->source, "lock");

	if (d->states[i] == OFS_PROBE_DEAD) {
		ofs_findings_add(&d->findings, state, name,
				 "%s is the mount of a daemon that died; the store %s has it all",
				 m->point, m->source);
		ofs_findings_advise(&d->findings, "%s %s; mounting there again does that, too",
				    unmount, point);
	} else {
		ofs_findings_add(&d->findings, state, name,
				 "%s: its daemon is there and does not answer (store %s)", m->point,
				 m->source);
		ofs_findings_advise(&d->findings, "end the process that %s names, then: %s %s",
				    lock, unmount, point);
	}
}

/* Allocated: the words that lead `offload up` to the tree, each with a blank before it. */
static char *doctor_hint(const struct doctor *d)
{
	OFS_FREE char *word = NULL;
	char *hint;

	if (*d->target.hint || !d->operand || !d->target.workspace)
		return ofs_strdup(d->target.hint);
	word = doctor_word(d->target.workspace);
	return asprintf(&hint, " %s", word) < 0 ? ofs_strdup("") : hint;
}

static void doctor_check_mount(struct doctor *d)
{
	const struct ofs_target *t = &d->target;
	OFS_FREE char *hint = doctor_hint(d);
	size_t i;

	if (!t->mountpoint) {
		ofs_findings_add(&d->findings, OFS_STATE_NOTE, "mount", "the store is not mounted");
		ofs_findings_advise(&d->findings, "offloadfs STORE MOUNTPOINT mounts it; offload "
						  "works without, too");
		return;
	}
	/* The last one covers those before it. */
	for (i = d->mounts.count; i > 0; i--)
		if (strcmp(d->mounts.list[i - 1].point, t->mountpoint) == 0)
			break;
	if (i == 0) {
		ofs_findings_add(&d->findings, OFS_STATE_NOTE, "mount", "nothing is mounted at %s",
				 t->mountpoint);
		ofs_findings_advise(&d->findings,
				    "offload up%s mounts it; offload works without, too", hint);
	} else if (d->states[i - 1] != OFS_PROBE_ALIVE) {
		doctor_tell_mount(d, i - 1, OFS_STATE_PROBLEM, "mount");
	} else {
		ofs_findings_add(&d->findings, OFS_STATE_OK, "mount", "%s (store %s)",
				 t->mountpoint, t->store);
	}
}

/* Those that are not the one in question. */
static void doctor_check_others(struct doctor *d)
{
	const char *ours = d->target.mountpoint;
	size_t alive = 0;

	for (size_t i = 0; i < d->mounts.count; i++) {
		if (ours && strcmp(d->mounts.list[i].point, ours) == 0)
			continue;
		if (d->states[i] == OFS_PROBE_ALIVE)
			alive++;
		else
			doctor_tell_mount(d, i, OFS_STATE_WARNING, "others");
	}
	if (alive)
		ofs_findings_add(&d->findings, OFS_STATE_OK, "others", "%zu more mounted", alive);
}

/* ---- git */

static void doctor_check_exclude(struct doctor *d)
{
	const char *point = d->target.mountpoint;
	OFS_FREE char *workspace = point ? ofs_path_parent(point) : NULL;
	OFS_FREE char *file = NULL, *line = NULL, *file_word = NULL, *line_word = NULL;
	int r;

	if (!point || strcmp(strrchr(point, '/') + 1, OFS_WORKSPACE_MOUNT) != 0)
		return;
	r = ofs_exclude_has(workspace, point, &file, &line);
	if (r == -ENOENT) {
		ofs_findings_add(&d->findings, OFS_STATE_OK, "exclude",
				 "%s is in no git repository", workspace);
	} else if (r > 0) {
		ofs_findings_add(&d->findings, OFS_STATE_OK, "exclude",
				 OFS_WORKSPACE_MOUNT " is in git's info/exclude");
	} else if (r < 0) {
		ofs_findings_add(&d->findings, OFS_STATE_WARNING, "exclude",
				 "git's info/exclude cannot be read: %s", strerror(-r));
		ofs_findings_advise(&d->findings, "give yourself rights to it");
	} else if (!d->target.mounted) {
		ofs_findings_add(&d->findings, OFS_STATE_NOTE, "exclude",
				 OFS_WORKSPACE_MOUNT " is not in git's info/exclude yet");
		ofs_findings_advise(&d->findings, "offload up adds it");
	} else {
		file_word = doctor_word(file);
		line_word = doctor_word(line);
		ofs_findings_add(&d->findings, OFS_STATE_WARNING, "exclude",
				 OFS_WORKSPACE_MOUNT " is not in git's info/exclude: git sees it");
		ofs_findings_advise(&d->findings, "echo %s >> %s", line_word, file_word);
	}
}

/* ---- what it is about */

static int doctor_try_find(const void *arg, char *text)
{
	const struct doctor *d = arg;
	struct ofs_target target;

	(void)text;
	if (ofs_target_find_operand(&d->options, d->operand, NULL, &target) == 0)
		ofs_target_finish(&target);
	return 0;
}

/*
 * Finding the tree looks at mounts, and waits for one that does not answer: that one is then the
 * tree in question.
 */
static int doctor_find(struct doctor *d, struct ofs_error *err)
{
	bool silent = false;
	size_t i;

	for (i = 0; i < d->mounts.count && !silent; i++)
		silent = d->states[i] == OFS_PROBE_SILENT;
	if (!silent || ofs_probe_run(doctor_try_find, d, NULL) != -ETIMEDOUT)
		return ofs_target_find_operand(&d->options, d->operand, err, &d->target);
	d->target = (struct ofs_target){
		.mountpoint = ofs_strdup(d->mounts.list[i - 1].point),
		.store = ofs_strdup(d->mounts.list[i - 1].source),
		.hint = ofs_strdup(""),
	};
	return 0;
}

static int doctor_print(struct doctor *d)
{
	int r = d->json ? ofs_findings_print_json(&d->findings, stdout)
			: ofs_findings_print(&d->findings, stdout);

	if (r < 0 && errno != EPIPE) /* main() says so */
		return DOCTOR_FAILED;
	return ofs_findings_count(&d->findings, OFS_STATE_PROBLEM) ? DOCTOR_PROBLEMS
								   : DOCTOR_HEALTHY;
}

static int doctor_examine(struct doctor *d)
{
	struct ofs_error err;

	doctor_probe_mounts(d);
	if (doctor_find(d, &err) < 0) {
		ofs_report("%s", err.text);
		return DOCTOR_FAILED;
	}
	ofs_check_machine(&d->findings, d->target.mounted);
	doctor_check_mount(d);
	doctor_check_others(d);
	ofs_check_store(&d->findings, d->target.store);
	doctor_check_exclude(d);
	ofs_check_tools(&d->findings);
	return doctor_print(d);
}

static int doctor_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(doctor_finish) struct doctor d = { 0 };
	const struct ofs_option options[] = {
		OFS_FLAG(0, "json", &d.json,
			 "print a JSON object: checks (name, state, found, advice)\n"
			 "and problems, their number"),
		OFS_COMMON(&d.options),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	d.operand = argc ? argv[0] : NULL;
	if (d.operand && (d.options.dir || d.options.store))
		return ofs_report_usage("name the tree once: '%s', or an option", d.operand);
	return doctor_examine(&d);
}

const struct ofs_command ofs_cmd_doctor = {
	.name = "doctor",
	.synopsis = "[--json] [WORKSPACE|MOUNT|STORE]",
	.summary = "Checks the machine, the mount and the store, and says what to do",
	.help = "Looks at kernel, /dev/fuse, the daemon, FUSE over io_uring, fusermount3, mounts whose\n"
		"daemon is dead, and the store: rights, owner, lock, format, config.ini, room.\n"
		"Changes nothing, and needs neither a mount nor a store.\n",
	.notes =
		"Each line starts with ok, note, warning or problem. Exits with 0 when there is no\n"
		"problem, with 1 when there is, with 2 when it could not look.\n",
	.operands = 1,
	.run = doctor_run,
};
