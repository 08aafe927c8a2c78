/* SPDX-License-Identifier: MIT */
/* offload promote and offload archive: move files into persistent/ and archive/. */
#include "cli/command.h"
#include "cli/each.h"
#include "client/promotion.h"
#include "cli/report.h"

static struct ofs_promotion promotion;
static const struct ofs_option options[] = {
	OFS_TEXT('c', "category", "CATEGORY", &promotion.category,
		 "its category (default: unchanged)"),
	OFS_TEXT('n', "name", "NAME", &promotion.name, "its name (default: unchanged)"),
	OFS_TEXT(0, "tag", "TAGS", &promotion.tags, "add tags, separated by commas"),
	OFS_OPTIONS_END,
};

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

static int run(const struct ofs_command *self, int argc, char **argv)
{
	int code = ofs_command_check_names(promotion.category, NULL, promotion.name);

	if (code >= 0)
		return code;
	promotion.top = self->data;
	if (promotion.name && argc > 1)
		return ofs_report_usage("-n names one file, and %d were given", argc);
	if (promotion.tags && (!*promotion.tags || strlen(promotion.tags) > OFS_TAGS_MAX))
		return ofs_report_usage("--tag takes 1 to %d bytes: names separated by commas",
					OFS_TAGS_MAX);
	return ofs_operand_each(argc, argv, promote_operand, &promotion);
}

#define PROMOTE_COMMON                                                                   \
	.synopsis = "[-c CATEGORY] [-n NAME] [--tag TAGS] [--json] REF|PATH...",         \
	.options = options, .json = "print a JSON object", .operands = OFS_OPERANDS_ANY, \
	.missing = "name files by their refs or paths", .run = run
#define PROMOTE_HELP \
	"Refs stay valid. Nothing is replaced: a file whose name is taken stays where it is.\n"

const struct ofs_command ofs_cmd_promote = {
	.name = "promote",
	.summary = "Moves files or directories into persistent/, where they do not expire",
	.help = "Each becomes persistent/CATEGORY/NAME.\n" PROMOTE_HELP,
	.data = "persistent",
	PROMOTE_COMMON,
};

const struct ofs_command ofs_cmd_archive = {
	.name = "archive",
	.summary = "Moves files or directories into archive/, for good and read-only",
	.help = "Each becomes archive/CATEGORY/NAME.\n" PROMOTE_HELP,
	.data = "archive",
	PROMOTE_COMMON,
};
