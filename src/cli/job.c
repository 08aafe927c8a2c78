/* SPDX-License-Identifier: MIT */
#include "cli/job.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/report.h"

#define JOB_POLL_NS_MIN 5000000L
#define JOB_POLL_NS_MAX 100000000L
#define JOB_PATIENCE (2 * OFS_NS_PER_S) /* before we report that another job is running */
#define JOB_EXIT_SIGNAL 128 /* plus the signal's number, as in a shell */

/* ---- signals */

static volatile sig_atomic_t job_signal;

static void job_on_signal(int number)
{
	job_signal = number;
}

static void job_catch_signals(void)
{
	static const int caught[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = job_on_signal, .sa_flags = (int)SA_RESETHAND };
	struct sigaction before;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(caught); i++) {
		if (sigaction(caught[i], NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(caught[i], &action, NULL);
	}
}

int ofs_job_exit_code(void)
{
	return JOB_EXIT_SIGNAL + job_signal;
}

/* ---- asking the tree */

void ofs_job_finish(struct ofs_job *job)
{
	json_decref(job->status);
	json_decref(job->items);
	job->status = job->items = NULL;
}

static const char *job_dir(const struct ofs_job *job)
{
	return job->dir ? job->dir : "";
}

static int job_command(struct ofs_job *job, const char *value)
{
	return ofs_backend_set_attribute(job->access->backend, job_dir(job), job->kind->name,
					 value);
}

/* Reads the JSON object in the attribute `name`. */
static int job_read(struct ofs_job *job, const char *name, json_t **ret)
{
	OFS_FREE char *text = NULL;
	json_t *json;
	int r = ofs_backend_attribute(job->access->backend, job_dir(job), name, &text);

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

static int job_ask(struct ofs_job *job)
{
	json_t *json;
	int r = job_read(job, job->kind->name, &json);

	if (r < 0)
		return r;
	json_decref(job->status);
	job->status = json;
	return json_is_string(json_object_get(json, "state")) &&
			       json_is_integer(json_object_get(json, job->kind->count))
		       ? 0
		       : -EPROTO;
}

bool ofs_job_is(const struct ofs_job *job, const char *state)
{
	const char *now = json_string_value(json_object_get(job->status, "state"));

	return now && strcmp(now, state) == 0;
}

uint64_t ofs_job_number(const struct ofs_job *job, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(job->status, key));
}

uint64_t ofs_job_untold(const struct ofs_job *job)
{
	uint64_t count = ofs_job_number(job, job->kind->count);

	/* The number is smaller if the daemon has begun another job. */
	return count > job->told ? count - job->told : 0;
}

void ofs_job_print_untold(const struct ofs_job *job, const char *noun, FILE *out)
{
	uint64_t n = ofs_job_untold(job);

	if (n)
		fprintf(out, "offload: %" PRIu64 " more %s%s not listed\n", n, noun,
			n == 1 ? "" : "s");
}

/* ---- running */

/* Returns the name of the tree in messages. */
static const char *job_where(const struct ofs_job *job)
{
	const struct ofs_target *t = &job->access->target;

	return t->mounted ? t->root : t->store;
}

/* Passes on the items that were found since the last call. */
static int job_tell(struct ofs_job *job)
{
	while (!job->told_all && ofs_job_untold(job)) {
		OFS_FREE char *name = ofs_format("%s.%" PRIu64, job->kind->name, job->told);
		json_t *item;
		int r = job_read(job, name, &item);

		if (r == -ENODATA) {
			job->told_all = true;
			break;
		}
		if (r < 0)
			return r;
		ofs_progress_clear(&job->progress);
		r = job->items ? json_array_append(job->items, item) : job->item(job->arg, item);
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

	ofs_progress_begin(&job->progress, job->kind->doing, job->kind->unit);
	for (;;) {
		r = job_ask(job);
		if (r == 0)
			r = job_tell(job);
		if (r != 0 || !ofs_job_is(job, "running"))
			return r;
		ofs_progress_draw(&job->progress, ofs_job_number(job, "done"),
				  ofs_job_number(job, "total"));
		if (job_signal && !job->stopping) {
			job->stopping = true;
			r = job_command(job, "stop");
			if (r < 0)
				return r;
		}
		if (job->stopping)
			pause.tv_nsec = JOB_POLL_NS_MIN;
		nanosleep(&pause, NULL);
		pause.tv_nsec = OFS_MIN(pause.tv_nsec * 2, JOB_POLL_NS_MAX);
	}
}

static int job_start(struct ofs_job *job, const char *command)
{
	const struct timespec pause = { 0, JOB_POLL_NS_MAX };
	int64_t start = ofs_clock_monotonic();
	bool said = false;
	int r;

	while ((r = job_command(job, command)) == -EBUSY && job->kind->waits) {
		r = job_ask(job);
		if (r < 0)
			return r;
		if (job_signal)
			return -EINTR;
		if (!said && ofs_clock_monotonic() - start > JOB_PATIENCE) {
			ofs_report("another %s of '%s' is running: this one starts when it ends",
				   job->kind->noun, job_where(job));
			said = true;
		}
		if (ofs_job_is(job, "running"))
			nanosleep(&pause, NULL);
	}
	return r;
}

static int job_failed(struct ofs_job *job, int code, bool started, struct ofs_error *err)
{
	const char *where = job_where(job), *verb = job->kind->verb, *noun = job->kind->noun;
	OFS_FREE char *agent = NULL;

	/* Requests aborted over io_uring end so; to callers it would mean a stopped job. */
	if (code == ECANCELED)
		code = ECONNABORTED;
	if (code == EPROTO)
		return ofs_error_set(err, code, "cannot make sense of what the tree of '%s' says",
				     where);
	if (started && (code == ENODEV || code == ENODATA || code == ENOENT || code == EOPNOTSUPP))
		return ofs_error_set(err, code, "'%s' was unmounted meanwhile", where);
	if (started)
		return ofs_error_set(err, code, "cannot follow the %s of '%s': %s", noun, where,
				     ofs_backend_strerror(code));
	if (code == EBUSY)
		return ofs_error_set(err, code, "a %s of '%s' is running already", noun, where);
	if (code == EACCES || code == EPERM)
		return ofs_error_set(err, code, "only the owner of '%s' can %s it", where, verb);
	if (ofs_backend_attribute(job->access->backend, job_dir(job), "agent", &agent) == 0)
		return ofs_error_set(err, code,
				     "cannot %s '%s', the tree of an agent: it is done for the "
				     "whole store, from outside",
				     verb, where);
	if (code == EOPNOTSUPP || code == EINVAL || code == ENODATA)
		return ofs_error_set(
			err, code,
			"cannot %s '%s': its daemon is older than this tool: mount it again, with "
			"'offload down' and 'offload up'",
			verb, where);
	return ofs_error_set(err, code, "cannot %s '%s': %s", verb, where,
			     ofs_backend_strerror(code));
}

static int job_end(struct ofs_job *job, struct ofs_error *err)
{
	const char *why = json_string_value(json_object_get(job->status, "error"));
	const char *where = job_where(job), *noun = job->kind->noun;

	if (ofs_job_is(job, "none"))
		return ofs_error_set(err, ECONNABORTED,
				     "'%s' was unmounted and mounted again meanwhile", where);
	if (ofs_job_is(job, "failed"))
		return ofs_error_set(err, EIO, "the %s of '%s' failed: %s", noun, where,
				     why ? why : "no reason given");
	if (!ofs_job_is(job, "stopped"))
		return 0;
	if (job->stopping)
		return -EINTR;
	return ofs_error_set(err, ECANCELED, "somebody else stopped the %s of '%s'", noun, where);
}

int ofs_job_run(struct ofs_job *job, const char *command, struct ofs_error *err)
{
	int r;

	job_catch_signals();
	r = job_start(job, command);
	if (r == -EINTR)
		return r;
	if (r < 0)
		return job_failed(job, -r, false, err);
	r = job_watch(job);
	ofs_progress_clear(&job->progress);
	return r < 0 ? job_failed(job, -r, true, err) : job_end(job, err);
}

static const struct ofs_job_kind collection = {
	.name = "gc",
	.doing = "Collecting",
	.verb = "collect in",
	.noun = "collection",
	.unit = "files",
	.count = "items",
	.waits = true,
};

int ofs_collection_run(struct ofs_job *job, bool dry_run, const char *task, struct ofs_error *err)
{
	OFS_FREE char *command =
		dry_run && task
			? ofs_format("dry-run %stask %s", job->drop_all ? "drop-all " : "", task)
			: ofs_strdup(dry_run ? "dry-run" : "run");

	job->kind = &collection;
	return ofs_job_run(job, command, err);
}

bool ofs_collected_is(const json_t *item, const char *action)
{
	const char *is = json_string_value(json_object_get(item, "action"));

	return is && strcmp(is, action) == 0;
}

void ofs_collection_print_item(const json_t *item, bool dry_run, FILE *out)
{
	static const struct {
		const char *action, *words[2];
	} actions[] = { { "remove", { "removed ", "would remove " } },
			{ "promote", { "promoted ", "would promote " } },
			{ "evictable", { "evictable ", "evictable " } },
			{ "probation", { "on probation ", "on probation " } },
			{ NULL, { "kept ", "would keep " } } };
	size_t i = 0;

	while (actions[i].action && !ofs_collected_is(item, actions[i].action))
		i++;
	fputs(actions[i].words[dry_run], out);
	ofs_text_form(
		out, item,
		"{path|} ({size:size})[ to {to}][: {why}][; goes after {at} unless it is used]\n");
}

void ofs_collection_print_summary(const struct ofs_job *job, bool dry_run, FILE *out)
{
	static const struct {
		const char *key, *form;
	} kinds[] = { { "promoted", "{promoted} promoted" },
		      { "evictable", "{evictable} evictable ({evictable_bytes:size}, while there "
				     "is room)" },
		      { "probation", "{probation} on probation" },
		      { "open", "{open} open" },
		      { "kept", "{kept} kept" } };
	const char *before = "; ";

	ofs_job_print_untold(job, "file", out);
	fputs(ofs_job_is(job, "stopped") ? "offload: stopped: " : "offload: ", out);
	if (!ofs_job_number(job, "removed"))
		fputs("nothing to remove", out);
	else if (dry_run)
		ofs_text_form(out, job->status,
			      "{removed:file} would be removed, {removed_bytes:size}");
	else
		ofs_text_form(out, job->status,
			      "{removed:file} removed, {removed_bytes:size}"
			      "[, {+freed_bytes:size} of disk freed]");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds); i++) {
		if (!ofs_job_number(job, kinds[i].key))
			continue;
		fputs(before, out);
		ofs_text_form(out, job->status, kinds[i].form);
		before = ", ";
	}
	ofs_text_form(out, job->status, "[; the next file can go at {next}]\n");
}
