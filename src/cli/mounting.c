/* SPDX-License-Identifier: MIT */
#include "cli/mounting.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/util.h"
#include "cli/option.h"
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
	struct ofs_target_options opts = { .mounting = true };
	const struct ofs_option options[] = { OFS_TARGET(&opts), OFS_END };
	OFS_FREE char *workspace = NULL;
	int code = ofs_options_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (argc > 1)
		return ofs_report_usage("unexpected argument '%s'", argv[1]);
	if (argc) {
		workspace = mounting_folder(argv[0]);
		if (!workspace)
			return OFS_EXIT_FAILURE;
	}
	return work(&opts, workspace);
}
