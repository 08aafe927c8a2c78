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

char *ofs_trust_user_file(const char *name)
{
	const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");

	if (config &&
	    config[0] == '/') /* a relative one is to be ignored, says its specification */
		return ofs_format("%s/" TRUST_FOLDER "/%s", config, name);
	if (!home || home[0] != '/')
		return NULL;
	return ofs_format("%s/.config/" TRUST_FOLDER "/%s", home, name);
}

int ofs_trust_check_file(const char *path, struct ofs_error *err)
{
	struct stat st;

	if (stat(path, &st) < 0) /* a home that the caller may not enter is not his */
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

/* Whether a line of the list is the path. */
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

int ofs_trust_check_store(int fd, const char *path, struct ofs_error *err)
{
	OFS_FREE char *list = NULL;
	struct stat st;
	bool foreign;

	if (fstat(fd, &st) < 0)
		return ofs_error_set(err, errno, "cannot look at '%s': %s", path, strerror(errno));
	foreign = st.st_uid != geteuid();
	if (!foreign && !(st.st_mode & OTHERS_WRITE))
		return 0;
	list = ofs_trust_user_file(TRUST_LIST);
	if (is_trusted(path, list))
		return 0;
	if (!foreign)
		return ofs_error_set(err, EPERM,
				     "others may write to the store '%s' (mode %04o), so it is not "
				     "used; run: chmod go-rwx '%s'",
				     path, st.st_mode & 07777u, path);
	return ofs_error_set(
		err, EPERM,
		"the store '%s' belongs to user %u, so it is not used; to trust it, add "
		"its path as a line to '%s'",
		path, (unsigned int)st.st_uid, list ? list : TRUST_LIST);
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
