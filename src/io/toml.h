/* SPDX-License-Identifier: MIT */
/*
 * Reads the part of TOML (toml.io, 1.0) that lists of rules use: tables, arrays of tables, and keys
 * with strings, numbers, booleans or arrays of these. Inline tables and dates are rejected.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

struct ofs_toml_entry {
	const char *table; /* "rules.allowlists"; "" before the first table */
	const char *key; /* NULL: the table starts here */
	char **values; /* the value as text, or the elements of an array */
	size_t n;
	unsigned int line;
};

/*
 * Calls `take` for every table and key, in order, until it returns nonzero. Names and values are
 * valid during the call. Returns 0; -EINVAL with the line and the reason in *err; or what `take`
 * returned.
 */
int ofs_toml_read(const char *text, size_t len,
		  int (*take)(void *arg, const struct ofs_toml_entry *entry, struct ofs_error *err),
		  void *arg, struct ofs_error *err);
