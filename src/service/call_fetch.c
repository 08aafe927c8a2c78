/* SPDX-License-Identifier: MIT */
/* memory_fetch: reads lines or bytes of a file, unchanged. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/tokens.h"
#include "client/usage.h"
#include "service/call_run.h"

#define BYTES_MAX ((uint64_t)65536)
#define UTF8_MAX 4

/* The range that is asked for, and then what was read. */
struct fetch {
	struct ofs_call_file file;
	bool by_lines;
	uint64_t first, last; /* lines from 1, or bytes from 0; `last` may be UINT64_MAX */
	uint64_t tail; /* the last so many lines; 0: not asked for */
	uint64_t off, len; /* bytes of the file that were read */
	char *text; /* those bytes, with a NUL after them */
};

static void fetch_finish(struct fetch *f)
{
	ofs_call_file_finish(&f->file);
	free(f->text);
}

/* Reads a number at *p and moves *p past it. Returns false if there is none. */
static bool take_number(const char **p, uint64_t *ret)
{
	char *end;

	if (!isdigit((unsigned char)**p))
		return false;
	*ret = strtoull(*p, &end, 10);
	*p = end;
	return true;
}

/* Reads a slice: ":10-20", ":10-", ":10", ":-50" or ":b0-4095". Returns false for others. */
static bool parse_slice(const char *p, struct fetch *f)
{
	p++;
	if (*p == '-') {
		p++;
		return take_number(&p, &f->tail) && !*p && f->tail;
	}
	f->by_lines = *p != 'b';
	p += *p == 'b';
	if (!take_number(&p, &f->first))
		return false;
	f->last = f->first;
	if (*p == '-') {
		p++;
		if (!take_number(&p, &f->last))
			f->last = UINT64_MAX;
	}
	return !*p && f->last >= f->first && (f->first || !f->by_lines);
}

static int wrong_range(struct ofs_call_run *c)
{
	return ofs_error_set(
		c->err, EINVAL,
		"give line_start and line_end, from 1 and not reversed, or byte_offset "
		"and byte_len, not both");
}

/* Reads the range from the other arguments, which override a slice in the id. */
static int read_range(struct ofs_call_run *c, struct fetch *f)
{
	int64_t start = ofs_call_number(c, "line_start", -1),
		end = ofs_call_number(c, "line_end", -1);
	int64_t offset = ofs_call_number(c, "byte_offset", -1),
		len = ofs_call_number(c, "byte_len", -1);
	bool lines = start >= 0 || end >= 0, bytes = offset >= 0 || len >= 0;

	if (lines && bytes)
		return wrong_range(c);
	if (lines) {
		f->by_lines = true;
		f->first = start >= 0 ? (uint64_t)start : 1;
		f->last = end >= 0 ? (uint64_t)end : UINT64_MAX;
	} else if (bytes) {
		f->by_lines = false;
		f->first = offset >= 0 ? (uint64_t)offset : 0;
		f->last = len >= 0 ? f->first + (uint64_t)len - 1 : UINT64_MAX;
	}
	return f->last < f->first ? wrong_range(c) : 0;
}

/* Turns the last lines into lines from the start. */
static void place_tail(struct ofs_call_run *c, struct fetch *f)
{
	OFS_FREE char *text = NULL;
	uint64_t lines = 0;

	if (ofs_backend_attribute(c->access->backend, f->file.path, "lines", &text) == 0)
		lines = strtoull(text, NULL, 10);
	f->first = lines > f->tail ? lines - f->tail + 1 : 1;
}

/* Finds the file whose slice `id` names. 1, 0 if it names a file as it is, or -errno. */
static int find_sliced(struct ofs_call_run *c, const char *id, struct fetch *f)
{
	struct fetch slice = { .by_lines = true, .first = 1, .last = UINT64_MAX };
	OFS_FREE char *suffix = NULL, *base = NULL, *range = NULL;
	const char *mark = NULL;
	int r;

	for (const char *p = id; (p = strpbrk(p, ":#@")); p++)
		mark = p;
	suffix = mark ? ofs_slice_suffix(mark) : NULL;
	if (!suffix || !parse_slice(suffix, &slice))
		return 0;
	/* The literal name wins. A slice of that name has a range. */
	if (ofs_call_find_file(c, id, &f->file) == 0 &&
	    ofs_backend_attribute(c->access->backend, f->file.path, "range", &range) < 0)
		return 0;
	ofs_call_file_finish(&f->file);
	base = ofs_strndup(id, (size_t)(mark - id));
	r = ofs_call_find_file(c, base, &slice.file);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	*f = slice;
	f->file.id = id;
	if (f->tail)
		place_tail(c, f);
	return 1;
}

