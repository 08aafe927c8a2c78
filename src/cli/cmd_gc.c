/* SPDX-License-Identifier: MIT */
/* offload gc: has the tree remove what has expired, and tells what went. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/collection.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/target.h"

#define GC_SIGNAL 128 /* and the signal's number is the exit code */

struct gc {
	struct ofs_collection collection;
	struct ofs_backend *backend;
	json_t *items; /* with --json */
};

static void gc_finish(struct gc *gc)
{
	ofs_collection_finish(&gc->collection);
	ofs_backend_close(gc->backend);
	json_decref(gc->items);
}

static int gc_tell(void *arg, json_t *item)
{
	struct gc *gc = arg;

	if (gc->items)
		return json_array_append(gc->items, item) < 0 ? -ENOMEM : 0;
	/* A collection comes across everything that is kept, too, each time. */
	if (gc->collection.dry_run || ofs_collected_is(item, "remove")) {
		ofs_progress_clear(&gc->collection.job.progress);
		ofs_collection_print_item(&gc->collection, item, stdout);
	}
	return 0;
}

static int gc_tree(struct ofs_target *target, bool dry_run, bool json)
{
	OFS_CLEANUP(gc_finish) struct gc gc = { 0 };
	struct ofs_error err;
	int r;

	if (ofs_target_open(target, false, &err, &gc.backend) < 0)
		return ofs_report_failure("%s", err.text);
	if (json)
		gc.items = json_array();
	ofs_collection_init(&gc.collection, target, gc.backend, gc_tell, &gc);
	r = ofs_collection_run(&gc.collection, dry_run, NULL, &err);
	if (r < 0 && r != -EINTR)
		return ofs_report_failure("%s", err.text);
	if (r == 0 || gc.collection.job.stopping) {
		if (json)
			ofs_text_json(stdout, ofs_collection_json(&gc.collection, gc.items));
		else
			ofs_collection_print_summary(&gc.collection, stdout);
	}
	return r == -EINTR ? GC_SIGNAL + ofs_job_signal() : OFS_EXIT_OK;
}

static int gc_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_target_finish) struct ofs_target target = { 0 };
	struct ofs_target_options opts = { 0 };
	bool dry_run = false, json = false;
	const struct ofs_option options[] = {
		OFS_FLAG(0, "dry-run", &dry_run,
			 "remove nothing: list what would go, what would stay and why"),
		OFS_FLAG(0, "json", &json, "print a JSON object"),
		OFS_COMMON(&opts),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (ofs_target_find(&opts, NULL, &err, &target) < 0)
		return ofs_report_failure("%s", err.text);
	return gc_tree(&target, dry_run, json);
}

const struct ofs_command ofs_cmd_gc = {
	.name = "gc",
	.synopsis = "[--dry-run] [--json]",
	.summary = "Removes the files whose time is over and that nobody uses",
	.help = "The daemon does so by itself every now and then. What is expired goes on probation first,\n"
		"and goes when it is still unused at the end of that.\n",
	.run = gc_run,
};
