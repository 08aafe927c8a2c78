/* SPDX-License-Identifier: MIT */
#include "tree/core/audit_disk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include <jansson.h>

#include "base/log.h"
#include "base/text.h"
#include "codec/zstd.h"
#include "io/file.h"
#include "io/path.h"

#define DIRECTORY "log"
#define PLAIN ".jsonl"
#define PACKED ".jsonl.zst"
#define TEMPORARY ".tmp" /* of ofs_io_write_file() */
#define DIGITS 16 /* of a position */
#define NAME_SIZE (DIGITS + sizeof(PACKED))

#define SEGMENT ((uint64_t)4 << 20) /* the newest is compressed when it is so large, */
#define SEGMENT_PART 8 /* or as this part of all */
#define SEGMENT_MAX ((size_t)16 << 20) /* a larger one is not ours */
#define LEVEL 6
#define TAIL ((size_t)64 << 10) /* bytes that are looked at for the end of the last line */
#define DISK_LEFT (UINT64_C(1) << 20) /* the last space of a disk is left for content */
#define TRIES 3 /* to read, when segments are compressed meanwhile */

/* ---- segments */

struct segment {
	uint64_t start;
	bool packed;
};

struct segments {
	struct segment *list; /* by position; a plain one after a packed one of the same */
	size_t n, cap;
	bool litter; /* there are files that a crash has left */
};

static void segments_finish(struct segments *s)
{
	free(s->list);
}

static void name_of(uint64_t start, const char *suffix, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "%0*" PRIu64 "%s", DIGITS, start % UINT64_C(10000000000000000),
		 suffix);
}

static int note_segment(void *arg, const char *name)
{
	struct segments *s = arg;
	const char *suffix = name + DIGITS;
	bool packed;

	if (strspn(name, "0123456789") != DIGITS)
		return 0;
	packed = strcmp(suffix, PACKED) == 0;
	if (packed || strcmp(suffix, PLAIN) == 0)
		*ofs_append(s->list, s->n, s->cap) =
			(struct segment){ strtoull(name, NULL, 10), packed };
	else
		s->litter = true;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct segment *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return y->packed - x->packed;
}

static int list_segments(int dir, struct segments *ret)
{
	int r = ofs_io_list(dir, ".", note_segment, ret);

	if (r == 0 && ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), compare);
	return r;
}

/* One that is there in both forms was being compressed. */
static bool is_double(const struct segments *s, size_t i)
{
	return i && s->list[i - 1].start == s->list[i].start;
}

/* The whole text of a segment, or, where it is plain, what of it follows `skip` bytes. */
static int load(int dir, const struct segment *seg, uint64_t skip, struct ofs_buf *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf data = OFS_BUF_INIT;
	OFS_CLOSE int fd = -1;
	char name[NAME_SIZE];
	uint64_t size;
	size_t len;
	ssize_t n;
	int r;

	name_of(seg->start, seg->packed ? PACKED : PLAIN, name);
	if (seg->packed) {
		r = ofs_io_read_file(dir, name, SEGMENT_MAX, &data);
		if (r == 0)
			r = ofs_decompressed_size(data.data, data.len, SEGMENT_MAX, &len);
		if (r < 0)
			return r;
		ofs_buf_reserve(ret, len);
		r = ofs_decompress(data.data, data.len, ret->data, len);
		ret->len = r == 0 ? len : 0;
		return r;
	}
	fd = ofs_io_open(dir, name, O_RDONLY, 0);
	r = fd < 0 ? fd : ofs_io_size(fd, &size, NULL);
	if (r < 0)
		return r;
	len = size > skip ? (size_t)OFS_MIN(size - skip, (uint64_t)SEGMENT_MAX) : 0;
	ofs_buf_reserve(ret, len);
	n = ofs_io_pread(fd, ret->data, len, skip);
	ret->len = n < 0 ? 0 : (size_t)n;
	return n < 0 ? (int)n : 0;
}

/* ---- lines */

static bool is_line(const char *line, size_t len)
{
	return len > 1 && line[0] == '{' && line[len - 1] == '}' && !memchr(line, 0, len);
}

