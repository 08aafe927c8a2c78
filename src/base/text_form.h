/* SPDX-License-Identifier: MIT */
/* A text for people that a form makes of a JSON object. */
#pragma once

#include <jansson.h>
#include <stdio.h>

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
void ofs_text_form(FILE *out, const json_t *object, const char *form);

/* A string, which need not be UTF-8 before it is written as JSON, or null. */
static inline json_t *ofs_json_string(const char *text)
{
	return text ? json_string_nocheck(text) : json_null();
}
