/* SPDX-License-Identifier: MIT */
/* offload show: prints everything that a tree knows about one of its files. */
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/report.h"
#include "client/describe.h"

#define SHOW_GONE 3 /* exit code: the file was removed, and we print what it was */

/* For a removed file, after the sentence about it. */
static const char gone_form[] = "[title      {title}\n]"
				"[tags       {tags}\n]"
				"[tier       {tier}\n]"
				"[category   {category}\n]"
				"[task       {task}\n]"
				"[sha256     {sha256}\n]"
				"[created    {created}\n]"
				"[used       {used}\n]"
				"[removed    {removed}\n]";

static void show_print(json_t *json, bool is_file)
{
	if (is_file && json_is_null(json_object_get(json, "sha256")))
		json_object_set_new(json, "sha256", json_string("not sealed yet"));
	if (json_is_true(json_object_get(json, "important")))
		json_object_set_new(json, "important", json_string("yes"));
	for (const struct ofs_operand_field *f = ofs_operand_fields; f->key; f++) {
		OFS_FREE char *form = ofs_format("[%-10s {%s%s%s}\n]", f->label ? f->label : f->key,
						 f->key, f->noun ? ":" : "",
						 f->noun ? f->noun : "");

		ofs_text_form(stdout, json, form);
	}
}

static int show_gone(json_t *gone)
{
	OFS_FREE char *sentence = ofs_gone_sentence(gone);

	if (ofs_command_json) {
		json_object_set_new(gone, "gone", json_true());
		ofs_print_json(json_incref(gone), "");
	} else {
		puts(sentence);
		ofs_text_form(stdout, gone, gone_form);
	}
	return SHOW_GONE;
}

static int show_file(struct ofs_operand *o, const char *name)
{
	OFS_FREE char *path = NULL;
	struct ofs_error err;
	json_t *json;

	if (ofs_operand_describe(o, name, &err, &json) < 0)
		return ofs_report("%s", err.text);
	path = ofs_operand_display(o);
	json_object_set_new(json, "path", ofs_json_string(path));
	if (ofs_command_json)
		return ofs_print_json(json, path);
	show_print(json, S_ISREG(o->attr.st_mode));
	json_decref(json);
	return OFS_EXIT_OK;
}

static int show_operand(const void *name)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	struct ofs_error err;
	int r = ofs_operand_open(&ofs_command_target, name, &err, &o);

	if (r == -EKEYEXPIRED && o.gone)
		return show_gone(o.gone);
	return r < 0 ? ofs_report("%s", err.text) : show_file(&o, name);
}

static int show_run(const struct ofs_command *self, int argc, char **argv)
{
	return ofs_guard_command(show_operand, argv[0]);
}

const struct ofs_command ofs_cmd_show = {
	.name = "show",
	.synopsis = "REF|PATH [--json]",
	.summary = "Shows all that is known about a file",
	.json = "print a JSON object",
	.notes = "For a ref whose file has expired it says what the file was, and exits with 3.\n",
	.operands = 1,
	.missing = "name a file by its ref or path",
	.run = show_run,
};
