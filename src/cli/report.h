/* SPDX-License-Identifier: MIT */
/*
 * The output of the tool. Messages go to standard error, one line each: "offload: COMMAND: ...".
 * Results go to standard output, as a JSON object or as text that a form makes of that object.
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

/* Sets the command that messages name: static storage, or NULL for none. */
void ofs_report_set_command(const char *name);

/*
 * Prints a message. Control characters in it are replaced, so that a name can never forge a second
 * line. Returns OFS_EXIT_FAILURE.
 */
int ofs_report(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a message, and where help is. Returns OFS_EXIT_USAGE. */
int ofs_report_usage(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Prints a line and makes it harmless: others may have chosen the names in it. */
void ofs_report_line(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* If the daemon of the tree has died, tells how to mount it again. */
void ofs_report_stale(const struct ofs_target *t);

/*
 * Prints `json`, which is consumed. Returns an exit code. If it is not UTF-8, which JSON needs,
 * reports `name`.
 */
int ofs_print_json(json_t *json, const char *name);

/*
 * Adds `item`, which is consumed, to `list`, or prints it by `form` if that is NULL. Returns an
 * exit code. An item that JSON cannot hold is reported by its "path" or "name".
 */
int ofs_print_item(json_t *list, json_t *item, const char *form);
