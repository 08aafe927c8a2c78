/* SPDX-License-Identifier: MIT */
/* offload gc: has the tree remove what has expired, and reports what was removed. */
#include "cli/command.h"
#include "cli/job.h"
#include "cli/report.h"

static bool dry_run, verbose;

static const struct ofs_option options[] = {
	OFS_FLAG(0, "dry-run", &dry_run,
		 "remove nothing: list what would go, what would stay and why"),
	OFS_FLAG('v', "verbose", &verbose, "with --dry-run: also list evictable files"),
	OFS_OPTIONS_END,
};

static int gc_tell(void *arg, json_t *item)
{
	/* Each collection also reports everything that is kept. */
	if (dry_run ? verbose || !ofs_collected_is(item, "evictable")
		    : ofs_collected_is(item, "remove") || ofs_collected_is(item, "promote"))
		ofs_collection_print_item(item, dry_run, stdout);
	return 0;
}

/* Prints the tree's last answer, with the items in place of their number. */
static void gc_print_json(const struct ofs_job *job)
{
	json_t *json = json_copy(job->status);

	json_object_del(json, "done");
	json_object_del(json, "total");
	json_object_set(json, "items", job->items);
	ofs_print_json(json, "");
}

static int gc_tree(struct ofs_job *job)
{
	struct ofs_error err;
	int r = ofs_collection_run(job, dry_run, NULL, &err);

	if (r < 0 && r != -EINTR)
		return ofs_report("%s", err.text);
	if (ofs_command_json && (r == 0 || job->stopping))
		gc_print_json(job);
	else if (r == 0 || job->stopping)
		ofs_collection_print_summary(job, dry_run, stdout);
	return r < 0 ? ofs_job_exit_code() : OFS_EXIT_OK;
}

static int gc_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	struct ofs_job job = { .access = &access, .item = gc_tell };
	struct ofs_error err;
	int code;

	ofs_access_init(&access, &ofs_command_target);
	if (ofs_access_open(&access, false, &err) < 0)
		return ofs_report("%s", err.text);
	job.items = ofs_command_json ? json_array() : NULL;
	code = gc_tree(&job);
	ofs_job_finish(&job);
	return code;
}

const struct ofs_command ofs_cmd_gc = {
	.name = "gc",
	.synopsis = "[--dry-run [-v]] [--json]",
	.summary = "Removes expired files when room is short or their grace is over",
	.help = "The daemon does so regularly. A file that was not used for its lifetime is\n"
		"evictable. It stays while there is room, but for 'grace' at most. Before it is\n"
		"removed it is on probation, and any use then keeps it.\n",
	.options = options,
	.json = "print a JSON object",
	.run = gc_run,
};
