/* SPDX-License-Identifier: MIT */
/*
 * Arguments by their schema: the part of JSON Schema that calls.json uses. That is type, enum,
 * minimum, maximum, minLength, maxLength, contentMediaType (of a text that may have NULs) and items
 * of a member; properties, required and
 * additionalProperties of the object.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

/* Checks an object (NULL: an empty one). 0, or -EINVAL with what is wrong and would be right. */
int ofs_arguments_check(const json_t *schema, const json_t *args, struct ofs_error *err);

/*
 * A text, as of a query string, as the value that the schema of a member asks for; where it is none,
 * as a string, which ofs_arguments_check() then refuses. A list is separated by commas.
 */
json_t *ofs_arguments_read(const json_t *member, const char *text);
