/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/text.h"

/* ---- messages */

/* Longest message that is shown, in bytes. */
#define LINE_MAX_LEN 2047

static const char *report_command;

void ofs_report_set_command(const char *name)
{
	report_command = name;
}

__attribute__((format(printf, 2, 0))) static void report_write(const char *hint, const char *fmt,
							       va_list ap)
{
	OFS_FREE char *shown = NULL;
	char line[LINE_MAX_LEN + OFS_REDACT_AHEAD];

	vsnprintf(line, sizeof(line), fmt, ap);
	ofs_redact_line(line, sizeof(line));
	line[ofs_redact_cut(line, strlen(line), LINE_MAX_LEN)] = '\0';
	shown = ofs_text_shown(line);
	fflush(stdout);
	fprintf(stderr, "offload: %s%s%s%s\n", report_command ? report_command : "",
		report_command ? ": " : "", shown, hint);
}

int ofs_report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_write("", fmt, ap);
	va_end(ap);
	return OFS_EXIT_FAILURE;
}

int ofs_report_usage(const char *fmt, ...)
{
	char hint[64];
	va_list ap;

	snprintf(hint, sizeof(hint), "; see offload %s%s--help",
		 report_command ? report_command : "", report_command ? " " : "");
	va_start(ap, fmt);
	report_write(hint, fmt, ap);
	va_end(ap);
	return OFS_EXIT_USAGE;
}

void ofs_report_line(FILE *out, const char *fmt, ...)
{
	OFS_FREE char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	line = ofs_vformat(fmt, ap);
	va_end(ap);
	ofs_text_line(out, line);
	putc('\n', out);
}

void ofs_report_stale(const struct ofs_target *t)
{
	if (t->stale)
		ofs_report("the daemon of '%s' is gone; 'offload up' starts it again",
			   t->mountpoint);
}

/* ---- results */

static int report_not_utf8(const char *name)
{
	return ofs_report("the name '%s' is not UTF-8, which JSON needs", name);
}

int ofs_print_json(json_t *json, const char *name)
{
	return ofs_text_json(stdout, json) < 0 ? report_not_utf8(name) : OFS_EXIT_OK;
}

int ofs_print_item(json_t *list, json_t *item, const char *form)
{
	int code = OFS_EXIT_OK;

	if (!list) {
		ofs_text_form(stdout, item, form);
	} else {
		OFS_FREE char *text = json_dumps(item, 0);
		const json_t *path = json_object_get(item, "path");

		if (text)
			json_array_append(list, item);
		else
			code = report_not_utf8(
				json_string_value(path ? path : json_object_get(item, "name")));
	}
	json_decref(item);
	return code;
}
