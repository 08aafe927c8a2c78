/* SPDX-License-Identifier: MIT */
#include "journal/segment.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/log.h"
#include "codec/hash.h"
#include "io/file.h"
#include "journal/wal_record.h"

#define SEGMENT_LEAPS 1u
#define SEGMENT_SUMMED 56u /* bytes of the header that its checksum covers */

static const uint8_t segment_magic[8] = "OFSjrnl";

void ofs_segment_name(ofs_lsn first, char ret[OFS_SEGMENT_NAME_SIZE])
{
	snprintf(ret, OFS_SEGMENT_NAME_SIZE, "%016" PRIx64 ".wal", first);
}

bool ofs_segment_parse_name(const char *name, ofs_lsn *ret)
{
	char again[OFS_SEGMENT_NAME_SIZE];
	ofs_lsn first = strtoull(name, NULL, 16);

	ofs_segment_name(first, again);
	if (strcmp(name, again) != 0 || first < OFS_WAL_ALIGN || first % OFS_WAL_ALIGN)
		return false;
	*ret = first;
	return true;
}

static struct ofs_segment *segment_alloc(ofs_lsn first)
{
	struct ofs_segment *s = ofs_alloc(sizeof(*s));

	s->first = first;
	s->fd = -1;
	atomic_init(&s->end, first);
	atomic_init(&s->refs, 1);
	return s;
}

struct ofs_segment *ofs_segment_ref(struct ofs_segment *s)
{
	atomic_fetch_add(&s->refs, 1);
	return s;
}

