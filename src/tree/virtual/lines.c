/* SPDX-License-Identifier: MIT */
/* Finds lines: converts line numbers to byte ranges, within the limits. */
#include "tree/virtual/lines.h"

#include <inttypes.h>

#include "base/tokens.h"

#define SCAN_SIZE ((size_t)64 << 10) /* bytes read at once */
/* Larger for drafts, since reading any part of a journal record checks all of it. */
#define SCAN_SIZE_DRAFT ((size_t)1 << 20)

ssize_t ofs_source_read(const struct ofs_source *src, void *buf, size_t size, uint64_t off)
{
	struct ofs_store *s = src->tree->store;

	if (!src->text)
		return src->here ? ofs_store_read_here(s, src->attr.ino, buf, size, off)
				 : ofs_store_read(s, src->attr.ino, buf, size, off);
	if (off >= src->text->len)
		return 0;
	size = OFS_MIN(size, src->text->len - off);
	memcpy(buf, src->text->data + off, size);
	return (ssize_t)size;
}

/* A scan of a file, one buffer at a time. */
struct scan {
	const struct ofs_source *src;
	uint8_t *buf;
	uint64_t off; /* of buf[0] in the file */
	size_t len;
};

static void scan_finish(struct scan *s)
{
	free(s->buf);
}

/*
 * Fills the buffer from `off` on, or from the end of a hole there, as no line ends in a hole. At
 * the end of the file sets s->len to 0 and returns 0.
 */
static int scan_load(struct scan *s, uint64_t off)
{
	size_t size = s->src->attr.sealed ? SCAN_SIZE : SCAN_SIZE_DRAFT;
	int64_t data = (int64_t)off;
	ssize_t n;

	if (!s->src->text)
		data = ofs_store_seek(s->src->tree->store, s->src->attr.ino, off, SEEK_DATA);
	s->len = 0;
	if (data < 0)
		return data == -ENXIO ? 0 : (int)data;
	off = (uint64_t)data;

	if (!s->buf)
		s->buf = ofs_alloc(size);
	n = ofs_source_read(s->src, s->buf, size, off);
	if (n < 0)
		return (int)n;
	s->off = off;
	s->len = (size_t)n;
	return 0;
}

/*
 * Passes up to `count` newlines in [off, limit). Sets *ret_off to the byte after the last of them
 * and *ret_passed to their number.
 */
static int pass_lines(struct scan *s, uint64_t off, uint64_t limit, uint64_t count,
		      uint64_t *ret_off, uint64_t *ret_passed)
{
	uint64_t passed = 0, after = off;

	while (passed < count && off < limit) {
		const uint8_t *p, *end;
		int r = scan_load(s, off);

		if (r < 0)
			return r;
		if (!s->len || s->off >= limit)
			break;
		p = s->buf;
		end = p + OFS_MIN((uint64_t)s->len, limit - s->off);
		while (passed < count && (p = memchr(p, '\n', (size_t)(end - p)))) {
			p++;
			passed++;
			after = s->off + (uint64_t)(p - s->buf);
		}
		off = s->off + s->len;
	}
	*ret_off = after;
	*ret_passed = passed;
	return 0;
}

/*
 * Sets *ret_off to the start of line `line` (from 1). If the file has fewer lines, sets *ret_exists
 * to false and *ret_off to the end of the file.
 */
static int find_line(struct scan *s, uint64_t line, uint64_t *ret_off, bool *ret_exists)
{
	uint64_t off = 0, before = 0, passed;
	int r = 0;

	if (!s->src->text)
		r = ofs_store_line_hint(s->src->tree->store, s->src->attr.ino, line - 1, &off,
					&before);
	if (r < 0)
		return r;
	r = pass_lines(s, off, UINT64_MAX, line - 1 - before, &off, &passed);
	if (r < 0)
		return r;
	*ret_exists = before + passed == line - 1 && off < s->src->attr.size;
	*ret_off = *ret_exists ? off : s->src->attr.size;
	return 0;
}

int ofs_source_lines(const struct ofs_source *src, uint64_t *ret)
{
	OFS_CLEANUP(scan_finish) struct scan s = { .src = src };
	struct ofs_content_hash digest = { .lines = -1 };
	uint64_t newlines, end;
	uint8_t last = '\n';
	ssize_t n;
	int r = 0;

	if (!src->text)
		r = ofs_store_get_hash(src->tree->store, src->attr.ino, &digest);
	if (r < 0)
		return r;
	newlines = (uint64_t)digest.lines;
	if (digest.lines < 0) {
		r = pass_lines(&s, 0, UINT64_MAX, UINT64_MAX, &end, &newlines);
		if (r < 0)
			return r;
	}
	if (src->attr.size) {
		n = ofs_source_read(src, &last, 1, src->attr.size - 1);
		if (n < 0)
			return (int)n;
	}
	*ret = newlines + (last != '\n');
	return 0;
}

