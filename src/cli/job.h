/* SPDX-License-Identifier: MIT */
/*
 * Long work that the tree does in a thread of its own: it is started by setting an attribute of the
 * root, `user.offload.<name>`, and followed by reading it; the items that it comes across are
 * `user.offload.<name>.<K>`. Mounted or not, this process only asks how it goes, and shows that on
 * standard error if that is a terminal.
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
	const char *count; /* the key of the number of items */
	bool waits; /* for another one of its kind that runs */
};

struct ofs_job {
	const struct ofs_job_kind *kind;
	const struct ofs_access *access; /* borrowed, and open */
	const char *dir; /* of the agent in whose tree it is; NULL: in that of `access` */
	/* Is given each item once, in order, and borrows it. A nonzero return ends the watch. */
	int (*item)(void *arg, json_t *item);
	void *arg;
	bool drop_all; /* of a collection that looks at a task's end: nothing of it is promoted */
	json_t *items; /* an array, owned, that gets them instead; NULL: none does */

	json_t *status; /* the tree's last answer */
	uint64_t told; /* items that `item` was given */
	bool told_all; /* the tree remembers no more of them */
	bool stopping; /* it was asked to stop */

	struct ofs_progress progress;
};

void ofs_job_finish(struct ofs_job *job);

/*
 * Sets the attribute to `command` and waits for the end. From then on the first SIGINT, SIGTERM or
 * SIGHUP stops the job; a second ends the tool. 0; -EINTR: a signal came, and if `stopping` the job
 * was stopped; -ECANCELED: somebody else stopped it; or -errno with the reason in `err`.
 */
int ofs_job_run(struct ofs_job *job, const char *command, struct ofs_error *err);

/* After -EINTR: the exit code that tells of the signal. */
int ofs_job_exit_code(void);

/* True when the last answer was of that state. */
bool ofs_job_is(const struct ofs_job *job, const char *state);

/* A number in the last answer; 0 when it has none of that name. */
uint64_t ofs_job_number(const struct ofs_job *job, const char *key);

/* The number of items that the tree does not remember. */
uint64_t ofs_job_untold(const struct ofs_job *job);

/* "offload: 7 more files not listed", and a newline, if there are any. */
void ofs_job_print_untold(const struct ofs_job *job, const char *noun, FILE *out);

/*
 * Garbage collection of a tree, as a job. Its items are objects with path, ref, size, action
 * ("remove", "promote", "probation", "open", "important", "referenced"), why, at and to.
 *
 * Collects, or with `dry_run` only looks at what would go, also if the task `task` (NULL: none) had
 * ended. The job needs `access`, `item` and `arg`; it waits for one that runs already, and says so
 * if that takes long. Returns what ofs_job_run() does.
 */
int ofs_collection_run(struct ofs_job *job, bool dry_run, const char *task, struct ofs_error *err);

bool ofs_collected_is(const json_t *item, const char *action);

/*
 * "would remove cache/shell/x (4.2 KB): unused for 41m, its lifetime is 30m", "promoted tasks/t/x
 * (2 B) to persistent/general/x: its task has ended, and it never expires", and a newline.
 */
void ofs_collection_print_item(const json_t *item, bool dry_run, FILE *out);

/* The outcome, on one line: "offload: 12 files removed, 48.2 KB; 2 on probation". */
void ofs_collection_print_summary(const struct ofs_job *job, bool dry_run, FILE *out);
