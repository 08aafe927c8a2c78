/* SPDX-License-Identifier: MIT */
/* A store in a scratch directory, content for it, and a look at its packs and index. */
#pragma once

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/util.h"
#include "index/vfs.h"
#include "io/failpoint.h"
#include "scratch.h"
#include "store/content_map.h"
#include "store/cycle.h"
#include "store/packer.h"
#include "store/read.h"
#include "store/record.h"
#include "store/store.h"
#include "store/store_state.h"

#define KIB 1024u
#define MIB (1024u * KIB)
#define BLOCK ((uint32_t)OFS_BLOCK_SIZE)

static char dir[SCRATCH_SIZE];
static char path[64];
static struct ofs_store *s;
static struct ofs_store_options usual = { .create = true,
					  .seal_delay_ms = 1000,
					  .cache_bytes = 4 << 20 };

/* Replaces the library's failpoints, for faults that begin in the middle of a test. */
static int (*_Atomic fault_for)(const char *name);
int ofs_failpoint_armed = 1;

int ofs_failpoint_hit(const char *name)
{
	int (*fault)(const char *) = fault_for;

	return fault ? fault(name) : 0;
}

void ofs_failpoint_kill(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

static inline void setup(void)
{
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/store", dir);
}

static inline int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static inline void teardown(void)
{
	ofs_store_close(s);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static inline void open_store(void)
{
	struct ofs_error err = { "" };

	cr_assert_eq(ofs_store_open(path, &usual, &err, &s), 0, "%s", err.text);
}

static inline void close_store(void)
{
	ofs_store_close(s);
	s = NULL;
}

static inline void reopen_store(void)
{
	close_store();
	open_store();
}

/* Leaves the store as if the process had died now. No background work may be running. */
static inline void kill_store(void)
{
	char command[400];

	snprintf(command, sizeof(command), "cp -a %s %s.dead", path, path);
	cr_assert_eq(system(command), 0);
	close_store();
	snprintf(command, sizeof(command), "rm -r %s && mv %s.dead %s", path, path, path);
	cr_assert_eq(system(command), 0);
}

static inline void crash_store(void)
{
	kill_store();
	open_store();
}

static inline const char *below(const char *name)
{
	static _Thread_local char full[512];

	snprintf(full, sizeof(full), "%s/%s", path, name);
	return full;
}

/* ---- names and content */

static inline uint64_t make_node(uint64_t parent, const char *name, uint32_t mode)
{
	struct ofs_create what = { .mode = mode };
	struct ofs_attr attr;
	int r = ofs_store_create(s, parent, name, &what, &attr);

	cr_assert_eq(r, 0, "%s: %d", name, r);
	return attr.ino;
}

static inline uint64_t make_dir(uint64_t parent, const char *name)
{
	return make_node(parent, name, S_IFDIR | 0700);
}

static inline uint64_t make_in(uint64_t parent, const char *name)
{
	return make_node(parent, name, S_IFREG | 0600);
}

/* Fills in incompressible bytes, determined by `seed`. */
static inline void fill_noise(uint8_t *p, size_t len, uint64_t seed)
{
	uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (size_t i = 0; i < len; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)(x >> 24);
	}
}

static inline void put_noise(uint64_t ino, uint64_t off, size_t len, uint64_t seed)
{
	OFS_FREE uint8_t *data = ofs_alloc(len);
	ssize_t n;

	fill_noise(data, len, seed);
	n = ofs_store_write(s, ino, data, len, off);
	cr_assert_eq(n, (ssize_t)len, "%zd", n);
}

static inline uint64_t make_noise(uint64_t parent, const char *name, size_t len, uint64_t seed)
{
	uint64_t ino = make_in(parent, name);

	put_noise(ino, 0, len, seed);
	return ino;
}

/* Tells whether these bytes are what put_noise() wrote. */
static inline bool is_noise(uint64_t ino, uint64_t off, size_t len, uint64_t seed)
{
	OFS_FREE uint8_t *want = ofs_alloc(len);
	OFS_FREE uint8_t *got = ofs_alloc(len);

	fill_noise(want, len, seed);
	return ofs_store_read(s, ino, got, len, off) == (ssize_t)len && memcmp(got, want, len) == 0;
}

static inline void expect_noise(uint64_t ino, uint64_t off, size_t len, uint64_t seed)
{
	cr_assert(is_noise(ino, off, len, seed), "inode %lu: %zu bytes at %lu are wrong", ino, len,
		  off);
}

/* Removes the name and drops the reference that creating the file gave. */
static inline void remove_file(uint64_t parent, const char *name, uint64_t ino)
{
	cr_assert_eq(ofs_store_unlink(s, parent, name, NULL), 0, "%s", name);
	ofs_store_forget(s, ino, 1);
}

static inline void seal(void)
{
	int r = ofs_store_seal(s);

	cr_assert_eq(r, 0, "%d", r);
}

static inline bool has_sha(uint64_t ino)
{
	struct ofs_content_hash d;

	cr_assert_eq(ofs_store_get_hash(s, ino, &d), 0);
	return d.has_sha;
}

/* ---- frames */

struct frames {
	struct ofs_index_frame list[256];
	size_t n;
};

/* Lists the frames that hold live content, by id. */
static inline void list_frames(struct frames *ret)
{
	struct ofs_index_frame f = { .id = 0 };

	ret->n = 0;
	while (ofs_index_next_frame(s->index, f.id, &f) == 0)
		if (f.live) {
			cr_assert_lt(ret->n, OFS_ARRAY_SIZE(ret->list));
			ret->list[ret->n++] = f;
		}
}

static inline size_t count_frames(void)
{
	struct frames f;

	list_frames(&f);
	return f.n;
}

struct chunk_list {
	struct ofs_index_chunk list[64];
	size_t n;
};

static inline int note_block(void *arg, uint64_t block, const struct ofs_index_chunk *c)
{
	struct chunk_list *l = arg;

	cr_assert_lt(block, OFS_ARRAY_SIZE(l->list));
	l->list[block] = *c;
	l->n = block + 1;
	return 0;
}

/* Lists the chunks of each block as the index has them. A hole has id 0. */
static inline void list_chunks(uint64_t ino, struct chunk_list *ret)
{
	memset(ret, 0, sizeof(*ret));
	cr_assert_eq(ofs_index_list_blocks(s->index, ino, note_block, ret), 0);
}

/* Returns the only chunk of a file of one block. */
static inline struct ofs_index_chunk chunk_of(uint64_t ino)
{
	struct chunk_list l;

	list_chunks(ino, &l);
	cr_assert_eq(l.n, 1);
	return l.list[0];
}

static inline bool share_frame(const struct ofs_index_chunk *a, const struct ofs_index_chunk *b)
{
	return a->pack == b->pack && a->frame_off == b->frame_off;
}

/* Flips a bit in the middle of the frame that holds a chunk. A second call repairs it. */
static inline void flip_frame(const struct ofs_index_chunk *c)
{
	off_t at = (off_t)(c->frame_off + c->frame_stored / 2);
	char name[32];
	uint8_t byte;
	OFS_CLOSE int fd = -1;

	snprintf(name, sizeof(name), "packs/%08x.pack", c->pack);
	fd = open(below(name), O_RDWR);
	cr_assert_geq(fd, 0);
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x40;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
}

/* Returns the disk usage in bytes of all files in a folder of the store. */
static inline uint64_t disk_usage(const char *folder)
{
	DIR *d = opendir(below(folder));
	struct dirent *e;
	struct stat st;
	uint64_t sum = 0;

	cr_assert_not_null(d);
	while ((e = readdir(d)))
		if (e->d_name[0] != '.' && fstatat(dirfd(d), e->d_name, &st, 0) == 0)
			sum += (uint64_t)st.st_blocks * 512;
	closedir(d);
	return sum;
}

/* ---- damage to a closed store */

static inline void run_sql(const char *sql)
{
	sqlite3 *db;
	char *why = NULL;

	cr_assert_eq(sqlite3_open_v2(below("index.db"), &db, SQLITE_OPEN_READWRITE, OFS_INDEX_VFS),
		     SQLITE_OK);
	sqlite3_exec(db, "PRAGMA locking_mode = EXCLUSIVE", NULL, NULL, NULL);
	sqlite3_exec(db, sql, NULL, NULL, &why);
	cr_assert_null(why, "%s: %s", sql, why);
	cr_assert_eq(sqlite3_close(db), SQLITE_OK);
}

/*
 * Flips the last byte of the journal, which belongs to the last write if that has a length of a
 * multiple of 8.
 */
static inline void damage_newest_draft(void)
{
	struct dirent **names;
	int n = scandir(below("journal"), &names, NULL, alphasort), fd;
	char name[300];
	uint8_t byte;
	off_t at;

	cr_assert_gt(n, 2);
	snprintf(name, sizeof(name), "journal/%s", names[n - 1]->d_name);
	while (n)
		free(names[--n]);
	free(names);
	fd = open(below(name), O_RDWR);
	cr_assert_geq(fd, 0);
	at = lseek(fd, 0, SEEK_END) - 1;
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 0x40;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}