/* Takes the member out, or makes it relative. False: it was taken out, or is not there. */
static bool enter(json_t *json, const char *key, const char *prefix)
{
	const char *path = json_string_value(json_object_get(json, key)), *rest;

	rest = path ? ofs_path_below(prefix, path) : NULL;
	if (rest && *rest)
		return json_object_set_new(json, key, json_string(rest)) == 0;
	json_object_del(json, key);
	return false;
}

/* Appends a line as it is seen from `prefix`. */
static void append_seen(const char *line, size_t len, const char *prefix, struct ofs_buf *out)
{
	json_t *json = json_loadb(line, len, 0, NULL);
	bool path = enter(json, "path", prefix), from = enter(json, "from", prefix);

	if (path || from) {
		ofs_json_append(json_incref(json), JSON_COMPACT, out);
		ofs_buf_append_str(out, "\n");
	}
	json_decref(json);
}

void ofs_audit_filter(const char *text, size_t len, const char *prefix, struct ofs_buf *out)
{
	const char *end = text + len, *eol;

	for (; text < end && (eol = memchr(text, '\n', (size_t)(end - text))); text = eol + 1) {
		if (!is_line(text, (size_t)(eol - text)))
			continue;
		if (*prefix)
			append_seen(text, (size_t)(eol - text), prefix, out);
		else
			ofs_buf_append(out, text, (size_t)(eol - text) + 1);
	}
}

/* Where the first line begins that does so at `at` or later. */
static size_t line_start(const struct ofs_buf *text, uint64_t at)
{
	const uint8_t *eol;

	if (!at || at > text->len)
		return OFS_MIN((size_t)at, text->len);
	eol = memchr(text->data + at - 1, '\n', text->len - (size_t)at + 1);
	return eol ? (size_t)(eol - text->data) + 1 : text->len;
}

/* ---- reading */

/* The log's directory; -ENOENT. */
static int open_dir(int store)
{
	return ofs_io_open(store, DIRECTORY, O_RDONLY | O_DIRECTORY, 0);
}

static int read_segment(int dir, const struct segment *seg, uint64_t from, uint64_t to,
			struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	/* The byte before tells whether a line begins there. */
	uint64_t at = seg->packed || from <= seg->start ? seg->start : from - 1;
	size_t first, end;
	int r = load(dir, seg, at - seg->start, &text);

	if (r < 0)
		return r;
	first = line_start(&text, from > at ? from - at : 0);
	end = line_start(&text, to > at ? to - at : 0);
	ofs_buf_append(out, text.data + first, end > first ? end - first : 0);
	return 0;
}

static int try_read(int dir, uint64_t from, uint64_t to, struct ofs_buf *out)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	int r = list_segments(dir, &s);

	for (size_t i = 0; i < s.n && r == 0 && s.list[i].start < to; i++) {
		size_t next = i + 1 < s.n && is_double(&s, i + 1) ? i + 2 : i + 1;

		if (is_double(&s, i) || (next < s.n && s.list[next].start <= from))
			continue;
		r = read_segment(dir, &s.list[i], from, to, out);
		/* A segment that is damaged costs its own lines. */
		if (r == -EIO)
			r = 0;
	}
	return r;
}

int ofs_audit_disk_read(int store, uint64_t from, uint64_t to, struct ofs_buf *out)
{
	OFS_CLOSE int dir = open_dir(store);
	size_t before = out->len;
	int r = dir == -ENOENT ? 0 : -ENOENT;

	if (dir < 0)
		return r == 0 ? 0 : dir;
	for (int i = 0; i < TRIES && r == -ENOENT; i++) {
		out->len = before;
		r = try_read(dir, from, to, out);
	}
	return r;
}

/* How much of the segment is whole lines. */
static int find_end(int fd, uint64_t size, uint64_t *ret)
{
	OFS_FREE char *tail = ofs_alloc(TAIL);
	size_t len = (size_t)OFS_MIN(size, (uint64_t)TAIL);
	ssize_t n = ofs_io_pread(fd, tail, len, size - len);
	const char *eol = n > 0 ? memrchr(tail, '\n', (size_t)n) : NULL;

	*ret = eol ? size - len + (uint64_t)(eol - tail) + 1 : size - len;
	return n < 0 ? (int)n : 0;
}

