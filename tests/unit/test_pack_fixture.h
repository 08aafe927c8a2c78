/* SPDX-License-Identifier: MIT */
/* A set of packs in a scratch directory, with frames of numbered content. */
#pragma once

#include <criterion/criterion.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/util.h"
#include "pack/frame.h"
#include "pack/pack.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static int dirfd_ = -1;
static struct ofs_packset *ps;
static struct ofs_compressor *comp;
static struct ofs_error err;
static const uint8_t uuid[16] = { 0xab, 0xcd };

static inline void open_set(size_t cache)
{
	ps = ofs_packset_open(dirfd_, uuid, cache);
}

static inline void setup(void)
{
	scratch_dir(dir);
	dirfd_ = open(dir, O_RDONLY | O_DIRECTORY);
	comp = ofs_compressor_create();
	open_set(1 << 20);
	cr_assert_eq(ofs_packset_resume(ps, 0, 0, &err), 0);
}

static inline int remove_one(const char *p, const struct stat *st, int type, struct FTW *ftw)
{
	return remove(p);
}

static inline void teardown(void)
{
	ofs_packset_close(ps);
	ofs_compressor_destroy(comp);
	close(dirfd_);
	nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* Fills in content number `n`: noise if odd, text if even. */
static inline void make_content(unsigned int n, uint8_t *ret, uint32_t len)
{
	uint64_t state = n * UINT64_C(0x9e3779b97f4a7c15) + 1;

	for (uint32_t i = 0; i < len; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		ret[i] = (uint8_t)(n % 2 ? state >> 56 : (unsigned int)'a' + (i / 40 + n) % 26);
	}
}

static inline struct ofs_frame_loc append(unsigned int n, uint32_t len)
{
	struct ofs_frame_loc loc;
	uint8_t *data = malloc(len);
	struct ofs_frame_chunk c = { .data = data, .len = len };

	make_content(n, data, len);
	cr_assert_eq(ofs_packset_append(ps, comp, 3, &c, 1, &loc), 0);
	cr_assert_eq(loc.raw, len);
	cr_assert_eq(loc.stored % 8, 0);
	free(data);
	return loc;
}

/* Returns 0 if the frame has content number `n`, or -errno. Wrong content fails the test. */
static inline int read_back(const struct ofs_frame_loc *loc, unsigned int n)
{
	struct ofs_frame *f;
	uint8_t *wanted;
	int r = ofs_packset_read(ps, loc, false, &f);

	if (r < 0)
		return r;
	wanted = malloc(loc->raw);
	make_content(n, wanted, loc->raw);
	cr_assert_eq(ofs_frame_size(f), loc->raw);
	cr_assert_eq(memcmp(ofs_frame_data(f), wanted, loc->raw), 0, "wrong content");
	free(wanted);
	ofs_frame_unref(f);
	return 0;
}

static inline int pack_fd(uint32_t pack, int flags)
{
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "%08x.pack", pack);
	fd = openat(dirfd_, name, flags);
	return fd;
}

static inline struct stat pack_stat(uint32_t pack)
{
	struct stat st = { 0 };
	int fd = pack_fd(pack, O_RDONLY);

	cr_assert_geq(fd, 0);
	cr_assert_eq(fstat(fd, &st), 0);
	close(fd);
	return st;
}

/* Closes the set and resumes another at its tail. */
static inline void reopen(void)
{
	uint32_t pack;
	uint64_t size;

	cr_assert_eq(ofs_packset_sync(ps), 0);
	ofs_packset_tail(ps, &pack, &size);
	ofs_packset_close(ps);
	open_set(1 << 20);
	cr_assert_eq(ofs_packset_resume(ps, pack, size, &err), 0, "%s", err.text);
}

static inline void flip(uint32_t pack, uint64_t off)
{
	int fd = pack_fd(pack, O_RDWR);
	uint8_t byte;

	cr_assert_eq(pread(fd, &byte, 1, (off_t)off), 1);
	byte ^= 0x41;
	cr_assert_eq(pwrite(fd, &byte, 1, (off_t)off), 1);
	close(fd);
}
