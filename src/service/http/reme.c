/* SPDX-License-Identifier: MIT */
/* Reading back: grep and read_file. As in ReMe, a failure is an answer in words. */
#include "service/http/reme.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/text.h"
#include "base/tokens.h"
#include "client/usage.h"
#include "service/grep.h"
#include "service/http/reme_body.h"
#include "service/http/reme_place.h"

#define CONTENT_MAX ((size_t)64 << 20)
#define MATCHES_MAX 100000
#define MATCHES_USUAL 50

/* A request, and the answer in words. */
struct asking {
	const char *path; /* as given; NULL: not given */
	const char *pattern, *glob;
	int64_t limit, offset;
	bool has_limit;
	bool literal; /* as in the releases: `pattern` is a plain text, and `path` a file */
	struct ofs_buf out;
};

/* Returns the text without white space at both ends, as strip() of Python. Allocated. */
static char *stripped(const char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	return ofs_strndup(text, len);
}

static void tell_read(struct ofs_access *access, const struct ofs_buf *text)
{
	ofs_usage_tell(access->backend,
		       &(struct ofs_usage){ .way = "http",
					    .read = ofs_tokens_count(text->data, text->len) });
}

/* Answers 200, with an error in words if fn fails; but 503 if the tree cannot be reached. */
static void answer(struct ofs_http_exchange *x, struct asking *a, const char *failed,
		   const char *about,
		   int (*fn)(struct ofs_access *access, void *arg, struct ofs_error *err),
		   struct ofs_http_reply *ret)
{
	struct ofs_error err = { "" };
	int r = ofs_service_use(x->site->service, ofs_http_agent(x), false, fn, a, &err);

	if (ofs_service_is_away(r)) {
		ofs_http_reply_failed(ret, r, &err);
	} else {
		if (r < 0) {
			a->out.len = 0;
			ofs_buf_printf(&a->out, "%s \"%s\": %s", failed, about, err.text);
		}
		ofs_reme_answer(ret, true, json_stringn_nocheck(ofs_buf_str(&a->out), a->out.len),
				json_array(), json_object());
	}
	ofs_buf_finish(&a->out);
}

/* Sets *ret to the path of a regular file, allocated. 0, or -errno with `err` set. */
static int find_file(struct ofs_access *access, const char *given, const char *missing,
		     struct ofs_error *err, char **ret)
{
	OFS_FREE char *path = ofs_reme_file(access, given);
	OFS_FREE char *shown = ofs_access_display(access, path);
	struct stat st;
	int r = access->backend->ops->stat(access->backend, path, &st);

	if (ofs_service_is_away(r))
		return ofs_backend_failed(err, r, "read", path);
	if (r == -EKEYEXPIRED)
		return ofs_error_set(err, -r, "File has expired: %s", shown);
	if (r < 0)
		return ofs_error_set(err, -r, "%s: %s", missing, shown);
	if (!S_ISREG(st.st_mode))
		return ofs_error_set(err, EISDIR, "Path is not a file: %s", shown);
	*ret = ofs_steal(path);
	return 0;
}

/* ---- grep */

struct told {
	struct asking *a;
	const char *base; /* the path with which all lines begin */
	char *shown; /* that path, as displayed */
	struct ofs_buf lines;
	char *file; /* the one whose lines are being reported; NULL: none yet */
	uint64_t n;
};

/* Takes a line "PATH:LINE:TEXT" of ofs_grep_run(). */
static void take_line(void *arg, const char *text, size_t len)
{
	struct told *t = arg;
	OFS_FREE char *line = ofs_strndup(text, len);
	const char *rest = line + OFS_MIN(strlen(t->base), strlen(line));
	const char *colon = strchr(rest, ':');
	OFS_FREE char *file = NULL, *words = NULL;
	uint64_t number;
	char *end;

	rest += *rest == '/';
	while (colon && (!isdigit((unsigned char)colon[1]) ||
			 (number = strtoull(colon + 1, &end, 10), *end != ':')))
		colon = strchr(colon + 1, ':');
	if (!colon)
		return; /* a binary file */
	t->n++;
	file = ofs_strndup(rest, (size_t)(colon - rest));
	words = stripped(end + 1);
	if (t->a->literal) {
		ofs_buf_printf(&t->lines, "%s%s:%" PRIu64 ":%s", t->lines.len ? "\n" : "", t->shown,
			       number, end + 1);
		return;
	}
	if (!t->file || strcmp(t->file, file) != 0) {
		ofs_buf_printf(&t->lines, "%sFile: %s\n", t->file ? "---\n" : "", file);
		free(t->file);
		t->file = ofs_steal(file);
	}
	ofs_buf_printf(&t->lines, "L%" PRIu64 ": %s\n", number, words);
}

/* Appends where the search took place. */
static void say_where(const struct asking *a, struct ofs_buf *out)
{
	if (a->literal)
		ofs_buf_printf(out, "in file_path \"%s\"", a->path);
	else if (a->path)
		ofs_buf_printf(out, "in path \"%s\"", a->path);
	else
		ofs_buf_append_str(out, "in the workspace directory");
	if (a->glob)
		ofs_buf_printf(out, " (filter: \"%s\")", a->glob);
}

