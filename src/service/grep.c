/* SPDX-License-Identifier: MIT */
#include "service/grep.h"

#include <fnmatch.h>
#include <inttypes.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/clock.h"
#include "base/text.h"
#include "client/agent_list.h"
#include "io/path.h"

#define CHUNK ((size_t)256 << 10)
#define LINE_MAX_LEN ((size_t)1 << 20) /* longer lines are searched in parts */
#define SHOWN_MAX ((size_t)1000) /* bytes reported of a line */
#define TOLD_MAX ((size_t)64 << 10) /* bytes reported in all */
#define TIME_MAX (15 * OFS_NS_PER_S)
#define MATCH_LIMIT 200000 /* steps for a line; some patterns would need exponentially many */
#define CONTEXT_MAX 20

/* The start of a line, kept as context before a match. */
struct line {
	char text[SHOWN_MAX];
	size_t len, whole;
};

struct grep {
	const struct ofs_grep *g;
	struct ofs_backend *b;
	void (*fn)(void *arg, const char *text, size_t len);
	void *arg;
	struct ofs_grep_result *result;
	pcre2_code *re;
	pcre2_match_data *match;
	pcre2_match_context *limits;
	int64_t deadline;
	size_t told; /* bytes reported */
	struct ofs_buf out;
	struct line before[CONTEXT_MAX]; /* a ring: line n is at n % context */
	char *chunk; /* LINE_MAX_LEN + CHUNK */
};

/* A file being searched. Line numbers start at 1. */
struct file {
	const char *path;
	uint64_t line; /* the current one */
	uint64_t told; /* the last one reported; 0: none */
	uint64_t last; /* the last one to be reported as context after a match */
	bool in_line; /* what follows belongs to the current one, which is long */
	bool binary;
};

static void grep_finish(struct grep *s)
{
	pcre2_match_data_free(s->match);
	pcre2_match_context_free(s->limits);
	pcre2_code_free(s->re);
	ofs_buf_finish(&s->out);
	free(s->chunk);
}

static int compile(struct grep *s, struct ofs_error *err)
{
	uint32_t flags = PCRE2_NEVER_BACKSLASH_C | PCRE2_UTF | PCRE2_MATCH_INVALID_UTF |
			 (s->g->ignore_case ? PCRE2_CASELESS : 0);
	PCRE2_SIZE at;
	int code;

	s->re = pcre2_compile((PCRE2_SPTR)s->g->pattern, PCRE2_ZERO_TERMINATED, flags, &code, &at,
			      NULL);
	if (!s->re) {
		char reason[128];

		pcre2_get_error_message(code, (PCRE2_UCHAR *)reason, sizeof(reason));
		return ofs_error_set(err, EINVAL, "the pattern is wrong at character %zu: %s",
				     at + 1, reason);
	}
	pcre2_jit_compile(s->re, PCRE2_JIT_COMPLETE);
	s->match = pcre2_match_data_create(1, NULL);
	s->limits = pcre2_match_context_create(NULL);
	if (!s->match || !s->limits)
		ofs_out_of_memory();
	pcre2_set_match_limit(s->limits, MATCH_LIMIT);
	return 0;
}

/* ---- reporting */

static bool is_late(struct grep *s)
{
	bool late = ofs_clock_monotonic() >= s->deadline;

	if (late)
		s->result->complete = false;
	return late;
}

/* True if a limit is reached, so that nothing more is reported. */
static bool is_over(struct grep *s)
{
	if (s->result->matches < s->g->limit && s->told < TOLD_MAX)
		return is_late(s);
	s->result->complete = false;
	return true;
}

/* Appends text of any bytes as UTF-8. */
static void append_readable(struct ofs_buf *out, const char *text, size_t len)
{
	static const char replacement[] = "\xef\xbf\xbd";

	for (size_t at = 0, n; at < len; at += n + 1) {
		n = ofs_text_utf8_prefix(text + at, len - at);
		ofs_buf_append(out, text + at, n);
		if (at + n == len)
			break;
		ofs_buf_append_str(out, replacement);
	}
}

static void tell(struct grep *s)
{
	s->told += s->out.len;
	s->fn(s->arg, (const char *)s->out.data, s->out.len);
}

