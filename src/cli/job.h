/* SPDX-License-Identifier: MIT */
/*
 * Long work that the tree does in a thread of its own: it is begun by setting an attribute of the
 * root, `user.offload.<name>`, and told of by reading it, with what it came across as items
 * `user.offload.<name>.<K>`. Mounted or not, this process only asks how it goes.
 *
 * Calls return 0 or -errno as the tree gives it; -EPROTO: its answer makes no sense.
 */
#ifndef OFS_CLI_JOB_H
#define OFS_CLI_JOB_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/progress.h"
#include "client/backend.h"

struct ofs_job {
	/* Set by the caller, who keeps them; static strings but for the backend. */
	struct ofs_backend *backend;
	const char *name; /* of the attribute: "verify" */
	const char *doing; /* "Verifying" */
	const char *unit; /* as of ofs_progress_begin() */
	const char *count; /* the key of the number of items */
	/* Is given each item once, in order, and borrows it. A nonzero return ends the watch. */
	int (*item)(void *arg, json_t *item);
	void *arg;

	/* The tree's last answer. */
	json_t *status;
	const char *state; /* in it */
	const char *error; /* in it; NULL: none */

	uint64_t told; /* items that `item` was given */
	bool told_all; /* the tree remembers no more of them */
	bool stopping; /* it was asked to stop */
	struct ofs_progress progress;
};

/* Takes the progress bar away and frees what the job holds; the backend stays open. */
void ofs_job_finish(struct ofs_job *job);

/* From now on the first SIGINT, SIGTERM or SIGHUP stops what is watched; a second ends the tool. */
void ofs_job_catch_signals(void);

/* The signal that came; 0: none. */
int ofs_job_signal(void);

/* Sets the attribute. */
int ofs_job_command(struct ofs_job *job, const char *value);

/* Reads the attribute into `status`, `state` and `error`. */
int ofs_job_ask(struct ofs_job *job);

/* True when the last answer was of that state. */
bool ofs_job_is(const struct ofs_job *job, const char *state);

/* A number in the last answer; 0 when it has none of that name. */
uint64_t ofs_job_number(const struct ofs_job *job, const char *key);

/* Waits for the end of what runs, shows how far it is and hands over its items. */
int ofs_job_watch(struct ofs_job *job);

/*
 * Waits for the end of what somebody else began, for at most a tenth of a second; 1: it still runs.
 */
int ofs_job_wait_other(struct ofs_job *job);

#endif
