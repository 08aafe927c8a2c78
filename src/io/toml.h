/* SPDX-License-Identifier: MIT */
/*
 * Reads TOML (toml.io, 1.0) as far as lists of rules use it: tables, arrays of tables, and keys
 * whose values are strings, numbers, booleans or arrays of these. Inline tables and dates are
 * refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

struct ofs_toml_entry {
	const char *table; /* "rules.allowlists"; "" before the first */
	const char *key; /* NULL: the table begins here */
	char **values; /* as text, of an array each */
	size_t n;
	unsigned int line;
};

/*
 * Hands every table and key to `take` in order; what it returns unless 0 ends the reading. Names
 * and values are valid during the call. 0; -EINVAL, with the line and the reason in `err`; or what
 * `take` returned.
 */
int ofs_toml_read(const char *text, size_t len,
		  int (*take)(void *arg, const struct ofs_toml_entry *entry, struct ofs_error *err),
		  void *arg, struct ofs_error *err);
