/* SPDX-License-Identifier: MIT */
#include "client/pointer.h"

#include "base/redact.h"
#include "base/text.h"
#include "io/path.h"

#define POINTER_WHAT_MAX 120
/* Lines that the printed command reads. */
#define POINTER_READ_LINES 60
/* Lines longer than this on average are better read by bytes. */
#define POINTER_LONG_LINE 1000

static void pointer_print_what(const char *what, FILE *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	size_t used;

	ofs_redact_text(&line, what, strlen(what));
	for (size_t i = 0; i < line.len; i++) {
		if (strchr("\n\t\r", line.data[i]) && line.data[i])
			line.data[i] = ' ';
	}
	ofs_text_printable(out, line.data, line.len, false, POINTER_WHAT_MAX, &used);
	if (used < line.len)
		fputs("...", out);
}

/*
 * "[offloaded] make test: exit 2, 48,213 bytes, 912 lines -> .offload/cache/shell/x.txt (ref
 * k3f9x2)"
 */
static void pointer_print_title(const struct ofs_pointer *p, const char *file, FILE *out)
{
	fputs("[offloaded] ", out);
	pointer_print_what(p->what, out);
	fputs(": ", out);
	if (p->has_exit) {
		fprintf(out, "exit %d", p->exit_code);
		if (p->signal)
			fprintf(out, " (signal %d)", p->signal);
		fputs(", ", out);
	}
	ofs_text_count(out, p->content->size, "byte");
	fputs(", ", out);
	if (p->content->binary)
		fputs("binary", out);
	else
		ofs_text_count(out, p->content->lines, "line");
	if (p->mark) {
		fprintf(out, " (ref %s, %s)\n", p->ref, p->mark);
	} else {
		fputs(" -> ", out);
		ofs_text_line(out, file);
		fprintf(out, " (ref %s)\n", p->ref);
	}
}

static void pointer_print_cat(const char *by_ref, const char *slice, FILE *out)
{
	fputs("cat ", out);
	ofs_text_shell_word(out, by_ref);
	if (slice)
		fprintf(out, ":%s", slice);
}

/* The tool finds the file, mounted or not. */
static void pointer_print_slice(const struct ofs_pointer *p, const char *slice, FILE *out)
{
	fprintf(out, "offload slice%s %s %s", p->hint, p->ref, slice);
}

/* A command that reads `slice` of the file (NULL: all of it). */
static void pointer_print_read(const struct ofs_pointer *p, const char *by_ref, const char *slice,
			       FILE *out)
{
	if (p->mount)
		pointer_print_cat(by_ref, slice, out);
	else
		pointer_print_slice(p, slice ? slice : "1-", out);
}

static void pointer_print_search(const struct ofs_pointer *p, const char *by_ref, bool long_lines,
				 FILE *out)
{
	if (!p->mount) {
		fprintf(out, "   To use cat and grep on it: offload up%s", p->hint);
		return;
	}
	/* A match must not print a line as long as the whole. */
	fprintf(out, "   Search: grep %s PATTERN ", long_lines ? "-o" : "-n");
	ofs_text_shell_word(out, by_ref);
}

/* How to read what the preview leaves out. */
static void pointer_print_reading(const struct ofs_pointer *p, const struct ofs_preview *preview,
				  const char *by_ref, FILE *out)
{
	const struct ofs_content *c = p->content;
	uint64_t from = preview->first_missing;
	bool long_lines = c->lines && c->size / c->lines > POINTER_LONG_LINE;
	char slice[64] = "b0-4095";

	if (!c->size) {
		fputs("It is empty.\n", out);
		return;
	}
	if (c->binary) {
		fputs("Binary, so no preview. Read bytes: ", out);
		pointer_print_read(p, by_ref, "b0-255", out);
		fputs(" | od -c\n", out);
		return;
	}
	if (!from) {
		fputs("All of it is shown. Read it again: ", out);
		pointer_print_read(p, by_ref, NULL, out);
		putc('\n', out);
		return;
	}
	if (!long_lines)
		snprintf(slice, sizeof(slice), "%llu-%llu", (unsigned long long)from,
			 (unsigned long long)OFS_MIN(from + POINTER_READ_LINES - 1, c->lines));
	fprintf(out, "This preview is partial. Read %s: ", long_lines ? "bytes" : "lines");
	pointer_print_read(p, by_ref, slice, out);
	if (p->mount) {
		fputs(" or ", out);
		pointer_print_slice(p, slice, out);
	}
	pointer_print_search(p, by_ref, long_lines, out);
	putc('\n', out);
}

