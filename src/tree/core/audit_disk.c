/* SPDX-License-Identifier: MIT */
#include "tree/core/audit_disk.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/statvfs.h>

#include "base/log.h"
#include "codec/zstd.h"
#include "io/file.h"

#define LOG "log"
#define AGENTS "agents"
#define PLAIN ".jsonl"
#define PACKED ".jsonl.zst"
#define DIGITS 16 /* of a position */
#define NAME_SIZE (DIGITS + sizeof(PACKED))

#define SEGMENT ((uint64_t)4 << 20) /* size at which the newest is compressed, */
#define SEGMENT_PART 8 /* or this part of the whole log */
#define SEGMENT_MAX ((size_t)16 << 20) /* a larger one is not ours */
#define RESTING ((uint64_t)32 << 10) /* size from which an idle log is compressed */
#define JOINED_PART 8 /* then joined with the segment before, if that is at most 8 times as large */
#define LEVEL 1 /* for lines, higher levels save no space and take several times as long */
#define DISK_LEFT (UINT64_C(1) << 20) /* bytes of a disk that are left for content */
#define TRIES 3 /* to read while segments are being compressed */

/*
 * Opens the directory of a log; with `make`, creates it if it is missing. Returns a descriptor,
 * -ENOENT or another -errno.
 */
static int open_dir(int store, uint64_t agent, bool make)
{
	OFS_CLOSE int dir = -1;
	char number[24];
	const char *const way[] = { LOG, AGENTS, number };

	snprintf(number, sizeof(number), "%" PRIu64, agent);
	for (size_t i = 0; i < (agent ? OFS_ARRAY_SIZE(way) : 1); i++) {
		int in = i ? dir : store;
		int r = make ? ofs_io_mkdir(in, way[i], 0700) : 0;

		if (r == 0)
			r = ofs_io_open(in, way[i], O_RDONLY | O_DIRECTORY, 0);
		ofs_io_close(&dir);
		if (r < 0)
			return r;
		dir = r;
	}
	return ofs_steal_fd(&dir);
}

/* ---- segments */

struct segment {
	uint64_t start;
	bool packed;
};

struct segments {
	struct segment *list; /* sorted by position */
	size_t n, cap;
};

static void segments_finish(struct segments *s)
{
	free(s->list);
}

static void name_of(uint64_t start, bool packed, char ret[NAME_SIZE])
{
	snprintf(ret, NAME_SIZE, "%0*" PRIu64 "%s", DIGITS, start % UINT64_C(10000000000000000),
		 packed ? PACKED : PLAIN);
}

static int note_segment(void *arg, const char *name)
{
	struct segments *s = arg;
	bool packed = strcmp(name + strspn(name, "0123456789"), PACKED) == 0;
	uint64_t start = strtoull(name, NULL, 10);
	char same[NAME_SIZE];

	name_of(start, packed, same);
	if (strcmp(name, same) == 0)
		*ofs_append(s->list, s->n, s->cap) = (struct segment){ start, packed };
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
	size_t n = ret->n;

	if (r < 0 || !n)
		return r;
	qsort(ret->list, n, sizeof(*ret->list), compare);
	/* A segment that exists in both forms was being compressed. */
	ret->n = 1;
	for (size_t i = 1; i < n; i++)
		if (ret->list[i].start != ret->list[ret->n - 1].start)
			ret->list[ret->n++] = ret->list[i];
	return 0;
}

static int load(int dir, const struct segment *seg, struct ofs_buf *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf data = OFS_BUF_INIT;
	char name[NAME_SIZE];
	size_t len = 0;
	int r;

	name_of(seg->start, seg->packed, name);
	r = ofs_io_read_file(dir, name, SEGMENT_MAX, seg->packed ? &data : ret);
	if (r < 0 || !seg->packed)
		return r;
	r = ofs_decompressed_size(data.data, data.len, SEGMENT_MAX, &len);
	if (r < 0)
		return r;
	ofs_buf_reserve(ret, len);
	r = ofs_decompress(data.data, data.len, ret->data, len);
	ret->len = r == 0 ? len : 0;
	return r;
}

