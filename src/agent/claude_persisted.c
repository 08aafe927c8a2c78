/* SPDX-License-Identifier: MIT */
#include "agent/claude_output.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/path.h"

#define PERSISTED_TAG "<persisted-output>"
#define PERSISTED_END "</persisted-output>"
#define PERSISTED_SAVED "saved to"
#define PERSISTED_PREVIEW "\n\nPreview ("
#define PERSISTED_MORE "\n..."
#define PERSISTED_CHUNK ((size_t)1 << 20)

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static const char *find(const char *text, const char *end, const char *what)
{
	return text ? memmem(text, (size_t)(end - text), what, strlen(what)) : NULL;
}

/* Removes white space around a text. */
static void trim(const char **text, const char **end)
{
	while (*text < *end && is_blank(**text))
		(*text)++;
	while (*text < *end && is_blank((*end)[-1]))
		(*end)--;
}

/* Finds the last end tag, because a preview may quote it, too. */
static const char *find_end(const char *text, const char *end)
{
	const char *next, *last = NULL;

	while ((next = find(text, end, PERSISTED_END))) {
		last = next;
		text = next + strlen(PERSISTED_END);
	}
	return last;
}

static bool read_preview(const char *text, const char *end, struct ofs_persisted *ret)
{
	const char *eol = memchr(text, '\n', (size_t)(end - text));
	size_t more = strlen(PERSISTED_MORE);

	if (!eol)
		return false;
	text = eol + 1;
	while (text < end && is_blank(end[-1]))
		end--;
	if ((size_t)(end - text) >= more && memcmp(end - more, PERSISTED_MORE, more) == 0)
		end -= more;
	ret->preview = text;
	ret->preview_len = (size_t)(end - text);
	return text < end;
}

int ofs_persisted_read(const char *text, size_t len, struct ofs_persisted *ret)
{
	const char *end = text + len, *last = find_end(text, end), *path, *preview, *path_end;

	while (text < end && is_blank(*text))
		text++;
	if (!last || find(text, end, PERSISTED_TAG) != text)
		return 0;
	preview = find(text, last, PERSISTED_PREVIEW);
	path = preview ? find(text, preview, PERSISTED_SAVED) : NULL;
	if (!path)
		return 0;
	path += strlen(PERSISTED_SAVED);
	path += *path == ':';
	path_end = preview;
	trim(&path, &path_end);
	if (path == path_end || *path != '/' || find(path, path_end, "\n") ||
	    memchr(path, 0, (size_t)(path_end - path)))
		return 0;
	*ret = (struct ofs_persisted){ 0 };
	if (!read_preview(preview + strlen(PERSISTED_PREVIEW), last, ret))
		return 0;
	last += strlen(PERSISTED_END);
	while (last < end && is_blank(*last))
		last++;
	ret->path = ofs_format("%.*s", (int)(path_end - path), path);
	ret->end = len - (size_t)(end - last);
	return 1;
}

bool ofs_persisted_previews(const struct ofs_persisted *p, const struct ofs_spool *spool)
{
	OFS_FREE char *start = ofs_alloc(p->preview_len);

	return ofs_spool_read(spool, start, p->preview_len, 0) == (ssize_t)p->preview_len &&
	       memcmp(start, p->preview, p->preview_len) == 0;
}

/* Reads only the size found at first, as somebody may be appending. */
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

/* The folder is the user's own, whatever links lead there; its contents may be anybody's. */
static int open_beneath(const char *folder, const char *path)
{
	OFS_FREE char *real = ofs_path_real(folder);
	const char *rest = ofs_path_below(folder, path);
	OFS_CLOSE int dir = -1;
	struct stat st;

	if (!rest && real)
		rest = ofs_path_below(real, path);
	if (!rest || !*rest)
		return -EPERM;
	dir = ofs_io_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY, 0);
	if (dir < 0)
		return dir;
	if (fstat(dir, &st) < 0 || st.st_uid != geteuid())
		return -EPERM;
	/* O_NONBLOCK: opening a FIFO must not block. */
	return ofs_io_open_beneath(dir, rest, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
}

