/* SPDX-License-Identifier: MIT */
#include "client/spool.h"

#include <fcntl.h>
#include <poll.h>

#include "io/file.h"
#include "io/path.h"

#define SPOOL_MEMORY_MAX ((size_t)1 << 20)
#define SPOOL_CHUNK ((size_t)64 << 10)

void ofs_spool_finish(struct ofs_spool *s)
{
	if (!s->borrowed)
		ofs_buf_finish(&s->mem);
	ofs_io_close(&s->fd);
	*s = (struct ofs_spool)OFS_SPOOL_INIT;
}

static int spool_temporary(void)
{
	const char *dir = getenv("TMPDIR");
	OFS_FREE char *name = NULL;
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	fd = ofs_io_open(AT_FDCWD, dir, O_TMPFILE | O_RDWR, 0600);
	if (fd >= 0)
		return fd;
	name = ofs_path_join(dir, "offload-XXXXXX");
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

/* Moves the bytes from memory to a temporary file. */
static int spool_spill(struct ofs_spool *s)
{
	OFS_CLOSE int fd = spool_temporary();
	int r;

	if (fd < 0)
		return fd;
	r = ofs_io_pwrite(fd, s->mem.data, s->mem.len, 0);
	if (r < 0)
		return r;
	ofs_buf_finish(&s->mem);
	s->fd = ofs_steal_fd(&fd);
	return 0;
}

static void spool_count(struct ofs_spool *s, const void *data, size_t len)
{
	const char *p = data, *end = p + len;

	s->size += len;
	s->last = (unsigned char)end[-1];
	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		s->newlines++;
		p++;
	}
}

void ofs_spool_wrap(struct ofs_spool *s, const void *data, size_t len)
{
	*s = (struct ofs_spool)OFS_SPOOL_INIT;
	s->borrowed = true;
	s->mem.data = (uint8_t *)(uintptr_t)data;
	s->mem.len = len;
	if (len)
		spool_count(s, data, len);
}

int ofs_spool_append(struct ofs_spool *s, const void *data, size_t len)
{
	int r = 0;

	if (!len)
		return 0;
	if (s->borrowed)
		return -EINVAL;
	if (s->fd < 0 && s->size + len > SPOOL_MEMORY_MAX)
		r = spool_spill(s);
	if (r == 0 && s->fd < 0)
		ofs_buf_append(&s->mem, data, len);
	else if (r == 0)
		r = ofs_io_pwrite(s->fd, data, len, s->size);
	if (r < 0)
		return r;
	spool_count(s, data, len);
	return 0;
}

int ofs_spool_fill(struct ofs_spool *s, int fd)
{
	OFS_FREE char *chunk = ofs_realloc(NULL, 1, SPOOL_CHUNK);

	for (;;) {
		ssize_t n = read(fd, chunk, SPOOL_CHUNK);
		int r;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : 0;
		r = ofs_spool_append(s, chunk, (size_t)n);
		if (r < 0)
			return r;
	}
}

uint64_t ofs_spool_lines(const struct ofs_spool *s)
{
	return s->newlines + (s->last != '\n');
}

ssize_t ofs_spool_read(const struct ofs_spool *s, void *buf, size_t size, uint64_t off)
{
	if (s->fd >= 0)
		return ofs_io_pread(s->fd, buf, size, off);
	if (off >= s->mem.len)
		return 0;
	size = OFS_MIN(size, s->mem.len - (size_t)off);
	memcpy(buf, s->mem.data + off, size);
	return (ssize_t)size;
}

int ofs_spool_write_all(int fd, const void *data, size_t len)
{
	const char *p = data;

	while (len) {
		ssize_t n = write(fd, p, len);

		if (n < 0 &&
		    errno == EAGAIN) { /* another process made the terminal or pipe non-blocking */
			struct pollfd ready = { .fd = fd, .events = POLLOUT };

			poll(&ready, 1, -1);
			continue;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

int ofs_spool_copy(const struct ofs_spool *s, int fd)
{
	char chunk[16384];
	uint64_t off = 0;

	if (s->fd < 0)
		return ofs_spool_write_all(fd, s->mem.data, s->mem.len);
	while (off < s->size) {
		ssize_t n = ofs_spool_read(s, chunk, sizeof(chunk), off);
		int r;

		if (n <= 0)
			return n < 0 ? (int)n : -EIO;
		r = ofs_spool_write_all(fd, chunk, (size_t)n);
		if (r < 0)
			return r;
		off += (uint64_t)n;
	}
	return 0;
}
