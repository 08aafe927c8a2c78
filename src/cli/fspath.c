/* SPDX-License-Identifier: MIT */
#include "cli/fspath.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/util.h"
#include "io/file.h"
#include "io/path.h"

char *ofs_fspath_real(const char *path)
{
	OFS_FREE char *absolute = NULL, *parent = NULL, *real_parent = NULL;
	char *real = realpath(path, NULL);

	if (real)
		return real;
	absolute = ofs_path_absolute(path);
	if (!absolute)
		return NULL;
	parent = ofs_path_parent(absolute);
	real_parent = realpath(parent, NULL);
	if (!real_parent)
		return ofs_steal(absolute);
	return ofs_path_join(real_parent, strrchr(absolute, '/') + 1);
}

int ofs_fspath_make(const char *path, mode_t mode)
{
	OFS_FREE char *part = ofs_strdup(path);

	for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		struct stat st;
		int r;

		*slash = '\0';
		/* What is there need not be writable, so look before making. */
		r = stat(part, &st) == 0 ? 0 : ofs_io_mkdir(AT_FDCWD, part, mode);
		if (r < 0)
			return r;
	}
	return ofs_io_mkdir(AT_FDCWD, part, mode);
}
