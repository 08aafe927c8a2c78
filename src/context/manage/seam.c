/* SPDX-License-Identifier: MIT */
#include "context/manage/seam.h"

#include <stdio.h>

#define OPEN "<state_snapshot messages=\""
#define CLOSE "</state_snapshot>\n"
#define CLOSING "(original messages are stored in "
#define GAP "\n\n"
/* How a file starts. */
#define BEGIN "{\"kept\": "

static const struct ofs_literal_style plain_style;

/* ---- the snapshot */

static const char *find_last(const char *text, size_t len, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = len >= n ? len - n + 1 : 0; i-- > 0;) {
		if (text[i] == *word && memcmp(text + i, word, n) == 0)
			return text + i;
	}
	return NULL;
}

/* Reads the last component of the path in the closing line, which ends at `end`. */
static bool parse_closing(const char *p, const char *end, char ret_ref[OFS_MARK_REF_MAX + 1])
{
	const char *ref = end - 1;
	size_t n;

	if (end - p < 2 || end[-1] != ')' || memchr(p, '\n', (size_t)(end - p)))
		return false;
	while (ref > p && ref[-1] != '/')
		ref--;
	n = (size_t)(end - 1 - ref);
	if (ref == p || !n || n > OFS_MARK_REF_MAX)
		return false;
	memcpy(ret_ref, ref, n);
	ret_ref[n] = '\0';
	return strspn(ret_ref, "0123456789abcdefghijklmnopqrstuvwxyz") == n;
}

/* Reads `12" tag="k2m4x9">`. */
static bool parse_opening(const char *p, const char *end, char ret_tag[OFS_MARK_TAG + 1])
{
	char line[64];
	int read = 0;

	if (end - p >= (ssize_t)sizeof(line))
		return false;
	snprintf(line, sizeof(line), "%.*s", (int)(end - p), p);
	sscanf(line, "%*20[0-9]\" tag=\"%6[0-9a-z]\">%n", ret_tag, &read);
	return read && read == end - p && strlen(ret_tag) == OFS_MARK_TAG;
}

bool ofs_seam_find(const void *text, size_t len, struct ofs_snapshot_place *ret)
{
	const char *start = text, *end = start + len;
	const char *open, *inside, *close, *closing, *eol;
	struct ofs_snapshot_place place;

	close = find_last(start, len, CLOSE CLOSING);
	if (!close)
		return false;
	closing = close + strlen(CLOSE CLOSING);
	eol = memchr(closing, '\n', (size_t)(end - closing));
	if (eol)
		end = eol;
	open = find_last(start, (size_t)(close - start), OPEN);
	inside = open ? memchr(open, '\n', (size_t)(close - open)) : NULL;
	if (!inside || !parse_opening(open + strlen(OPEN), inside, place.tag) ||
	    !parse_closing(closing, end, place.ref))
		return false;
	if (open - start >= (ssize_t)strlen(GAP) &&
	    memcmp(open - strlen(GAP), GAP, strlen(GAP)) == 0)
		open -= strlen(GAP);
	place.start = (size_t)(open - start);
	place.inside = (size_t)(inside + 1 - start);
	place.inside_len = (size_t)(close - inside - 1);
	place.end = (size_t)(end - start);
	*ret = place;
	return true;
}

int ofs_seam_is_ours(const struct ofs_snapshot_place *place, struct ofs_shelf *shelf,
		     struct ofs_error *err)
{
	char tag[OFS_MARK_TAG + 1];
	int r = ofs_shelf_tag(shelf, place->ref, err, tag);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	return strcmp(tag, place->tag) == 0;
}