static void write_matches(struct asking *a, const struct told *t, bool complete)
{
	if (!t->n) {
		ofs_buf_printf(&a->out, "No matches found for pattern \"%s\" ", a->pattern);
		say_where(a, &a->out);
		ofs_buf_append_str(&a->out, ".");
		return;
	}
	if (a->literal) {
		ofs_buf_append(&a->out, t->lines.data, t->lines.len);
		return;
	}
	ofs_buf_printf(&a->out, "Found %" PRIu64 " %s for pattern \"%s\" ", t->n,
		       t->n == 1 ? "match" : "matches", a->pattern);
	say_where(a, &a->out);
	ofs_buf_append_str(&a->out, ":\n---\n");
	ofs_buf_append(&a->out, t->lines.data, t->lines.len);
	ofs_buf_append_str(&a->out, "---");
	if (!complete && t->n < (uint64_t)a->limit)
		ofs_buf_append_str(&a->out, "\nThere may be more: narrow the pattern or the path.");
}

/* Returns a regular expression that matches exactly this text, allocated. */
static char *quoted(const char *text)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf out = OFS_BUF_INIT;

	for (; *text; text++) {
		if (ispunct((unsigned char)*text))
			ofs_buf_append_str(&out, "\\");
		ofs_buf_append(&out, text, 1);
	}
	return ofs_buf_steal_str(&out);
}

static int search(struct asking *a, struct ofs_access *access, const char *path,
		  struct ofs_error *err)
{
	OFS_FREE char *expression = a->literal ? quoted(a->pattern) : ofs_strdup(a->pattern);
	const struct ofs_grep g = {
		.pattern = expression,
		.ignore_case = true,
		.glob = a->glob,
		.limit = (uint64_t)a->limit,
		.prefix = "",
	};
	struct ofs_grep_result done = { 0 };
	struct told t = { .a = a, .base = path, .shown = ofs_access_display(access, path) };
	int r = ofs_grep_run(&g, access->backend, path, take_line, &t, err, &done);

	if (r == 0)
		write_matches(a, &t, done.complete);
	free(t.shown);
	free(t.file);
	ofs_buf_finish(&t.lines);
	if (r == 0)
		tell_read(access, &a->out);
	return r;
}

static int grep_folder(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct asking *a = arg;
	bool mapped;
	OFS_FREE char *path = ofs_reme_folder(access, a->path, &mapped);
	OFS_FREE char *shown = ofs_access_display(access, path);
	struct stat st = { 0 };
	int r = access->backend->ops->stat(access->backend, path, &st);

	a->out.len = 0;
	if (ofs_service_is_away(r))
		return ofs_backend_failed(err, r, "search", path);
	if (r < 0 && !a->path) {
		write_matches(a, &(struct told){ 0 }, true);
		return 0;
	}
	if (r < 0)
		return ofs_error_set(err, -r, "Search path does not exist: %s", shown);
	if (!S_ISDIR(st.st_mode))
		return ofs_error_set(err, ENOTDIR, "Search path is not a directory: %s", shown);
	return search(a, access, path, err);
}

static int grep_file(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct asking *a = arg;
	OFS_FREE char *path = NULL;
	int r = find_file(access, a->path, "File does not exist", err, &path);

	a->out.len = 0;
	return r < 0 ? r : search(a, access, path, err);
}

static int refuse_empty(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	return ofs_error_set(err, EINVAL, "The 'pattern' parameter cannot be empty.");
}

static void grep(struct ofs_http_exchange *x, const json_t *body, bool file,
		 struct ofs_http_reply *ret)
{
	struct asking a = { .literal = file, .limit = file ? MATCHES_USUAL : MATCHES_MAX };
	OFS_FREE char *pattern = NULL;
	const char *given = NULL;

	if (!ofs_reme_text(body, "pattern", ret, &given) ||
	    !ofs_reme_text(body, file ? "file_path" : "path", ret, &a.path) ||
	    !ofs_reme_text(body, "glob", ret, &a.glob) ||
	    !ofs_reme_number(body, "limit", ret, &a.limit))
		return;
	if (!given || (file && !a.path)) {
		ofs_reme_refuse(ret, given ? "file_path" : "pattern", "missing", "Field required");
		return;
	}
	a.pattern = pattern = stripped(given);
	a.limit = a.limit > 0 ? OFS_MIN(a.limit, MATCHES_MAX) : MATCHES_MAX;
	answer(x, &a, "Failed to search for pattern", pattern,
	       !*pattern ? refuse_empty
	       : file	 ? grep_file
			 : grep_folder,
	       ret);
}

/* ---- read_file */

/* Returns the start of line `n`, counted from 0, or the end of the text if there is none. */
static const char *line_at(const char *text, uint64_t n)
{
	for (const char *eol; n && (eol = strchr(text, '\n')); n--)
		text = eol + 1;
	return n ? text + strlen(text) : text;
}

