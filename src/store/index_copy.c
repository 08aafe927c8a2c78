/* SPDX-License-Identifier: MIT */
#include "store/index_copy.h"

#include <fcntl.h>
#include <stdio.h>

#include "io/file.h"

static const char *const names[] = { "index.db", "index.db-wal" };
static const char *const others[] = { "search.db", "search.db-wal" }; /* made there */

static int copy(int from, int to, const char *name)
{
	OFS_CLOSE int in = ofs_io_open(from, name, O_RDONLY, 0), out = -1;

	if (in < 0)
		return in;
	out = ofs_io_open(to, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	return out < 0 ? out : ofs_io_copy(in, out, 0);
}

int ofs_index_copy_make(int dirfd, struct ofs_error *err, char **ret)
{
	const char *tmp = getenv("TMPDIR");
	OFS_FREE char *dir = ofs_format("%s/offloadfs-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	OFS_CLOSE int to = -1;
	int r;

	if (!mkdtemp(dir))
		return ofs_error_set(err, errno, "cannot make '%s': %s", dir, strerror(errno));
	to = ofs_io_open(AT_FDCWD, dir, O_RDONLY | O_DIRECTORY, 0);
	r = to < 0 ? to : copy(dirfd, to, names[0]);
	if (r == 0) {
		r = copy(dirfd, to, names[1]);
		r = r == -ENOENT ? 0 : r;
	}
	if (r < 0)
		ofs_error_set(err, -r, "cannot copy the index to '%s': %s", dir, strerror(-r));
	*ret = ofs_steal(dir);
	return r;
}

static void remove_one(const char *dir, const char *name)
{
	OFS_FREE char *path = ofs_format("%s/%s", dir, name);

	unlink(path);
}

void ofs_index_copy_remove(char **dir)
{
	if (!*dir)
		return;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++) {
		remove_one(*dir, names[i]);
		remove_one(*dir, others[i]);
	}
	rmdir(*dir);
	ofs_cleanup_free(dir);
}