void ofs_seam_write_snapshot(const void *inside, size_t len, size_t messages, const char *path,
			     const char *tag, bool start, struct ofs_buf *out)
{
	const char *p = inside, *end = p + len, *open;

	ofs_buf_printf(out, "%s" OPEN "%zu\" tag=\"%s\">\n", start ? "" : GAP, messages, tag);
	/* A quoted start of a snapshot would be taken for that of this one. */
	for (; len && (open = memmem(p, (size_t)(end - p), OPEN, strlen(OPEN))); p = open + 1) {
		ofs_buf_append(out, p, (size_t)(open - p));
		ofs_buf_append_str(out, "[");
	}
	ofs_buf_append(out, p, (size_t)(end - p));
	if (len && ((const char *)inside)[len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	ofs_buf_printf(out, CLOSE CLOSING "%s)", path);
}

size_t ofs_seam_head(const struct ofs_chat *chat)
{
	size_t head = 0;

	while (head < chat->n && chat->messages[head].role == OFS_ROLE_SYSTEM)
		head++;
	return head;
}

struct ofs_span ofs_seam_system(const struct ofs_chat *chat)
{
	size_t head = ofs_seam_head(chat);

	return ofs_content_last_text(
		head ? ofs_span_member(chat->messages[head - 1].whole, "content") : chat->system);
}

/* ---- the file */

/* Returns the text between a message and the next one. */
static struct ofs_span separator(const struct ofs_chat *chat, size_t i)
{
	struct ofs_span whole = chat->messages[i].whole;
	const char *end = whole.p + whole.len;

	return (struct ofs_span){ end, (size_t)(chat->messages[i + 1].whole.p - end) };
}

static bool same_separators(const struct ofs_chat *chat, size_t end)
{
	struct ofs_span first = separator(chat, 0);

	for (size_t i = 1; i < end; i++) {
		struct ofs_span s = separator(chat, i);

		if (s.len != first.len || memcmp(s.p, first.p, s.len) != 0)
			return false;
	}
	return true;
}

static void write_separators(const struct ofs_chat *chat, size_t end, struct ofs_buf *out)
{
	bool same = same_separators(chat, end);

	if (!same)
		ofs_buf_append_str(out, "[");

	for (size_t i = 0; i < (same ? 1 : end); i++) {
		struct ofs_span s = separator(chat, i);

		if (i)
			ofs_buf_append_str(out, ", ");
		ofs_literal_encode(&plain_style, s.p, s.len, out);
	}
	if (!same)
		ofs_buf_append_str(out, "]");
}

static void write_head(const struct ofs_seam_draft *draft, struct ofs_buf *out)
{
	struct ofs_span system = draft->chat->system;

	ofs_buf_printf(out, BEGIN "%zu, \"earlier\": %s, \"separators\": ", draft->kept,
		       draft->earlier ? "true" : "false");
	write_separators(draft->chat, draft->end, out);
	ofs_buf_append_str(out, ", \"system\": ");
	if (draft->system)
		ofs_buf_append(out, system.p, system.len);
	else
		ofs_buf_append_str(out, "null");
	ofs_buf_append_str(out, ", \"messages\": [");
}

int ofs_seam_write_file(const struct ofs_seam_draft *draft, const struct ofs_sink *sink)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf head = OFS_BUF_INIT;
	static const char end[] = "\n]}\n";
	int r;

	write_head(draft, &head);
	r = sink->write(sink->arg, head.data, head.len);
	for (size_t i = 0; i < draft->end && r == 0; i++) {
		struct ofs_span whole = draft->chat->messages[i].whole;

		r = sink->write(sink->arg, i ? ",\n" : "\n", i ? 2 : 1);
		if (r == 0)
			r = ofs_edits_write(draft->edits, whole.p, whole.p + whole.len, sink);
	}
	return r < 0 ? r : sink->write(sink->arg, end, strlen(end));
}

int ofs_seam_read_file(const void *text, size_t len, struct ofs_seam_file *ret)
{
	struct ofs_seam_file file;
	struct ofs_span whole, earlier;
	long long kept;

	if (ofs_span_parse(text, len, NULL, &whole) < 0)
		return -EINVAL;
	file.separators = ofs_span_member(whole, "separators");
	file.system = ofs_span_member(whole, "system");
	file.messages = ofs_span_member(whole, "messages");
	earlier = ofs_span_member(whole, "earlier");
	if (!ofs_span_integer(ofs_span_member(whole, "kept"), &kept) || kept < 0 ||
	    !ofs_span_is_array(file.messages) || !earlier.p ||
	    !(ofs_span_is_string(file.separators) || ofs_span_is_array(file.separators)))
		return -EINVAL;
	if (ofs_span_is_null(file.system))
		file.system = (struct ofs_span){ 0 };
	file.kept = (size_t)kept;
	file.earlier = *earlier.p == 't';
	*ret = file;
	return 0;
}

int ofs_seam_write_messages(const struct ofs_seam_file *file, struct ofs_buf *out)
{
	struct ofs_span_cursor messages = ofs_span_enter(file->messages);
	struct ofs_span_cursor separators = ofs_span_enter(file->separators);
	struct ofs_span message, separator = file->separators;
	bool same = ofs_span_is_string(separator);

	while (ofs_span_next(&messages, &message)) {
		if (!same &&
		    (!ofs_span_next(&separators, &separator) || !ofs_span_is_string(separator)))
			return -EINVAL;
		ofs_buf_append(out, message.p, message.len);
		ofs_span_decode(separator, out);
	}
	return 0;
}
