/* SPDX-License-Identifier: MIT */
/* offload promote and offload archive. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

#include "cli/command.h"
#include "cli/operand.h"
#include "cli/print.h"
#include "cli/promotion.h"
#include "cli/report.h"

static int promote_operand(const void *arg, const struct ofs_operand *o, const char *name,
			   json_t *list)
{
	struct ofs_error err;
	json_t *done;

	(void)name;
	if (ofs_promote(arg, o->backend, o->path, &o->attr, &err, &done) < 0)
		return ofs_report("%s", err.text);
	return ofs_print_item(list, done,
			      json_is_true(json_object_get(done, "moved"))
				      ? "{ref|-}  {path}  (was {was})\n"
				      : "{ref|-}  {path}  (was there already)\n");
}

static int run(const struct ofs_command *self, const char *top, int argc, char **argv)
{
	struct ofs_target_options target = { 0 };
	struct ofs_promotion p = { .top = top };
	bool json = false;
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &p.category,
			 "its category (default: the one that it has)"),
		OFS_TEXT('n', "name", "NAME", &p.name, "its name (default: the one that it has)"),
		OFS_TEXT(0, "tag", "TAGS", &p.tags, "add tags, separated by commas"),
		OFS_FLAG(0, "json", &json, "print a JSON object"),
		OFS_COMMON(&target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code < 0)
		code = ofs_command_check_names(p.category, NULL, p.name);
	if (code >= 0)
		return code;
	if (p.name && argc > 1)
		return ofs_report_usage("-n names one file, and %d were given", argc);
	if (p.tags && (!*p.tags || strlen(p.tags) > OFS_TAGS_MAX))
		return ofs_report_usage("--tag takes 1 to %d bytes: names separated by commas",
					OFS_TAGS_MAX);
	return ofs_operand_each(&target, argc, argv, json, promote_operand, &p);
}

static int promote_run(const struct ofs_command *self, int argc, char **argv)
{
	return run(self, "persistent", argc, argv);
}

static int archive_run(const struct ofs_command *self, int argc, char **argv)
{
	return run(self, "archive", argc, argv);
}

#define PROMOTE_COMMON                                                           \
	.synopsis = "[-c CATEGORY] [-n NAME] [--tag TAGS] [--json] REF|PATH...", \
	.operands = OFS_OPERANDS_ANY, .missing = "name files by their refs or paths"
#define PROMOTE_HELP \
	"Refs stay valid. Nothing is replaced: what finds its name taken stays where it is.\n"

const struct ofs_command ofs_cmd_promote = {
	.name = "promote",
	.summary = "Moves files or directories into persistent/, where they do not expire",
	.help = "Each becomes persistent/CATEGORY/NAME.\n" PROMOTE_HELP,
	PROMOTE_COMMON,
	.run = promote_run,
};

const struct ofs_command ofs_cmd_archive = {
	.name = "archive",
	.summary = "Moves files or directories into archive/, for good and read-only",
	.help = "Each becomes archive/CATEGORY/NAME.\n" PROMOTE_HELP,
	PROMOTE_COMMON,
	.run = archive_run,
};
