/* SPDX-License-Identifier: MIT */
/* offload salvage: copies what a store's remote never got before another host took over. */
#include <inttypes.h>

#include "cli/command.h"
#include "cli/report.h"
#include "replica/salvage.h"
#include "tree/config.h"

static const char *into;

struct salvaged {
	uint64_t files, bytes;
};

static int tell(void *arg, const char *path, uint64_t size)
{
	struct salvaged *s = arg;

	s->files++;
	s->bytes += size;
	ofs_report_line(stdout, "%s/%s", into, path);
	return 0;
}

/* Sets *ret to the access to the remote that the store's configuration names. */
static int find_remote(const char *store, struct ofs_error *err, struct ofs_remote_access *ret)
{
	struct ofs_tree_options opts = OFS_TREE_OPTIONS_INIT;
	struct ofs_config *config = ofs_config_create();
	int r = ofs_config_load_store(config, store, err);

	ofs_config_apply(config, &opts);
	if (r == 0 && (!opts.remote || !*opts.remote))
		r = ofs_error_set(err, ENODATA, "the store '%s' has no remote", store);
	if (r == 0)
		r = ofs_remote_access_parse(opts.remote, opts.replicate_key, err, ret);
	ofs_config_destroy(config);
	return r;
}

static int salvage_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_remote_access_finish) struct ofs_remote_access remote = { 0 };
	struct salvaged salvaged = { 0 };
	struct ofs_salvage set = { .remote = &remote, .found = tell, .arg = &salvaged };
	struct ofs_error err;
	int r;

	if (argc < 2)
		return ofs_report_usage("give a store, and a directory for what it finds");
	set.into = into = argv[1];
	r = find_remote(argv[0], &err, &remote);
	if (r == 0)
		r = ofs_salvage(argv[0], &set, &err);
	if (r < 0)
		return ofs_report("%s", err.text);
	printf("%" PRIu64 " file%s that the remote lacks%s\n", salvaged.files,
	       salvaged.files == 1 ? "" : "s", salvaged.files ? "" : ": nothing is lost");
	return OFS_EXIT_OK;
}

const struct ofs_command ofs_cmd_salvage = {
	.name = "salvage",
	.synopsis = "STORE DIR",
	.summary = "Copies out what never reached a store's remote",
	.help = "For a store that another host took over before everything was sent: copies the\n"
		"files that were made or changed since into DIR, under the names that they have in\n"
		"the tree. The store must not be mounted; it stays as it is.\n",
	.operands = 2,
	.missing = "give a store, and a directory for what it finds",
	.run = salvage_run,
};