/* Checks a line without its newline. */
static bool is_line(const char *line, size_t len)
{
	return len > 1 && line[0] == '{' && line[len - 1] == '}' && !memchr(line, 0, len);
}

/*
 * Opens the plain segment that begins at `start`. Sets *ret_end to the length of its lines; after
 * them, a crash may have left a part of a line, and a power loss anything.
 */
static int open_plain(int dir, uint64_t start, int flags, uint64_t *ret_end)
{
	OFS_FREE char *text = ofs_alloc(OFS_AUDIT_LINE_MAX);
	OFS_CLOSE int fd = -1;
	char name[NAME_SIZE];
	uint64_t end;
	int r;

	name_of(start, false, name);
	fd = ofs_io_open(dir, name, flags, 0600);
	r = fd < 0 ? fd : ofs_io_size(fd, &end, NULL);
	while (r == 0 && end) {
		size_t len = (size_t)OFS_MIN(end, (uint64_t)OFS_AUDIT_LINE_MAX), line;
		const char *before;

		r = ofs_io_pread_exact(fd, text, len, end - len);
		before = r < 0 ? NULL : memrchr(text, '\n', len - 1);
		line = before ? (size_t)(before - text) + 1 : 0;
		if (r < 0 || (text[len - 1] == '\n' && is_line(text + line, len - 1 - line)))
			break;
		end -= len - line;
	}
	if (r < 0)
		return r;
	*ret_end = end;
	return ofs_steal_fd(&fd);
}

/*
 * Returns where the segment at `i` ends; for the newest that is unknown. Its file may be longer: a
 * crash may have left the next segment's lines in it, too, or a part of a line.
 */
static uint64_t end_of(const struct segments *s, size_t i)
{
	return i + 1 < s->n ? s->list[i + 1].start : UINT64_MAX;
}

/* ---- reading */

static int read_segment(int dir, const struct segment *seg, uint64_t from, uint64_t to,
			struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = load(dir, seg, &text);
	const char *eol, *line = (const char *)text.data, *end = line + text.len;
	uint64_t at = seg->start;

	for (; r == 0 && line < end && at < to; at += (uint64_t)(eol + 1 - line), line = eol + 1) {
		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			break;
		if (at >= from && is_line(line, (size_t)(eol - line)))
			ofs_buf_append(out, line, (size_t)(eol + 1 - line));
	}
	/* A damaged segment costs only its own lines. */
	return r == -EIO || r == -EFBIG ? 0 : r;
}

int ofs_audit_disk_read(int store, uint64_t agent, uint64_t from, uint64_t to, struct ofs_buf *out)
{
	OFS_CLOSE int dir = open_dir(store, agent, false);
	size_t before = out->len;
	int r = -ENOENT;

	if (dir < 0)
		return dir == -ENOENT ? 0 : dir;
	for (int tries = 0; tries < TRIES && r == -ENOENT; tries++) {
		OFS_CLEANUP(segments_finish) struct segments s = { 0 };

		out->len = before;
		r = list_segments(dir, &s);
		for (size_t i = 0; i < s.n && r == 0 && s.list[i].start < to; i++)
			if (i + 1 == s.n || s.list[i + 1].start > from)
				r = read_segment(dir, &s.list[i], from, OFS_MIN(to, end_of(&s, i)),
						 out);
	}
	return r;
}

