/* SPDX-License-Identifier: MIT */
/* offload gc: has the tree remove what has expired, and tells what went. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/util.h"
#include "cli/collection.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"

struct gc {
	struct ofs_target_options target;
	struct ofs_job job;
	bool dry_run, json;
	json_t *items; /* with --json */
};

static int gc_tell(void *arg, json_t *item)
{
	struct gc *gc = arg;

	if (gc->json)
		json_array_append(gc->items, item);
	/* A collection comes across everything that is kept, too, each time. */
	else if (gc->dry_run || ofs_collected_is(item, "remove"))
		ofs_collection_print_item(item, gc->dry_run, stdout);
	return 0;
}

/* The tree's last answer, with the items in place of their number. */
static void gc_print_json(struct gc *gc)
{
	json_t *json = json_copy(gc->job.status);

	json_object_del(json, "done");
	json_object_del(json, "total");
	json_object_set(json, "items", gc->items);
	ofs_print_json(json, "");
}

static int gc_tree(struct gc *gc)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &gc->target);
	if (ofs_access_open(&access, false, &err) < 0)
		return ofs_report("%s", err.text);
	gc->job = (struct ofs_job){ .access = &access, .item = gc_tell, .arg = gc };
	r = ofs_collection_run(&gc->job, gc->dry_run, NULL, &err);
	if (r < 0 && r != -EINTR)
		return ofs_report("%s", err.text);
	if (gc->json && (r == 0 || gc->job.stopping))
		gc_print_json(gc);
	else if (r == 0 || gc->job.stopping)
		ofs_collection_print_summary(&gc->job, gc->dry_run, stdout);
	return r < 0 ? ofs_job_exit_code() : OFS_EXIT_OK;
}

static int gc_run(const struct ofs_command *self, int argc, char **argv)
{
	struct gc gc = { 0 };
	const struct ofs_option options[] = {
		OFS_FLAG(0, "dry-run", &gc.dry_run,
			 "remove nothing: list what would go, what would stay and why"),
		OFS_FLAG(0, "json", &gc.json, "print a JSON object"),
		OFS_COMMON(&gc.target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	gc.items = json_array();
	code = gc_tree(&gc);
	ofs_job_finish(&gc.job);
	json_decref(gc.items);
	return code;
}

const struct ofs_command ofs_cmd_gc = {
	.name = "gc",
	.synopsis = "[--dry-run] [--json]",
	.summary = "Removes the files whose time is over and that nobody uses",
	.help = "The daemon does so by itself every now and then. What is expired goes on probation first,\n"
		"and goes when it is still unused at the end of that.\n",
	.run = gc_run,
};
