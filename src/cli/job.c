/* SPDX-License-Identifier: MIT */
#include "cli/job.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/util.h"

#define JOB_POLL_NS_MIN 5000000L
#define JOB_POLL_NS_MAX 100000000L

void ofs_job_finish(struct ofs_job *job)
{
	ofs_progress_clear(&job->progress);
	json_decref(job->status);
	job->status = NULL;
	job->state = job->error = NULL;
}

/* ---- signals */

static volatile sig_atomic_t job_signal;

static void job_on_signal(int number)
{
	job_signal = number;
}

void ofs_job_catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = job_on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(caught); i++) {
		if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(caught[i], &action, NULL);
	}
}

int ofs_job_signal(void)
{
	return job_signal;
}

/* ---- asking the tree */

int ofs_job_command(struct ofs_job *job, const char *value)
{
	char name[48];

	snprintf(name, sizeof(name), "user.offload.%s", job->name);
	return job->backend->ops->setxattr(job->backend, "", name, value, strlen(value));
}

/* The JSON object in the attribute; `suffix` is "" or ".K". */
static int job_read(struct ofs_job *job, const char *suffix, json_t **ret)
{
	OFS_FREE char *text = NULL;
	char name[48];
	json_t *json;
	int r;

	snprintf(name, sizeof(name), "%s%s", job->name, suffix);
	r = ofs_backend_attribute(job->backend, "", name, &text);
	if (r < 0)
		return r;
	json = json_loads(text, 0, NULL);
	if (!json_is_object(json)) {
		json_decref(json);
		return -EPROTO;
	}
	*ret = json;
	return 0;
}

int ofs_job_ask(struct ofs_job *job)
{
	json_t *json;
	int r = job_read(job, "", &json);

	if (r < 0)
		return r;
	json_decref(job->status);
	job->status = json;
	job->state = json_string_value(json_object_get(json, "state"));
	job->error = json_string_value(json_object_get(json, "error"));
	return job->state && json_is_integer(json_object_get(json, job->count)) ? 0 : -EPROTO;
}

bool ofs_job_is(const struct ofs_job *job, const char *state)
{
	return job->state && strcmp(job->state, state) == 0;
}

uint64_t ofs_job_number(const struct ofs_job *job, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(job->status, key));
}

/* ---- its course */

/* Hands over what was found since it was last called. */
static int job_tell(struct ofs_job *job)
{
	uint64_t count = ofs_job_number(job, job->count);

	while (!job->told_all && job->told < count) {
		char suffix[24];
		json_t *item;
		int r;

		snprintf(suffix, sizeof(suffix), ".%" PRIu64, job->told);
		r = job_read(job, suffix, &item);
		if (r == -ENODATA) {
			job->told_all = true;
			break;
		}
		if (r < 0)
			return r;
		r = job->item(job->arg, item);
		json_decref(item);
		if (r != 0)
			return r;
		job->told++;
	}
	fflush(stdout);
	return 0;
}

static int job_watch(struct ofs_job *job)
{
	struct timespec pause = { 0, JOB_POLL_NS_MIN };
	int r;

	for (;;) {
		r = ofs_job_ask(job);
		if (r == 0)
			r = job_tell(job);
		if (r != 0 || !ofs_job_is(job, "running"))
			return r;
		ofs_progress_update(&job->progress, ofs_job_number(job, "done"),
				    ofs_job_number(job, "total"));
		if (job_signal && !job->stopping) {
			job->stopping = true;
			r = ofs_job_command(job, "stop");
			if (r < 0)
				return r;
		}
		if (job->stopping)
			pause.tv_nsec = JOB_POLL_NS_MIN;
		nanosleep(&pause, NULL);
		pause.tv_nsec = OFS_MIN(pause.tv_nsec * 2, JOB_POLL_NS_MAX);
	}
}

int ofs_job_watch(struct ofs_job *job)
{
	int r;

	ofs_progress_begin(&job->progress, job->doing, job->unit);
	r = job_watch(job);
	ofs_progress_clear(&job->progress);
	return r;
}

int ofs_job_wait_other(struct ofs_job *job)
{
	struct timespec pause = { 0, JOB_POLL_NS_MAX };
	int r = ofs_job_ask(job);

	if (r < 0 || !ofs_job_is(job, "running"))
		return r;
	nanosleep(&pause, NULL);
	return 1;
}
