/* SPDX-License-Identifier: MIT */
#include "context/json/member.h"

#include <string.h>

#include "context/json/literal.h"

static const struct ofs_member_edit *find_edit(struct ofs_span name,
					       const struct ofs_member_edit edits[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ofs_span_is(name, edits[i].name))
			return &edits[i];
	}
	return NULL;
}

void ofs_member_replace(struct ofs_span object, const struct ofs_member_edit edits[], size_t n,
			struct ofs_buf *out)
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span name, value;
	bool first = true;

	ofs_buf_append(out, "{", 1);
	while (ofs_span_next_member(&c, &name, &value)) {
		const struct ofs_member_edit *e = find_edit(name, edits, n);

		if (e && !e->json)
			continue;
		if (!first)
			ofs_buf_append(out, ",", 1);
		first = false;
		ofs_buf_append(out, name.p, name.len);
		ofs_buf_append(out, ":", 1);
		if (e)
			ofs_buf_append_str(out, e->json);
		else
			ofs_buf_append(out, value.p, value.len);
	}
	ofs_buf_append(out, "}", 1);
}

void ofs_member_string(const char *text, struct ofs_buf *out)
{
	static const struct ofs_literal_style plain;

	ofs_literal_encode(&plain, text, strlen(text), out);
}