uint64_t ofs_source_tokens(struct ofs_tree *t, const struct ofs_attr *file)
{
	size_t size = (size_t)OFS_MIN(file->size, OFS_TOKENS_SAMPLE);
	OFS_FREE char *text = NULL;
	uint64_t tokens;
	ssize_t n;

	if (file->tokens >= 0)
		return (uint64_t)file->tokens;
	text = ofs_alloc(size + 1);
	n = ofs_store_scan(t->store, file->ino, text, size, 0);
	tokens = ofs_tokens_estimate(text, n > 0 ? (size_t)n : 0, file->size);
	if (n > 0)
		ofs_store_note_tokens(t->store, file->ino, file->version, tokens);
	return tokens;
}

/* Says that not all that was asked for is shown, how much is, and how to continue. */
static void add_notice(struct ofs_range *ret, uint64_t lines, bool ends_line, const char *fmt,
		       const char *path, uint64_t from, uint64_t to)
{
	/* A slice that ends within a line gets a newline; the count of bytes excludes it. */
	ofs_buf_printf(&ret->notice, "%s[offloadfs: ", ends_line ? "" : "\n");
	if (lines)
		ofs_buf_printf(&ret->notice, "%" PRIu64 " lines, ", lines);
	ofs_buf_printf(&ret->notice, "%" PRIu64 " bytes shown; continue with %s:", ret->len, path);
	ofs_buf_printf(&ret->notice, "%s%" PRIu64 "-", fmt, from);
	if (to != UINT64_MAX)
		ofs_buf_printf(&ret->notice, "%" PRIu64, to);
	ofs_buf_append_str(&ret->notice, "]\n");
}

static int resolve_bytes(const struct ofs_source *src, uint64_t first, uint64_t last,
			 const char *path, struct ofs_range *ret)
{
	uint32_t max = src->tree->slice_max_bytes;
	uint64_t size = src->attr.size;
	uint8_t final = 0;
	ssize_t n;

	if (first >= size)
		return -ERANGE;
	ret->off = first;
	ret->len = OFS_MIN(last, size - 1) - first + 1;
	if (!max || ret->len <= max)
		return 0;
	ret->len = max;
	n = ofs_source_read(src, &final, 1, first + ret->len - 1);
	if (n < 0)
		return (int)n;
	add_notice(ret, 0, final == '\n', "b", path, first + ret->len, OFS_MIN(last, size - 1));
	return 0;
}

/*
 * Shortens a slice that has more than `max` bytes to the lines that fit, or to a part of the first.
 * Lines `first` to `last` were asked for, and start at ret->off.
 */
static int cap_bytes(struct scan *s, uint64_t first, uint64_t last, uint64_t max, const char *path,
		     struct ofs_range *ret)
{
	uint64_t fits, lines, end = s->src->attr.size;
	bool exists;
	int r = pass_lines(s, ret->off, ret->off + max, UINT64_MAX, &fits, &lines);

	if (r < 0)
		return r;
	if (lines) {
		ret->len = fits - ret->off;
		add_notice(ret, lines, true, "", path, first + lines, last);
		return 0;
	}
	ret->len = max;
	if (last != UINT64_MAX) {
		r = find_line(s, last + 1, &end, &exists);
		if (r < 0)
			return r;
	}
	add_notice(ret, 0, false, "b", path, ret->off + max, end - 1);
	return 0;
}

static int resolve_lines(const struct ofs_source *src, uint64_t first, uint64_t last,
			 const char *path, struct ofs_range *ret)
{
	OFS_CLEANUP(scan_finish) struct scan s = { .src = src };
	const struct ofs_tree *t = src->tree;
	uint64_t stop = last, end = src->attr.size;
	bool exists;
	int r = find_line(&s, first, &ret->off, &exists);

	if (r < 0)
		return r;
	if (!exists)
		return -ERANGE;
	if (t->slice_max_lines && last - first >= t->slice_max_lines)
		stop = first + t->slice_max_lines - 1;
	if (stop != UINT64_MAX) {
		r = find_line(&s, stop + 1, &end, &exists);
		if (r < 0)
			return r;
	}
	ret->len = end - ret->off;
	if (t->slice_max_bytes && ret->len > t->slice_max_bytes)
		return cap_bytes(&s, first, last, t->slice_max_bytes, path, ret);
	if (stop != last && end < src->attr.size)
		add_notice(ret, stop - first + 1, true, "", path, stop + 1, last);
	return 0;
}

int ofs_range_resolve(const struct ofs_source *base, const struct ofs_slice_spec *spec,
		      const char *path, struct ofs_range *ret)
{
	uint64_t total;
	int r;

	*ret = (struct ofs_range){ .notice = OFS_BUF_INIT };
	switch (spec->kind) {
	case OFS_SLICE_BYTES:
		return resolve_bytes(base, spec->first, spec->last, path, ret);
	case OFS_SLICE_LINES:
		return resolve_lines(base, spec->first, spec->last, path, ret);
	case OFS_SLICE_LAST_LINES:
		r = ofs_source_lines(base, &total);
		if (r < 0 || !total)
			return r;
		return resolve_lines(base, total > spec->first ? total - spec->first + 1 : 1, total,
				     path, ret);
	case OFS_SLICE_INFO:
	case OFS_SLICE_SUMMARY:
		break;
	}
	return -EINVAL;
}