int ofs_audit_disk_bounds(int store, uint64_t agent, uint64_t *ret_start, uint64_t *ret_end)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	OFS_CLOSE int dir = open_dir(store, agent, false), fd = -1;
	int r = dir < 0 ? dir : list_segments(dir, &s);
	uint64_t end = 0;

	*ret_start = *ret_end = 0;
	if (r < 0 || !s.n)
		return r == -ENOENT ? 0 : r;
	*ret_start = s.list[0].start;
	*ret_end = s.list[s.n - 1].start;
	fd = open_plain(dir, *ret_end, O_RDONLY, &end);
	*ret_end += end;
	return fd < 0 && fd != -ENOENT ? fd : 0;
}

/* ---- writing */

/*
 * Loads a segment that is not the newest; a plain one is appended to `ret`. Returns true if all of
 * it is there; *ret_r is 0 or -errno.
 */
static bool load_whole(int dir, const struct segments *s, size_t i, struct ofs_buf *ret, int *ret_r)
{
	size_t len = ret->len + (size_t)(end_of(s, i) - s->list[i].start);

	*ret_r = load(dir, &s->list[i], ret);
	ret->len = OFS_MIN(ret->len, len);
	return *ret_r == 0 && ret->len == len;
}

/* Returns whether the segment at `i` is to be joined to the one before. */
static bool is_joined(const struct segments *s, size_t i, uint64_t full)
{
	uint64_t len = end_of(s, i) - s->list[i].start, before;

	if (!i || !s->list[i - 1].packed)
		return false;
	before = s->list[i].start - s->list[i - 1].start;
	return before <= len * JOINED_PART && before + len <= full;
}

/* Compresses a segment that is not the newest. *ret_joined: into the file of the one before. */
static int pack(int dir, struct segments *s, size_t i, uint64_t full, bool *ret_joined)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, out = OFS_BUF_INIT;
	struct ofs_compressor *c;
	char name[NAME_SIZE];
	int r;

	*ret_joined = is_joined(s, i, full) && load_whole(dir, s, i - 1, &text, &r);
	if (!*ret_joined)
		text.len = 0;
	load_whole(dir, s, i, &text, &r);
	if (r < 0)
		return r;
	c = ofs_compressor_create();
	r = ofs_compress(c, LEVEL, text.data, text.len, &out);
	ofs_compressor_destroy(c);
	name_of(s->list[i - *ret_joined].start, true, name);
	if (r == 0)
		r = ofs_io_write_file(dir, name, out.data, out.len);
	s->list[i].packed = r == 0;
	return r;
}

static uint64_t size_of(int dir, const char *name)
{
	OFS_CLOSE int fd = ofs_io_open(dir, name, O_RDONLY, 0);
	uint64_t size = 0;

	if (fd >= 0)
		ofs_io_size(fd, &size, NULL);
	return size;
}

/* Compresses all segments but the newest, and removes the oldest if together they exceed `max`. */
static void tidy(int dir, struct segments *s, uint64_t full, uint64_t max)
{
	uint64_t sum = 0;
	int r = 0;

	for (size_t i = s->n; i-- > 0 && r == 0;) {
		bool newest = i + 1 == s->n, joined = false;
		char name[NAME_SIZE];

		if (!newest && !s->list[i].packed)
			r = pack(dir, s, i, full, &joined);
		name_of(s->list[i].start, false, name);
		if (!newest && r == 0)
			r = ofs_io_unlink(dir, name);
		if (joined)
			continue;
		name_of(s->list[i].start, s->list[i].packed, name);
		sum += size_of(dir, name);
		if (!newest && r == 0 && sum > max)
			r = ofs_io_unlink(dir, name);
	}
	if (r < 0)
		ofs_log(LOG_WARNING, "the log's segments cannot be compressed: %s", strerror(-r));
}

/* Returns the size at which a segment is full. */
static uint64_t full_of(uint64_t max)
{
	return OFS_MAX(OFS_MIN(SEGMENT, max / SEGMENT_PART), UINT64_C(1));
}