static int find(struct ofs_call_run *c, const char *id, struct fetch *f)
{
	int r;

	*f = (struct fetch){ .by_lines = true, .first = 1, .last = UINT64_MAX };
	r = find_sliced(c, id, f);
	if (r == 0 && !f->file.path)
		r = ofs_call_find_file(c, id, &f->file);
	return r < 0 ? r : read_range(c, f);
}

/* Sets "'x' has 912 lines: line 2000 is past the end" and returns -ERANGE. */
static int past_end(struct ofs_call_run *c, const struct fetch *f)
{
	OFS_FREE char *lines = NULL;
	uint64_t count = (uint64_t)f->file.attr.st_size;

	if (f->by_lines &&
	    ofs_backend_attribute(c->access->backend, f->file.path, "lines", &lines) == 0)
		count = strtoull(lines, NULL, 10);
	return ofs_error_set(c->err, ERANGE,
			     "'%s' has %" PRIu64 " %s: %s %" PRIu64 " is past the end", f->file.id,
			     count, lines ? "lines" : "bytes", f->by_lines ? "line" : "byte",
			     f->first);
}

/* Reads f->len bytes from the start of the slice `path`, or at f->off of the file if it is NULL. */
static int read_bytes(struct ofs_call_run *c, struct fetch *f, const char *path)
{
	struct ofs_backend *b = c->access->backend;
	ofs_handle h;
	ssize_t n;
	int r = b->ops->open(b, path ? path : f->file.path, &h);

	if (r < 0)
		return r;
	f->text = ofs_alloc(f->len + 1);
	n = b->ops->read(b, h, f->text, f->len, path ? 0 : f->off);
	b->ops->close(b, h);
	f->len = n < 0 ? 0 : (uint64_t)n;
	f->text[f->len] = '\0';
	return n < 0 ? (int)n : 0;
}

/* Asks the tree for the byte range of the lines, and reads it. */
static int read_lines(struct ofs_call_run *c, struct fetch *f)
{
	OFS_FREE char *path = NULL, *range = NULL;
	int r;

	if (f->last == UINT64_MAX)
		path = ofs_format("%s:%" PRIu64 "-", f->file.path, f->first);
	else
		path = ofs_format("%s:%" PRIu64 "-%" PRIu64, f->file.path, f->first, f->last);
	r = ofs_backend_attribute(c->access->backend, path, "range", &range);
	if (r == -ENODATA)
		return ofs_error_set(
			c->err, EOPNOTSUPP,
			"'%s' cannot be read by lines, or the daemon is older than this "
			"tool: mount the tree again",
			f->file.id);
	if (r == 0 && sscanf(range, "%" SCNu64 " %" SCNu64, &f->off, &f->len) != 2)
		r = -EPROTO;
	f->len = OFS_MIN(f->len, BYTES_MAX);
	return r < 0 ? r : read_bytes(c, f, path);
}

static int read_content(struct ofs_call_run *c, struct fetch *f)
{
	uint64_t size = (uint64_t)f->file.attr.st_size;
	int r;

	if (!S_ISREG(f->file.attr.st_mode))
		return ofs_error_set(c->err, EINVAL,
				     "'%s' is a directory: memory_list shows what is in it",
				     f->file.id);
	if (!size && f->first <= (f->by_lines ? 1 : 0)) {
		f->text = ofs_strdup("");
		return 0;
	}
	if (f->by_lines) {
		r = read_lines(c, f);
	} else if (f->first >= size) {
		r = -ERANGE;
	} else {
		f->off = f->first;
		f->len = OFS_MIN(OFS_MIN(f->last, size - 1) - f->first + 1, BYTES_MAX);
		r = read_bytes(c, f, NULL);
	}
	if (r == -ERANGE)
		return past_end(c, f);
	return r == 0 || r == -EOPNOTSUPP ? r : ofs_call_failed(c, r, "read", f->file.id);
}

/* Drops a character that is cut at the end, if more follows. Returns true if the text is UTF-8. */
static bool end_at_character(struct fetch *f, uint64_t size)
{
	size_t whole = ofs_text_utf8_prefix(f->text, f->len);

	if (whole == f->len)
		return true;
	if (!whole || f->len - whole >= UTF8_MAX || f->off + f->len >= size ||
	    (!f->by_lines && f->last == f->off + f->len - 1) ||
	    ofs_text_utf8((const unsigned char *)f->text + whole, f->len - whole) >= 0)
		return false;
	f->len = whole;
	f->text[whole] = '\0';
	return true;
}