static void tell_line(struct grep *s, struct file *f, uint64_t number, char mark, const char *text,
		      size_t len, size_t whole)
{
	size_t cut = OFS_MIN(len, SHOWN_MAX);

	/* Do not cut within a character. */
	while (cut && cut < whole && cut < len && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	if (s->g->context && f->told + 1 != number && f->told != number && s->told) {
		s->out.len = 0;
		ofs_buf_append_str(&s->out, "--");
		tell(s);
	}
	s->out.len = 0;
	ofs_buf_append_str(&s->out, s->g->prefix);
	append_readable(&s->out, f->path, strlen(f->path));
	ofs_buf_printf(&s->out, "%c%" PRIu64 "%c", mark, number, mark);
	append_readable(&s->out, text, cut);
	if (cut < whole)
		ofs_buf_append_str(&s->out, "...");
	tell(s);
	f->told = number;
}

static void tell_binary(struct grep *s, const struct file *f)
{
	s->out.len = 0;
	ofs_buf_append_str(&s->out, "Binary file ");
	ofs_buf_append_str(&s->out, s->g->prefix);
	append_readable(&s->out, f->path, strlen(f->path));
	ofs_buf_append_str(&s->out, " matches");
	tell(s);
}

/* ---- searching */

static void keep_before(struct grep *s, const struct file *f, const char *text, size_t len)
{
	struct line *l;

	if (!s->g->context || f->in_line)
		return;
	l = &s->before[f->line % s->g->context];
	l->whole = len;
	l->len = OFS_MIN(len, sizeof(l->text));
	memcpy(l->text, text, l->len);
}

static void tell_before(struct grep *s, struct file *f)
{
	uint64_t first = f->line > s->g->context ? f->line - s->g->context : 1;

	for (uint64_t n = OFS_MAX(first, f->told + 1); n < f->line; n++) {
		const struct line *l = &s->before[n % s->g->context];

		tell_line(s, f, n, '-', l->text, l->len, l->whole);
	}
}

/* Returns false if the rest of the file need not be searched. */
static bool take_line(struct grep *s, struct file *f, const char *text, size_t len)
{
	int r = pcre2_match(s->re, (PCRE2_SPTR)text, len, 0, 0, s->match, s->limits);

	f->line += !f->in_line;
	if (r < 0 && r != PCRE2_ERROR_NOMATCH)
		s->result->complete = false; /* MATCH_LIMIT was reached */
	if (r >= 0 && is_over(s))
		return false;
	if (r >= 0) {
		s->result->matches++;
		if (f->binary) {
			tell_binary(s, f);
			return false;
		}
		tell_before(s, f);
		tell_line(s, f, f->line, ':', text, len, len);
		f->last = f->line + s->g->context;
	} else if (f->line <= f->last && f->line != f->told) {
		tell_line(s, f, f->line, '-', text, len, len);
	}
	keep_before(s, f, text, len);
	return true;
}

/* Searches the whole lines of a chunk. Returns their bytes, or SIZE_MAX to end the search. */
static size_t take_lines(struct grep *s, struct file *f, size_t len, bool at_end)
{
	size_t used = 0;

	while (used < len) {
		const char *line = s->chunk + used;
		const char *end = memchr(line, '\n', len - used);
		size_t n = end ? (size_t)(end - line) : len - used;

		if (!end && !at_end && n < LINE_MAX_LEN)
			break;
		if (!take_line(s, f, line, n))
			return SIZE_MAX;
		f->in_line = !end;
		used += n + (end != NULL);
	}
	return used;
}

static int search_file(struct grep *s, const char *path)
{
	struct file f = { .path = path };
	uint64_t off = 0;
	size_t held = 0, used;
	ofs_handle h;
	ssize_t n;
	int r = s->b->ops->open(s->b, path, &h);

	if (r < 0)
		return r;
	s->result->files++;
	do {
		n = s->b->ops->read(s->b, h, s->chunk + held, CHUNK, off);
		if (n < 0)
			break;
		if (!off)
			f.binary = memchr(s->chunk, '\0', (size_t)n) != NULL;
		off += (uint64_t)n;
		held += (size_t)n;
		used = take_lines(s, &f, held, n == 0);
		if (used == SIZE_MAX)
			break;
		held -= used;
		memmove(s->chunk, s->chunk + used, held);
	} while (n > 0 && !is_late(s));
	s->b->ops->close(s->b, h);
	return n < 0 ? (int)n : 0;
}

static bool is_named(const struct grep *s, const char *path)
{
	const char *slash = strrchr(path, '/');

	return !s->g->glob || fnmatch(s->g->glob, slash ? slash + 1 : path, 0) == 0;
}

/* Skips what cannot be read or vanishes meanwhile. */
static int search_below(struct grep *s, const char *path)
{
	OFS_CLEANUP(ofs_files_finish) struct ofs_files here = { 0 };
	int r = ofs_files_list(s->b, path, &here);

	for (size_t i = 0; i < here.count && r == 0 && !is_over(s); i++) {
		const struct ofs_file *each = &here.list[i];

		if (S_ISDIR(each->attr.st_mode))
			r = search_below(s, each->path);
		else if (S_ISREG(each->attr.st_mode) && is_named(s, each->path))
			r = search_file(s, each->path);
		if (r == -EACCES || r == -EIO)
			s->result->complete = false;
		r = r == -EACCES || r == -EIO || r == -ENOENT ? 0 : r;
	}
	return r;
}

/* Searches the directories that hold files: others at the root show the same files again. */
static int search_tree(void *arg, const char *dir)
{
	struct grep *s = arg;
	int r = 0;

	for (size_t i = 0; i < OFS_AGENT_TOPS && r == 0; i++) {
		OFS_FREE char *top = ofs_path_join(dir, ofs_agent_tops[i]);

		r = search_below(s, *dir ? top : ofs_agent_tops[i]);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

static int search_all(struct grep *s)
{
	int r = search_tree(s, "");

	return r < 0 ? r : ofs_agents_each(s->b, "", search_tree, s);
}

int ofs_grep_run(const struct ofs_grep *g, struct ofs_backend *b, const char *path,
		 void (*fn)(void *arg, const char *text, size_t len), void *arg,
		 struct ofs_error *err, struct ofs_grep_result *ret)
{
	OFS_CLEANUP(grep_finish)
	struct grep s = {
		.g = g,
		.b = b,
		.fn = fn,
		.arg = arg,
		.result = ret,
		.deadline = ofs_clock_monotonic() + TIME_MAX,
		.out = OFS_BUF_INIT,
	};
	struct stat st = { 0 };
	int r = compile(&s, err);

	if (r < 0)
		return r;
	*ret = (struct ofs_grep_result){ .complete = true };
	s.chunk = ofs_alloc(LINE_MAX_LEN + CHUNK);
	r = *path ? b->ops->stat(b, path, &st) : 0;
	if (r == 0 && !*path)
		r = search_all(&s);
	else if (r == 0 && S_ISDIR(st.st_mode))
		r = search_below(&s, path);
	else if (r == 0)
		r = search_file(&s, path);
	return r < 0 ? ofs_error_set(err, -r, "cannot search '%s': %s", path,
				     ofs_backend_strerror(-r))
		     : 0;
}