/* persistent/ is always there, so this needs no folder to be made first. */
static void pointer_print_keeping(const struct ofs_pointer *p, const char *file, FILE *out)
{
	OFS_FREE char *persistent = NULL, *shown = ofs_text_shown(file);

	if (!p->mount || strcmp(shown, file) != 0) { /* a name that must not be printed */
		fprintf(out, "Keep it for good: offload promote%s %s\n", p->hint, p->ref);
		return;
	}
	persistent = ofs_path_join(p->mount, "persistent/");
	fputs("Keep it for good: mv ", out);
	ofs_text_shell_word(out, file);
	putc(' ', out);
	ofs_text_shell_word(out, persistent);
	putc('\n', out);
}

int ofs_pointer_print(const struct ofs_pointer *p, FILE *out)
{
	OFS_FREE char *file = p->mount ? ofs_path_join(p->mount, p->path) : ofs_strdup(p->path);
	OFS_FREE char *refs = p->mount ? ofs_path_join(p->mount, "refs") : ofs_strdup("refs");
	OFS_FREE char *by_ref = ofs_path_join(refs, p->ref);
	struct ofs_preview preview;
	int r = ofs_preview_plan(p->content, &preview);

	if (r < 0)
		return r;
	pointer_print_title(p, file, out);
	pointer_print_reading(p, &preview, by_ref, out);
	if (!p->mark)
		pointer_print_keeping(p, file, out);
	ofs_preview_print(&preview, p->content, out);
	ofs_preview_finish(&preview);
	return 0;
}

