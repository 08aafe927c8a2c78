/* SPDX-License-Identifier: MIT */
/* Shows a passage as one line. */
#include "base/fold.h"
#include "base/redact.h"
#include "tree/search/passage.h"

#define SECRET_MAX 65536 /* bytes before a match in which the start of a secret is looked for */
#define LEAD 50 /* characters before the match */

/* Whether the text has anything visible. */
static bool has_ink(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] > ' ')
			return true;
	return false;
}

/* Returns the start of the snippet: a little before `at`, or earlier if little follows. */
static size_t snippet_start(const char *text, size_t len, size_t at)
{
	size_t from = at;

	for (size_t chars = 0; from && chars < LEAD; chars++)
		do
			from--;
		while (from && ((unsigned char)text[from] & 0xc0) == 0x80);
	if (len - from < OFS_SNIPPET_CHARS)
		from = len - OFS_MIN(len, (size_t)OFS_SNIPPET_CHARS);
	while (from && ((unsigned char)text[from] & 0xc0) == 0x80)
		from--;
	return from;
}

void ofs_snippet_append(struct ofs_buf *out, const char *text, size_t len, size_t at)
{
	size_t i = snippet_start(text, len, at), chars, n, start;
	uint32_t c;

	if (has_ink(text, i))
		ofs_buf_append_str(out, "...");

	start = out->len;
	for (chars = 0; i < len && chars < OFS_SNIPPET_CHARS; i += n) {
		int escape = ofs_text_escape(text + i, len - i);

		if (escape > 0) {
			n = (size_t)escape;
			continue;
		}
		n = ofs_fold_decode(text + i, len - i, &c);
		chars++;
		if (c == OFS_FOLD_INVALID)
			ofs_buf_append_str(out, "?");
		else if (c != ' ' && !ofs_fold_is_control(c))
			ofs_buf_append(out, text + i, n);
		else if (out->len > start)
			ofs_buf_append_str(out, " ");
		else
			chars--; /* blanks at the start are not shown */
	}
	while (out->len > start && out->data[out->len - 1] == ' ')
		out->len--;
	if (has_ink(text + i, len - i))
		ofs_buf_append_str(out, "...");
}

/* The lines around it are searched for secrets, too: it may be a line of a private key. */
void ofs_passage_snippet(const struct ofs_passages *p, const struct ofs_passage *passage,
			 struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf shown = OFS_BUF_INIT;
	const struct ofs_text_region *r = &p->regions[passage->region];
	const char *all = r->text - r->before, *newline, *text;
	size_t len = r->before + r->len + r->after;
	size_t at = r->before + (size_t)(passage->match - r->off), from, end;
	size_t to = at + OFS_MIN(len - at, (size_t)OFS_REDACT_AHEAD);

	from = at - OFS_MIN(at, (size_t)OFS_REDACT_AHEAD);
	while (from && at - from < SECRET_MAX && (unsigned char)all[from - 1] > ' ')
		from--;
	at -= from;
	ofs_redact_text_at(&shown, all + from, to - from, &at);
	text = (const char *)shown.data;
	newline = memrchr(text, '\n', at);
	from = newline ? (size_t)(newline + 1 - text) : 0;
	newline = memchr(text + at, '\n', shown.len - at);
	end = newline ? (size_t)(newline - text) : shown.len;
	ofs_snippet_append(out, text + from, end - from, at - from);
}
