/* SPDX-License-Identifier: MIT */
#include "io/trust.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "io/file.h"
#include "io/path.h"

#define TRUST_FOLDER "offloadfs"
#define TRUST_LIST "trusted_stores"
#define TRUST_LIST_MAX ((size_t)1 << 20)
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)
#define OTHERS_ENTER (S_IXGRP | S_IXOTH)

char *ofs_trust_user_file(const char *name)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config && config[0] == '/') /* the specification ignores relative ones */
		return ofs_format("%s/" TRUST_FOLDER "/%s", config, name);
	if (!home || home[0] != '/')
		return NULL;
	return ofs_format("%s/.config/" TRUST_FOLDER "/%s", home, name);
}

/* Returns 1 if the file is the user's own, 0 if it does not exist, or -EPERM. */
static int check_own(const char *path, struct ofs_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0) /* the caller may not even enter another user's home */
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : ofs_error_set(err, errno, "cannot look at '%s': %s", path,
					       strerror(errno));
	if (st.st_uid != geteuid() && st.st_uid != 0)
		return ofs_error_set(err, EPERM, "'%s' belongs to user %u, so it is not used", path,
				     (unsigned int)st.st_uid);
	if (st.st_mode & OTHERS_WRITE)
		return ofs_error_set(err, EPERM,
				     "others may write to '%s', so it is not used; run: chmod go-w "
				     "'%s'",
				     path, path);
	return 1;
}

int ofs_trust_check_file(const char *path, struct ofs_error *err)
{
	OFS_FREE char *folder = ofs_path_parent(path);
	int r = check_own(path, err);

	/* Whoever may write to the directory can link or move any file of the user's into it. */
	return r > 0 ? check_own(folder, err) : r;
}

/* True if a line of the list equals the path. */
static bool is_listed(const char *list, size_t len, const char *path)
{
	const char *end = list + len;

	while (list < end) {
		const char *eol = memchr(list, '\n', (size_t)(end - list));
		size_t n = (size_t)((eol ? eol : end) - list);

		if (n == strlen(path) && memcmp(list, path, n) == 0)
			return true;
		list += n + 1;
	}
	return false;
}

static bool is_trusted(const char *path, const char *list)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	OFS_FREE char *real = ofs_path_real(path);

	return real && list && ofs_trust_check_file(list, NULL) > 0 &&
	       ofs_io_read_file(AT_FDCWD, list, TRUST_LIST_MAX, &text) == 0 &&
	       is_listed(ofs_buf_str(&text), text.len, real);
}

int ofs_trust_open_store(const char *path, struct ofs_error *err)
{
	OFS_CLOSE int fd = ofs_io_open(AT_FDCWD, path, O_PATH | O_DIRECTORY, 0);
	int r;

	if (fd < 0)
		return ofs_error_set(err, -fd, "cannot open the store '%s': %s", path,
				     strerror(-fd));
	r = ofs_trust_check_store(fd, path, err);
	return r < 0 ? r : ofs_steal_fd(&fd);
}

static bool is_own(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & OTHERS_WRITE);
}

/* Returns a part of the store that is not the caller's alone, and its status, or NULL. */
static const char *find_open_part(int fd, struct stat *ret)
{
	static const char *const parts[] = {
		"journal",     "packs",		"index.db", "index.db-wal",
		"search.db",   "search.db-wal", "lock",	    "config.ini",
		"context.ini", "log",		"remote",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(parts); i++)
		if (fstatat(fd, parts[i], ret, AT_SYMLINK_NOFOLLOW) == 0 &&
		    !S_ISLNK(ret->st_mode) && !is_own(ret)) /* links are never followed */
			return parts[i];
	return NULL;
}

int ofs_trust_check_store(int fd, const char *path, struct ofs_error *err)
{
	OFS_FREE char *list = NULL, *what = NULL;
	const char *part = "";
	struct stat st;

	if (fstat(fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot look at '%s': %s", path, strerror(errno));
	/* If only the owner can enter the directory, nobody else can reach the parts. */
	if (is_own(&st) && st.st_mode & OTHERS_ENTER)
		part = find_open_part(fd, &st);
	if (!part || is_own(&st))
		return 0;
	list = ofs_trust_user_file(TRUST_LIST);
	if (is_trusted(path, list))
		return 0;
	what = ofs_path_join(path, part);
	if (st.st_uid == geteuid())
		return ofs_error_set(err, EPERM,
				     "others may write to '%s' (mode %04o), so the store is not "
				     "used; run: chmod go-rwx '%s'",
				     what, st.st_mode & 07777u, what);
	return ofs_error_set(
		err, EPERM,
		"'%s' belongs to user %u, so the store is not used; to trust it, add the store's "
		"path as a line to '%s'",
		what, (unsigned int)st.st_uid, list ? list : TRUST_LIST);
}

int ofs_trust_check_mount(const char *point, uid_t owner, struct ofs_error *err)
{
	OFS_FREE char *list = NULL;

	if (owner == geteuid() || owner == 0)
		return 0;
	list = ofs_trust_user_file(TRUST_LIST);
	if (is_trusted(point, list))
		return 0;
	return ofs_error_set(err, EPERM,
			     "the tree at '%s' was mounted by user %u, who can see what is written "
			     "there; to trust it, add its path as a line to '%s'",
			     point, (unsigned int)owner, list ? list : TRUST_LIST);
}