int ofs_audit_disk_bounds(int store, uint64_t *ret_start, uint64_t *ret_end)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	OFS_CLOSE int dir = open_dir(store), fd = -1;
	uint64_t size = 0, end = 0;
	char name[NAME_SIZE];
	int r = dir < 0 ? dir : list_segments(dir, &s);

	*ret_start = *ret_end = 0;
	if (r < 0 || !s.n)
		return r == -ENOENT ? 0 : r;
	*ret_start = s.list[0].start;
	*ret_end = s.list[s.n - 1].start;
	name_of(*ret_end, PLAIN, name);
	fd = ofs_io_open(dir, name, O_RDONLY, 0);
	if (fd >= 0)
		r = ofs_io_size(fd, &size, NULL);
	if (fd >= 0 && r == 0 && size)
		r = find_end(fd, size, &end);
	*ret_end += end;
	return r;
}

/* ---- writing */

static uint64_t segment_max(const struct ofs_audit_disk *d)
{
	return OFS_MIN(SEGMENT, d->max / SEGMENT_PART);
}

static int pack(int dir, const struct segment *seg)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, out = OFS_BUF_INIT;
	struct ofs_compressor *c = ofs_compressor_create();
	char name[NAME_SIZE];
	int r = load(dir, seg, 0, &text);

	if (r == 0)
		r = ofs_compress(c, LEVEL, text.data, text.len, &out);
	ofs_compressor_destroy(c);
	name_of(seg->start, PACKED, name);
	return r < 0 ? r : ofs_io_write_file(dir, name, out.data, out.len);
}

static uint64_t size_of(int dir, const char *name)
{
	OFS_CLOSE int fd = ofs_io_open(dir, name, O_RDONLY, 0);
	uint64_t size = 0;

	if (fd >= 0)
		ofs_io_size(fd, &size, NULL);
	return size;
}

static int remove_litter(void *arg, const char *name)
{
	size_t len = strlen(name), suffix = strlen(TEMPORARY);

	if (len > suffix && strcmp(name + len - suffix, TEMPORARY) == 0)
		ofs_io_unlink(*(const int *)arg, name);
	return 0;
}

/* Compresses all segments but the newest, and removes the oldest as long as there is too much. */
static int tidy(struct ofs_audit_disk *d)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	char name[NAME_SIZE];
	uint64_t sum = 0;
	int r = list_segments(d->dir, &s);

	if (r == 0 && s.litter)
		r = ofs_io_list(d->dir, ".", remove_litter, &d->dir);
	for (size_t i = 0; i + 1 < s.n && r == 0; i++) {
		if (s.list[i].packed)
			continue;
		r = is_double(&s, i) ? 0 : pack(d->dir, &s.list[i]);
		name_of(s.list[i].start, PLAIN, name);
		if (r == 0)
			r = ofs_io_unlink(d->dir, name);
		s.list[i].packed = true;
	}
	for (size_t i = s.n; i-- > 0 && r == 0;) {
		name_of(s.list[i].start, s.list[i].packed ? PACKED : PLAIN, name);
		sum += is_double(&s, i) ? 0 : size_of(d->dir, name);
		if (i + 1 < s.n && sum > d->max)
			r = ofs_io_unlink(d->dir, name);
	}
	return r;
}

/* Begins a segment; the one before it is compressed. */
static int begin(struct ofs_audit_disk *d, uint64_t start)
{
	char name[NAME_SIZE];
	int fd, r;

	name_of(start, PLAIN, name);
	fd = ofs_io_open(d->dir, name, O_RDWR | O_CREAT, 0600);
	if (fd < 0)
		return fd;
	ofs_io_close(&d->fd);
	d->fd = fd;
	d->start = start;
	d->size = 0;
	r = tidy(d);
	if (r < 0)
		ofs_log(LOG_WARNING, "the log's segments cannot be compressed: %s", strerror(-r));
	return 0;
}