int ofs_pointer_make(struct ofs_pointer p, const struct ofs_access *access,
		     const struct ofs_deposited *file, struct ofs_error *err, char **ret)
{
	OFS_FREE char *pointer = NULL;
	struct ofs_text_stream text;
	int r;

	p.path = file->path;
	p.ref = file->ref;
	p.mount = access->mount;
	p.hint = access->target.hint;
	r = ofs_pointer_print(&p, ofs_text_open(&text));
	pointer = ofs_text_close(&text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the pointer: %s", strerror(-r));
	*ret = ofs_steal(pointer);
	return 0;
}

void ofs_offloaded_finish(struct ofs_offloaded *o)
{
	ofs_deposited_finish(&o->file);
	free(o->pointer);
	*o = (struct ofs_offloaded){ 0 };
}

int ofs_offload(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	int r = ofs_access_open(access, true, err);

	if (r == 0)
		r = ofs_deposit_store(deposit, p->content, access->backend, err, &done.file);
	if (r == 0)
		r = ofs_pointer_make(*p, access, &done.file, err, &done.pointer);
	if (r == 0)
		*ret = ofs_steal(done);
	return r;
}

/*
 * Escape sequences take room in the input and none in the output; a line with more than this of
 * both is cut early. A secret that starts within it is seen whole.
 */
#define PREVIEW_WINDOW 4096
#define PREVIEW_HEAD_MAX (OFS_PREVIEW_MAX / 2)

void ofs_preview_finish(struct ofs_preview *p)
{
	for (size_t i = 0; i < OFS_CONTENT_LINES; i++) {
		free(p->first[i]);
		free(p->last[i]);
	}
	*p = (struct ofs_preview){ 0 };
}

/* Writes a line of which `unread` bytes were not read. */
static char *preview_shown(const char *line, size_t len, uint64_t unread, bool *ret_whole)
{
	struct ofs_text_stream s;
	FILE *out = ofs_text_open(&s);
	size_t used;

	ofs_text_printable(out, line, len, unread > 0, OFS_PREVIEW_LINE_MAX, &used);
	*ret_whole = used == len && !unread;
	if (!*ret_whole)
		fprintf(out, "...[+%llu bytes]", (unsigned long long)(len - used + unread));
	putc('\n', out);
	return ofs_text_close(&s);
}

/* For each line that could be shown: it is whole. */
struct preview_whole {
	bool first[OFS_CONTENT_LINES];
	bool last[OFS_CONTENT_LINES];
};

/* Appends the bytes at `start`, `max` of them at most; returns how many, or -errno. */
static ssize_t preview_append(const struct ofs_content *c, uint64_t start, size_t max,
			      struct ofs_buf *text)
{
	char bytes[PREVIEW_WINDOW + OFS_REDACT_AHEAD];
	ssize_t n = ofs_spool_read(c->spool, bytes, OFS_MIN(max, sizeof(bytes)), start);

	if (n > 0)
		ofs_buf_append(text, bytes, (size_t)n);
	return n;
}

/* Appends line `i` (from 0) and "\n", whatever ends it. */
static int preview_append_line(const struct ofs_content *c, uint64_t i, struct ofs_buf *text,
			       uint64_t *ret_unread)
{
	uint64_t start = ofs_content_line(c, i), len = ofs_content_line(c, i + 1) - start;
	ssize_t n = preview_append(c, start, (size_t)OFS_MIN(len, SIZE_MAX), text);

	if (n < 0)
		return (int)n;
	*ret_unread = len - (uint64_t)n;
	/* Only the part that was read can end in the line's end. */
	if (!*ret_unread && n && text->data[text->len - 1] == '\n') {
		text->len--;
		text->len -= n > 1 && text->data[text->len - 1] == '\r';
	}
	ofs_buf_append(text, "\n", 1);
	return 0;
}

/* The end of the line at `at`, which has one. */
static const char *line_end(const struct ofs_buf *text, const char *at)
{
	return memchr(at, '\n', (size_t)((const char *)text->data + text->len - at));
}

/*
 * Reads the lines from `from` to `to`. They are redacted together, with some of what stands before
 * and after them, which may tell that there are secrets in them.
 */
static int preview_read_lines(const struct ofs_content *c, uint64_t from, uint64_t to,
			      struct ofs_preview *p, struct preview_whole *whole)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, shown = OFS_BUF_INIT;
	uint64_t start = ofs_content_line(c, from), unread[OFS_CONTENT_LINES];
	size_t before = (size_t)OFS_MIN(start, (uint64_t)OFS_REDACT_AHEAD), i;
	ssize_t r = preview_append(c, start - before, before, &text);
	const char *at, *end;

	if (r >= 0 && (size_t)r < before)
		r = -EIO;
	for (i = 0; i < to - from && r >= 0; i++)
		r = preview_append_line(c, from + i, &text, &unread[i]);
	if (r >= 0)
		r = preview_append(c, ofs_content_line(c, to), OFS_REDACT_AHEAD, &text);
	if (r < 0)
		return (int)r;
	ofs_redact_text(&shown, (const char *)text.data, text.len);
	at = (const char *)shown.data;
	for (i = 0; i < before; i++)
		if (text.data[i] == '\n')
			at = line_end(&shown, at) + 1;
	for (i = 0; i < to - from; i++, at = end + 1) {
		uint64_t line = from + i;
		bool is_first = line < OFS_CONTENT_LINES;
		size_t place = (size_t)(is_first ? line : c->lines - 1 - line);

		end = line_end(&shown, at);
		*(is_first ? &p->first[place] : &p->last[place]) =
			preview_shown(at, (size_t)(end - at), unread[i],
				      is_first ? &whole->first[place] : &whole->last[place]);
	}
	return 0;
}

