/* SPDX-License-Identifier: MIT */
/*
 * Long work that the tree does in a thread of its own. Setting an attribute of the root,
 * `user.offload.<name>`, starts it; reading the attribute shows how far it is. The items that it
 * finds are in `user.offload.<name>.<K>`. Mounted or not, this process only asks for the progress,
 * and shows it on standard error if that is a terminal.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "cli/progress_line.h"
#include "client/access.h"

struct ofs_job_kind {
	const char *name; /* of the attribute: "verify" */
	const char *doing; /* "Verifying" */
	const char *verb; /* "verify", before the tree's name */
	const char *noun; /* "verification" */
	const char *unit; /* of its progress, in the plural; NULL: bytes */
	const char *count; /* key of the number of items */
	bool waits; /* until another job of its kind ends */
};

struct ofs_job {
	const struct ofs_job_kind *kind;
	const struct ofs_access *access; /* borrowed; must be open */
	const char *dir; /* of the agent whose tree it works in; NULL: the tree of `access` */
	/* Called once for each item, in order; borrows it. A nonzero result ends the watch. */
	int (*item)(void *arg, json_t *item);
	void *arg;
	bool drop_all; /* for a dry run of a task's end: nothing of the task is promoted */
	json_t *items; /* owned array that gets the items instead; NULL: none does */

	json_t *status; /* the tree's last answer */
	uint64_t told; /* items that were passed on */
	bool told_all; /* the tree remembers no more of them */
	bool stopping; /* it was asked to stop */

	struct ofs_progress progress;
};

void ofs_job_finish(struct ofs_job *job);

/*
 * Sets the attribute to `command` and waits for the end. The first SIGINT, SIGTERM or SIGHUP stops
 * the job; a second one ends the tool. Returns 0, -EINTR after a signal (`stopping`: the job was
 * stopped), -ECANCELED if somebody else stopped it, or another -errno with the reason in `err`.
 */
int ofs_job_run(struct ofs_job *job, const char *command, struct ofs_error *err);

/* Returns the exit code for the signal after -EINTR. */
int ofs_job_exit_code(void);

/* Returns true if the last answer has that state. */
bool ofs_job_is(const struct ofs_job *job, const char *state);

/* Returns a number in the last answer, or 0 if it has none of that name. */
uint64_t ofs_job_number(const struct ofs_job *job, const char *key);

/* Returns the number of items that were not passed on, as the tree does not remember them. */
uint64_t ofs_job_untold(const struct ofs_job *job);

/* Prints "offload: 7 more files not listed" and a newline, if there are any. */
void ofs_job_print_untold(const struct ofs_job *job, const char *noun, FILE *out);

/*
 * Garbage collection of a tree, as a job. Its items are objects with path, ref, size, action
 * ("remove", "promote", "probation", "open", "important", "referenced"), why, at and to.
 *
 * Runs a collection. With `dry_run` it only lists what would be done, as if the task `task` (NULL:
 * none) had ended. The job needs `access`, `item` and `arg`. It waits for a collection that is
 * already running, and reports that if it takes long. Returns what ofs_job_run() does.
 */
int ofs_collection_run(struct ofs_job *job, bool dry_run, const char *task, struct ofs_error *err);

bool ofs_collected_is(const json_t *item, const char *action);

/*
 * Prints an item and a newline: "would remove cache/shell/x (4.2 KB): unused for 41m, its lifetime
 * is 30m", "promoted tasks/t/x (2 B) to persistent/general/x: its task has ended, and it never
 * expires".
 */
void ofs_collection_print_item(const json_t *item, bool dry_run, FILE *out);

/* Prints the outcome on one line: "offload: 12 files removed, 48.2 KB; 2 on probation". */
void ofs_collection_print_summary(const struct ofs_job *job, bool dry_run, FILE *out);
