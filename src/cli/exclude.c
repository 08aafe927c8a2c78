/* SPDX-License-Identifier: MIT */
#include "cli/exclude.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/path.h"
#include "io/process.h"

#define EXCLUDE_FILE "info/exclude"
#define EXCLUDE_FILE_MAX (1 << 20)

void ofs_exclude_finish(struct ofs_exclude *e)
{
	free(e->file);
	free(e->line);
}

/* Asks git for the top of the work tree and the exclude file. False: git knows of none. */
static bool ask_git(const char *workspace, char **ret_top, char **ret_file)
{
	/* In a git hook, the environment may name another repository than that of the workspace. */
	const char *const argv[] = { "env",	      "-u",	    "GIT_DIR",	 "-u",
				     "GIT_WORK_TREE", "git",	    "rev-parse", "--show-toplevel",
				     "--git-path",    EXCLUDE_FILE, NULL };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	char *rest, *top, *file;

	if (ofs_process_run_helper(argv, workspace, OFS_PROCESS_OUT | OFS_PROCESS_QUIET, &text))
		return false;
	rest = ofs_buf_str(&text);
	top = strsep(&rest, "\n");
	file = strsep(&rest, "\n");
	if (!rest || *rest || top[0] != '/') /* exactly two lines, so no name has a line break */
		return false;
	*ret_top = ofs_strdup(top);
	*ret_file = file[0] == '/' ? ofs_strdup(file) : ofs_path_join(workspace, file);
	return true;
}

/* Without git: finds the nearest folder upwards with a folder .git, which holds the file. */
static bool look_upwards(const char *workspace, char **ret_top, char **ret_file)
{
	OFS_FREE char *top = ofs_strdup(workspace);

	for (;;) {
		OFS_FREE char *git = ofs_path_join(top, ".git"), *above = NULL;
		OFS_FREE char *head = ofs_path_join(git, "HEAD");
		struct stat st;

		if (stat(head, &st) == 0) {
			*ret_top = ofs_steal(top);
			*ret_file = ofs_path_join(git, EXCLUDE_FILE);
			return true;
		}
		if (lstat(git, &st) == 0 || strcmp(top, "/") == 0)
			return false;
		above = top;
		top = ofs_path_parent(above);
	}
}

/*
 * Opens the folder that holds info/exclude, so that a link in the repository, which somebody else
 * may have made, cannot lead the line elsewhere. Returns the descriptor, or -errno.
 */
static int open_git(const struct ofs_exclude *e)
{
	OFS_FREE char *info = ofs_path_parent(e->file), *git = ofs_path_parent(info);

	return ofs_io_open(AT_FDCWD, git, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
}

static int read_file(const struct ofs_exclude *e, struct ofs_buf *ret)
{
	OFS_CLOSE int git = open_git(e), fd = -1;
	struct stat st;

	if (git < 0)
		return git;
	fd = ofs_io_open_beneath(git, EXCLUDE_FILE, O_RDONLY | O_NONBLOCK, 0);
	if (fd < 0)
		return fd;
	return fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)
		       ? -EINVAL
		       : ofs_io_read_fd(fd, EXCLUDE_FILE_MAX, ret);
}

/* Returns an allocated line that excludes nothing but the folder `below` the top of a work tree. */
static char *make_line(const char *below)
{
	char *line = ofs_alloc(2 * strlen(below) + 4), *to = line;

	*to++ = '/';
	for (; *below; below++) {
		if (strchr("*?[\\", *below))
			*to++ = '\\';
		*to++ = *below;
	}
	*to = '/';
	return line;
}

static bool has_line(char *text, const char *line)
{
	for (char *each; (each = strsep(&text, "\n"));) {
		size_t len = strlen(each);

		if (len && each[len - 1] == '\r')
			each[len - 1] = '\0';
		if (strcmp(each, line) == 0)
			return true;
	}
	return false;
}

int ofs_exclude_find(const char *workspace, const char *mountpoint, struct ofs_exclude *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_CLEANUP(ofs_exclude_finish) struct ofs_exclude e = { 0 };
	OFS_FREE char *top = NULL;
	const char *below;
	int r;

	if (!ask_git(workspace, &top, &e.file) && !look_upwards(workspace, &top, &e.file))
		return -ENOENT;
	below = ofs_path_below(top, mountpoint);
	if (!below || !*below)
		return -ENOENT;
	if (strpbrk(below, "\n\r")) /* no line of the file can name it */
		return -EILSEQ;
	e.line = make_line(below);
	r = read_file(&e, &text);
	if (r < 0 && r != -ENOENT)
		return r;
	e.is_open = text.len && text.data[text.len - 1] != '\n';
	e.is_there = has_line(ofs_buf_str(&text), e.line);
	*ret = ofs_steal(e);
	return 0;
}

int ofs_exclude_add(const char *workspace, const char *mountpoint)
{
	OFS_CLEANUP(ofs_exclude_finish) struct ofs_exclude e = { 0 };
	OFS_FREE char *line = NULL;
	OFS_CLOSE int git = -1, fd = -1;
	ssize_t n;
	int r = ofs_exclude_find(workspace, mountpoint, &e);

	if (r < 0 || e.is_there)
		return r == -ENOENT ? 0 : r;
	git = open_git(&e);
	if (git < 0)
		return git;
	r = ofs_io_mkdir(git, "info", 0777);
	if (r < 0)
		return r;
	fd = ofs_io_open_beneath(git, EXCLUDE_FILE, O_WRONLY | O_APPEND | O_CREAT, 0666);
	if (fd < 0)
		return fd;
	/* A single write at the end of the file never loses the lines of another writer. */
	line = ofs_format("%s%s\n", e.is_open ? "\n" : "", e.line);
	n = write(fd, line, strlen(line));
	if (n < 0)
		return -errno;
	return (size_t)n == strlen(line) ? 0 : -ENOSPC;
}
