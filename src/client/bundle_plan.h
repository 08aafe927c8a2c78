/* SPDX-License-Identifier: MIT */
/*
 * An import in progress. A first pass over the archive checks all of it and plans what to do with
 * each member (bundle_plan.c). A second one writes the files under temporary names in the working
 * tier, where the leftovers of an import that died expire. Then each file is moved to its place,
 * and the hard links are made (bundle_import.c). A promoted file is moved from the directory of its
 * task or category, as in its promotion, so that the tree records its origin.
 */
#pragma once

#include "client/bundle.h"

#define OFS_IMPORT_PREFIX "user.offload." /* starts the names of attributes */
#define OFS_IMPORT_STAGE ".offload-import-" /* starts the names of files not yet in place */
#define OFS_IMPORT_SHA_LEN 64
#define OFS_IMPORT_ZEROS ((size_t)256 << 10)

struct ofs_planned {
	enum {
		OFS_PLAN_MAKE,
		OFS_PLAN_REPLACE,
		OFS_PLAN_THERE, /* exists with the same content, or is a directory that exists */
		OFS_PLAN_SKIP, /* exists with other content */
		OFS_PLAN_LEAVE, /* a link that leads out of the tree */
	} what;
	enum ofs_member_kind kind;
	char *path; /* destination */
	char *stage; /* temporary path; NULL: not written yet */
	char *sha; /* of files, in hex */
	char *target; /* of symbolic links; of hard links, a path in the archive */
	char *ref; /* ref in the exported tree; NULL: none */
	char *left; /* a file with that ref, left by an import that died; NULL: none */
	bool ref_free; /* the file may get that ref here */
	bool placed; /* is at its destination */
	mode_t mode;
	int64_t mtime;
};

struct ofs_importing {
	struct ofs_backend *b;
	struct ofs_import *i;
	struct ofs_error *err;
	struct ofs_archive *archive;
	struct ofs_planned *plan;
	size_t n, cap;
	json_t *by_path; /* path in the archive -> index in `plan` */
	json_t *taken; /* paths that the plan creates */
	json_t *made; /* directories that were created, in order */
	uint64_t members, total, bytes;
	uint64_t random;
	char *zeros; /* OFS_IMPORT_ZEROS bytes */
};

/* Sets "nothing was imported: '<path>' <why>" and returns -EBADMSG. */
int ofs_import_refused(struct ofs_importing *m, const char *path, const char *why);

/* Reports that `path` failed with `r` (-errno), unless an error is set already. Returns `r`. */
int ofs_import_failed(struct ofs_importing *m, int r, const char *path);

/* Returns the value of user.offload.<name>, allocated; NULL if it is missing, empty or not text. */
char *ofs_member_attribute(const struct ofs_member *member, const char *name);

/*
 * Calls fn(arg, data, len, off, hole) for the whole content of a file, with zeros for its holes.
 * -EBADMSG: pieces are out of order or exceed the size; or another -errno.
 */
int ofs_import_read(struct ofs_importing *m, const struct ofs_member *member,
		    int (*fn)(void *arg, const void *data, size_t len, uint64_t off, bool hole),
		    void *arg);

/* Returns the normalized path, allocated; NULL if it is none that a tree stores. */
char *ofs_import_path(const char *path);

/* Finds the member with that path (from ofs_import_path()); NULL: the archive has had none yet. */
struct ofs_planned *ofs_planned_at(struct ofs_importing *m, const char *path);

/* Opens or reopens the archive at the first member after the manifest. 0 or -errno. */
int ofs_import_open(struct ofs_importing *m);

/* Checks the whole archive and makes the plan. Changes nothing in the tree. 0 or -errno. */
int ofs_import_plan(struct ofs_importing *m);
