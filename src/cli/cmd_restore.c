/* SPDX-License-Identifier: MIT */
/* offload restore: restores a store from the object storage it was replicated to. */
#include "cli/command.h"
#include "cli/progress_line.h"
#include "cli/report.h"
#include "io/path.h"
#include "replica/rebuild.h"
#include "tree/config.h"

static const char *key;

static const struct ofs_option options[] = {
	OFS_TEXT(0, "key", "FILE", &key, "the file with the key that the objects are sealed with"),
	OFS_OPTIONS_END,
};

static void draw(void *arg, uint64_t done, uint64_t total)
{
	ofs_progress_draw(arg, done, total);
}

/* The restored store goes on replicating to the same place. */
static int configure(const char *store, const struct ofs_remote_access *a, const char *file,
		     struct ofs_error *err)
{
	OFS_FREE char *location = ofs_location_text(&a->location);
	int r = ofs_config_store_set(store, "remote", location, err);

	return r < 0 || !file ? r : ofs_config_store_set(store, "replicate_key", file, err);
}

static int restore_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access a = { 0 };
	OFS_FREE char *file = key ? ofs_path_absolute(key) : NULL;
	struct ofs_progress progress;
	struct ofs_rebuild_settings set = { .remote = &a, .progress = draw, .arg = &progress };
	struct ofs_error err;
	int r;

	if (argc < 2)
		return ofs_report_usage("give a URL and the directory for the store");
	r = ofs_remote_access_parse(argv[0], file, &err, &a);
	ofs_progress_begin(&progress, "Fetching", NULL);
	if (r == 0)
		r = ofs_rebuild(argv[1], &set, &err);
	ofs_progress_clear(&progress);
	if (r == 0)
		r = configure(argv[1], &a, file, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	ofs_report_line(stdout,
			"The store is restored to %s, and its former host can no longer add to "
			"it; content is fetched when it is read",
			argv[1]);
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_restore = {
	.name = "restore",
	.synopsis = "[--key FILE] URL STORE",
	.summary = "Restores a replicated store to this host, and takes it over",
	.help = "URL is that of 'offload remote add'; STORE a directory that is empty or missing.\n"
		"From then on a former host that is still running can write no more: its mount\n"
		"becomes read-only, and 'offload salvage' there finds what was not sent. Names and\n"
		"the newest content are fetched at once, other content when it is read.\n",
	.options = options,
	.operands = 2,
	.missing = "give a URL and the directory for the store",
	.run = restore_run,
};
