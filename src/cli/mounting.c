/* SPDX-License-Identifier: MIT */
#include "cli/mounting.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cli/report.h"

/* The folder that was named, allocated; NULL when it is none, which was reported. */
static char *mounting_folder(const char *named)
{
	OFS_FREE char *folder = realpath(named, NULL);
	struct stat st;

	if (!folder || stat(folder, &st) < 0) {
		ofs_report_failure("cannot use '%s' as a workspace: %s", named, strerror(errno));
		return NULL;
	}
	if (!S_ISDIR(st.st_mode)) {
		ofs_report_failure("'%s' is not a folder, so no workspace", named);
		return NULL;
	}
	return ofs_steal(folder);
}

int ofs_mounting_run(const struct ofs_command *self, int argc, char **argv,
		     int (*work)(const struct ofs_target_options *opts, const char *workspace))
{
	static const struct option options[] = { OFS_TARGET_LONG, { 0 } };
	struct ofs_target_options opts = { .mounting = true };
	OFS_FREE char *workspace = NULL;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, ":" OFS_TARGET_SHORT, options, NULL)) != -1) {
		if (ofs_target_take_option(&opts, c, optarg))
			continue;
		if (c != 'h')
			return ofs_report_option(c, argv);
		ofs_command_print_help(self, stdout);
		return OFS_EXIT_OK;
	}
	if (argc - optind > 1)
		return ofs_report_usage("unexpected argument '%s'", argv[optind + 1]);
	if (optind < argc) {
		workspace = mounting_folder(argv[optind]);
		if (!workspace)
			return OFS_EXIT_FAILURE;
	}
	return work(&opts, workspace);
}
