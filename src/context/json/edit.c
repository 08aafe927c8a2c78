/* SPDX-License-Identifier: MIT */
#include "context/json/edit.h"

static int append(void *arg, const void *data, size_t len)
{
	ofs_buf_append(arg, data, len);
	return 0;
}

struct ofs_sink ofs_sink_to_buf(struct ofs_buf *buf)
{
	return (struct ofs_sink){ .write = append, .arg = buf };
}

void ofs_edits_finish(struct ofs_edits *e)
{
	for (size_t i = 0; i < e->n; i++)
		ofs_buf_finish(&e->list[i].text);
	free(e->list);
	*e = (struct ofs_edits){ 0 };
}

void ofs_edits_replace(struct ofs_edits *e, struct ofs_span part, struct ofs_buf *text)
{
	*ofs_append(e->list, e->n, e->cap) =
		(struct ofs_edit){ .at = part.p, .len = part.len, .text = ofs_buf_steal(text) };
}

static int by_place(const void *a, const void *b)
{
	const struct ofs_edit *left = a, *right = b;

	return (left->at > right->at) - (left->at < right->at);
}

void ofs_edits_sort(struct ofs_edits *e)
{
	if (e->n)
		qsort(e->list, e->n, sizeof(*e->list), by_place);
}

/* Returns the index of the first edit at or after a position. */
static size_t find(const struct ofs_edits *e, const char *at)
{
	return OFS_BISECT(i, e->n, e->list[i].at < at);
}

int ofs_edits_write(const struct ofs_edits *e, const char *start, const char *end,
		    const struct ofs_sink *sink)
{
	const char *p = start;
	int r = 0;

	for (size_t i = find(e, start); i < e->n && e->list[i].at < end && r == 0; i++) {
		const struct ofs_edit *edit = &e->list[i];

		r = sink->write(sink->arg, p, (size_t)(edit->at - p));
		if (r == 0)
			r = sink->write(sink->arg, edit->text.data, edit->text.len);
		p = edit->at + edit->len;
	}
	return r < 0 ? r : sink->write(sink->arg, p, (size_t)(end - p));
}

/* ---- members */

void ofs_member_replace(struct ofs_span object, const struct ofs_member_edit edits[], size_t n,
			struct ofs_buf *out)
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span name, value;
	const char *before = "{";

	while (ofs_span_next_member(&c, &name, &value)) {
		size_t i = 0;

		while (i < n && !ofs_span_is(name, edits[i].name))
			i++;
		if (i < n && !edits[i].json)
			continue;
		ofs_buf_append_str(out, before);
		before = ",";
		ofs_buf_append(out, name.p, name.len);
		ofs_buf_append_str(out, ":");
		if (i < n)
			ofs_buf_append_str(out, edits[i].json);
		else
			ofs_buf_append(out, value.p, value.len);
	}
	ofs_buf_append_str(out, *before == '{' ? "{}" : "}");
}
