/* SPDX-License-Identifier: MIT */
/*
 * Exports a store into objects and rebuilds it in another directory. Include this after the fixture
 * that defines `dir` and the store `s`.
 */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "journal/transfer.h"
#include "store/replication.h"

#define OBJECTS_MAX 8

/* The remote's objects, by number. */
static struct ofs_buf objects[OBJECTS_MAX];
static atomic_uint gets, failing;

static char other[64];
static int other_fd = -1, index_fd = -1, journal_fd = -1;
static struct ofs_index_extent late[256]; /* extents of the last snapshot in its object */
static size_t nlate;
static uint32_t pages_copied;

static inline void make_other(void)
{
	snprintf(other, sizeof(other), "%s/other", dir);
	cr_assert_eq(mkdir(other, 0700), 0);
	other_fd = open(other, O_RDONLY | O_DIRECTORY);
	cr_assert_eq(mkdirat(other_fd, "journal", 0700) + mkdirat(other_fd, "packs", 0700), 0);
	journal_fd = openat(other_fd, "journal", O_RDONLY | O_DIRECTORY);
	index_fd = openat(other_fd, "index.db", O_RDWR | O_CREAT, 0600);
	cr_assert_geq(index_fd, 0);
}

static inline void close_other(void)
{
	close(other_fd);
	close(journal_fd);
	close(index_fd);
	for (size_t i = 0; i < OBJECTS_MAX; i++)
		ofs_buf_finish(&objects[i]);
}

static inline int get_object(void *arg, const struct ofs_index_object *object, uint64_t at,
			     void *buf, size_t len)
{
	const struct ofs_buf *o = &objects[object->number];

	gets++;
	if (failing)
		return -ETIMEDOUT;
	cr_assert_eq(object->epoch, 1);
	if (at + len > o->len)
		return -ENOENT;
	memcpy(buf, o->data + at, len);
	return 0;
}

/* ---- copying */

static inline int take_pages(void *arg, uint32_t first, uint32_t n, const uint8_t *pages)
{
	size_t len = (size_t)n * 1024;

	cr_assert_eq(pwrite(index_fd, pages, len, (off_t)(first - 1) * 1024), (ssize_t)len);
	pages_copied += n;
	return 0;
}

static inline int take_draft(void *arg, ofs_lsn segment, const struct ofs_journal_data *data,
			     const void *bytes)
{
	return ofs_journal_import_data(journal_fd, ofs_store_uuid(s), segment, data, bytes);
}

/* Appends a frame to object `*arg`. */
static inline int take_frame(void *arg, const struct ofs_index_frame *f)
{
	struct ofs_buf *o = &objects[*(uint32_t *)arg];

	cr_assert_lt(nlate, OFS_ARRAY_SIZE(late));
	if (nlate && late[nlate - 1].pack == f->pack &&
	    late[nlate - 1].off + late[nlate - 1].len == f->off)
		late[nlate - 1].len += f->stored;
	else
		late[nlate++] = (struct ofs_index_extent){ f->pack, f->off, f->stored, o->len };
	return ofs_store_copy_frame(s, f, o);
}

static inline void put_late(struct ofs_index *ix, uint32_t number)
{
	struct ofs_index_object object = { .epoch = 1,
					   .number = number,
					   .size = objects[number].len };

	if (!nlate)
		return;
	if (!ix) {
		cr_assert_eq(ofs_store_put_object(s, &object, late, nlate), 0);
		return;
	}
	cr_assert_eq(ofs_index_begin(ix), 0);
	cr_assert_eq(ofs_index_put_object(ix, &object, late, nlate), 0);
	cr_assert_eq(ofs_index_commit(ix), 0);
}

/* Copies a snapshot of the store. Returns the position at which its log continues. */
static inline ofs_lsn copy_snapshot(bool changed, uint32_t number)
{
	struct ofs_snapshot snap = { .changed = changed,
				     .page_run = take_pages,
				     .draft = take_draft,
				     .frame = take_frame,
				     .arg = &number };

	nlate = 0;
	pages_copied = 0;
	cr_assert_eq(ofs_store_begin_snapshot(s, &snap), 0);
	cr_assert_eq(ftruncate(index_fd, (off_t)snap.pages * 1024), 0);
	ofs_store_end_snapshot(s, true);
	return snap.meta.checkpoint;
}

static inline void copy_log(ofs_lsn from)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf log = OFS_BUF_INIT;
	ofs_lsn to, segment;

	for (;; from = to) {
		log.len = 0;
		cr_assert_eq(ofs_store_export_log(s, from, UINT64_MAX, 100000, &log, &to, &segment),
			     0);
		if (to == from)
			break;
		cr_assert_eq(ofs_journal_import(journal_fd, ofs_store_uuid(s), segment, from,
						log.data, log.len),
			     0);
	}
	cr_assert_eq(from, ofs_store_log_end(s));
}

/* ---- a follower */

static struct ofs_store *follower;
static ofs_lsn reached; /* end of the imported log */

/* Replaces the index with an updated copy. Returns the position at which its log continues. */
static inline ofs_lsn bring_index(bool changed, uint32_t number)
{
	char command[400];
	ofs_lsn from;

	snprintf(command, sizeof(command), "cd %s && { cp index.db new || : >new; } 2>/dev/null",
		 other);
	cr_assert_eq(system(command), 0);
	close(index_fd);
	index_fd = openat(other_fd, "new", O_RDWR);
	from = copy_snapshot(changed, number);
	cr_assert_eq(renameat(other_fd, "new", other_fd, "index.db"), 0);
	put_late(NULL, number);
	if (follower && nlate)
		cr_assert_eq(ofs_store_put_object(follower,
						  &(struct ofs_index_object){
							  .epoch = 1,
							  .number = number,
							  .size = objects[number].len,
						  },
						  late, nlate),
			     0);
	return from;
}

static inline void import(ofs_lsn from, ofs_lsn to)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf log = OFS_BUF_INIT;
	ofs_lsn segment;

	for (; from < to; from = reached) {
		log.len = 0;
		cr_assert_eq(ofs_store_export_log(s, from, UINT64_MAX, 50000, &log, &reached,
						  &segment),
			     0);
		cr_assert_eq(ofs_journal_import(journal_fd, ofs_store_uuid(s), segment, from,
						log.data, log.len),
			     0);
	}
}
