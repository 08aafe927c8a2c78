/* SPDX-License-Identifier: MIT */
/*
 * The output of the tool: messages on standard error, one line each, "offload: COMMAND: ...";
 * results on standard output, a JSON object or a text that a form makes of the same object.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

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

/* Words for a positive errno, with those that have a meaning of their own in a tree. */
const char *ofs_report_errno(int code);

/* Says how a tree whose daemon has died is mounted again. */
void ofs_report_stale(const struct ofs_target *t);

/*
 * Prints `form` with the members of `object` in it, made harmless for a line:
 *
 *   {path}        text, or a number as "4,200"
 *   {size:size}   "4.2 KB"
 *   {lines:line}  "1 line", "120 lines"
 *   {ref|-}       "-" if it is absent: missing, null, false or ""
 *   {?open}       nothing
 *   {+hurt:file}  absent, too, if it is 0; also {+hurt|...} and the like
 *   {disk.free}   a member of a member
 *   [, at {time}] all of it, unless a member in it is absent
 */
void ofs_print_form(FILE *out, const json_t *object, const char *form);

/* A string, which need not be UTF-8 before it is printed as JSON, or null. */
json_t *ofs_print_string(const char *text);

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
