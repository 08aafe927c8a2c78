/* SPDX-License-Identifier: MIT */
/* What a program can do to a file. Operations change both file and image, or compare them. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exercise.h"

void compare(const struct exercise *x, const char *how, const unsigned char *got, uint64_t off,
	     uint64_t len)
{
	const unsigned char *want = x->image + off;
	uint64_t i = 0, n;

	if (memcmp(got, want, len) == 0)
		return;
	while (got[i] == want[i])
		i++;
	for (n = i; n < len && got[n] != want[n]; n++)
		;
	fail(x, "%s: byte %ju is 0x%02x, expected 0x%02x as operation %u left it (%ju in a row)",
	     how, off + i, got[i], want[i], x->changed_by[off + i], n - i);
}

/* Fills `buf` with new content: a repeated byte, text, or noise. */
static void fill(struct exercise *x, uint64_t len)
{
	uint64_t kind = choose(x, 4), word = choose(x, UINT64_MAX), i;

	for (i = 0; i < len; i++) {
		if (kind == 0)
			x->buf[i] = word % 3;
		else if (kind == 1)
			x->buf[i] = i % 61 ? 'a' + (word + i) % 23 : '\n';
		else
			x->buf[i] =
				(unsigned char)(word = word * 0x5851f42d4c957f2d + 1, word >> 56);
	}
}

/* Returns how many bytes of the range lie before the end of the file. */
static uint64_t in_file(const struct exercise *x, const struct step *s)
{
	return s->off < x->size ? MIN(s->len, x->size - s->off) : 0;
}

/* Puts `data` (NULL: zeros) at `off` into the image, which grows if necessary. */
static void image_put(struct exercise *x, uint64_t off, const void *data, uint64_t len)
{
	uint64_t i;

	if (!len)
		return;
	if (data)
		memcpy(x->image + off, data, len);
	else
		memset(x->image + off, 0, len);
	for (i = off; i < off + len; i++)
		x->changed_by[i] = (uint32_t)x->number;
	if (off + len > x->size)
		x->size = off + len;
}

static void image_resize(struct exercise *x, uint64_t size)
{
	if (size < x->size)
		image_put(x, size, NULL, x->size - size);
	x->size = size;
}

int transferred(const struct exercise *x, ssize_t n, uint64_t len)
{
	if (n < 0)
		return -errno;
	if ((uint64_t)n != len)
		fail(x, "%zd bytes were transferred, expected %ju", n, len);
	return 0;
}

static int run_read(struct exercise *x, struct step *s)
{
	int fd = s->op->flags & O_DIRECT ? x->direct : x->fd, r;

	if (fd < 0)
		return -EOPNOTSUPP;
	if (s->op->flags & O_DIRECT) {
		s->off -= s->off % PAGE;
		s->len = MIN(s->len - s->len % PAGE + PAGE, x->max - s->off);
	}
	r = transferred(x, pread(fd, x->buf, s->len, (off_t)s->off), in_file(x, s));
	if (r == 0)
		compare(x, "read", x->buf, s->off, in_file(x, s));
	return r;
}

void check_size(const struct exercise *x)
{
	struct stat st;

	if (fstat(x->fd, &st) < 0)
		fail(x, "cannot stat '%s': %s", x->path, strerror(errno));
	if ((uint64_t)st.st_size != x->size)
		fail(x, "the size is %jd, expected %ju", st.st_size, x->size);
}

void check_all(struct exercise *x)
{
	int r;

	check_size(x);
	r = transferred(x, pread(x->fd, x->buf, x->max, 0), x->size);
	if (r < 0)
		fail(x, "cannot read '%s': %s", x->path, strerror(-r));
	compare(x, "the whole file", x->buf, 0, x->size);
}

static int run_check(struct exercise *x, struct step *s)
{
	(void)s;
	check_all(x);
	return 0;
}

static int run_write(struct exercise *x, struct step *s)
{
	bool append = s->op->flags & O_APPEND;
	int r;

	if (append) {
		s->off = x->size;
		s->len = MIN(s->len, x->max - x->size);
	}
	fill(x, s->len);
	r = transferred(x,
			append ? write(x->append, x->buf, s->len)
			       : pwrite(x->fd, x->buf, s->len, (off_t)s->off),
			s->len);
	if (r == 0)
		image_put(x, s->off, x->buf, s->len);
	return r;
}

static int run_truncate(struct exercise *x, struct step *s)
{
	s->how = choose(x, 2) != 0;
	if ((s->how ? ftruncate(x->fd, (off_t)s->off) : truncate(x->path, (off_t)s->off)) < 0)
		return -errno;
	image_resize(x, s->off);
	return 0;
}

/* Reads or writes through a mapping. In the last page, zeros must follow the end of the file. */
static int run_map(struct exercise *x, struct step *s)
{
	uint64_t skip = s->off % PAGE, len = (skip + s->len + PAGE - 1) / PAGE * PAGE;
	bool writing = s->op->flags & PROT_WRITE;
	unsigned char *p = mmap(NULL, len, s->op->flags, MAP_SHARED, x->fd, (off_t)(s->off - skip));
	int r = 0;

	if (p == MAP_FAILED)
		return -errno;
	if (writing) {
		fill(x, s->len);
		memcpy(p + skip, x->buf, s->len);
		image_put(x, s->off, x->buf, s->len);
	}
	compare(x, "mapping", p, s->off - skip, len);
	s->how = (unsigned int)choose(x, 3);
	if (writing && s->how && msync(p, len, s->how == 1 ? MS_SYNC : MS_ASYNC) < 0)
		r = -errno;
	munmap(p, len);
	return r;
}

