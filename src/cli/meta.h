/* SPDX-License-Identifier: MIT */
/* What a tree knows about one of its files. */
#ifndef OFS_CLI_META_H
#define OFS_CLI_META_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "client/backend.h"

/* Texts are allocated, NULL where the tree has none; numbers are -1 then. */
struct ofs_meta {
	bool is_file;
	char *path; /* in the tree, wherever it was looked up */
	char *ref;
	char *tier;
	char *category;
	char *task;
	char *title;
	char *tags; /* separated by commas */
	char *type; /* MIME type, or "directory" and the like */
	char *sha256; /* once it is sealed */
	char *created; /* ISO 8601, UTC, like those below */
	char *modified;
	char *expires; /* or "never" */
	char *used; /* when it was last used */
	char *ttl; /* "6h", "never" */
	char *lifecycle; /* one sentence: why it is kept, or when it goes */
	int64_t size;
	int64_t lines;
	int64_t tokens; /* an estimate */
	int64_t important; /* 1: it does not expire */
	int64_t stored_bytes;
};

void ofs_meta_finish(struct ofs_meta *m);

/* `attr` is what stat says of it. 0 or -errno. */
int ofs_meta_load(struct ofs_backend *b, const char *path, const struct stat *attr,
		  struct ofs_meta *ret);

#endif
