/* SPDX-License-Identifier: MIT */
/* offload show: everything that a tree knows about one of its files. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/text.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/operand.h"
#include "cli/report.h"

static bool as_json;

static const struct ofs_option options[] = {
	OFS_FLAG(0, "json", &as_json, "print a JSON object"),
	OFS_OPTIONS_END,
};

#define SHOW_GONE 3 /* exit code: the file was removed, and this is what it was */

/* Members of the object in their order, and the attributes that they are; NULL: what stat says. */
static const struct {
	const char *key, *attribute;
	enum {
		SHOW_TEXT,
		SHOW_NUMBER,
		SHOW_FLAG
	} kind;
} fields[] = {
	{ "path", "path", SHOW_TEXT },	     { "ref", "ref", SHOW_TEXT },
	{ "tier", "tier", SHOW_TEXT },	     { "category", "category", SHOW_TEXT },
	{ "task", "task", SHOW_TEXT },	     { "title", "title", SHOW_TEXT },
	{ "tags", "tags", SHOW_TEXT },	     { "type", "mime", SHOW_TEXT },
	{ "size", NULL, SHOW_NUMBER },	     { "lines", "lines", SHOW_NUMBER },
	{ "tokens", "tokens", SHOW_NUMBER }, { "stored_bytes", "stored_bytes", SHOW_NUMBER },
	{ "sha256", "sha256", SHOW_TEXT },   { "created", "created", SHOW_TEXT },
	{ "modified", NULL, SHOW_TEXT },     { "important", "important", SHOW_FLAG },
	{ "ttl", "ttl", SHOW_TEXT },	     { "expires", "expires", SHOW_TEXT },
	{ "used", "used", SHOW_TEXT },	     { "lifecycle", "lifecycle", SHOW_TEXT },
};

static const char form[] = "path       {path}\n"
			   "[ref        {ref}\n]"
			   "[tier       {tier}\n]"
			   "[category   {category}\n]"
			   "[task       {task}\n]"
			   "[title      {title}\n]"
			   "[tags       {tags}\n]"
			   "type       {type}\n"
			   "size       {size:byte}\n"
			   "[lines      {lines:line}\n]"
			   "[tokens     {tokens:token}\n]"
			   "[stored     {stored_bytes:byte}\n]"
			   "[{?is_file}sha256     {sha256|not sealed yet}\n]"
			   "[created    {created}\n]"
			   "modified   {modified}\n"
			   "[{?important}important  yes\n]"
			   "[ttl        {ttl}\n]"
			   "[expires    {expires}\n]"
			   "[used       {used}\n]"
			   "[lifecycle  {lifecycle}\n]";

/* What the sentence does not say of a file that was removed. */
static const char gone_form[] = "[title      {title}\n]"
				"[tags       {tags}\n]"
				"[tier       {tier}\n]"
				"[category   {category}\n]"
				"[task       {task}\n]"
				"[sha256     {sha256}\n]"
				"[created    {created}\n]"
				"[used       {used}\n]"
				"[removed    {removed}\n]";

static const char *show_kind(mode_t mode)
{
	switch (mode & S_IFMT) {
	case S_IFREG:
		return "file";
	case S_IFDIR:
		return "directory";
	case S_IFLNK:
		return "symbolic link";
	default:
		return "special file";
	}
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
		if (fields[i].kind == SHOW_FLAG)
			value = json_boolean(r == 0 && atoi(text) > 0);
		else if (r == 0 && fields[i].kind == SHOW_NUMBER)
			value = json_integer(strtoll(text, NULL, 10));
		else if (r == 0 && *text)
			value = ofs_print_string(text);
		json_object_set_new(json, fields[i].key, value);
	}
	return 0;
}

static void show_add_stat(const struct stat *attr, json_t *json)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf time = OFS_BUF_INIT;

	ofs_text_time((int64_t)attr->st_mtim.tv_sec * OFS_NS_PER_S, &time);
	json_object_set_new(json, "modified", json_stringn((char *)time.data, time.len));
	json_object_set_new(json, "size", json_integer((json_int_t)attr->st_size));
	if (!json_is_string(json_object_get(json, "type")))
		json_object_set_new(json, "type", json_string(show_kind(attr->st_mode)));
}

static int show_gone(json_t *gone)
{
	OFS_FREE char *sentence = ofs_gone_sentence(gone);

	if (as_json) {
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
	show_add_stat(&o->attr, json);
	/* A ref says little of where its file is: the tree knows that. */
	real = json_string_value(json_object_get(json, "path"));
	if (real) {
		free(o->path);
		o->path = ofs_strdup(real);
	}
	path = ofs_operand_display(o);
	json_object_set_new(json, "path", ofs_print_string(path));
	if (as_json)
		return ofs_print_json(json, path);
	json_object_set_new(json, "is_file", json_boolean(S_ISREG(o->attr.st_mode)));
	return ofs_print_item(NULL, json, form);
}

static int show_run(const struct ofs_command *self, int argc, char **argv)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	struct ofs_error err;
	int r = ofs_operand_open(argv[0], &err, &o);

	if (r == -EKEYEXPIRED && o.gone)
		return show_gone(o.gone);
	return r < 0 ? ofs_report("%s", err.text) : show_file(&o, argv[0]);
}

const struct ofs_command ofs_cmd_show = {
	.name = "show",
	.synopsis = "REF|PATH [--json]",
	.summary = "Tells all that is known about a file",
	.options = options,
	.notes = "Of a ref whose file has expired it tells what that was, and exits with 3.\n",
	.operands = 1,
	.missing = "name a file by its ref or path",
	.run = show_run,
};
