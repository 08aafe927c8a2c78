/* SPDX-License-Identifier: MIT */
#include "client/pointer.h"

#include "base/redact.h"
#include "base/text.h"
#include "base/tokens.h"
#include "client/outline.h"
#include "client/usage.h"
#include "io/path.h"

#define WHAT_MAX 80
/* Number of lines that the printed command reads. */
#define READ_LINES 60
/* Content whose lines are longer than this on average is read by bytes. */
#define LONG_LINE 1000
/* A pointer that pays saves at least this many tokens, and half of those that it replaces. */
#define PAYS_TOKENS 500
/* Content of more bytes than this has more than twice the tokens of any pointer. */
#define CERTAIN_BYTES ((uint64_t)64 << 10)
/* The outline may have 1/OUTLINE_PART of the size of the content. */
#define OUTLINE_PART 6
/* A ref of maximum length. */
#define SOME_REF "k3f9x2k3"

/* ---- printing */

static void print_what(const char *what, FILE *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	OFS_FREE char *shown = NULL;
	struct ofs_text_stream s;
	size_t used, len, head, tail;

	ofs_redact_text(&line, what, strlen(what));
	for (size_t i = 0; i < line.len; i++) {
		if (strchr("\n\t\r", line.data[i]) && line.data[i])
			line.data[i] = ' ';
	}
	ofs_text_printable(ofs_text_open(&s), line.data, line.len, false, SIZE_MAX, &used);
	shown = ofs_text_close(&s);
	len = strlen(shown);
	if (len <= WHAT_MAX) {
		fputs(shown, out);
		return;
	}
	head = ofs_text_middle(shown, len, WHAT_MAX, &tail);
	fprintf(out, "%.*s...%s", (int)head, shown, shown + tail);
}

/* "[offloaded] make test: exit 2, 48,213 bytes, 912 lines (ref k3f9x2k3)" */
static void print_title(const struct ofs_pointer *p, FILE *out)
{
	fputs("[offloaded] ", out);
	print_what(p->what, out);
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
	fprintf(out, " (ref %s", p->ref);
	if (p->mark)
		fprintf(out, ", %s", p->mark);
	putc(')', out);
}

/* Prints a command that reads `slice` of the file, or all of it (NULL). */
static void print_read(const struct ofs_pointer *p, const char *slice, FILE *out)
{
	OFS_FREE char *refs = NULL, *path = NULL;

	if (p->by_call) {
		fprintf(out, "memory_fetch %s%s%s", p->ref, slice ? ":" : "", slice ? slice : "");
		return;
	}
	if (!p->mount) { /* the tool finds the file in an unmounted store, too */
		fprintf(out, "offload slice%s %s %s", p->hint, p->ref, slice ? slice : "1-");
		return;
	}
	refs = ofs_path_join(p->mount, "refs");
	path = ofs_path_join(refs, p->ref);
	fputs("cat ", out);
	ofs_text_shell_word(out, path);
	if (slice)
		fprintf(out, ":%s", slice);
}

/* Prints how to read the content, in one line. */
static void print_reading(const struct ofs_pointer *p, FILE *out)
{
	const struct ofs_content *c = p->content;
	bool bytes = c->binary || (c->lines && c->size / c->lines > LONG_LINE);
	char slice[64];

	snprintf(slice, sizeof(slice), bytes ? "b0-4095" : "1-%llu",
		 (unsigned long long)OFS_MIN(c->lines, (uint64_t)READ_LINES));
	fprintf(out, "Read %s: ", bytes ? "bytes" : "lines");
	if (p->mark && p->mount) { /* such a pointer ends with the path */
		fprintf(out, "cat the path below with :%s added%s; grep without\n", slice,
			c->binary ? " | od -c" : "");
		return;
	}
	print_read(p, slice, out);
	if (p->by_call) {
		fprintf(out, "; keep it: memory_promote %s\n", p->ref);
		return;
	}
	if (c->binary)
		fputs(" | od -c", out);
	else if (p->mount)
		fprintf(out, " (grep and others without :%s)", slice);
	else if (!p->mark)
		fprintf(out, " (for cat and grep: offload up%s)", p->hint);
	if (!p->mark)
		fprintf(out, "; keep it: offload promote%s %s", p->hint, p->ref);
	putc('\n', out);
}

static int print_outline(const struct ofs_content *c, FILE *out)
{
	uint64_t max = OFS_MIN(c->size / OUTLINE_PART, (uint64_t)OFS_OUTLINE_MAX);

	return c->binary ? 0 : ofs_outline_print(c, (size_t)max, out);
}

