/* SPDX-License-Identifier: MIT */
#include "cli/hook_install.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "cli/report.h"
#include "client/workspace.h"
#include "io/file.h"
#include "io/mounts.h"
#include "io/path.h"

#define INSTALL_FILE_MAX ((size_t)16 << 20)
#define INSTALL_FOLDER ".claude"

/* ---- the file */

/* WORKSPACE/.claude, allocated. */
static int project_folder(struct ofs_error *err, char **ret)
{
	OFS_CLEANUP(ofs_mounts_finish) struct ofs_mounts mounts = OFS_MOUNTS_INIT;
	OFS_FREE char *cwd = ofs_path_cwd(), *workspace = NULL;
	int r;

	if (!cwd)
		return ofs_error_set(err, ENOENT, "the current directory is gone");
	r = ofs_mounts_read(NULL, &mounts);
	if (r < 0)
		return ofs_error_set(err, -r, "cannot read the list of mounts: %s", strerror(-r));
	workspace = ofs_workspace_find(cwd, &mounts);
	*ret = ofs_path_join(workspace, INSTALL_FOLDER);
	return 0;
}

static int user_folder(struct ofs_error *err, char **ret)
{
	const char *config = getenv("CLAUDE_CONFIG_DIR"), *home = getenv("HOME");

	if (config && config[0] == '/') {
		*ret = ofs_strdup(config);
		return 0;
	}
	if (!home || home[0] != '/')
		return ofs_error_set(err, ENOENT, "HOME is not set, so there is no settings file");
	*ret = ofs_path_join(home, INSTALL_FOLDER);
	return 0;
}

int ofs_hook_settings_path(enum ofs_hook_place place, struct ofs_error *err, char **ret)
{
	OFS_FREE char *folder = NULL, *path = NULL;
	struct stat st;
	int r = place == OFS_HOOK_USER ? user_folder(err, &folder) : project_folder(err, &folder);

	if (r < 0)
		return r;
	path = ofs_path_join(folder,
			     place == OFS_HOOK_LOCAL ? "settings.local.json" : "settings.json");
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		*ret = realpath(path, NULL);
		return *ret ? 0
			    : ofs_error_set(err, errno, "cannot follow the link '%s': %s", path,
					    strerror(errno));
	}
	*ret = ofs_steal(path);
	return 0;
}

/* The settings as they were read; `st.st_ino` is 0 while there is no file. */
struct settings {
	const char *path;
	struct stat st;
	struct ofs_buf text;
};

static void settings_finish(struct settings *s)
{
	ofs_buf_finish(&s->text);
}

static int settings_look(const char *path, struct stat *ret)
{
	*ret = (struct stat){ 0 };
	if (stat(path, ret) == 0)
		return S_ISREG(ret->st_mode) ? 0 : -EINVAL;
	return errno == ENOENT ? 0 : -errno;
}

static int settings_read(const char *path, struct settings *ret)
{
	int r = settings_look(path, &ret->st);

	ret->path = path;
	if (r == 0 && ret->st.st_ino)
		r = ofs_io_read_file(AT_FDCWD, path, INSTALL_FILE_MAX, &ret->text);
	if (r < 0)
		return ofs_report_failure("cannot read '%s': %s", path,
					  r == -EINVAL ? "it is not a regular file" : strerror(-r));
	return OFS_EXIT_OK;
}

/* A person thinks for a while about an answer; others write meanwhile. */
static bool settings_are_same(const struct settings *s)
{
	struct stat st;

	return settings_look(s->path, &st) == 0 && st.st_ino == s->st.st_ino &&
	       st.st_size == s->st.st_size && st.st_mtim.tv_sec == s->st.st_mtim.tv_sec &&
	       st.st_mtim.tv_nsec == s->st.st_mtim.tv_nsec;
}

/* Makes the temporary file what the settings are to be. */
static int fill_file(int fd, const struct settings *s, const struct ofs_buf *text)
{
	mode_t mask = umask(0);
	int r;

	umask(mask);
	if (s->st.st_ino && (s->st.st_uid != geteuid() || s->st.st_gid != getegid()) &&
	    fchown(fd, s->st.st_uid, s->st.st_gid) < 0)
		return -errno;
	r = ofs_io_chmod(fd, s->st.st_ino ? s->st.st_mode & 07777 : 0666 & ~mask);
	if (r == 0)
		r = ofs_io_pwrite(fd, text->data, text->len, 0);
	return r == 0 ? ofs_io_sync(fd) : r;
}

