/* SPDX-License-Identifier: MIT */
#include "replica/scratch.h"

#include <fcntl.h>

#include "base/text.h"
#include "base/util.h"
#include "io/file.h"

int ofs_scratch_make(const char *base, char **ret, struct ofs_error *err)
{
	OFS_FREE char *name = ofs_format("%s-XXXXXX", base);

	if (!mkdtemp(name))
		return ofs_error_set(err, errno, "'%s' cannot be created: %s", name,
				     strerror(errno));
	*ret = ofs_steal(name);
	return 0;
}

static int remove_entry(void *arg, const char *name)
{
	int dirfd = *(int *)arg;
	OFS_CLOSE int fd = ofs_io_open(dirfd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	if (fd < 0)
		return ofs_io_unlink(dirfd, name);
	ofs_io_list(fd, ".", remove_entry, &fd);
	return ofs_io_rmdir(dirfd, name);
}

void ofs_scratch_remove(const char *path)
{
	int cwd = AT_FDCWD;

	remove_entry(&cwd, path);
}
