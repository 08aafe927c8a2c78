/* SPDX-License-Identifier: MIT */
/* Files of a tree: those in a directory, however deep. */
#pragma once

#include <sys/stat.h>

#include "client/backend.h"

struct ofs_file {
	char *path; /* in the tree */
	struct stat attr;
};

struct ofs_files {
	struct ofs_file *list;
	size_t count;
	size_t cap;
};

#define OFS_FILES_INIT     \
	{                  \
		NULL, 0, 0 \
	}

void ofs_files_finish(struct ofs_files *f);

/*
 * Adds the regular files in the directory `path` and below it, each directory's in the order of
 * their names, or the file `path` itself. Links are not followed; what goes meanwhile is left out.
 * 0 or -errno.
 */
int ofs_files_gather(struct ofs_backend *b, const char *path, struct ofs_files *f);

/* Adds what is in the directory itself, of any kind, in the order of its names. 0 or -errno. */
int ofs_files_list(struct ofs_backend *b, const char *path, struct ofs_files *f);
