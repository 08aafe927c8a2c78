/* SPDX-License-Identifier: MIT */
#include "cli/collection.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/report.h"

#define COLLECTION_PATIENCE (2 * OFS_NS_PER_S) /* before it is said that another one runs */

void ofs_collection_init(struct ofs_collection *c, const struct ofs_target *target,
			 struct ofs_backend *backend, int (*item)(void *arg, json_t *item),
			 void *arg)
{
	*c = (struct ofs_collection){
		.job = { .backend = backend,
			 .name = "gc",
			 .doing = "Collecting",
			 .unit = "files",
			 .count = "items",
			 .item = item,
			 .arg = arg },
		.where = ofs_strdup(target->mounted ? target->mountpoint : target->store),
	};
}

void ofs_collection_finish(struct ofs_collection *c)
{
	ofs_job_finish(&c->job);
	free(c->where);
	c->where = NULL;
}

/* ---- its course */

static int collection_cannot_start(struct ofs_collection *c, int code, struct ofs_error *err)
{
	switch (code) {
	case EOPNOTSUPP:
	case EINVAL:
	case ENODATA:
		return ofs_error_set(
			err, code,
			"the daemon of '%s' is older than this tool and cannot "
			"collect: mount it again, with 'offload down' and 'offload up'",
			c->where);
	case EACCES:
	case EPERM:
		return ofs_error_set(err, code, "only the owner of '%s' can collect in it",
				     c->where);
	default:
		return ofs_error_set(err, code, "cannot collect in '%s': %s", c->where,
				     ofs_report_errno(code));
	}
}

static int collection_lost(struct ofs_collection *c, int code, struct ofs_error *err)
{
	switch (code) {
	case ENODATA:
	case ENOENT:
	case EOPNOTSUPP:
		return ofs_error_set(err, code, "'%s' was unmounted meanwhile", c->where);
	case EPROTO:
		return ofs_error_set(err, code, "cannot make sense of what the tree of '%s' says",
				     c->where);
	default:
		return ofs_error_set(err, code, "cannot tell how the collection of '%s' goes: %s",
				     c->where, ofs_report_errno(code));
	}
}

static int collection_start(struct ofs_collection *c, const char *command)
{
	int64_t began = ofs_clock_monotonic();
	bool said = false;
	int r;

	while ((r = ofs_job_command(&c->job, command)) == -EBUSY) {
		r = ofs_job_wait_other(&c->job);
		if (r < 0)
			return r;
		if (ofs_job_signal())
			return -EINTR;
		if (!said && ofs_clock_monotonic() - began > COLLECTION_PATIENCE) {
			ofs_report("another collection of '%s' runs: this one begins when it ends",
				   c->where);
			said = true;
		}
	}
	return r;
}

static int collection_end(struct ofs_collection *c, struct ofs_error *err)
{
	if (ofs_job_is(&c->job, "none"))
		return ofs_error_set(err, ECONNABORTED,
				     "'%s' was unmounted and mounted again meanwhile", c->where);
	if (ofs_job_is(&c->job, "failed"))
		return ofs_error_set(err, EIO, "the collection of '%s' failed: %s", c->where,
				     c->job.error ? c->job.error : "no reason given");
	if (!ofs_job_is(&c->job, "stopped"))
		return 0;
	if (c->job.stopping)
		return -EINTR;
	return ofs_error_set(err, ECANCELED, "somebody else stopped the collection of '%s'",
			     c->where);
}

int ofs_collection_run(struct ofs_collection *c, bool dry_run, const char *task,
		       struct ofs_error *err)
{
	OFS_FREE char *command = NULL;
	int r;

	c->dry_run = dry_run;
	if (asprintf(&command, "%s%s%s", dry_run ? "dry-run" : "run",
		     dry_run && task ? " task " : "", dry_run && task ? task : "") < 0) {
		command = NULL;
		return ofs_error_set(err, ENOMEM, "out of memory");
	}
	ofs_job_catch_signals();
	r = collection_start(c, command);
	if (r == -EINTR)
		return r;
	if (r < 0)
		return collection_cannot_start(c, -r, err);
	r = ofs_job_watch(&c->job);
	return r < 0 ? collection_lost(c, -r, err) : collection_end(c, err);
}

/* ---- what it tells */

static const char *collected_text(const json_t *item, const char *key)
{
	const char *text = json_string_value(json_object_get(item, key));

	return text ? text : "";
}

bool ofs_collected_is(const json_t *item, const char *action)
{
	return strcmp(collected_text(item, "action"), action) == 0;
}

const char *ofs_collected_path(const json_t *item)
{
	return collected_text(item, "path");
}

void ofs_collection_print_item(const struct ofs_collection *c, const json_t *item, FILE *out)
{
	bool goes = ofs_collected_is(item, "remove");
	const char *why = collected_text(item, "why");

	if (c->dry_run)
		fputs(goes ? "would remove " : "would keep ", out);
	else
		fputs(goes ? "removed " : "kept ", out);
	ofs_text_line(out, ofs_collected_path(item));
	fputs(" (", out);
	ofs_text_size(out, (uint64_t)json_integer_value(json_object_get(item, "size")));
	putc(')', out);
	if (*why) {
		fputs(": ", out);
		ofs_text_line(out, why);
	}
	putc('\n', out);
}

static void collection_print_removed(const struct ofs_collection *c, FILE *out)
{
	uint64_t freed = ofs_job_number(&c->job, "freed_bytes");

	ofs_text_count(out, ofs_job_number(&c->job, "removed"), "file");
	fputs(c->dry_run ? " would be removed, " : " removed, ", out);
	ofs_text_size(out, ofs_job_number(&c->job, "removed_bytes"));
	if (freed && !c->dry_run) {
		fputs(", ", out);
		ofs_text_size(out, freed);
		fputs(" of disk freed", out);
	}
}

static void collection_print_rest(const struct ofs_collection *c, FILE *out)
{
	static const struct {
		const char *key, *words;
	} kinds[] = { { "probation", "on probation" }, { "open", "open" }, { "kept", "kept" } };
	const char *before = "; ";

	for (size_t i = 0; i < OFS_ARRAY_SIZE(kinds); i++) {
		uint64_t n = ofs_job_number(&c->job, kinds[i].key);

		if (!n)
			continue;
		fputs(before, out);
		ofs_text_number(out, n);
		fprintf(out, " %s", kinds[i].words);
		before = ", ";
	}
}

void ofs_collection_print_summary(const struct ofs_collection *c, FILE *out)
{
	uint64_t items = ofs_job_number(&c->job, "items");
	const char *next = collected_text(c->job.status, "next");

	if (c->job.told < items) {
		fputs("offload: ", out);
		ofs_text_count(out, items - c->job.told, "more file");
		fputs(" not listed\n", out);
	}
	fputs("offload: ", out);
	if (ofs_job_is(&c->job, "stopped"))
		fputs("stopped: ", out);
	if (ofs_job_number(&c->job, "removed"))
		collection_print_removed(c, out);
	else
		fputs("nothing to remove", out);
	collection_print_rest(c, out);
	if (*next) {
		fputs("; the next file can go at ", out);
		ofs_text_line(out, next);
	}
	putc('\n', out);
}

json_t *ofs_collection_json(const struct ofs_collection *c, json_t *items)
{
	json_t *json = json_copy(c->job.status);

	json_object_del(json, "done");
	json_object_del(json, "total");
	json_object_set(json, "items", items);
	return json;
}
