/* SPDX-License-Identifier: MIT */
/* offload pin and offload unpin. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/files.h"
#include "cli/operand.h"
#include "cli/option.h"
#include "cli/report.h"

struct pin {
	struct ofs_target_options target;
	bool important;
	json_t *files; /* NULL: no --json */
	int failed;
};

static int pin_print(const struct pin *p, struct ofs_backend *b, const char *path)
{
	OFS_FREE char *ref = NULL, *place = NULL;
	json_t *json;

	/* Of what was just set both can be read; what goes meanwhile is told of by its path. */
	if (ofs_backend_attribute(b, path, "ref", &ref) < 0)
		ref = NULL;
	if (ofs_backend_attribute(b, path, "path", &place) < 0)
		place = NULL;
	path = place ? place : path;
	if (!p->files) {
		printf("%s  ", ref ? ref : "-");
		ofs_text_line(stdout, path);
		puts(p->important ? "  pinned" : "  unpinned");
		return OFS_EXIT_OK;
	}
	json = json_pack("{s:s?, s:s, s:b}", "ref", ref, "path", path, "important", p->important);
	if (!json)
		return ofs_report_failure("the name '%s' is not UTF-8, which JSON needs", path);
	json_array_append_new(p->files, json);
	return OFS_EXIT_OK;
}

static int pin_file(const struct pin *p, struct ofs_backend *b, const char *path)
{
	int r = ofs_backend_set_attribute(b, path, "important", p->important ? "1" : "0");

	if (r == -EROFS || r == -EOPNOTSUPP)
		return ofs_report_failure("'%s' is no file that can be pinned", path);
	if (r < 0)
		return ofs_report_failure("cannot %s '%s': %s", p->important ? "pin" : "unpin",
					  path, ofs_report_errno(-r));
	return pin_print(p, b, path);
}

static int pin_directory(struct pin *p, const struct ofs_operand *o, const char *name)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files files = OFS_FILES_INIT;
	int r;

	if (!*o->path)
		return ofs_report_failure("'%s' is the whole tree: name files or directories in it",
					  name);
	r = ofs_files_gather(o->backend, o->path, &files);
	if (r < 0)
		return ofs_report_failure("cannot list '%s': %s", name, ofs_report_errno(-r));
	for (size_t i = 0; i < files.count; i++)
		p->failed += pin_file(p, o->backend, files.list[i].path) != OFS_EXIT_OK;
	if (!files.count)
		return ofs_report_failure("there is no file in '%s'", name);
	return OFS_EXIT_OK;
}

static int pin_one(struct pin *p, const char *name, struct ofs_operand *o)
{
	struct ofs_error err;

	if (ofs_operand_open(&p->target, name, &err, o) < 0)
		return ofs_report_failure("%s", err.text);
	if (S_ISDIR(o->attr.st_mode))
		return pin_directory(p, o, name);
	return pin_file(p, o->backend, o->path);
}

static int pin_parse(const struct ofs_command *self, bool important, int argc, char **argv)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	struct pin p = { .important = important };
	bool json = false;
	const struct ofs_option options[] = {
		OFS_FLAG(0, "json", &json, "print a JSON object"),
		OFS_TARGET(&p.target),
		OFS_END,
	};
	int code = ofs_options_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (!argc)
		return ofs_report_usage("name files or directories by their refs or paths");
	if (json)
		p.files = json_array();
	for (int i = 0; i < argc; i++)
		p.failed += pin_one(&p, argv[i], &o) != OFS_EXIT_OK;
	if (json)
		ofs_text_json(stdout,
			      json_pack("{s:o, s:i}", "files", p.files, "failed", p.failed));
	return p.failed ? OFS_EXIT_FAILURE : OFS_EXIT_OK;
}

static int pin_run(const struct ofs_command *self, int argc, char **argv)
{
	return pin_parse(self, true, argc, argv);
}

static int unpin_run(const struct ofs_command *self, int argc, char **argv)
{
	return pin_parse(self, false, argc, argv);
}

#define PIN_HELP "Of a directory, every file in it and below it.\n"

const struct ofs_command ofs_cmd_pin = {
	.name = "pin",
	.synopsis = "[--json] REF|PATH...",
	.summary = "Keeps files from expiring, where they are",
	.help = PIN_HELP,
	.run = pin_run,
};

const struct ofs_command ofs_cmd_unpin = {
	.name = "unpin",
	.synopsis = "[--json] REF|PATH...",
	.summary = "Lets pinned files expire again",
	.help = PIN_HELP,
	.run = unpin_run,
};