static int preview_read(const struct ofs_content *c, struct ofs_preview *p,
			struct preview_whole *whole)
{
	uint64_t n = OFS_MIN(c->lines, OFS_CONTENT_LINES), from = n;
	int r = preview_read_lines(c, 0, n, p, whole);

	if (c->lines > n + OFS_CONTENT_LINES)
		from = c->lines - OFS_CONTENT_LINES;
	return r < 0 || from == c->lines ? r : preview_read_lines(c, from, c->lines, p, whole);
}

/* Line `i`, which is one of the first or of the last. */
static char *preview_text(const struct ofs_preview *p, const struct ofs_content *c, uint64_t i)
{
	return i < OFS_CONTENT_LINES ? p->first[i] : p->last[c->lines - 1 - i];
}

static bool preview_is_whole(const struct preview_whole *whole, const struct ofs_content *c,
			     uint64_t i)
{
	return i < OFS_CONTENT_LINES ? whole->first[i] : whole->last[c->lines - 1 - i];
}

/* As many of the first and last lines as have room. */
static void preview_choose(const struct ofs_content *c, const struct preview_whole *whole,
			   struct ofs_preview *p)
{
	size_t used = 0, n;
	uint64_t least;

	while (p->head < OFS_MIN(c->lines, OFS_CONTENT_LINES)) {
		n = strlen(preview_text(p, c, p->head));
		if (used + n > PREVIEW_HEAD_MAX)
			break;
		used += n;
		p->head++;
		if (!preview_is_whole(whole, c, p->head - 1) && !p->first_missing)
			p->first_missing = p->head;
	}
	least = c->lines > p->head + OFS_CONTENT_LINES ? c->lines - OFS_CONTENT_LINES : p->head;
	while (p->tail - 1 > least) {
		n = strlen(preview_text(p, c, p->tail - 2));
		if (used + n > OFS_PREVIEW_MAX)
			break;
		used += n;
		p->tail--;
		if (!preview_is_whole(whole, c, p->tail - 1) &&
		    (!p->first_missing || p->first_missing > p->head))
			p->first_missing = p->tail;
	}
	if (p->tail > p->head + 1 && (!p->first_missing || p->first_missing > p->head))
		p->first_missing = p->head + 1;
}

int ofs_preview_plan(const struct ofs_content *c, struct ofs_preview *ret)
{
	struct ofs_preview p = { .tail = c->lines + 1 };
	struct preview_whole whole;
	int r;

	if (c->binary) {
		p.first_missing = 1;
		*ret = p;
		return 0;
	}
	r = preview_read(c, &p, &whole);
	if (r < 0) {
		ofs_preview_finish(&p);
		return r;
	}
	preview_choose(c, &whole, &p);
	*ret = p;
	return 0;
}

static void preview_block(const struct ofs_preview *p, const struct ofs_content *c, uint64_t from,
			  uint64_t to, FILE *out)
{
	fprintf(out, "--- line%s %llu", from == to ? "" : "s", (unsigned long long)from);
	if (from != to)
		fprintf(out, "-%llu", (unsigned long long)to);
	fprintf(out, " of %llu ---\n", (unsigned long long)c->lines);
	for (uint64_t i = from - 1; i < to; i++)
		fputs(preview_text(p, c, i), out);
}

void ofs_preview_print(const struct ofs_preview *p, const struct ofs_content *c, FILE *out)
{
	if (c->binary || !c->lines)
		return;
	if (p->tail == p->head + 1) {
		preview_block(p, c, 1, c->lines, out);
		return;
	}
	preview_block(p, c, 1, p->head, out);
	if (p->tail <= c->lines)
		preview_block(p, c, p->tail, c->lines, out);
}
