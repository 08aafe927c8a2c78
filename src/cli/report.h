/* SPDX-License-Identifier: MIT */
/*
 * The output of the tool: messages on standard error, one line each, "offload: COMMAND: ...";
 * results on standard output, a JSON object or a text that a form makes of the same object.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "base/text_form.h"
#include "client/target.h"

enum {
	OFS_EXIT_OK = 0,
	OFS_EXIT_FAILURE = 1,
	OFS_EXIT_USAGE = 2,
};

/* The command that messages name; static storage, NULL: none. */
void ofs_report_set_command(const char *name);

/*
 * Control characters in the message are replaced, so that a name can never forge a second line.
 * Returns OFS_EXIT_FAILURE.
 */
int ofs_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Adds where help is. Returns OFS_EXIT_USAGE. */
int ofs_report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line that names what others may have named; made harmless. */
void ofs_report_line(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Says how a tree whose daemon has died is mounted again. */
void ofs_report_stale(const struct ofs_target *t);

/*
 * Prints `json`, which is consumed. An exit code; what is reported as not UTF-8, which JSON needs,
 * is `name`.
 */
int ofs_print_json(json_t *json, const char *name);

/*
 * Adds `item`, which is consumed, to `list`, or prints it by `form` where that is NULL. An exit
 * code: one that has no place in JSON is reported by its "path" or "name".
 */
int ofs_print_item(json_t *list, json_t *item, const char *form);