/* Cuts off what is no line: a crash may have left a part of one, and a power loss anything. */
static int repair(struct ofs_audit_disk *d)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf tail = OFS_BUF_INIT;
	uint64_t end = d->size, size = d->size;
	int r = 0;

	ofs_buf_reserve(&tail, TAIL);
	while (end && r == 0) {
		size_t len = (size_t)OFS_MIN(end, (uint64_t)TAIL);
		const char *text = (const char *)tail.data, *before;
		size_t line;

		r = ofs_io_pread_exact(d->fd, tail.data, len, end - len);
		if (r < 0)
			return r;
		before = text[len - 1] == '\n' ? memrchr(text, '\n', len - 1)
					       : memrchr(text, '\n', len);
		line = before ? (size_t)(before - text) + 1 : 0;
		if (text[len - 1] == '\n') {
			json_t *json = json_loadb(text + line, len - 1 - line, 0, NULL);

			json_decref(json);
			if (json)
				break;
		}
		end -= len - line;
	}
	if (end < size)
		r = ofs_io_truncate(d->fd, end);
	if (r == 0)
		d->size = end;
	return r;
}

/* Opens the newest segment, if there is one. */
static int open_newest(struct ofs_audit_disk *d)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	char name[NAME_SIZE];
	uint64_t end;
	int r = list_segments(d->dir, &s);

	if (r < 0 || !s.n)
		return r;
	/* The newest was removed by hand: another begins after what is left. */
	if (s.list[s.n - 1].packed) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		r = load(d->dir, &s.list[s.n - 1], 0, &text);
		end = s.list[s.n - 1].start + (r == 0 ? text.len : SEGMENT_MAX);
		return begin(d, end);
	}
	d->start = s.list[s.n - 1].start;
	name_of(d->start, PLAIN, name);
	r = ofs_io_open(d->dir, name, O_RDWR, 0);
	if (r < 0)
		return r;
	d->fd = r;
	r = ofs_io_size(d->fd, &d->size, NULL);
	if (r == 0 && d->size > SEGMENT_MAX)
		r = -EFBIG;
	if (r == 0)
		r = repair(d);
	if (r == 0 && (s.litter || (s.n > 1 && !s.list[s.n - 2].packed)))
		tidy(d);
	return r;
}

int ofs_audit_disk_open(struct ofs_audit_disk *d, const char *path, uint64_t max)
{
	int r;

	*d = (struct ofs_audit_disk){ .dir = -1, .fd = -1, .max = max };
	d->store = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, 0);
	if (d->store < 0)
		return d->store;
	if (!max)
		return 0;
	d->dir = open_dir(d->store);
	r = d->dir == -ENOENT ? 0 : d->dir < 0 ? d->dir : open_newest(d);
	return r;
}

void ofs_audit_disk_close(struct ofs_audit_disk *d)
{
	ofs_io_close(&d->fd);
	ofs_io_close(&d->dir);
	ofs_io_close(&d->store);
}

/* The directory and a segment that has room. */
static int make_room(struct ofs_audit_disk *d)
{
	struct statvfs st;
	int r = 0;

	if (fstatvfs(d->store, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < DISK_LEFT)
		return -ENOSPC;
	if (d->dir < 0) {
		r = ofs_io_mkdir(d->store, DIRECTORY, 0700);
		d->dir = r < 0 ? r : open_dir(d->store);
		r = OFS_MIN(d->dir, 0);
		if (r == 0)
			r = open_newest(d);
	}
	if (r == 0 && (d->fd < 0 || d->size >= segment_max(d)))
		r = begin(d, d->start + d->size);
	return r;
}

int ofs_audit_disk_append(struct ofs_audit_disk *d, const void *text, size_t len)
{
	int r = make_room(d);

	if (r < 0)
		return r;
	r = ofs_io_pwrite(d->fd, text, len, d->size);
	if (r < 0)
		ofs_io_truncate(d->fd, d->size);
	else
		d->size += len;
	return r;
}
