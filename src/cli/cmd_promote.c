/* SPDX-License-Identifier: MIT */
/* offload promote and offload archive. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/operand.h"
#include "cli/command.h"
#include "cli/promotion.h"
#include "cli/report.h"
#include "client/naming.h"

struct promote_options {
	struct ofs_target_options target;
	struct ofs_promotion promotion;
	bool json;
};

static int promote_print_json(const struct ofs_promoted *p, json_t *files)
{
	json_t *json = json_pack("{s:s?, s:s, s:s, s:s?, s:s?, s:b}", "ref", p->ref, "path",
				 p->path, "was", p->was, "category", p->category, "tags", p->tags,
				 "moved", strcmp(p->path, p->was) != 0);

	if (!json)
		return ofs_report_failure("the name '%s' is not UTF-8, which JSON needs", p->path);
	json_array_append_new(files, json);
	return OFS_EXIT_OK;
}

static void promote_print(const struct ofs_promoted *p)
{
	fputs(p->ref ? p->ref : "-", stdout);
	fputs("  ", stdout);
	ofs_text_line(stdout, p->path);
	if (strcmp(p->path, p->was) == 0) {
		puts("  (was there already)");
		return;
	}
	fputs("  (was ", stdout);
	ofs_text_line(stdout, p->was);
	puts(")");
}

/* `o` stays open from one operand to the next. */
static int promote_one(const struct promote_options *opts, const char *name, struct ofs_operand *o,
		       json_t *files)
{
	OFS_CLEANUP(ofs_promoted_finish) struct ofs_promoted done = { 0 };
	struct ofs_error err;
	int r = ofs_operand_open(&opts->target, name, &err, o);

	if (r == 0)
		r = ofs_promote(&opts->promotion, o->backend, o->path, &o->attr, &err, &done);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	if (files)
		return promote_print_json(&done, files);
	promote_print(&done);
	return OFS_EXIT_OK;
}

static int promote_all(const struct promote_options *opts, char *const names[], int count)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	json_t *files = opts->json ? json_array() : NULL;
	int failed = 0;

	for (int i = 0; i < count; i++)
		failed += promote_one(opts, names[i], &o, files) != OFS_EXIT_OK;
	if (files)
		ofs_text_json(stdout, json_pack("{s:o, s:i}", "files", files, "failed", failed));
	return failed ? OFS_EXIT_FAILURE : OFS_EXIT_OK;
}

static int promote_check(const struct promote_options *opts, int count)
{
	const struct ofs_promotion *p = &opts->promotion;
	struct ofs_error err;

	if ((p->category && ofs_naming_check("category", p->category, &err) < 0) ||
	    (p->name && ofs_naming_check_file(p->name, &err) < 0))
		return ofs_report_usage("%s", err.text);
	if (p->name && count > 1)
		return ofs_report_usage("-n names one file, and %d were given", count);
	if (p->tags && (!*p->tags || strlen(p->tags) > OFS_TAGS_MAX))
		return ofs_report_usage("--tag takes 1 to %d bytes: names separated by commas",
					OFS_TAGS_MAX);
	return OFS_EXIT_OK;
}

static int promote_parse(const struct ofs_command *self, const char *top, int argc, char **argv)
{
	struct promote_options opts = { .promotion.top = top };
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &opts.promotion.category,
			 "its category (default: the one that it has)"),
		OFS_TEXT('n', "name", "NAME", &opts.promotion.name,
			 "its name (default: the one that it has)"),
		OFS_TEXT(0, "tag", "TAGS", &opts.promotion.tags, "add tags, separated by commas"),
		OFS_FLAG(0, "json", &opts.json, "print a JSON object"),
		OFS_COMMON(&opts.target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	code = promote_check(&opts, argc);
	return code ? code : promote_all(&opts, argv, argc);
}

static int promote_run(const struct ofs_command *self, int argc, char **argv)
{
	return promote_parse(self, "persistent", argc, argv);
}

static int archive_run(const struct ofs_command *self, int argc, char **argv)
{
	return promote_parse(self, "archive", argc, argv);
}

#define PROMOTE_SYNOPSIS "[-c CATEGORY] [-n NAME] [--tag TAGS] [--json] REF|PATH..."
#define PROMOTE_MISSING "name files by their refs or paths"
#define PROMOTE_HELP \
	"Refs stay valid. Nothing is replaced: what finds its name taken stays where it is.\n"

const struct ofs_command ofs_cmd_promote = {
	.name = "promote",
	.synopsis = PROMOTE_SYNOPSIS,
	.summary = "Moves files or directories into persistent/, where they do not expire",
	.help = "Each becomes persistent/CATEGORY/NAME.\n" PROMOTE_HELP,
	.operands = OFS_OPERANDS_ANY,
	.missing = PROMOTE_MISSING,
	.run = promote_run,
};

const struct ofs_command ofs_cmd_archive = {
	.name = "archive",
	.synopsis = PROMOTE_SYNOPSIS,
	.summary = "Moves files or directories into archive/, for good and read-only",
	.help = "Each becomes archive/CATEGORY/NAME.\n" PROMOTE_HELP,
	.operands = OFS_OPERANDS_ANY,
	.missing = PROMOTE_MISSING,
	.run = archive_run,
};