/* Appends the lines asked for, as split("\n") of Python counts: a last newline adds a line. */
static int write_lines(struct asking *a, const char *text, struct ofs_error *err)
{
	uint64_t total = ofs_text_newlines(text, strlen(text)) + 1;
	uint64_t start = (uint64_t)a->offset, end;
	const char *from, *to;

	if (start >= total && a->literal)
		return 0;
	if (start >= total)
		return ofs_error_set(err, ERANGE,
				     "Offset %" PRIu64 " is beyond file length (%" PRIu64 " lines)",
				     start, total);
	end = a->has_limit ? OFS_MIN(start + (uint64_t)a->limit, total) : total;
	from = line_at(text, start);
	to = line_at(from, end - start);
	if (end < total) {
		to--; /* without the last newline */
		if (!a->literal)
			ofs_buf_printf(&a->out,
				       "Showing lines %" PRIu64 "-%" PRIu64 " of %" PRIu64
				       " total lines.\n\n---\n\n",
				       start, end - 1, total);
	}
	while (a->literal && to > from && to[-1] == '\n')
		to--;
	ofs_buf_append(&a->out, from, (size_t)(to - from));
	return 0;
}

static int read_all(struct ofs_access *access, const char *path, struct ofs_error *err, char **ret)
{
	struct ofs_backend *b = access->backend;
	OFS_FREE char *bytes = NULL;
	ofs_handle h;
	size_t len;
	int r = b->ops->open(b, path, &h);

	if (r < 0)
		return ofs_backend_failed(err, r, "read", path);
	r = ofs_backend_read_all(b, h, CONTENT_MAX, &bytes, &len);
	b->ops->close(b, h);
	if (r == -EFBIG)
		return ofs_error_set(err, EFBIG,
				     "it is larger than %zu MiB: read it by "
				     "/v1/memories/{id}/content",
				     CONTENT_MAX >> 20);
	if (r < 0)
		return ofs_backend_failed(err, r, "read", path);
	if (strlen(bytes) != len || !ofs_text_is_utf8(bytes))
		return ofs_error_set(err, EILSEQ,
				     "it is not UTF-8: read it by "
				     "/v1/memories/{id}/content");
	*ret = ofs_steal(bytes);
	return 0;
}

static int read_file(struct ofs_access *access, void *arg, struct ofs_error *err)
{
	struct asking *a = arg;
	OFS_FREE char *path = NULL, *text = NULL;
	int r = find_file(access, a->path, "File not found", err, &path);

	a->out.len = 0;
	if (r == 0)
		r = read_all(access, path, err, &text);
	if (r == 0 && a->offset < 0)
		r = ofs_error_set(err, EINVAL, "Offset must be a non-negative number");
	if (r == 0 && a->has_limit && a->limit <= 0)
		r = ofs_error_set(err, EINVAL, "Limit must be a positive number");
	if (r == 0)
		r = write_lines(a, text, err);
	if (r == 0)
		tell_read(access, &a->out);
	return r;
}

static void read_lines(struct ofs_http_exchange *x, const json_t *body, struct ofs_http_reply *ret)
{
	struct asking a = { .limit = INT64_MIN };
	OFS_FREE char *path = NULL;
	const char *given = NULL;

	if (!ofs_reme_text(body, "absolute_path", ret, &given))
		return;
	/* The other name is that of the releases, whose answers have only the lines. */
	a.literal = !given;
	if (!ofs_reme_text(body, "file_path", ret, &given) ||
	    !ofs_reme_number(body, "offset", ret, &a.offset) ||
	    !ofs_reme_number(body, "limit", ret, &a.limit))
		return;
	if (!given) {
		ofs_reme_refuse(ret,
				strcmp(x->route->path, "/read_working_memory") == 0
					? "file_path"
					: "absolute_path",
				"missing", "Field required");
		return;
	}
	a.has_limit = a.limit != INT64_MIN && !(a.literal && a.limit == 0);
	a.path = path = stripped(given);
	answer(x, &a, "Failed to read file", path, read_file, ret);
}

/* ---- the routes */

void ofs_reme_grep(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	json_auto_t *body = NULL;

	if (ofs_reme_body(x, ret, &body))
		grep(x, body, false, ret);
}

void ofs_reme_grep_file(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	json_auto_t *body = NULL;

	if (ofs_reme_body(x, ret, &body))
		grep(x, body, true, ret);
}

void ofs_reme_read(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	json_auto_t *body = NULL;

	if (ofs_reme_body(x, ret, &body))
		read_lines(x, body, ret);
}

/* ReMe's documentation uses this name for both steps. */
void ofs_reme_reload(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	json_auto_t *body = NULL;

	if (!ofs_reme_body(x, ret, &body))
		return;
	if (json_object_get(body, "pattern"))
		grep(x, body, json_object_get(body, "file_path") != NULL, ret);
	else
		read_lines(x, body, ret);
}
