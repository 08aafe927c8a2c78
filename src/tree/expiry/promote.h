/* SPDX-License-Identifier: MIT */
/*
 * Promotion by the tree itself: of what never expires when its task ends, and of what the user's
 * rule names, which is some patterns, and when: at the end of the task, or after so many reads.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"
#include "base/map.h"
#include "tree/core/tree_state.h"

/* A rule. */
struct ofs_promoter;

/*
 * `match`: patterns as ofs_promote_check_match() takes them. `reads`: after so many; 0: at the end
 * of the task. NULL: there are none.
 */
struct ofs_promoter *ofs_promoter_create(const char *match, uint32_t reads);
void ofs_promoter_destroy(struct ofs_promoter *p);

/*
 * Patterns, separated by commas: CATEGORY/NAME, tag:NAME, title:TITLE, each as of a shell but for
 * the tag. -EINVAL: `must` says what they must be.
 */
int ofs_promote_check_match(const char *text, struct ofs_error *must);

/* "task done": 0; "after 3 reads": 3. -EINVAL: `must` (may be NULL) says what it must be. */
int ofs_promote_parse_when(const char *text, uint32_t *ret, struct ofs_error *must);

/* The rule, if there is one, promotes the file now; `ended`: its task has just ended. */
bool ofs_promote_wants(struct ofs_tree *t, uint64_t ino, bool ended);

/*
 * The file is about to be used, by a read: to be called before ofs_store_use(). Costs nothing where
 * no rule counts reads. True: ofs_promote_settle() has something to do, which is left to a thread.
 */
bool ofs_promote_note_read(struct ofs_tree *t, uint64_t ino);

/* A file was sealed: what its writer left in the kernel's cache hides reads. */
void ofs_promote_note_sealed(struct ofs_tree *t, uint64_t ino);

/* Counts the reads that were noted; to be called every minute, by one thread. True: some file has had as many as it takes. */
bool ofs_promote_settle(struct ofs_tree *t);

/*
 * Appends the path, without a NUL, where the file would go now, after those of `planned`, which it
 * is added to. 0 or -errno.
 */
int ofs_promote_where(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_map *planned,
		      struct ofs_buf *out);

/*
 * Moves a file of the working tier to persistent/CATEGORY/NAME, or, where its name is taken, to the
 * next one of base/name.h; into persistent/ itself where no directory of that name can be used.
 * -EAGAIN: it was used later than `used`, or `guard` has changed.
 */
int ofs_promote_file(struct ofs_tree *t, const struct ofs_attr *file, int64_t used,
		     const struct ofs_expire_guard *guard);
