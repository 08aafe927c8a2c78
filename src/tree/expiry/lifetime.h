/* SPDX-License-Identifier: MIT */
/* How long a file lives, from its place, its labels and its last use. */
#pragma once

#include "tree/expiry/task.h"
#include "tree/expiry/verdict.h"

/* The facts that follow from the directories above a file. Times are of the age clock. */
struct ofs_lifetime_place {
	bool working;
	const struct ofs_root *root; /* the tree that it is in */
	uint64_t task; /* the directory of its task, 0: none */
	struct ofs_task_end ended; /* when that was */
	int64_t live; /* until when it is live, at least; 0: it was ended, or there is none */
	int64_t used; /* the last change of a directory above it, but for the four trees */
	int64_t used_in_task; /* the same below the directory of its task */
	int64_t ttl; /* of its category, by the directories' names */
};

/*
 * For entries of a tree's directory and of those in it. An agent that was ended is to what is in its
 * tree as a task. 0 or -errno.
 */
int ofs_lifetime_place_init(struct ofs_tree *t, const struct ofs_root *root,
			    struct ofs_lifetime_place *ret);

/*
 * The same for the entries of `dir`, which is called `name` and lies `depth` below the root (1: a
 * category or a task, in the tree `top`); `above` holds for the entries beside it. 0 or -errno.
 */
int ofs_lifetime_place_enter(struct ofs_tree *t, const struct ofs_lifetime_place *above,
			     enum ofs_top top, unsigned int depth, const struct ofs_attr *dir,
			     const char *name, struct ofs_lifetime_place *ret);

/* For the entries of a directory, and for an inode (-ENOENT: it has no name). */
int ofs_lifetime_place_in(struct ofs_tree *t, uint64_t dir, struct ofs_lifetime_place *ret);
int ofs_lifetime_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_lifetime_place *ret);

/* All but step, open, shortage and probation. 0 or -errno. */
int ofs_lifetime_facts(struct ofs_tree *t, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, struct ofs_facts *ret);

/* A wall clock time for one of the age clock, as the two are now. */
int64_t ofs_lifetime_wall_time(struct ofs_tree *t, int64_t age);

/* Appends why a file would go, as a part of a sentence. */
void ofs_lifetime_cause(const struct ofs_facts *f, struct ofs_buf *out);

/* The same for a last use, which may be noted as later than now. */
int64_t ofs_lifetime_used_time(struct ofs_tree *t, int64_t used);

/*
 * Appends one sentence on what becomes of a file for which the verdict was `v` at `at`.
 */
void ofs_lifetime_explain(struct ofs_tree *t, const struct ofs_facts *f, enum ofs_verdict v,
			  int64_t at, struct ofs_buf *out);

/* The same in a word: "kept", "live", "until" (the end of its time) or "evictable". */
const char *ofs_lifetime_word(enum ofs_verdict v);

/*
 * When the time of a file is over, by the wall clock as it is now; OFS_TTL_NEVER: never. `p` is of
 * its directory; NULL: that is looked up.
 */
int ofs_lifetime_end(struct ofs_tree *t, const struct ofs_attr *file,
		     const struct ofs_lifetime_place *p, int64_t *ret);
