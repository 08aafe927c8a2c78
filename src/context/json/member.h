/* SPDX-License-Identifier: MIT */
/* An object of JSON with some of its members changed, and all else byte for byte. */
#ifndef OFS_CONTEXT_JSON_MEMBER_H
#define OFS_CONTEXT_JSON_MEMBER_H

#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"

struct ofs_member_edit {
	const char *name;
	const char *json; /* its value from now on; NULL: the member goes */
};

/* Appends the object with the `n` edits made, on one line; members that it lacks are not added. */
void ofs_member_replace(struct ofs_span object, const struct ofs_member_edit edits[], size_t n,
			struct ofs_buf *out);

/* Appends a text as a string of JSON. */
void ofs_member_string(const char *text, struct ofs_buf *out);

#endif
