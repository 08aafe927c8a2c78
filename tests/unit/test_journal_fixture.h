/* SPDX-License-Identifier: MIT */
/* A journal in a scratch directory, with checks that replay returns the records as appended. */
#pragma once

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "journal/journal.h"
#include "scratch.h"

#define RECORDS_MAX 4096u
#define FIXTURE_DATA_MAX (1u << 16)

/* A record that was appended or replayed. */
struct seen {
	uint32_t number;
	ofs_lsn lsn;
	struct ofs_journal_data data;
};

struct seen_list {
	struct seen at[RECORDS_MAX];
	size_t n;
};

static char dir[SCRATCH_SIZE];
static int dirfd_ = -1;
static const uint8_t uuid[16] = "the store's own";
static struct ofs_error err;
static struct ofs_journal *journal;
static struct seen_list appended, replayed;

static inline void fixture_setup(void)
{
	scratch_dir(dir);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	cr_assert_geq(dirfd_, 0);
}

static inline int fixture_remove(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return ftw->level ? remove(p) : 0;
}

static inline void fixture_clear(void)
{
	nftw(dir, fixture_remove, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void fixture_teardown(void)
{
	ofs_journal_close(journal);
	journal = NULL;
	close(dirfd_);
	fixture_clear();
	rmdir(dir);
}

static inline uint32_t fixture_data_len(uint32_t number)
{
	if (number % 50 == 48)
		return 20000 + number % 1000;
	return number % 3 == 1 ? 1 + number * 37 % 200 : 0;
}

/* Fills in bytes that depend only on the record's number and on their position. */
static inline void fixture_fill(uint8_t *ret, uint32_t number, uint32_t from, uint32_t len)
{
	uint32_t i;

	for (i = 0; i < len; i++)
		ret[i] = (uint8_t)((from + i) * 167 + number * 59 + (from + i) / 251);
}

static inline size_t fixture_body(uint8_t ret[64], uint32_t number)
{
	size_t len = 4 + number * 7 % 50;

	ofs_put_le32(ret, number);
	fixture_fill(ret + 4, ~number, 0, (uint32_t)len - 4);
	return len;
}

static inline int fixture_append(uint32_t number, uint32_t data_len)
{
	static uint8_t data[OFS_JOURNAL_DATA_MAX];
	struct seen *s = &appended.at[appended.n];
	uint8_t body[64];
	struct ofs_journal_record record = {
		.type = (uint8_t)(1 + number % 255),
		.body = body,
		.body_len = fixture_body(body, number),
		.data = data_len ? data : NULL,
		.data_len = data_len,
	};
	int r;

	fixture_fill(data, number, 0, data_len);
	r = ofs_journal_append(journal, &record, &s->lsn, &s->data);
	if (r < 0)
		return r;
	s->number = number;
	appended.n++;
	return 0;
}

/* Appends `count` records, numbered on from those in `appended`. */
static inline void append_some(uint32_t count)
{
	uint32_t number = (uint32_t)appended.n;

	while (count--) {
		cr_assert_eq(fixture_append(number, fixture_data_len(number)), 0);
		number++;
	}
}

static inline int fixture_replay(void *arg, ofs_lsn lsn, const struct ofs_journal_record *record,
				 const struct ofs_journal_data *data)
{
	struct seen_list *l = arg;
	uint8_t body[64];
	uint32_t number;

	cr_assert_geq(record->body_len, 4);
	number = ofs_get_le32(record->body);
	cr_assert_eq(record->body_len, fixture_body(body, number));
	cr_assert_eq(memcmp(record->body, body, record->body_len), 0);
	cr_assert_eq(record->type, 1 + number % 255);
	cr_assert_null(record->data);
	cr_assert_eq(record->data_len, data->len);
	cr_assert_lt(l->n, RECORDS_MAX);
	l->at[l->n++] = (struct seen){ number, lsn, *data };
	return 0;
}

static struct ofs_journal_damage damages[RECORDS_MAX];
static size_t damage_count;

static inline int fixture_damaged(void *arg, const struct ofs_journal_damage *damage)
{
	cr_assert_lt(damage_count, RECORDS_MAX);
	cr_assert_lt(damage->pos, damage->end);
	damages[damage_count++] = *damage;
	return 0;
}

static const struct ofs_journal_reader fixture_reader = { .record = fixture_replay,
							  .damaged = fixture_damaged,
							  .arg = &replayed };

static inline int try_open(ofs_lsn start)
{
	damage_count = 0;
	replayed.n = 0;
	memset(&err, 0, sizeof(err));
	return ofs_journal_open(dirfd_, uuid, start, &fixture_reader, &err, &journal);
}

static inline void open_journal(ofs_lsn start)
{
	cr_assert_eq(try_open(start), 0, "%s", err.text);
}

static inline void close_journal(void)
{
	ofs_journal_close(journal);
	journal = NULL;
}

/* Returns 0, or -EIO if the data is unreadable. Wrong bytes fail the test. */
static inline int check_data(const struct seen *s)
{
	static uint8_t got[FIXTURE_DATA_MAX], expected[FIXTURE_DATA_MAX];
	int r;

	cr_assert_leq(s->data.len, FIXTURE_DATA_MAX);
	r = ofs_journal_read(journal, &s->data, 0, got, s->data.len);
	if (r < 0) {
		cr_assert_eq(r, -EIO);
		return r;
	}
	fixture_fill(expected, s->number, 0, s->data.len);
	cr_assert_eq(memcmp(got, expected, s->data.len), 0, "record %u has wrong bytes", s->number);
	return 0;
}

/* Expects the appended records [from, to) replayed, at most `bad` with unreadable data. */
static inline void check_replayed(size_t from, size_t to, size_t bad)
{
	size_t i, unreadable = 0;

	cr_assert_eq(replayed.n, to - from, "replayed %zu, not %zu", replayed.n, to - from);
	for (i = from; i < to; i++) {
		cr_assert_eq(replayed.at[i - from].number, appended.at[i].number, "record %zu", i);
		cr_assert_eq(replayed.at[i - from].lsn, appended.at[i].lsn, "record %zu", i);
		cr_assert_eq(replayed.at[i - from].data.pos, appended.at[i].data.pos, "record %zu",
			     i);
		cr_assert_eq(replayed.at[i - from].data.len, appended.at[i].data.len, "record %zu",
			     i);
		unreadable += check_data(&appended.at[i]) != 0;
	}
	cr_assert_leq(unreadable, bad);
}

static inline void segment_name(ofs_lsn first, char ret[32])
{
	snprintf(ret, 32, "%016" PRIx64 ".wal", first);
}

static inline bool segment_exists(ofs_lsn first)
{
	char name[32];

	segment_name(first, name);
	return faccessat(dirfd_, name, F_OK, 0) == 0;
}

static inline uint64_t segment_file_size(ofs_lsn first)
{
	struct stat st;
	char name[32];

	segment_name(first, name);
	cr_assert_eq(fstatat(dirfd_, name, &st, 0), 0);
	return (uint64_t)st.st_size;
}

/* The bytes of a segment file. */
struct image {
	ofs_lsn first;
	uint8_t *data;
	size_t len;
};

static inline struct image image_load(ofs_lsn first)
{
	struct image im = { .first = first };
	struct stat st;
	char name[32];
	int fd;

	segment_name(first, name);
	fd = openat(dirfd_, name, O_RDONLY);
	cr_assert_geq(fd, 0, "no segment %s", name);
	cr_assert_eq(fstat(fd, &st), 0);
	im.len = (size_t)st.st_size;
	im.data = malloc(im.len + 1);
	cr_assert_eq(read(fd, im.data, im.len), (ssize_t)im.len);
	close(fd);
	return im;
}

/* Writes a segment file of `len` bytes: those of the image, then zeros. */
static inline void image_store(const struct image *im, size_t len)
{
	char name[32];
	int fd;

	segment_name(im->first, name);
	fd = openat(dirfd_, name, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, im->data, OFS_MIN(len, im->len)), (ssize_t)OFS_MIN(len, im->len));
	cr_assert_eq(ftruncate(fd, (off_t)len), 0);
	close(fd);
}

static inline void image_finish(struct image *im)
{
	free(im->data);
}

/* Flips a bit of the byte at log position `pos` in the segment that begins at `first`. */
static inline void flip(ofs_lsn first, ofs_lsn pos)
{
	struct image im = image_load(first);

	cr_assert_lt(pos - first, im.len);
	im.data[pos - first] ^= 0x10;
	image_store(&im, im.len);
	image_finish(&im);
}
