/* SPDX-License-Identifier: MIT */
#include "client/pointer.h"

#include "base/alloc.h"
#include "base/redact.h"
#include "base/text.h"
#include "base/util.h"
#include "client/preview.h"
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
