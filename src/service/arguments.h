/* SPDX-License-Identifier: MIT */
/*
 * Checks arguments against a schema. Supports the part of JSON Schema that calls.json uses: type,
 * enum, minimum, maximum, minLength, maxLength, items and contentMediaType (for a text that may
 * have NULs) of a member; properties, required and additionalProperties of the object.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

/* Checks an object (NULL: an empty one). 0, or -EINVAL with `err` set. */
int ofs_arguments_check(const json_t *schema, const json_t *args, struct ofs_error *err);

/*
 * Converts a text, as of a query string, to the type that the schema of a member asks for. Commas
 * separate the items of an array. Returns a string if the text cannot be converted, which
 * ofs_arguments_check() then refuses.
 */
json_t *ofs_arguments_read(const json_t *member, const char *text);
