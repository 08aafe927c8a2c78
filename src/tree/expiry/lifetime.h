/* SPDX-License-Identifier: MIT */
/* What decides how long a file lives, gathered from where it is, its labels and its last use. */
#ifndef OFS_TREE_EXPIRY_LIFETIME_H
#define OFS_TREE_EXPIRY_LIFETIME_H

#include "tree/core/tree_state.h"
#include "tree/expiry/task.h"
#include "tree/expiry/verdict.h"

/* What the directories above a file say. Times are of the age clock. */
struct ofs_lifetime_place {
	bool working;
	uint64_t task; /* the directory of its task, 0: none */
	struct ofs_task_end ended; /* when that was */
	int64_t used; /* the last change of a directory above it, but for the four trees */
	int64_t used_in_task; /* the same below the directory of its task */
	int64_t ttl; /* of its category, by the directories' names */
};

/* Of what lies in the root or in one of the four trees itself. */
void ofs_lifetime_place_init(struct ofs_tree *t, struct ofs_lifetime_place *ret);

/*
 * What holds for the entries of `dir`, which is called `name`, `depth` below the root (1: a category or a task,
 * in the tree `top`), when `above` holds for those beside it. 0 or -errno.
 */
int ofs_lifetime_place_enter(struct ofs_tree *t, const struct ofs_lifetime_place *above,
			     enum ofs_top top, unsigned int depth, const struct ofs_attr *dir,
			     const char *name, struct ofs_lifetime_place *ret);

/* The same from the root on: for what is in a directory, and for an inode (-ENOENT: it has no name). */
int ofs_lifetime_place_in(struct ofs_tree *t, uint64_t dir, struct ofs_lifetime_place *ret);
int ofs_lifetime_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_lifetime_place *ret);

/* All but referenced, open, surplus and probation. 0 or -errno. */
int ofs_lifetime_facts(struct ofs_tree *t, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, struct ofs_facts *ret);

/* A wall clock time for one of the age clock, as the two are now. */
int64_t ofs_lifetime_wall_time(struct ofs_tree *t, int64_t age);

/* Appends why a file would go, as a part of a sentence. */
void ofs_lifetime_cause(const struct ofs_facts *f, struct ofs_buf *out);

/* The same of a last use: that may be noted as later than it was, but was not later than now. */
int64_t ofs_lifetime_used_time(struct ofs_tree *t, int64_t used);

/*
 * Appends one sentence on what becomes of a file for which the verdict was `v` at `at`; `step` is the
 * step that refers to it, for OFS_KEEP_REFERENCED.
 */
void ofs_lifetime_explain(struct ofs_tree *t, const struct ofs_facts *f, enum ofs_verdict v,
			  int64_t at, uint64_t step, struct ofs_buf *out);

/* When the time of a file is over, by the wall clock as it is now; OFS_TTL_NEVER: never. */
int ofs_lifetime_end(struct ofs_tree *t, const struct ofs_attr *file, int64_t *ret);

#endif
