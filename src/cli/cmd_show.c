/* SPDX-License-Identifier: MIT */
/* offload show: everything that a tree knows about one of its files. */
#include "base/clock.h"
#include "base/redact.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/guard.h"
#include "cli/operand.h"
#include "cli/report.h"

#define SHOW_GONE 3 /* exit code: the file was removed, and this is what it was */

/* Members of the object in their order. */
static const struct {
	const char *key;
	const char *attribute; /* NULL: stat tells it */
	const char *noun; /* of a number */
	const char *label; /* in the text; NULL: the key */
} fields[] = {
	{ "path", "path" },
	{ "ref", "ref" },
	{ "tier", "tier" },
	{ "category", "category" },
	{ "task", "task" },
	{ "origin_task", "origin_task", .label = "of task" },
	{ "origin_category", "origin_category", .label = "made as" },
	{ "title", "title" },
	{ "tags", "tags" },
	{ "type", "mime" },
	{ "size", NULL, "byte" },
	{ "lines", "lines", "line" },
	{ "tokens", "tokens", "token" },
	{ "stored_bytes", "stored_bytes", "byte", "stored" },
	{ "sha256", "sha256" },
	{ "created", "created" },
	{ "modified", NULL },
	{ "important", "important" },
	{ "ttl", "ttl" },
	{ "expires", "expires" },
	{ "used", "used" },
	{ "lifecycle", "lifecycle" },
};

/* Of a file that was removed, after the sentence about it. */
static const char gone_form[] = "[title      {title}\n]"
				"[tags       {tags}\n]"
				"[tier       {tier}\n]"
				"[category   {category}\n]"
				"[task       {task}\n]"
				"[sha256     {sha256}\n]"
				"[created    {created}\n]"
				"[used       {used}\n]"
				"[removed    {removed}\n]";

/* The path is where the file is found: it stays as it is. */
static json_t *show_string(const char *key, const char *text)
{
	OFS_FREE char *shown = strcmp(key, "path") ? ofs_redact_string(text) : ofs_strdup(text);

	return ofs_print_string(shown);
}

/* Reads the attributes; one that the file, or its tree, does not have becomes null. */
static int show_load(const struct ofs_operand *o, json_t *json)
{
	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields); i++) {
		OFS_FREE char *text = NULL;
		json_t *value = json_null();
		int r = -ENODATA;

		if (fields[i].attribute)
			r = ofs_backend_attribute(o->backend, o->path, fields[i].attribute, &text);
		if (r < 0 && r != -ENODATA && r != -ENOTSUP)
			return r;
		if (r == 0 && fields[i].noun)
			value = json_integer(strtoll(text, NULL, 10));
		else if (r == 0 && *text)
			value = show_string(fields[i].key, text);
		json_object_set_new(json, fields[i].key, value);
	}
	return 0;
}

static void show_complete(const struct stat *attr, json_t *json)
{
	const char *important = json_string_value(json_object_get(json, "important"));
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf time = OFS_BUF_INIT;

	ofs_text_time((int64_t)attr->st_mtim.tv_sec * OFS_NS_PER_S, &time);
	json_object_set_new(json, "modified", json_string(ofs_buf_str(&time)));
	json_object_set_new(json, "size", json_integer((json_int_t)attr->st_size));
	json_object_set_new(json, "important", json_boolean(important && atoi(important) > 0));
	if (json_is_null(json_object_get(json, "type")))
		json_object_set_new(json, "type",
				    json_string(S_ISDIR(attr->st_mode)	 ? "directory"
						: S_ISREG(attr->st_mode) ? "file"
									 : "special file"));
}

static void show_print(json_t *json, bool is_file)
{
	if (is_file && json_is_null(json_object_get(json, "sha256")))
		json_object_set_new(json, "sha256", json_string("not sealed yet"));
	if (json_is_true(json_object_get(json, "important")))
		json_object_set_new(json, "important", json_string("yes"));
	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields); i++) {
		const char *key = fields[i].key, *noun = fields[i].noun;
		OFS_FREE char *form = ofs_format("[%-10s {%s%s%s}\n]",
						 fields[i].label ? fields[i].label : key, key,
						 noun ? ":" : "", noun ? noun : "");

		ofs_print_form(stdout, json, form);
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
		ofs_print_form(stdout, gone, gone_form);
	}
	return SHOW_GONE;
}

static int show_file(struct ofs_operand *o, const char *name)
{
	json_t *json = json_object();
	OFS_FREE char *path = NULL;
	const char *real;
	int r = show_load(o, json);

	if (r < 0) {
		json_decref(json);
		return ofs_report("cannot read the attributes of '%s': %s", name,
				  ofs_report_errno(-r));
	}
	show_complete(&o->attr, json);
	/* A ref says little of where its file is: the tree knows that. */
	real = json_string_value(json_object_get(json, "path"));
	if (real) {
		free(o->path);
		o->path = ofs_strdup(real);
	}
	path = ofs_operand_display(o);
	json_object_set_new(json, "path", ofs_print_string(path));
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
	int r = ofs_operand_open(name, &err, &o);

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
	.summary = "Tells all that is known about a file",
	.json = "print a JSON object",
	.notes = "Of a ref whose file has expired it tells what that was, and exits with 3.\n",
	.operands = 1,
	.missing = "name a file by its ref or path",
	.run = show_run,
};