/* Returns the text with U+FFFD for each byte that is not UTF-8. */
static json_t *lossy(const struct fetch *f)
{
	static const char replacement[] = "\xef\xbf\xbd";
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	for (size_t at = 0, n; at < f->len; at += n) {
		n = ofs_text_utf8_prefix(f->text + at, f->len - at);
		ofs_buf_append(&text, f->text + at, n);
		if (at + n == f->len)
			break;
		ofs_buf_append_str(&text, replacement);
		n++;
	}
	return json_stringn((const char *)text.data, text.len);
}

/* Returns the last byte of the last line asked for; UINT64_MAX: none was named, or none follows. */
static uint64_t last_byte(struct ofs_call_run *c, const struct fetch *f)
{
	OFS_FREE char *path = ofs_format("%s:%" PRIu64, f->file.path, f->last + 1), *range = NULL;
	uint64_t next;

	if (f->last == UINT64_MAX ||
	    ofs_backend_attribute(c->access->backend, path, "range", &range) < 0 ||
	    sscanf(range, "%" SCNu64, &next) != 1)
		return UINT64_MAX;
	return next - 1;
}

/* Returns the arguments that continue where this ended; null if nothing is left of the range. */
static json_t *make_next(struct ofs_call_run *c, const struct fetch *f, uint64_t lines,
			 uint64_t size)
{
	bool whole = f->len && f->text[f->len - 1] == '\n';
	uint64_t end = f->off + f->len, last = f->last;
	json_t *next;

	if (end >= size)
		return json_null();
	if (f->by_lines && whole) {
		if (f->first + lines - 1 >= f->last)
			return json_null();
		next = json_pack("{s:s, s:I}", "memory_id", f->file.path, "line_start",
				 (json_int_t)(f->first + lines));
		if (f->last != UINT64_MAX)
			json_object_set_new(next, "line_end", json_integer((json_int_t)f->last));
		return next;
	}
	if (f->by_lines) /* a long line goes on in bytes */
		last = last_byte(c, f);
	if (end > last)
		return json_null();
	next = json_pack("{s:s, s:I}", "memory_id", f->file.path, "byte_offset", (json_int_t)end);
	if (last != UINT64_MAX)
		json_object_set_new(next, "byte_len", json_integer((json_int_t)(last - end + 1)));
	return next;
}

static void answer(struct ofs_call_run *c, struct fetch *f)
{
	uint64_t size = (uint64_t)f->file.attr.st_size;
	bool exact = end_at_character(f, size);
	uint64_t lines = ofs_text_newlines(f->text, f->len);
	OFS_FREE char *path = NULL;
	json_t *real = ofs_call_attribute(c, f->file.path, "path"), *next, *id;

	lines += f->len && f->text[f->len - 1] != '\n';
	path = ofs_call_shown(c, json_is_string(real) ? json_string_value(real) : f->file.path);
	json_decref(real);
	id = ofs_call_attribute(c, f->file.path, "ref");
	next = make_next(c, f, lines, size);
	if (json_is_object(next))
		json_object_set_new(next, "memory_id",
				    json_is_string(id) ? json_incref(id) : ofs_call_string(path));
	c->result = json_pack(
		"{s:o, s:o, s:o, s:s, s:o, s:o, s:o, s:I, s:o, s:I, s:o}", "memory_id",
		json_is_string(id) ? id : ofs_call_string(path), "path", ofs_call_string(path),
		"text", exact ? json_stringn(f->text, f->len) : lossy(f), "encoding",
		exact ? "utf-8" : "lossy", "line_start",
		f->by_lines ? json_integer((json_int_t)f->first) : json_null(), "line_end",
		f->by_lines ? json_integer((json_int_t)(f->first + lines) - 1) : json_null(),
		"byte_offset", json_integer((json_int_t)f->off), "byte_len", (json_int_t)f->len,
		"lines", ofs_call_count(c, f->file.path, "lines"), "bytes", (json_int_t)size,
		"next", next);
	ofs_usage_tell(c->access->backend,
		       &(struct ofs_usage){ .way = c->way,
					    .task = c->task,
					    .read = ofs_tokens_count(f->text, f->len) });
}

static int fetch_call(struct ofs_call_run *c)
{
	OFS_CLEANUP(fetch_finish) struct fetch f = { 0 };
	int r = find(c, ofs_call_text(c, "memory_id"), &f);

	if (r == 0)
		r = read_content(c, &f);
	if (r == 0)
		answer(c, &f);
	return r;
}

const struct ofs_call ofs_call_memory_fetch = { "memory_fetch", OFS_CALL_TOOL, fetch_call };