/* Opens the newest segment, or begins a new one if it has `full` bytes. */
static int open_newest(int dir, struct segments *s, uint64_t full, uint64_t *ret_end)
{
	const struct segment *last = s->n ? &s->list[s->n - 1] : NULL;
	uint64_t start = last ? last->start : 0;
	bool fresh = !last || last->packed;
	int fd;

	/* The newest was removed by hand: begin a new one after what is left. */
	if (last && last->packed)
		start += SEGMENT_MAX;
	fd = open_plain(dir, start, O_RDWR | O_CREAT, ret_end);
	if (fd >= 0 && *ret_end >= full) {
		ofs_io_close(&fd);
		start += *ret_end;
		fresh = true;
		fd = open_plain(dir, start, O_RDWR | O_CREAT, ret_end);
	}
	if (fd >= 0 && fresh)
		*ofs_append(s->list, s->n, s->cap) = (struct segment){ .start = start };
	return fd;
}

/* Returns how many bytes of lines fill a segment that has `room` left. */
static size_t lines_for(uint64_t room, const char *text, size_t len)
{
	const char *eol = room < len ? memchr(text + room, '\n', len - (size_t)room) : NULL;

	return eol ? (size_t)(eol + 1 - text) : len;
}

ssize_t ofs_audit_disk_append(int store, uint64_t agent, uint64_t max, const void *text, size_t len)
{
	uint64_t full = full_of(max);
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	OFS_CLOSE int dir = -1, fd = -1;
	struct statvfs st;
	uint64_t end;
	int r;

	if (fstatvfs(store, &st) == 0 && (uint64_t)st.f_bavail * st.f_frsize < DISK_LEFT)
		return -ENOSPC;
	dir = open_dir(store, agent, true);
	r = dir < 0 ? dir : list_segments(dir, &s);
	if (r == 0)
		fd = r = open_newest(dir, &s, full, &end);
	if (r < 0)
		return r;
	len = lines_for(full - OFS_MIN(full, end), text, len);
	r = ofs_io_truncate(fd, end);
	if (r == 0)
		r = ofs_io_pwrite(fd, text, len, end);
	if (r < 0)
		ofs_io_truncate(fd, end);
	if (s.n > 1 && !s.list[s.n - 2].packed)
		tidy(dir, &s, full, max);
	return r < 0 ? r : (ssize_t)len;
}

int ofs_audit_disk_rest(int store, uint64_t agent, uint64_t max)
{
	OFS_CLEANUP(segments_finish) struct segments s = { 0 };
	OFS_CLOSE int dir = open_dir(store, agent, false), fd = -1;
	uint64_t full = full_of(max), end;
	int r = dir < 0 ? dir : list_segments(dir, &s);

	if (r < 0 || !s.n || s.list[s.n - 1].packed)
		return r == -ENOENT ? 0 : r;
	fd = open_newest(dir, &s, OFS_MIN(RESTING, full), &end);
	if (s.n > 1 && !s.list[s.n - 2].packed)
		tidy(dir, &s, full, max);
	return OFS_MIN(fd, 0);
}

/* ---- agents' logs */

static int remove_file(void *arg, const char *name)
{
	return ofs_io_unlink(*(const int *)arg, name);
}

int ofs_audit_disk_remove(int store, uint64_t agent)
{
	OFS_FREE char *name = ofs_format(LOG "/" AGENTS "/%" PRIu64, agent);
	OFS_CLOSE int dir = open_dir(store, agent, false);
	int r = dir < 0 ? dir : ofs_io_list(dir, ".", remove_file, &dir);

	if (r == 0)
		r = ofs_io_rmdir(store, name);
	return r == -ENOENT ? 0 : r;
}

int ofs_audit_disk_each(int store, int (*fn)(void *arg, const char *agent), void *arg)
{
	OFS_CLOSE int dir = ofs_io_open_beneath(store, LOG "/" AGENTS, O_RDONLY | O_DIRECTORY, 0);
	int r = dir < 0 ? dir : ofs_io_list(dir, ".", fn, arg);

	return r == -ENOENT ? 0 : r;
}
