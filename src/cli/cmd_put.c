/* SPDX-License-Identifier: MIT */
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/command.h"
#include "cli/print.h"
#include "cli/report.h"
#include "client/content.h"
#include "client/deposit.h"
#include "client/offload.h"
#include "client/spool.h"

static int put_print_json(const struct ofs_offloaded *o, const struct ofs_deposit *d,
			  const struct ofs_content *content)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:b, s:s, s:s}", "ref",
				 o->file.ref, "path", o->display, "category", d->category, "task",
				 d->task, "title", d->title, "size", (json_int_t)content->size,
				 "lines", (json_int_t)content->lines, "binary", content->binary,
				 "sha256", content->sha256, "pointer", o->pointer);

	if (json)
		return ofs_print_json(json, o->display);
	return ofs_report("stored as ref %s, but its name or title is not UTF-8, which JSON needs",
			  o->file.ref);
}

static int put_standard_input(const struct ofs_target_options *target, const struct ofs_deposit *d,
			      bool json)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	const struct ofs_offload_request request = {
		.deposit = d,
		.what = d->title ? d->title : d->category,
	};
	struct ofs_content content;
	struct ofs_error err;
	int r;

	ofs_access_init(&access, target);
	r = ofs_spool_fill(&spool, STDIN_FILENO);
	if (r < 0)
		return ofs_report("cannot take in standard input: %s", strerror(-r));
	r = ofs_content_scan(&spool, &content);
	if (r < 0)
		return ofs_report("cannot read the input again: %s", strerror(-r));
	if (ofs_offload(&request, &content, &access, &err, &done) < 0)
		return ofs_report("%s", err.text);
	if (json)
		return put_print_json(&done, d, &content);
	fputs(done.pointer, stdout);
	return OFS_EXIT_OK;
}

static int put_run(const struct ofs_command *self, int argc, char **argv)
{
	struct ofs_deposit d = { .category = "general" };
	struct ofs_target_options target = { 0 };
	bool json = false;
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &d.category,
			 "what kind of output it is (default: general)"),
		OFS_TEXT('t', "task", "TASK", &d.task, "the task that it belongs to"),
		OFS_TEXT('n', "name", "NAME", &d.name,
			 "its name (default: made from category, time and content)"),
		OFS_TEXT(0, "title", "TEXT", &d.title, "what it is, for people and for search"),
		OFS_TEXT(0, "ttl", "TIME", &d.ttl, "how long it lives unused: 30m, 6h, 7d, never"),
		OFS_FLAG(0, "json", &json, "print a JSON object, with the pointer in it"),
		OFS_COMMON(&target),
	};
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code < 0)
		code = ofs_command_check_names(d.category, d.task, d.name);
	return code >= 0 ? code : put_standard_input(&target, &d, json);
}

const struct ofs_command ofs_cmd_put = {
	.name = "put",
	.synopsis = "[-c CATEGORY] [-t TASK] [-n NAME] [--title TEXT] [--ttl TIME] < INPUT",
	.summary = "Stores standard input and prints the pointer to it",
	.help = "The file becomes cache/CATEGORY/NAME, or tasks/TASK/CATEGORY/NAME. The same bytes in the\n"
		"same folder are stored once and give the same pointer.\n",
	.unexpected = ": what is stored comes from standard input",
	.run = put_run,
};
