/* SPDX-License-Identifier: MIT */
/*
 * Memory outside a tree: files of it with their names, attributes, origins, times and refs in an
 * archive (io/archive.h), whose first member, OFS_BUNDLE_MANIFEST, says what is in it.
 */
#pragma once

#include <jansson.h>

#include "client/backend.h"
#include "io/archive.h"

#define OFS_BUNDLE_MANIFEST ".offload-export.json"
#define OFS_BUNDLE_FORMAT 1

/* The path is one of memory, not of what a tree makes up: cache/..., agents/NAME/tasks/..., agents. */
bool ofs_bundle_is_place(const char *path);

/* The SHA-256 of a file, in hex: as the tree knows it, else by reading. 0 or -errno. */
int ofs_bundle_hash(struct ofs_backend *b, const char *path, char ret[65]);

/* Progress, and whether to go on: a nonzero return ends the work with -EINTR. */
typedef int (*ofs_bundle_step)(void *arg, uint64_t bytes, uint64_t total);

struct ofs_export {
	const char *task; /* NULL: none */
	const char *const *paths; /* in the tree, or refs; with neither, all but agents' trees */
	size_t npaths;
	ofs_bundle_step step; /* may be NULL */
	void *arg;
	/* The result. */
	uint64_t files, directories, links, bytes;
};

/* Writes them to `fd`. The same tree gives the same bytes. 0 or -errno. */
int ofs_export(struct ofs_backend *b, struct ofs_export *e, int fd, struct ofs_error *err);

struct ofs_import {
	ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off); /* as pread(2) */
	void *read_arg;
	const char *dest; /* a directory in the tree; "": the paths in the archive are those in it */
	enum ofs_import_taken {
		OFS_IMPORT_REFUSE,
		OFS_IMPORT_SKIP,
		OFS_IMPORT_REPLACE,
		OFS_IMPORT_RENAME,
	} taken; /* what becomes of a file whose name has another content here */
	bool dry_run;
	uint64_t room; /* bytes that the disk has for it */
	ofs_bundle_step step; /* may be NULL */
	void *arg;
	/* The result, borrowed by nobody: an array of objects, one for each member. */
	json_t *items;
};

/*
 * Everything is looked at first, and nothing changes before all of it is sound. On failure what was
 * brought is taken away again. 0 or -errno.
 */
int ofs_import(struct ofs_backend *b, struct ofs_import *i, struct ofs_error *err);
