/* SPDX-License-Identifier: MIT */
/* Fills in a form with members of a JSON object, to make text for people. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/*
 * Prints `form` with its fields replaced by members of `object`. Strings are made harmless.
 *
 *   {path}        text, or a number as "4,200"
 *   {size:size}   "4.2 KB"
 *   {lines:line}  "1 line", "120 lines"
 *   {ref|-}       "-" if the member is absent: missing, null, false or ""
 *   {?open}       nothing; for use in brackets
 *   {+hurt:file}  0 counts as absent, too; also {+hurt|...} and so on
 *   {disk.free}   a member of a member
 *   [, at {time}] nothing if a member in the brackets is absent
 */
void ofs_text_form(FILE *out, const json_t *object, const char *form);

/* Returns a JSON string, whose UTF-8 is not checked before it is written, or null for NULL. */
static inline json_t *ofs_json_string(const char *text)
{
	return text ? json_string_nocheck(text) : json_null();
}

/*
 * As json_loadb(), but half of a surrogate pair alone becomes U+FFFD: programs write it where they
 * cut a text between the two.
 */
json_t *ofs_json_load(const char *text, size_t len, size_t flags, json_error_t *err);
