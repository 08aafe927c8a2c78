/* SPDX-License-Identifier: MIT */
/* F:info and F:summary: what is known about a file, for programs and for readers. */
#include "tree/virtual/nodes.h"

#include <inttypes.h>
#include <jansson.h>

#include "base/redact.h"
#include "base/text.h"
#include "tree/core/label.h"
#include "tree/core/place.h"

#define SUMMARY_LINES 10 /* of the head, and of the tail */
#define SUMMARY_WIDTH 200 /* bytes shown of a line */
#define SUMMARY_READ 16384 /* bytes read for the head, and for the tail */

/* ---- info */

/* The attribute as a string, or as a number; null if the file does not have it. */
static json_t *attribute(struct ofs_tree *t, const struct ofs_attr *file, const char *name,
			 bool number, const struct ofs_cred *cred)
{
	char full[64], value[8192];
	OFS_FREE char *text = NULL, *shown = NULL;
	ssize_t n;

	snprintf(full, sizeof(full), "user.offload.%s", name);
	n = ofs_tree_getxattr_as(t, file->ino, full, value, sizeof(value) - 1, cred);
	if (n < 0)
		return json_null();
	value[n] = 0;
	if (number)
		return json_integer(strtoll(value, NULL, 10));
	text = ofs_text_readable(value);
	/* The path is not redacted, since it must lead to the file. */
	shown = strcmp(name, "path") ? ofs_redact_string(text) : ofs_strdup(text);
	return json_string(shown);
}

void ofs_info_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		     struct ofs_buf *out)
{
	static const struct {
		const char *name;
		bool number;
	} fields[] = {
		{ "path", false },
		{ "ref", false },
		{ "tier", false },
		{ "category", false },
		{ "task", false },
		{ "origin_task", false },
		{ "origin_category", false },
		{ "title", false },
		{ "tags", false },
		{ "important", true },
		{ "ttl", false },
		{ "created", false },
		{ "expires", false },
		{ "lifecycle", false },
		{ "mime", false },
		{ "lines", true },
		{ "tokens", true },
		{ "stored_bytes", true },
		{ "sha256", false },
	};
	json_t *json = json_object();
	char mode[8];

	for (size_t i = 0; i < OFS_ARRAY_SIZE(fields); i++)
		json_object_set_new(json, fields[i].name,
				    attribute(t, file, fields[i].name, fields[i].number, cred));
	snprintf(mode, sizeof(mode), "%04o", file->mode & 07777);
	json_object_update_new(json, json_pack("{s:I, s:o, s:s, s:I, s:I, s:I}", "size",
					       (json_int_t)file->size, "modified",
					       ofs_json_time(file->mtime), "mode", mode, "uid",
					       (json_int_t)file->uid, "gid", (json_int_t)file->gid,
					       "links", (json_int_t)file->nlink));
	ofs_json_append(json, JSON_INDENT(2), out);
	ofs_buf_append_str(out, "\n");
}

/* ---- summary */

/* Appends a redacted line, cut to SUMMARY_WIDTH. `more`: the line continues after `len`. */
static void append_line(struct ofs_buf *out, uint64_t number, const char *line, size_t len,
			bool more)
{
	size_t shown = ofs_redact_cut(line, len, SUMMARY_WIDTH);

	OFS_FREE char *text = NULL;
	struct ofs_text_stream s;
	size_t used;

	ofs_text_printable(ofs_text_open(&s), line, shown - (shown && line[shown - 1] == '\r'),
			   false, SIZE_MAX, &used);
	text = ofs_text_close(&s);
	ofs_buf_printf(out, "%" PRIu64 ": %s", number, text);
	if ((shown < len || more))
		ofs_buf_append_str(out, "...");
	ofs_buf_append_str(out, "\n");
}

/* Reads text for a summary and redacts it, which keeps the number of lines. */
static int read_shown(const struct ofs_source *src, uint64_t off, struct ofs_buf *ret)
{
	char text[SUMMARY_READ];
	ssize_t n = ofs_source_read(src, text, sizeof(text), off);

	if (n < 0)
		return (int)n;
	ofs_redact_text(ret, text, (size_t)n);
	return 0;
}

/*
 * Appends the first SUMMARY_LINES lines of `text`, numbered from `first`. `more`: the file
 * continues after `text`. Sets *ret_lines to the number of lines appended.
 */
