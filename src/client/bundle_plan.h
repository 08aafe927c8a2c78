/* SPDX-License-Identifier: MIT */
/*
 * An import under way. An archive is read twice. First it is checked as a whole, and it is decided
 * what becomes of each member (bundle_plan.c). Then the files are written under names of their own,
 * in the working tier, so that what a death leaves there expires; and at last each is moved to its
 * place (bundle_import.c). A file that was promoted goes the way that it went then, from the
 * directory of its task or category, so that the tree marks it with its origin as it always does.
 */
#pragma once

#include "client/bundle.h"

#define OFS_IMPORT_PREFIX "user.offload." /* of the names of attributes */
#define OFS_IMPORT_STAGE ".offload-import-" /* of the names of files that are not in place yet */
#define OFS_IMPORT_SHA_LEN 64
#define OFS_IMPORT_ZEROS ((size_t)256 << 10)

struct ofs_planned {
	enum {
		OFS_PLAN_MAKE,
		OFS_PLAN_REPLACE,
		OFS_PLAN_THERE, /* with the same content, or a directory */
		OFS_PLAN_SKIP, /* with another one */
		OFS_PLAN_LEAVE, /* a link that leads out of the tree */
	} what;
	enum ofs_member_kind kind;
	char *path; /* where it goes */
	char *stage; /* where it is until then; NULL: it is not yet */
	char *sha; /* of files */
	char *ref; /* that it had; NULL: none */
	char *left; /* what an import that died has left with that ref; else NULL */
	bool ref_free; /* it may get that */
	bool placed;
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
	json_t *by_path; /* the path in the archive -> its place in `plan` */
	json_t *taken; /* paths that the plan makes */
	json_t *made; /* directories that were made, in order */
	uint64_t members, total, bytes;
	uint64_t random;
	char *zeros; /* of OFS_IMPORT_ZEROS */
};

int ofs_import_refused(struct ofs_importing *m, const char *path, const char *why);

/* An error of the tree at `path`, unless one is told already. */
int ofs_import_failed(struct ofs_importing *m, int r, const char *path);

/* The value of user.offload.<name>, allocated; NULL: it has none, or one that is not text. */
char *ofs_member_attribute(const struct ofs_member *member, const char *name);

/*
 * Calls fn(arg, data, len, off, hole) for all of a file's content, with zeros for its holes.
 * -EBADMSG: pieces are not in order or reach beyond its size.
 */
int ofs_import_read(struct ofs_importing *m, const struct ofs_member *member,
		    int (*fn)(void *arg, const void *data, size_t len, uint64_t off, bool hole),
		    void *arg);

/* Allocated: the path without what leads out of the tree; NULL: it would. */
char *ofs_import_path(const char *path);

/* Of a path in the archive, as ofs_import_path() gives it; NULL: the archive has not had it yet. */
struct ofs_planned *ofs_planned_at(struct ofs_importing *m, const char *path);

/* Opens the archive, or opens it again, up to the first member after the manifest. */
int ofs_import_open(struct ofs_importing *m);

/* Checks the archive as a whole, and makes the plan. Nothing changes in the tree. */
int ofs_import_plan(struct ofs_importing *m);
