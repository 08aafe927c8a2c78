/* SPDX-License-Identifier: MIT */
#include "agent/claude_persisted.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/file.h"

#define PERSISTED_TAG "<persisted-output>"
#define PERSISTED_END "</persisted-output>"
#define PERSISTED_SAVED "saved to"
/* The folder in which Claude Code keeps them. */
#define PERSISTED_FOLDER "tool-results"
/* The path stands within as much of the text. */
#define PERSISTED_HEAD ((size_t)8 << 10)
#define PERSISTED_CHUNK ((size_t)1 << 20)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

bool ofs_persisted_is(const char *text, size_t len)
{
	const char *end = text + len;

	while (text < end && is_blank(*text))
		text++;
	return (size_t)(end - text) >= strlen(PERSISTED_TAG) &&
	       memcmp(text, PERSISTED_TAG, strlen(PERSISTED_TAG)) == 0;
}

char *ofs_persisted_path(const char *text, size_t len)
{
	const char *end = text + OFS_MIN(len, PERSISTED_HEAD), *p, *eol, *tag;
	char *path;

	p = memmem(text, (size_t)(end - text), PERSISTED_SAVED, strlen(PERSISTED_SAVED));
	if (!p)
		return NULL;
	p += strlen(PERSISTED_SAVED);
	while (p < end && (*p == ':' || *p == ' '))
		p++;
	eol = memchr(p, '\n', (size_t)(end - p));
	if (!eol)
		eol = end;
	tag = memmem(p, (size_t)(eol - p), PERSISTED_END, strlen(PERSISTED_END));
	if (tag)
		eol = tag;
	while (eol > p && is_blank(eol[-1]))
		eol--;
	if (p == eol || *p != '/' || memchr(p, 0, (size_t)(eol - p)))
		return NULL;
	path = ofs_alloc((size_t)(eol - p) + 1);
	memcpy(path, p, (size_t)(eol - p));
	return path;
}

size_t ofs_persisted_end(const char *text, size_t len)
{
	const char *p = text, *end = text + len, *rest = end;

	/* A preview may quote the tag as well: the last one counts. */
	while ((p = memmem(p, (size_t)(end - p), PERSISTED_END, strlen(PERSISTED_END)))) {
		p += strlen(PERSISTED_END);
		rest = p;
	}
	while (rest < end && is_blank(*rest))
		rest++;
	return (size_t)(rest - text);
}

/* By the words of the path alone: what it leads to is looked at once it is open. */
static bool path_is_allowed(const char *path)
{
	bool hidden = false, kept = false;

	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && path[0] == '.' && path[1] == '.')
			return false;
		if (path[len] == '/') {
			hidden |= path[0] == '.';
			kept |= len == strlen(PERSISTED_FOLDER) &&
				memcmp(path, PERSISTED_FOLDER, len) == 0;
		} else if (path[0] == '.') {
			return false;
		}
		path += len + (path[len] == '/');
	}
	return kept || !hidden;
}

/* Neither an empty file nor one of the kernel (/proc/self/environ) is a tool's output. */
static bool file_is_allowed(int fd, const struct stat *st)
{
	struct statfs fs;

	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_size > 0 &&
	       fstatfs(fd, &fs) == 0 && fs.f_type != PROC_SUPER_MAGIC && fs.f_type != SYSFS_MAGIC;
}

/* As much as there was to begin with: somebody may be adding to it. */
static int take_bytes(int fd, uint64_t size, struct ofs_spool *spool)
{
	OFS_FREE char *chunk = malloc(PERSISTED_CHUNK);
	uint64_t off = 0;

	if (!chunk)
		return -ENOMEM;
	while (off < size) {
		ssize_t n = ofs_io_pread(fd, chunk, OFS_MIN(PERSISTED_CHUNK, size - off), off);
		int r = n > 0 ? ofs_spool_append(spool, chunk, (size_t)n) : (int)n;

		if (n <= 0 || r < 0)
			return r;
		off += (uint64_t)n;
	}
	return 0;
}

int ofs_persisted_take(const char *path, struct ofs_error *err, struct ofs_spool *spool)
{
	OFS_CLOSE int fd = -1;
	struct stat st;
	int r;

	if (!path_is_allowed(path))
		return ofs_error_set(err, EPERM, "'%s' is not where outputs are kept", path);
	/* A FIFO must not hold us up. */
	fd = ofs_io_open(AT_FDCWD, path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s': %s", path, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot look at '%s': %s", path, strerror(errno));
	if (!file_is_allowed(fd, &st))
		return ofs_error_set(err, EPERM, "'%s' is not a regular file of your own", path);
	r = take_bytes(fd, (uint64_t)st.st_size, spool);
	return r < 0 ? ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}