void ofs_segment_unref(struct ofs_segment *s)
{
	if (!s || atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	ofs_io_close(&s->fd);
	ofs_cleanup_free(&s);
}

struct ofs_segment *ofs_segment_none(ofs_lsn first)
{
	return segment_alloc(first);
}

static void segment_cleanup(struct ofs_segment **s)
{
	ofs_segment_unref(*s);
}

int ofs_segment_create(int dirfd, const uint8_t uuid[16], ofs_lsn first, ofs_lsn prev,
		       ofs_lsn durable, bool leaps, struct ofs_segment **ret)
{
	OFS_CLEANUP(segment_cleanup) struct ofs_segment *s = segment_alloc(first);
	uint8_t raw[OFS_SEGMENT_HEADER] = { 0 };
	char name[OFS_SEGMENT_NAME_SIZE];
	int r;

	memcpy(raw, segment_magic, sizeof(segment_magic));
	ofs_put_le32(raw + 8, OFS_SEGMENT_FORMAT);
	ofs_put_le32(raw + 12, leaps ? SEGMENT_LEAPS : 0);
	memcpy(raw + 16, uuid, 16);
	ofs_put_le64(raw + 32, first);
	ofs_put_le64(raw + 40, prev);
	ofs_put_le64(raw + 48, durable);
	ofs_put_le64(raw + SEGMENT_SUMMED, ofs_checksum(raw, SEGMENT_SUMMED, first));

	ofs_segment_name(first, name);
	s->fd = ofs_io_open(dirfd, name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (s->fd < 0)
		return s->fd;
	r = ofs_io_pwrite(s->fd, raw, sizeof(raw), 0);
	if (r < 0) {
		ofs_io_unlink(dirfd, name);
		return r;
	}
	s->prev = prev;
	s->durable = durable;
	s->leaps = leaps;
	s->sound = true;
	atomic_store(&s->end, first + OFS_SEGMENT_HEADER);
	*ret = ofs_steal(s);
	return 0;
}

void ofs_segment_cut_ahead(struct ofs_segment *s)
{
	if (s && s->ahead > s->end)
		ofs_io_truncate(s->fd, s->end - s->first);
	if (s)
		s->ahead = 0;
}

bool ofs_segment_is_sound(const uint8_t *raw, ofs_lsn first, uint32_t *ret_format)
{
	if (memcmp(raw, segment_magic, sizeof(segment_magic)) != 0 ||
	    ofs_get_le64(raw + SEGMENT_SUMMED) != ofs_checksum(raw, SEGMENT_SUMMED, first))
		return false;
	*ret_format = ofs_get_le32(raw + 8);
	return true;
}

/* A damaged header is not an error here. */
static int segment_read_header(struct ofs_segment *s, const char *name, const uint8_t uuid[16],
			       struct ofs_error *err)
{
	uint8_t raw[OFS_SEGMENT_HEADER];
	ssize_t n = ofs_io_pread(s->fd, raw, sizeof(raw), 0);
	uint32_t version;

	if (n < 0)
		return ofs_error_set(err, (int)-n, "cannot read journal segment '%s': %s", name,
				     strerror((int)-n));
	if ((size_t)n < sizeof(raw) || !ofs_segment_is_sound(raw, s->first, &version))
		return 0;
	if (version != OFS_SEGMENT_FORMAT)
		return ofs_error_set(err, EINVAL,
				     "journal segment '%s' has format version %" PRIu32
				     "; this program understands version %u",
				     name, version, OFS_SEGMENT_FORMAT);
	if (memcmp(raw + 16, uuid, 16) != 0)
		return ofs_error_set(err, EINVAL, "journal segment '%s' belongs to another store",
				     name);
	if (ofs_get_le64(raw + 32) != s->first)
		return 0;
	s->leaps = ofs_get_le32(raw + 12) & SEGMENT_LEAPS;
	s->prev = ofs_get_le64(raw + 40);
	s->durable = ofs_get_le64(raw + 48);
	s->sound = true;
	return 0;
}

static int segment_open(int dirfd, const uint8_t uuid[16], ofs_lsn first, int flags,
			struct ofs_error *err, struct ofs_segment **ret)
{
	OFS_CLEANUP(segment_cleanup) struct ofs_segment *s = segment_alloc(first);
	char name[OFS_SEGMENT_NAME_SIZE];
	uint64_t size = 0;
	int r;

	ofs_segment_name(first, name);
	r = s->fd = ofs_io_open(dirfd, name, flags, 0);
	if (r >= 0)
		r = ofs_io_size(s->fd, &size, NULL);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot open journal segment '%s': %s", name,
				     strerror(-r));
	r = segment_read_header(s, name, uuid, err);
	if (r < 0)
		return r;
	atomic_store(&s->end, first + size);
	*ret = ofs_steal(s);
	return 0;
}

static int list_compare(const void *a, const void *b)
{
	const struct ofs_segment *const *x = a;
	const struct ofs_segment *const *y = b;

	return ((*x)->first > (*y)->first) - ((*x)->first < (*y)->first);
}

struct list_load {
	struct ofs_segment_list *list;
	int dirfd;
	const uint8_t *uuid;
	int flags;
	struct ofs_error *err;
	bool explained; /* `err` already describes the error of an entry */
};

static int list_load_one(void *arg, const char *name)
{
	struct list_load *load = arg;
	struct ofs_segment *s = NULL;
	ofs_lsn first;
	int r;

	if (!ofs_segment_parse_name(name, &first))
		return 0;
	load->explained = true;
	r = segment_open(load->dirfd, load->uuid, first, load->flags, load->err, &s);
	if (r < 0)
		return r;
	ofs_segment_list_append(load->list, s);
	load->explained = false;
	return 0;
}

void ofs_segment_list_sort(struct ofs_segment_list *l)
{
	if (l->n)
		qsort(l->at, l->n, sizeof(*l->at), list_compare);
}

/*
 * True for what is left of a segment that could be neither made nor removed. The log went on in the
 * one before, so this would hide records.
 */
static bool is_half_made(const struct ofs_segment *s, const struct ofs_segment *before)
{
	return !s->sound && s->end - s->first < OFS_SEGMENT_HEADER && before->end > s->first;
}

static void list_drop_half_made(const struct list_load *load)
{
	struct ofs_segment_list *l = load->list;
	char name[OFS_SEGMENT_NAME_SIZE];
	size_t n = OFS_MIN(l->n, (size_t)1);
	int r;

	for (size_t i = n; i < l->n; i++) {
		if (!is_half_made(l->at[i], l->at[n - 1])) {
			l->at[n++] = l->at[i];
			continue;
		}
		ofs_segment_name(l->at[i]->first, name);
		r = load->flags == O_RDONLY ? 0 : ofs_io_unlink(load->dirfd, name);
		if (r < 0)
			ofs_log(LOG_WARNING, "cannot remove the empty journal segment '%s': %s",
				name, strerror(-r));
		ofs_segment_unref(l->at[i]);
	}
	l->n = n;
}

int ofs_segment_list_load(struct ofs_segment_list *l, int dirfd, const uint8_t uuid[16],
			  bool read_only, struct ofs_error *err)
{
	struct list_load load = { .list = l,
				  .dirfd = dirfd,
				  .uuid = uuid,
				  .flags = read_only ? O_RDONLY : O_RDWR,
				  .err = err };
	int r = ofs_io_list(dirfd, ".", list_load_one, &load);

	if (r < 0 && !load.explained)
		ofs_error_set(err, -r, "cannot list the journal's directory: %s", strerror(-r));
	if (r < 0)
		return r;
	ofs_segment_list_sort(l);
	list_drop_half_made(&load);
	/* A failed append may have left bytes beyond the start of the next segment. */
	for (size_t i = 0; i + 1 < l->n; i++)
		if (l->at[i]->end > l->at[i + 1]->first)
			atomic_store(&l->at[i]->end, l->at[i + 1]->first);
	return 0;
}

void ofs_segment_list_clip(struct ofs_segment_list *l, ofs_lsn end)
{
	while (l->n && l->at[l->n - 1]->first >= end)
		ofs_segment_unref(l->at[--l->n]);
	if (l->n && l->at[l->n - 1]->end > end)
		atomic_store(&l->at[l->n - 1]->end, end);
}

static int list_note_name(void *arg, const char *name)
{
	ofs_lsn first;

	if (ofs_segment_parse_name(name, &first))
		ofs_segment_list_append(arg, ofs_segment_none(first));
	return 0;
}

int ofs_segment_list_names(struct ofs_segment_list *l, int dirfd)
{
	int r = ofs_io_list(dirfd, ".", list_note_name, l);

	ofs_segment_list_sort(l);
	return r;
}

void ofs_segment_list_finish(struct ofs_segment_list *l)
{
	while (l->n)
		ofs_segment_unref(l->at[--l->n]);
	ofs_cleanup_free(&l->at);
	*l = (struct ofs_segment_list){ 0 };
}

void ofs_segment_list_append(struct ofs_segment_list *l, struct ofs_segment *s)
{
	*ofs_append(l->at, l->n, l->cap) = s;
}

ptrdiff_t ofs_segment_list_find(const struct ofs_segment_list *l, ofs_lsn lsn)
{
	return (ptrdiff_t)OFS_BISECT(i, l->n, l->at[i]->first <= lsn) - 1;
}