int ofs_persisted_take(const char *folder, const char *path, struct ofs_error *err,
		       struct ofs_spool *spool)
{
	OFS_CLOSE int fd = open_beneath(folder, path);
	struct stat st;
	int r;

	if (fd == -EPERM)
		return ofs_error_set(err, EPERM, "'%s' is not in '%s', where outputs are saved",
				     path, folder);
	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open '%s': %s", path, strerror(-fd));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return ofs_error_set(err, EPERM, "'%s' is not a regular file of your own", path);
	r = take_bytes(fd, (uint64_t)st.st_size, spool);
	return r < 0 ? ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

/* ---- outputs of commands that failed */

#define FAILURE_CUT "\n\n... ["
#define FAILURE_CUT_END " characters truncated] ...\n\n"
/* Lines that Claude Code puts before the output, as "Exit code 1"; and files that are tried. */
#define FAILURE_LINES 4
#define FAILURE_FILES 8
/* Bytes that must be equal. */
#define FAILURE_SAME ((size_t)64)
#define FAILURE_END ".output"

struct saved {
	char *name;
	struct timespec changed;
};

struct saved_list {
	struct saved *list;
	size_t n, cap;
};

static void saved_finish(struct saved_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].name);
	free(l->list);
}

static int compare_age(const void *a, const void *b)
{
	const struct timespec *x = &((const struct saved *)a)->changed,
			      *y = &((const struct saved *)b)->changed;

	return x->tv_sec != y->tv_sec ? (x->tv_sec < y->tv_sec) - (x->tv_sec > y->tv_sec)
				      : (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Lists the outputs in a folder, the newest first. */
static void list_saved(const char *folder, struct saved_list *ret)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir))) {
		const char *end = strrchr(entry->d_name, '.');

		if (end && strcmp(end, FAILURE_END) == 0 &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			*ofs_append(ret->list, ret->n, ret->cap) =
				(struct saved){ ofs_strdup(entry->d_name), st.st_mtim };
	}
	if (dir)
		closedir(dir);
	if (ret->n)
		qsort(ret->list, ret->n, sizeof(*ret->list), compare_age);
}

/* Returns whether the file starts with the text, or with the text without its first few lines. */
static bool begins_so(int fd, const char *text, size_t len)
{
	OFS_FREE char *start = ofs_alloc(len);
	ssize_t n = ofs_io_pread(fd, start, len, 0);

	for (int i = 0; i < FAILURE_LINES && n > 0; i++) {
		const char *eol = memchr(text, '\n', len), *odd;
		size_t same = len;

		/* Bytes that were not UTF-8 were replaced in the text. */
		odd = find(text, text + len, "\xef\xbf\xbd");
		if (odd)
			same = (size_t)(odd - text);
		if (same >= FAILURE_SAME && (size_t)n >= same && memcmp(start, text, same) == 0)
			return true;
		if (!eol)
			return false;
		len -= (size_t)(eol + 1 - text);
		text = eol + 1;
	}
	return false;
}

int ofs_failure_take(const char *folder, const char *error, size_t len, struct ofs_error *err,
		     struct ofs_spool *spool)
{
	OFS_CLEANUP(saved_finish) struct saved_list files = { 0 };
	const char *cut = find(error, error + len, FAILURE_CUT);

	if (!cut || !find(cut, error + len, FAILURE_CUT_END))
		return 0;
	list_saved(folder, &files);
	for (size_t i = 0; i < files.n && i < FAILURE_FILES; i++) {
		OFS_FREE char *path = ofs_path_join(folder, files.list[i].name);
		OFS_CLOSE int fd = open_beneath(folder, path);
		int r;

		if (fd < 0 || !begins_so(fd, error, (size_t)(cut - error)))
			continue;
		r = ofs_persisted_take(folder, path, err, spool);
		return r < 0 ? r : 1;
	}
	return 0;
}