static void append_lines(struct ofs_buf *out, uint64_t first, const char *text, size_t len,
			 bool more, uint64_t *ret_lines)
{
	uint64_t i;

	for (i = 0; i < SUMMARY_LINES && len; i++) {
		const char *end = memchr(text, '\n', len);
		size_t line = end ? (size_t)(end - text) : len, whole = line + (end != NULL);

		append_line(out, first + i, text, line, more && !end);
		text += whole;
		len -= whole;
	}
	*ret_lines = i;
}

static int append_head(const struct ofs_source *src, struct ofs_buf *out, uint64_t *ret_lines)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = read_shown(src, 0, &text);

	if (r == 0)
		append_lines(out, 1, (const char *)text.data, text.len,
			     src->attr.size > SUMMARY_READ, ret_lines);
	return r;
}

/* Appends the last lines, as many as fit, without those of the `head`. */
static int append_tail(const struct ofs_source *src, uint64_t lines, uint64_t head,
		       struct ofs_buf *out)
{
	uint64_t size = src->attr.size, off = size - OFS_MIN(size, (uint64_t)SUMMARY_READ);
	uint64_t want = OFS_MIN(lines - OFS_MIN(lines, head), (uint64_t)SUMMARY_LINES);
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	const char *text, *start;
	uint64_t found = 0;
	int r;

	if (!want)
		return 0;
	r = read_shown(src, off, &shown);
	if (r < 0 || !shown.len)
		return r;
	text = (const char *)shown.data;
	start = text + shown.len;
	/* The newline at the very end starts no line. */
	for (const char *p = start - 1; p > text && found < want; p--)
		if (p[-1] == '\n') {
			start = p;
			found++;
		}
	if (!found) {
		ofs_buf_append_str(out, "... (the last line is too long to show)\n");
		return 0;
	}
	if (lines - found > head)
		ofs_buf_append_str(out, "...\n");
	append_lines(out, lines - found + 1, start, (size_t)(text + shown.len - start), false,
		     &found);
	return 0;
}

static int append_facts(struct ofs_tree *t, const struct ofs_source *src, const char *mime,
			uint64_t lines, const struct ofs_cred *cred, struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_place_finish) struct ofs_place place = { 0 };
	OFS_FREE char *title = ofs_label_text(t, src->attr.ino, OFS_LABEL_TITLE), *path = NULL;
	OFS_FREE char *category = NULL, *task = NULL;
	char ref[OFS_REF_SIZE];
	int r;

	ofs_ref_format(t, src->attr.ino, ref);
	r = ofs_place_labelled(t, src->attr.ino, &place);
	if (r < 0)
		return r;
	if (title) {
		OFS_FREE char *redacted = ofs_redact_string(title),
			      *shown = ofs_text_shown(redacted);

		ofs_buf_printf(out, "%s\n", shown);
	}
	path = ofs_text_shown((const char *)place.path.data);
	category = ofs_text_shown(place.category);
	task = ofs_text_shown(place.task);
	if (ofs_place_check(t, place.root, &src->attr, cred) == 0)
		ofs_buf_printf(out, "%s, ref %s, %s tier, category %s%s%s\n", path, ref,
			       ofs_tier_names[ofs_place_tier(&place)], category,
			       *task ? ", task " : "", task);
	else
		ofs_buf_printf(out, "ref %s\n", ref);
	ofs_buf_printf(out, "%s, %" PRIu64 " bytes, %" PRIu64 " lines\n", mime, src->attr.size,
		       lines);
	return 0;
}

int ofs_summary_format(struct ofs_tree *t, const struct ofs_attr *file, const struct ofs_cred *cred,
		       struct ofs_buf *out)
{
	const struct ofs_source src = { .tree = t, .attr = *file };
	char mime[64];
	uint64_t lines, head;
	ssize_t n;
	int r;

	n = ofs_tree_getxattr(t, file->ino, "user.offload.mime", mime, sizeof(mime) - 1);
	if (n < 0)
		return (int)n;
	mime[n] = 0;
	r = ofs_source_lines(&src, &lines);
	if (r == 0)
		r = append_facts(t, &src, mime, lines, cred, out);
	if (r < 0 || strcmp(mime, "application/octet-stream") == 0 ||
	    strcmp(mime, "application/pdf") == 0)
		return r;
	r = append_head(&src, out, &head);
	return r < 0 ? r : append_tail(&src, lines, head, out);
}