int ofs_pointer_print(const struct ofs_pointer *p, FILE *out)
{
	print_title(p, out);
	if (p->brief) {
		if (!p->mark) { /* a marked pointer ends with the path */
			fputs(" Read it: ", out);
			print_read(p, NULL, out);
			putc('\n', out);
		}
		return 0;
	}
	putc('\n', out);
	print_reading(p, out);
	if (p->outline) {
		fputs(p->outline, out);
		return 0;
	}
	return print_outline(p->content, out);
}

int ofs_pointer_outline(const struct ofs_content *c, char **ret)
{
	struct ofs_text_stream text;
	int r = print_outline(c, ofs_text_open(&text));

	*ret = ofs_text_close(&text);
	return r;
}

int ofs_pointer_make(struct ofs_pointer p, const struct ofs_access *access, const char *ref,
		     struct ofs_error *err, char **ret)
{
	OFS_FREE char *pointer = NULL;
	struct ofs_text_stream text;
	int r;

	p.ref = ref;
	p.mount = access->target.mounted ? access->target.root : NULL;
	p.hint = access->target.hint;
	r = ofs_pointer_print(&p, ofs_text_open(&text));
	pointer = ofs_text_close(&text);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot make the pointer: %s", strerror(-r));
	*ret = ofs_steal(pointer);
	return 0;
}

/* ---- deciding whether a pointer pays */

bool ofs_pointer_pays(uint64_t content, uint64_t pointer)
{
	return content >= pointer + PAYS_TOKENS && content >= 2 * pointer;
}

bool ofs_pointer_certainly_pays(uint64_t bytes)
{
	return bytes > CERTAIN_BYTES;
}

/* Returns 1 if the pointer pays, 0 if not, or -errno. Needs a found tree and p->outline. */
static int pays(const struct ofs_pointer *p, const struct ofs_access *access, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *pointer = NULL;
	size_t size = (size_t)p->content->size;
	ssize_t n;
	int r;

	if (ofs_pointer_certainly_pays(p->content->size))
		return 1;
	ofs_buf_reserve(&text, size + 1);
	n = ofs_spool_read(p->content->spool, text.data, size, 0);
	if (n < 0)
		return ofs_error_set(err, (int)-n, "%s", strerror((int)-n));
	r = ofs_pointer_make(*p, access, SOME_REF, err, &pointer);
	if (r < 0)
		return r;
	return ofs_pointer_pays(ofs_tokens_count(text.data, (size_t)n),
				ofs_tokens_count(pointer, strlen(pointer)));
}

/* ---- storing */

void ofs_offloaded_finish(struct ofs_offloaded *o)
{
	ofs_deposited_finish(&o->file);
	free(o->pointer);
	*o = (struct ofs_offloaded){ 0 };
}

static int store(const struct ofs_deposit *deposit, struct ofs_pointer p, struct ofs_access *access,
		 struct ofs_error *err, struct ofs_offloaded *ret)
{
	OFS_CLEANUP(ofs_offloaded_finish) struct ofs_offloaded done = { 0 };
	int r = ofs_access_open(access, true, err);

	if (r == 0)
		r = ofs_deposit_store(deposit, p.content, access->backend, err, &done.file);
	if (r == 0)
		r = ofs_pointer_make(p, access, done.file.ref, err, &done.pointer);
	if (r < 0)
		return r;
	if (deposit->way)
		ofs_usage_tell(access->backend, &(struct ofs_usage){
							.way = deposit->way,
							.agent = deposit->agent,
							.task = deposit->task,
							.results = 1,
							.offloaded = ofs_usage_tokens(p.content),
							.pointers = ofs_tokens_count(
								done.pointer, strlen(done.pointer)),
						});
	*ret = ofs_steal(done);
	return 0;
}

/* As ofs_offload_if_it_pays(); `always` stores, with a brief pointer, even if it does not pay. */
static int offload(const struct ofs_deposit *deposit, struct ofs_pointer p, bool always,
		   struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret)
{
	OFS_FREE char *outline = NULL;
	int r = ofs_access_find(access, err);

	if (r < 0)
		return r;
	r = ofs_pointer_outline(p.content, &outline);
	if (r < 0)
		return ofs_error_set(err, -r, "%s", strerror(-r));
	p.outline = outline;
	r = pays(&p, access, err);
	if (r < 0 || (!r && !always))
		return r;
	p.brief = !r;
	r = store(deposit, p, access, err, ret);
	return r < 0 ? r : 1;
}

int ofs_offload(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
		struct ofs_access *access, struct ofs_error *err, struct ofs_offloaded *ret)
{
	int r = offload(deposit, *p, true, access, err, ret);

	return r < 0 ? r : 0;
}

int ofs_offload_if_it_pays(const struct ofs_deposit *deposit, const struct ofs_pointer *p,
			   struct ofs_access *access, struct ofs_error *err,
			   struct ofs_offloaded *ret)
{
	return offload(deposit, *p, false, access, err, ret);
}
