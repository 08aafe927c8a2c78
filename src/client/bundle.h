/* SPDX-License-Identifier: MIT */
/*
 * Export and import of memory: an archive (io/archive.h) of a tree's files with their names,
 * attributes, origins, times and refs. Its first member, OFS_BUNDLE_MANIFEST, describes the rest. If
 * fewer members follow than it says, because files vanished meanwhile, a second one at the end has
 * the right number.
 */
#pragma once

#include <jansson.h>

#include "client/backend.h"
#include "io/archive.h"

#define OFS_BUNDLE_MANIFEST ".offload-export.json"
#define OFS_BUNDLE_FORMAT 1

/*
 * True if the path can be exported: it lies in cache, tasks, persistent or archive of a tree or of
 * an agent's tree, or is a directory of agents. False for anything virtual.
 */
bool ofs_bundle_is_place(const char *path);

/* Writes the SHA-256 of a file in hex. Reads the file if the tree has no hash yet. 0 or -errno. */
int ofs_bundle_hash(struct ofs_backend *b, const char *path, char ret[65]);

/* Reports progress in bytes. A nonzero return value ends the work with -EINTR. */
typedef int (*ofs_bundle_step)(void *arg, uint64_t bytes, uint64_t total);

struct ofs_export {
	const char *task; /* NULL: none */
	/* Paths in the tree, or refs. Without a task or paths: all but the trees of agents. */
	const char *const *paths;
	size_t npaths;
	ofs_bundle_step step; /* may be NULL */
	void *arg;
	/* The result. */
	uint64_t files, directories, links, bytes;
	uint64_t left_out; /* of any kind, that were removed or moved meanwhile */
};

/* Writes the archive to `fd`. The same tree always gives the same bytes. 0 or -errno. */
int ofs_export(struct ofs_backend *b, struct ofs_export *e, int fd, struct ofs_error *err);

struct ofs_import {
	ssize_t (*read)(void *arg, void *buf, size_t size, uint64_t off); /* as pread(2) */
	void *read_arg;
	const char *dest; /* the directory in the tree to import into; "": its root */
	enum ofs_import_taken {
		OFS_IMPORT_REFUSE,
		OFS_IMPORT_SKIP,
		OFS_IMPORT_REPLACE,
		OFS_IMPORT_RENAME,
	} taken; /* what to do with a file whose name exists with other content */
	bool dry_run;
	uint64_t room; /* free bytes on the disk */
	ofs_bundle_step step; /* may be NULL */
	void *arg;
	/* The result, owned by the caller: an array of objects, one for each member. */
	json_t *items;
};

/*
 * Imports an archive. Checks all of it before anything changes. On failure the imported files are
 * removed again, but replaced files stay replaced. 0 or -errno.
 */
int ofs_import(struct ofs_backend *b, struct ofs_import *i, struct ofs_error *err);
