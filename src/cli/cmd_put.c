/* SPDX-License-Identifier: MIT */
/* offload put: stores standard input and prints the pointer to it. */
#include "base/redact.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/pointer.h"

/* Exit code of the child: the input was stored, but this could not be reported. */
#define PUT_STORED 100

static struct ofs_deposit deposit = { .category = "general", .way = "put" };
static const struct ofs_option options[] = {
	OFS_TEXT('c', "category", "CATEGORY", &deposit.category,
		 "what kind of output it is (default: general)"),
	OFS_TEXT('t', "task", "TASK", &deposit.task,
		 "the task that it belongs to (default: the session of the agent,\n"
		 "or OFFLOAD_TASK)"),
	OFS_TEXT('n', "name", "NAME", &deposit.name,
		 "its name (default: made from category, time and content)"),
	OFS_TEXT(0, "title", "TEXT", &deposit.title, "what it is, for people and for search"),
	OFS_TEXT(0, "ttl", "TIME", &deposit.ttl, "how long it lives unused: 30m, 6h, 7d, never"),
	OFS_OPTIONS_END,
};

static int put_print_json(const struct ofs_access *access, const struct ofs_offloaded *o,
			  const struct ofs_content *content)
{
	OFS_FREE char *path = ofs_access_display(access, o->file.path);
	OFS_FREE char *title = deposit.title ? ofs_redact_string(deposit.title) : NULL;
	json_t *json = json_pack("{s:s, s:s, s:s, s:s?, s:s?, s:I, s:I, s:b, s:s, s:s}", "ref",
				 o->file.ref, "path", path, "category", deposit.category, "task",
				 deposit.task, "title", title, "size", (json_int_t)content->size,
				 "lines", (json_int_t)content->lines, "binary", content->binary,
				 "sha256", content->sha256, "pointer", o->pointer);

	if (json)
		return ofs_print_json(json, path);
	return ofs_report("stored as ref %s, but its name or title is not UTF-8, which JSON needs",
			  o->file.ref);
}

static int put_failed(const char *reason)
{
	return ofs_report("nothing was stored, and the whole input follows: %s", reason);
}

static int put_store(const void *arg)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	OFS_CLEANUP(ofs_access_finish) struct ofs_access access = { 0 };
	struct ofs_content content;
	const struct ofs_pointer pointer = {
		.what = deposit.title ? deposit.title : deposit.category,
		.content = &content,
	};
	struct ofs_error err;
	int r = ofs_content_scan(arg, &content);

	if (r < 0)
		return put_failed(strerror(-r));
	ofs_access_init(&access, &ofs_command_target);
	if (ofs_offload(&deposit, &pointer, &access, &err, &done) < 0)
		return put_failed(err.text);
	ofs_report_stale(&access.target);
	if (ofs_command_json)
		return put_print_json(&access, &done, &content) ? PUT_STORED : OFS_EXIT_OK;
	fputs(done.pointer, stdout);
	return OFS_EXIT_OK;
}

static int put_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_spool_finish) struct ofs_spool spool = OFS_SPOOL_INIT;
	int r = ofs_command_check_names(deposit.category, deposit.task, deposit.name);

	if (r < 0)
		r = ofs_command_default_task(&deposit.task, true);
	if (r >= 0)
		return r;
	r = ofs_spool_fill(&spool, STDIN_FILENO);
	if (r < 0)
		return ofs_report("cannot read standard input: %s", strerror(-r));
	r = ofs_guard_work(put_store, &spool, INT64_MAX);
	if (r < 0)
		put_failed(ofs_guard_reason(r));
	if (r == OFS_EXIT_OK)
		return r;
	if (r != PUT_STORED)
		ofs_spool_copy(&spool, STDOUT_FILENO);
	return OFS_EXIT_FAILURE;
}

const struct ofs_command ofs_cmd_put = {
	.name = "put",
	.synopsis = "[-c CATEGORY] [-t TASK] [-n NAME] [--title TEXT] [--ttl TIME] < INPUT",
	.summary = "Stores standard input and prints the pointer to it",
	.help = "The file becomes cache/CATEGORY/NAME, or tasks/TASK/CATEGORY/NAME. The same\n"
		"bytes in the same folder are stored once and give the same pointer. When nothing\n"
		"can be stored, the input is passed on.\n",
	.options = options,
	.json = "print a JSON object, with the pointer in it",
	.unexpected = ": what is stored comes from standard input",
	.run = put_run,
};
