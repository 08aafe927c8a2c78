/* SPDX-License-Identifier: MIT */
#include "cli/each.h"

#include "cli/command.h"
#include "cli/report.h"

int ofs_operand_each(int argc, char *const argv[],
		     int (*fn)(const void *arg, const struct ofs_operand *o, const char *name,
			       json_t *list),
		     const void *arg)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	json_t *list = ofs_command_json ? json_array() : NULL;
	struct ofs_error err;
	int failed = 0;

	for (int i = 0; i < argc; i++) {
		if (ofs_operand_open(&ofs_command_target, argv[i], &err, &o) < 0)
			failed += ofs_report("%s", err.text);
		else
			failed += fn(arg, &o, argv[i], list);
	}
	if (list)
		ofs_print_json(json_pack("{s:o, s:i}", "files", list, "failed", failed), "");
	return failed ? OFS_EXIT_FAILURE : OFS_EXIT_OK;
}
