/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/command.h"
#include "cli/report.h"
#include "client/content.h"
#include "client/deposit.h"
#include "client/naming.h"
#include "client/offload.h"
#include "client/spool.h"
#include "client/target.h"

struct put_options {
	struct ofs_target_options target;
	struct ofs_deposit deposit;
	bool json;
};

static int put_print_json(const struct ofs_offloaded *o, const struct put_options *opts,
			  const struct ofs_content *content)
{
	json_t *json = json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:b, s:s, s:s}", "ref",
				 o->file.ref, "path", o->display, "category",
				 opts->deposit.category, "task", opts->deposit.task, "title",
				 opts->deposit.title, "size", (json_int_t)content->size, "lines",
				 (json_int_t)content->lines, "binary", content->binary, "sha256",
				 content->sha256, "pointer", o->pointer);
	int r;

	/* A name, a title or a preview that is no UTF-8 has no place in JSON. */
	if (!json)
		return ofs_report_failure(
			"stored as ref %s, but its name or title is not UTF-8, which "
			"JSON needs",
			o->file.ref);
	r = json_dumpf(json, stdout, JSON_INDENT(2));
	json_decref(json);
	putchar('\n');
	return r < 0 ? OFS_EXIT_FAILURE : OFS_EXIT_OK;
}

static int put_standard_input(const struct put_options *opts)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access;
	struct ofs_offload_request request = {
		.deposit = &opts->deposit,
		.what = opts->deposit.title ? opts->deposit.title : opts->deposit.category,
	};
	struct ofs_content content;
	struct ofs_error err;
	int r;

	ofs_access_init(&access, &opts->target);
	r = ofs_spool_fill(&spool, STDIN_FILENO);
	if (r < 0)
		return ofs_report_failure("cannot take in standard input: %s", strerror(-r));
	r = ofs_content_scan(&spool, &content);
	if (r < 0)
		return ofs_report_failure("cannot read the input again: %s", strerror(-r));
	r = ofs_offload(&request, &content, &access, &err, &done);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	if (opts->json)
		return put_print_json(&done, opts, &content);
	fputs(done.pointer, stdout);
	return OFS_EXIT_OK;
}

static int put_run(const struct ofs_command *self, int argc, char **argv)
{
	struct put_options opts = { .deposit.category = "general" };
	const struct ofs_option options[] = {
		OFS_TEXT('c', "category", "CATEGORY", &opts.deposit.category,
			 "what kind of output it is (default: general)"),
		OFS_TEXT('t', "task", "TASK", &opts.deposit.task, "the task that it belongs to"),
		OFS_TEXT('n', "name", "NAME", &opts.deposit.name,
			 "its name (default: made from category, time and content)"),
		OFS_TEXT(0, "title", "TEXT", &opts.deposit.title,
			 "what it is, for people and for search"),
		OFS_TEXT(0, "ttl", "TIME", &opts.deposit.ttl,
			 "how long it lives unused: 30m, 6h, 7d, never"),
		OFS_FLAG(0, "json", &opts.json, "print a JSON object, with the pointer in it"),
		OFS_COMMON(&opts.target),
	};
	struct ofs_error err;
	int code = ofs_command_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (ofs_naming_check("category", opts.deposit.category, &err) < 0 ||
	    (opts.deposit.task && ofs_naming_check("task", opts.deposit.task, &err) < 0) ||
	    (opts.deposit.name && ofs_naming_check_file(opts.deposit.name, &err) < 0))
		return ofs_report_usage("%s", err.text);
	return put_standard_input(&opts);
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
