/* SPDX-License-Identifier: MIT */
/*
 * Edits one table of a TOML text; the rest stays byte for byte. The text is parsed only as far as
 * needed to find where tables and values start and end.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_toml_pair {
	const char *key; /* bare */
	const char *value; /* in TOML syntax */
};

/*
 * Appends the text with these pairs set in the table `name` ("mcp_servers.offload", of bare keys).
 * Its other keys stay; a missing table is added at the end. Returns 1; 0 if it had all pairs
 * already; or -EINVAL with the reason in `err` if the text is not TOML, or the table has a form
 * that cannot be edited.
 */
int ofs_toml_table_set(const char *text, size_t len, const char *name,
		       const struct ofs_toml_pair pairs[], size_t n, struct ofs_error *err,
		       struct ofs_buf *out);

/*
 * Appends the text without the table and its subtables. Returns 1, 0 if none, or -EINVAL as above.
 */
int ofs_toml_table_remove(const char *text, size_t len, const char *name, struct ofs_error *err,
			  struct ofs_buf *out);

/*
 * Sets *ret to the value of a key of the table as it is written, allocated, or NULL if there is
 * none. Returns 0, or -EINVAL as above.
 */
int ofs_toml_table_get(const char *text, size_t len, const char *name, const char *key,
		       struct ofs_error *err, char **ret);
