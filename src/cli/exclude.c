/* SPDX-License-Identifier: MIT */
#include "cli/exclude.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "io/file.h"
#include "io/path.h"
#include "io/process.h"

#define EXCLUDE_FILE_MAX (1 << 20)

/*
 * Asks git for the top of the work tree and the exclude file; 0, or -ENOENT when git knows of none.
 */
static int exclude_ask_git(const char *workspace, char **ret_top, char **ret_file)
{
	/* A hook's environment names another repository than the one that the workspace lies in. */
	const char *const argv[] = {
		"env",		 "-u",		 "GIT_DIR",   "-u",
		"GIT_WORK_TREE", "git",		 "rev-parse", "--show-toplevel",
		"--git-path",	 "info/exclude", NULL
	};
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char *top, *file, *end;
	int r = ofs_process_run_helper(argv, workspace, OFS_PROCESS_OUT | OFS_PROCESS_QUIET, &text);

	if (r != 0)
		return -ENOENT;
	ofs_buf_append(&text, "", 1);
	top = (char *)text.data;
	file = strchr(top, '\n');
	if (!file)
		return -ENOENT;
	*file++ = '\0';
	end = strchr(file, '\n');
	if (!end || top[0] != '/')
		return -ENOENT;
	*end = '\0';
	*ret_top = ofs_strdup(top);
	*ret_file = file[0] == '/' ? ofs_strdup(file) : ofs_path_join(workspace, file);
	return 0;
}

/* Without git: the nearest folder upwards with a folder .git, which has the exclude file itself. */
static int exclude_look(const char *workspace, char **ret_top, char **ret_file)
{
	char *top = ofs_strdup(workspace);

	for (;;) {
		OFS_FREE char *git = ofs_path_join(top, ".git");
		OFS_FREE char *head = ofs_path_join(git, "HEAD");
		struct stat st;
		char *parent;

		if (stat(head, &st) == 0) {
			*ret_top = top;
			*ret_file = ofs_path_join(git, "info/exclude");
			return 0;
		}
		if (lstat(git, &st) == 0 || strcmp(top, "/") == 0) {
			free(top);
			return -ENOENT;
		}
		parent = ofs_path_parent(top);
		free(top);
		top = parent;
	}
}

/* Allocated: the line that excludes the folder `below` the top of a work tree and nothing else. */
static char *exclude_pattern(const char *below)
{
	char *pattern = ofs_alloc(2 * strlen(below) + 4), *to = pattern;

	*to++ = '/';
	for (; *below; below++) {
		if (strchr("*?[\\", *below))
			*to++ = '\\';
		*to++ = *below;
	}
	*to = '/';
	return pattern;
}

static bool exclude_has(const struct ofs_buf *text, const char *pattern)
{
	const char *p = (const char *)text->data, *end = text->len ? p + text->len : p;
	size_t len = strlen(pattern);

	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t n = (size_t)((eol ? eol : end) - p);

		if (n && p[n - 1] == '\r')
			n--;
		if (n == len && memcmp(p, pattern, len) == 0)
			return true;
		p = eol ? eol + 1 : end;
	}
	return false;
}

/* One write at the end of the file, so that another writer's lines are never lost. */
static int exclude_append(const char *file, const char *pattern, bool open_line)
{
	OFS_FREE char *folder = ofs_path_parent(file);
	OFS_FREE char *line = NULL;
	OFS_CLOSE int fd = -1;
	ssize_t n;
	int r = ofs_io_mkdir(AT_FDCWD, folder, 0777);

	if (r < 0)
		return r;
	fd = ofs_io_open(AT_FDCWD, file, O_WRONLY | O_APPEND | O_CREAT, 0666);
	if (fd < 0)
		return fd;
	if (asprintf(&line, "%s%s\n", open_line ? "\n" : "", pattern) < 0) {
		line = NULL;
		return -ENOMEM;
	}
	n = write(fd, line, strlen(line));
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(line) ? 0 : -ENOSPC;
}

/* The exclude file, what is in it (nothing while it is missing) and the line that belongs there. */
struct exclude {
	char *file;
	char *pattern;
	struct ofs_buf text;
};

static void exclude_finish(struct exclude *e)
{
	free(e->file);
	free(e->pattern);
	ofs_buf_finish(&e->text);
}

/* -ENOENT: no repository holds the mountpoint. */
static int exclude_read(const char *workspace, const char *mountpoint, struct exclude *ret)
{
	OFS_FREE char *top = NULL;
	const char *below;
	int r;

	if (exclude_ask_git(workspace, &top, &ret->file) < 0 &&
	    exclude_look(workspace, &top, &ret->file) < 0)
		return -ENOENT;
	below = ofs_path_below(top, mountpoint);
	if (!below || !*below)
		return -ENOENT;
	ret->pattern = exclude_pattern(below);
	r = ofs_io_read_file(AT_FDCWD, ret->file, EXCLUDE_FILE_MAX, &ret->text);
	return r == -ENOENT ? 0 : r;
}

int ofs_exclude_add(const char *workspace, const char *mountpoint)
{
	OFS_CLEANUP(exclude_finish) struct exclude e = { 0 };
	int r = exclude_read(workspace, mountpoint, &e);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (exclude_has(&e.text, e.pattern))
		return 0;
	r = exclude_append(e.file, e.pattern, e.text.len && e.text.data[e.text.len - 1] != '\n');
	return r < 0 ? r : 1;
}

int ofs_exclude_has(const char *workspace, const char *mountpoint, char **ret_file, char **ret_line)
{
	OFS_CLEANUP(exclude_finish) struct exclude e = { 0 };
	int r = exclude_read(workspace, mountpoint, &e);

	if (r < 0)
		return r;
	if (exclude_has(&e.text, e.pattern))
		return 1;
	*ret_file = ofs_steal(e.file);
	*ret_line = ofs_steal(e.pattern);
	return 0;
}
