/* SPDX-License-Identifier: MIT */
#include "io/path.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "io/file.h"

const char *ofs_path_below(const char *dir, const char *path)
{
	size_t len = strlen(dir);

	while (len && dir[len - 1] == '/')
		len--;
	if (strncmp(dir, path, len) != 0)
		return NULL;
	if (path[len] == '\0')
		return path + len;
	return path[len] == '/' ? path + len + 1 : NULL;
}

char *ofs_path_join(const char *dir, const char *name)
{
	size_t len = strlen(dir);
	char *path = ofs_alloc(len + strlen(name) + 2);

	sprintf(path, "%s%s%s", dir, !*name || (len && dir[len - 1] == '/') ? "" : "/", name);
	return path;
}

char *ofs_path_parent(const char *path)
{
	char *parent = ofs_strdup(path);
	char *slash = strrchr(parent, '/');

	if (slash)
		slash[slash == parent ? 1 : 0] = '\0';
	return parent;
}

char *ofs_path_cwd(void)
{
	return getcwd(NULL, 0);
}

char *ofs_path_absolute(const char *path)
{
	OFS_FREE char *cwd = path[0] == '/' ? ofs_strdup("/") : ofs_path_cwd();
	OFS_FREE char *whole = NULL;
	char *ret, *word, *save = NULL;
	size_t len = 0;

	if (!cwd)
		return NULL;
	whole = ofs_path_join(cwd, path);
	ret = ofs_alloc(strlen(whole) + 2);
	for (word = strtok_r(whole, "/", &save); word; word = strtok_r(NULL, "/", &save)) {
		if (strcmp(word, ".") == 0)
			continue;
		if (strcmp(word, "..") == 0) {
			while (len && ret[--len] != '/')
				;
			ret[len] = '\0';
			continue;
		}
		len += (size_t)sprintf(ret + len, "/%s", word);
	}
	if (!len)
		strcpy(ret, "/");
	return ret;
}

char *ofs_path_real(const char *path)
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

char *ofs_path_display(const char *path)
{
	OFS_FREE char *cwd = ofs_path_cwd();
	const char *rest = cwd ? ofs_path_below(cwd, path) : NULL;

	return ofs_strdup(rest && *rest ? rest : path);
}

int ofs_path_make(const char *path, mode_t mode)
{
	OFS_FREE char *part = ofs_strdup(path);

	for (char *slash = part + 1; (slash = strchr(slash, '/')); *slash++ = '/') {
		struct stat st;
		int r;

		*slash = '\0';
		/* An existing directory may lie in one that is not writable, so check first. */
		r = stat(part, &st) == 0 ? 0 : ofs_io_mkdir(AT_FDCWD, part, mode);
		if (r < 0)
			return r;
	}
	return ofs_io_mkdir(AT_FDCWD, part, mode);
}

int ofs_path_normalize(char *path)
{
	char *from = path, *to = path;

	while (*from) {
		size_t len = strcspn(from, "/");

		if (len == 2 && strncmp(from, "..", 2) == 0)
			return -EINVAL;
		if (len && !(len == 1 && *from == '.')) {
			if (to != path)
				*to++ = '/';
			memmove(to, from, len);
			to += len;
		}
		from += len + (from[len] == '/');
	}
	*to = '\0';
	return 0;
}
