/* SPDX-License-Identifier: MIT */
/* How long a file lives, by its place, its labels and its last use. */
#pragma once

#include "tree/expiry/task.h"
#include "tree/expiry/verdict.h"

/* The facts that follow from the directories above a file. Times are of the age clock. */
struct ofs_lifetime_place {
	bool working;
	const struct ofs_root *root; /* the tree that contains it */
	uint64_t task; /* the directory of its task; 0: none */
	struct ofs_task_end ended; /* when the task was ended */
	int64_t live; /* the task is live until then at least; 0: ended, or no task */
	int64_t used; /* last change of a directory above it, not counting top directories */
	int64_t used_in_task; /* the same below the directory of its task */
	int64_t ttl; /* lifetime of its category, by the directories' names */
};

/*
 * Sets the facts for entries of a tree's directory and of its top directories. For everything in
 * its tree, an agent that was ended counts as an ended task. Returns 0 or -errno.
 */
int ofs_lifetime_place_init(struct ofs_tree *t, const struct ofs_root *root,
			    struct ofs_lifetime_place *ret);

/*
 * Sets the facts for entries of `dir`, which is called `name` and lies `depth` below the top
 * directory `top` (1: it is a category or a task). `above` holds the facts for the entries beside
 * `dir`. Returns 0 or -errno.
 */
int ofs_lifetime_place_enter(struct ofs_tree *t, const struct ofs_lifetime_place *above,
			     enum ofs_top top, unsigned int depth, const struct ofs_attr *dir,
			     const char *name, struct ofs_lifetime_place *ret);

/* Set the facts for the entries of a directory, and for an inode (-ENOENT: it has no name). */
int ofs_lifetime_place_in(struct ofs_tree *t, uint64_t dir, struct ofs_lifetime_place *ret);
int ofs_lifetime_place_of(struct ofs_tree *t, uint64_t ino, struct ofs_lifetime_place *ret);

/* Sets all facts but step, open, shortage and probation. Returns 0 or -errno. */
int ofs_lifetime_facts(struct ofs_tree *t, const struct ofs_attr *file,
		       const struct ofs_lifetime_place *p, struct ofs_facts *ret);

/* Converts a time of the age clock to the wall clock, as the two are now. */
int64_t ofs_lifetime_wall_time(struct ofs_tree *t, int64_t age);

/* Appends why a file would be removed, as a part of a sentence. */
void ofs_lifetime_cause(const struct ofs_facts *f, struct ofs_buf *out);

/* The same for a last use, which may be noted as later than now. */
int64_t ofs_lifetime_used_time(struct ofs_tree *t, int64_t used);

/* Appends one sentence on what will happen to a file with the verdict `v` at the time `at`. */
void ofs_lifetime_explain(struct ofs_tree *t, const struct ofs_facts *f, enum ofs_verdict v,
			  int64_t at, struct ofs_buf *out);

/* Returns the same in a word: "kept", "live", "until" (the end of its lifetime) or "evictable". */
const char *ofs_lifetime_word(enum ofs_verdict v);

/*
 * Sets *ret to when the lifetime of a file is over, by the present wall clock; OFS_TTL_NEVER:
 * never. `p` are the facts for its directory; if NULL, they are looked up. Returns 0 or -errno.
 */
int ofs_lifetime_end(struct ofs_tree *t, const struct ofs_attr *file,
		     const struct ofs_lifetime_place *p, int64_t *ret);