static int sync_folder(const char *folder)
{
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, folder, O_RDONLY | O_DIRECTORY, 0);

	return fd < 0 ? fd : ofs_io_sync(fd);
}

static int settings_write(const struct settings *s, const struct ofs_buf *text)
{
	OFS_FREE char *folder = ofs_path_parent(s->path), *temp = NULL;
	OFS_CLOSE int fd = -1;
	int r = ofs_path_make(folder, 0777);

	if (r < 0)
		return r;
	if (asprintf(&temp, "%s.XXXXXX", s->path) < 0) {
		temp = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill_file(fd, s, text);
	if (r == 0 && !settings_are_same(s))
		r = -ESTALE;
	if (r == 0)
		r = ofs_io_rename(AT_FDCWD, temp, s->path);
	if (r < 0) {
		ofs_io_unlink(AT_FDCWD, temp);
		return r;
	}
	return sync_folder(folder);
}

/* ---- asking */

/* OFS_EXIT_OK: go on. */
static int ask(bool yes)
{
	char line[16];

	if (yes)
		return OFS_EXIT_OK;
	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return ofs_report_usage("nothing was written: there is no terminal to ask on; say "
					"--yes to go without");
	fputs("Write it? [y/N] ", stderr);
	if (fgets(line, sizeof(line), stdin) && (line[0] == 'y' || line[0] == 'Y'))
		return OFS_EXIT_OK;
	return ofs_report_failure("nothing was written");
}

static int write_asked(const struct settings *s, const struct ofs_buf *text, bool yes)
{
	int r = ask(yes);

	if (r != OFS_EXIT_OK)
		return r;
	r = settings_write(s, text);
	if (r == -ESTALE)
		return ofs_report_failure("'%s' was changed meanwhile; nothing was written, try "
					  "again",
					  s->path);
	if (r < 0)
		return ofs_report_failure("cannot write '%s': %s", s->path, strerror(-r));
	printf("wrote %s\n", s->path);
	return OFS_EXIT_OK;
}

static int report_settings(const char *path, const struct ofs_error *err)
{
	return ofs_report_usage("'%s' was left as it is: %s", path, err->text);
}

int ofs_hook_install(const char *path, const struct ofs_hook_entry *entries, size_t n, bool yes)
{
	OFS_CLEANUP(settings_finish) struct settings s = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_error err;
	bool changed = false;
	int r = settings_read(path, &s);

	if (r != OFS_EXIT_OK)
		return r;
	ofs_buf_append(&text, s.text.data, s.text.len);
	for (size_t i = 0; i < n; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf next = OFS_BUF_INIT;

		r = ofs_hook_entry_add((const char *)text.data, text.len, &entries[i], &err, &next);
		if (r < 0)
			return report_settings(path, &err);
		if (r && !changed)
			fprintf(stderr, "In %s:\n", path);
		if (r)
			fprintf(stderr, "  %s for %s\n    %s\n", entries[i].event,
				entries[i].matcher, entries[i].command);
		changed |= r;
		ofs_buf_finish(&text);
		text = next;
		next = (struct ofs_buf)OFS_BUF_INIT;
	}
	if (!changed) {
		printf("%s has it already\n", path);
		return OFS_EXIT_OK;
	}
	r = write_asked(&s, &text, yes);
	if (r == OFS_EXIT_OK)
		puts("Sessions of Claude Code that begin from now on use it.");
	return r;
}

int ofs_hook_uninstall(const char *path, bool yes)
{
	OFS_CLEANUP(settings_finish) struct settings s = { 0 };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_error err;
	int r = settings_read(path, &s);

	if (r != OFS_EXIT_OK)
		return r;
	r = ofs_hook_entry_remove((const char *)s.text.data, s.text.len, &err, &text);
	if (r < 0)
		return report_settings(path, &err);
	if (!r) {
		printf("%s has none of ours\n", path);
		return OFS_EXIT_OK;
	}
	fprintf(stderr, "The hooks of offload are taken out of %s.\n", path);
	return write_asked(&s, &text, yes);
}