static int run_sync(struct exercise *x, struct step *s)
{
	s->how = choose(x, 2) != 0;
	return (s->how ? fsync(x->fd) : fdatasync(x->fd)) < 0 ? -errno : 0;
}

/* Drops the file from the page cache, so that it is read from the daemon again. */
static int run_forget(struct exercise *x, struct step *s)
{
	(void)s;
	return fdatasync(x->fd) < 0 ? -errno : -posix_fadvise(x->fd, 0, 0, POSIX_FADV_DONTNEED);
}

void open_file(struct exercise *x, int flags)
{
	x->fd = open(x->path, O_RDWR | O_CLOEXEC | flags, 0600);
	x->append = open(x->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (x->fd < 0 || x->append < 0)
		err(2, "cannot open '%s'", x->path);
	x->direct = open(x->path, O_RDONLY | O_DIRECT | O_CLOEXEC);
}

void close_file(const struct exercise *x)
{
	if (close(x->fd) < 0 || close(x->append) < 0 || (x->direct >= 0 && close(x->direct) < 0))
		fail(x, "cannot close '%s': %s", x->path, strerror(errno));
}

static int run_reopen(struct exercise *x, struct step *s)
{
	(void)s;
	close_file(x);
	open_file(x, 0);
	return 0;
}

/* Allocates, punches or zeroes. A hole never changes the size; the others may. */
static int run_allocate(struct exercise *x, struct step *s)
{
	int mode = s->op->flags;

	s->how = mode == FALLOC_FL_PUNCH_HOLE || choose(x, 2);
	if (fallocate(x->fd, mode | (s->how ? FALLOC_FL_KEEP_SIZE : 0), (off_t)s->off,
		      (off_t)s->len) < 0)
		return -errno;
	if (mode)
		image_put(x, s->off, NULL, in_file(x, s));
	if (!s->how && s->off + s->len > x->size)
		image_resize(x, s->off + s->len);
	return 0;
}

static int run_copy(struct exercise *x, struct step *s)
{
	off_t from = (off_t)s->off, to, end = from + (off_t)s->len;
	ssize_t n;

	s->to = choose_offset(x, x->max - s->len);
	/* The kernel refuses overlapping ranges. */
	if (s->to < s->off + s->len && s->off < s->to + s->len)
		return 0;
	for (to = (off_t)s->to; from < end;) {
		n = copy_file_range(x->fd, &from, x->fd, &to, (size_t)(end - from), 0);
		if (n < 0)
			return -errno;
		if (n == 0)
			fail(x, "nothing more was copied, %jd bytes before the end", end - from);
	}
	image_put(x, s->to, x->image + s->off, s->len);
	return 0;
}

/* Finds the next data and the next hole from `off` on. Either is -1 if there is none. */
static int seek_both(struct exercise *x, off_t off, off_t *ret_data, off_t *ret_hole)
{
	*ret_data = lseek(x->fd, off, SEEK_DATA);
	if (*ret_data < 0 && errno != ENXIO)
		return -errno;
	*ret_hole = lseek(x->fd, off, SEEK_HOLE);
	if (*ret_hole < 0 && errno != ENXIO)
		return -errno;
	return 0;
}

/*
 * Reported holes must be zeros, but zeros need not be holes. Sealing may change what is a hole
 * between two calls, so both are repeated until they agree.
 */
static int run_seek(struct exercise *x, struct step *s)
{
	off_t off = (off_t)s->off, size = (off_t)x->size, data, hole, data_then, hole_then, i;
	int r = seek_both(x, off, &data, &hole);

	do {
		data_then = data;
		hole_then = hole;
		if (r == 0)
			r = seek_both(x, off, &data, &hole);
	} while (r == 0 && (data != data_then || hole != hole_then));
	if (r < 0)
		return r;
	if (off >= size && data < 0 && hole < 0)
		return 0;
	/* Either a hole or data must begin at `off`. */
	if (data < 0)
		data = size;
	if (off >= size || hole < off || hole > size || data < off || data > size ||
	    (data == off) == (hole == off))
		fail(x, "data at %jd and a hole at %jd do not fit", data, hole);
	for (i = off; i < data; i++)
		if (x->image[i])
			fail(x, "byte %jd is in a hole, expected 0x%02x as operation %u left it", i,
			     x->image[i], x->changed_by[i]);
	return 0;
}

struct operation operations[] = {
	{ "check", 2, NOWHERE, run_check },
	{ "read", 10, BELOW_MAX, run_read },
	{ "direct", 5, IN_FILE, run_read, O_DIRECT },
	{ "write", 12, BELOW_MAX, run_write },
	{ "append", 6, BELOW_MAX, run_write, O_APPEND },
	{ "truncate", 6, BELOW_MAX, run_truncate },
	{ "mapread", 8, IN_FILE, run_map, PROT_READ },
	{ "mapwrite", 8, IN_FILE, run_map, PROT_READ | PROT_WRITE },
	{ "sync", 2, NOWHERE, run_sync },
	{ "forget", 4, NOWHERE, run_forget },
	{ "reopen", 2, NOWHERE, run_reopen },
	{ "fallocate", 4, BELOW_MAX, run_allocate },
	{ "punch", 5, BELOW_MAX, run_allocate, FALLOC_FL_PUNCH_HOLE },
	{ "zero", 5, BELOW_MAX, run_allocate, FALLOC_FL_ZERO_RANGE },
	{ "copy", 6, IN_FILE, run_copy },
	{ "seek", 6, BELOW_MAX, run_seek },
};

const size_t noperations = sizeof(operations) / sizeof(*operations);
