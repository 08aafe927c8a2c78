/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/util.h"
#include "cli/gone.h"
#include "cli/meta.h"
#include "cli/operand.h"
#include "cli/option.h"
#include "cli/report.h"
#include "client/target.h"

#define SHOW_LABEL_WIDTH 10
#define SHOW_GONE 3 /* exit code: the file was removed, and this is what it was */

static void show_text(const char *label, const char *value)
{
	if (!value || !*value)
		return;
	printf("%-*s ", SHOW_LABEL_WIDTH, label);
	ofs_text_line(stdout, value);
	putchar('\n');
}

static void show_count(const char *label, int64_t value, const char *noun)
{
	if (value < 0)
		return;
	printf("%-*s ", SHOW_LABEL_WIDTH, label);
	ofs_text_count(stdout, (uint64_t)value, noun);
	putchar('\n');
}

static void show_print(const struct ofs_meta *m, const char *path)
{
	show_text("path", path);
	show_text("ref", m->ref);
	show_text("tier", m->tier);
	show_text("category", m->category);
	show_text("task", m->task);
	show_text("title", m->title);
	show_text("tags", m->tags);
	show_text("type", m->type);
	show_count("size", m->size, "byte");
	show_count("lines", m->lines, "line");
	show_count("tokens", m->tokens, "token");
	show_count("stored", m->stored_bytes, "byte");
	if (m->is_file)
		show_text("sha256", m->sha256 ? m->sha256 : "not sealed yet");
	show_text("created", m->created);
	show_text("modified", m->modified);
	if (m->important > 0)
		show_text("important", "yes");
	show_text("ttl", m->ttl);
	show_text("expires", m->expires);
	show_text("used", m->used);
	show_text("lifecycle", m->lifecycle);
}

static json_t *show_number(int64_t value)
{
	return value < 0 ? json_null() : json_integer((json_int_t)value);
}

static int show_print_json(const struct ofs_meta *m, const char *path)
{
	json_t *json = json_pack(
		"{s:s, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:s?, s:o, s:o, s:o, s:o, s:s?, s:s?, "
		"s:s, s:b, s:s?, s:s?, s:s?, s:s?}",
		"path", path, "ref", m->ref, "tier", m->tier, "category", m->category, "task",
		m->task, "title", m->title, "tags", m->tags, "type", m->type, "size",
		show_number(m->size), "lines", show_number(m->lines), "tokens",
		show_number(m->tokens), "stored_bytes", show_number(m->stored_bytes), "sha256",
		m->sha256, "created", m->created, "modified", m->modified, "important",
		m->important > 0, "ttl", m->ttl, "expires", m->expires, "used", m->used,
		"lifecycle", m->lifecycle);

	if (!json)
		return ofs_report_failure("the name '%s' is not UTF-8, which JSON needs", path);
	ofs_text_json(stdout, json);
	return OFS_EXIT_OK;
}

/* What the first line does not say of a file that was removed. */
static void show_gone(const json_t *gone)
{
	static const char *const fields[] = { "title",	"tags",	   "tier", "category", "task",
					      "sha256", "created", "used", "removed" };
	OFS_FREE char *sentence = ofs_gone_sentence(gone);

	puts(sentence);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields); i++)
		show_text(fields[i], ofs_gone_text(gone, fields[i]));
}

static int show_print_gone(json_t *gone, bool json)
{
	if (!json) {
		show_gone(gone);
		return SHOW_GONE;
	}
	json_object_set_new(gone, "gone", json_true());
	ofs_text_json(stdout, json_incref(gone));
	return SHOW_GONE;
}

static int show_file(const struct ofs_target_options *opts, const char *name, bool json)
{
	OFS_CLEANUP(ofs_operand_finish) struct ofs_operand o = { 0 };
	OFS_CLEANUP(ofs_meta_finish) struct ofs_meta meta = { 0 };
	OFS_FREE char *path = NULL;
	struct ofs_error err;
	int r;

	r = ofs_operand_open(opts, name, &err, &o);
	if (r == -EKEYEXPIRED && o.gone)
		return show_print_gone(o.gone, json);
	if (r < 0)
		return ofs_report_failure("%s", err.text);
	r = ofs_meta_load(o.backend, o.path, &o.attr, &meta);
	if (r < 0)
		return ofs_report_failure("cannot read the attributes of '%s': %s", name,
					  ofs_report_errno(-r));
	/* A ref says little of where its file is: the tree knows that. */
	if (meta.path) {
		free(o.path);
		o.path = ofs_steal(meta.path);
	}
	path = ofs_operand_display(&o);
	if (json)
		return show_print_json(&meta, path);
	show_print(&meta, path);
	return OFS_EXIT_OK;
}

static int show_run(const struct ofs_command *self, int argc, char **argv)
{
	struct ofs_target_options opts = { 0 };
	bool json = false;
	const struct ofs_option options[] = {
		OFS_FLAG(0, "json", &json, "print a JSON object"),
		OFS_TARGET(&opts),
		OFS_END,
	};
	int code = ofs_options_parse(self, options, &argc, &argv);

	if (code >= 0)
		return code;
	if (!argc)
		return ofs_report_usage("name a file by its ref or path");
	if (argc > 1)
		return ofs_report_usage("unexpected argument '%s'", argv[1]);
	return show_file(&opts, argv[0], json);
}

const struct ofs_command ofs_cmd_show = {
	.name = "show",
	.synopsis = "REF|PATH [--json]",
	.summary = "Tells all that is known about a file",
	.help = "",
	.notes = "Of a ref whose file has expired it tells what that was, and exits with 3.\n",
	.run = show_run,
};
