/* SPDX-License-Identifier: MIT */
/*
 * Edits of one table in a TOML text; all else stays byte for byte. The text is read just so far as
 * tells where tables and values begin and end.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"

struct ofs_toml_pair {
	const char *key; /* bare */
	const char *value; /* as TOML has it */
};

/*
 * Appends the text with the table `name` ("mcp_servers.offload", of bare keys) having these pairs:
 * other keys of it stay, and a missing table is added at the end. 1; 0: it had them all; -EINVAL:
 * the text is not TOML, or has the table in a form that is not edited, with the reason in `err`.
 */
int ofs_toml_table_set(const char *text, size_t len, const char *name,
		       const struct ofs_toml_pair pairs[], size_t n, struct ofs_error *err,
		       struct ofs_buf *out);

/* Appends the text without the table and those in it. 1; 0: there is none; -EINVAL as above. */
int ofs_toml_table_remove(const char *text, size_t len, const char *name, struct ofs_error *err,
			  struct ofs_buf *out);

/*
 * The value of a key of the table as it is written, allocated; NULL: there is none. 0 or -EINVAL as
 * above.
 */
int ofs_toml_table_get(const char *text, size_t len, const char *name, const char *key,
		       struct ofs_error *err, char **ret);
