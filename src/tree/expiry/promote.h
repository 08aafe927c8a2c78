/* SPDX-License-Identifier: MIT */
/*
 * Promotion by the tree itself: of files that never expire when their task ends, and of files that
 * the user's rule names. A rule consists of patterns, and of when it acts: at the end of the task,
 * or after a number of reads.
 */
#pragma once

#include <offloadfs/error.h>

#include "base/buf.h"
#include "base/map.h"
#include "tree/core/tree_state.h"

/* A rule. */
struct ofs_promoter;

/*
 * `match`: patterns as of ofs_promote_check_match(). `reads`: the number of reads after which the
 * rule acts; 0: at the end of the task. Returns NULL if there are no patterns.
 */
struct ofs_promoter *ofs_promoter_create(const char *match, uint32_t reads);
void ofs_promoter_destroy(struct ofs_promoter *p);

/*
 * Checks patterns, separated by commas: CATEGORY/NAME, tag:NAME, title:TITLE. All but tags may have
 * wildcards as in a shell. -EINVAL: not valid; `must` says what they must be.
 */
int ofs_promote_check_match(const char *text, struct ofs_error *must);

/* Parses "task done" (0) or "after 3 reads" (3). -EINVAL: `must` (may be NULL) says why. */
int ofs_promote_parse_when(const char *text, uint32_t *ret, struct ofs_error *must);

/* Returns whether the rule, if any, promotes the file now. `ended`: its task has just ended. */
bool ofs_promote_wants(struct ofs_tree *t, uint64_t ino, bool ended);

/*
 * Notes that the file is about to be read; to be called before ofs_store_use(). Costs nothing
 * unless a rule counts reads. Returns true if ofs_promote_settle() must be called, by a thread that
 * may take its time.
 */
bool ofs_promote_note_read(struct ofs_tree *t, uint64_t ino);

/* Notes that a file was sealed: what its writer left in the kernel's cache hides reads. */
void ofs_promote_note_sealed(struct ofs_tree *t, uint64_t ino);

/*
 * Counts the noted reads. To be called every minute, by one thread. Returns true if a file has now
 * been read often enough.
 */
bool ofs_promote_settle(struct ofs_tree *t);

/*
 * Appends the path, without a NUL, to which the file would be promoted now, given that the paths in
 * `planned` are taken, and adds it to them, with the number of the next name to try for a file that
 * has the same. Returns 0 or -errno.
 */
int ofs_promote_where(struct ofs_tree *t, const struct ofs_attr *file, struct ofs_map *planned,
		      struct ofs_buf *out);

/*
 * Moves a file of the working tier to persistent/CATEGORY/NAME, or, if that name is taken, to the
 * next one of base/name.h. If no directory CATEGORY can be used, moves it to persistent/ itself.
 * `numbers`, empty at first, remembers the next name to try for the next file of that name.
 * -EAGAIN: it was used later than `used`, or `guard` has changed.
 */
int ofs_promote_file(struct ofs_tree *t, const struct ofs_attr *file, int64_t used,
		     const struct ofs_expire_guard *guard, struct ofs_map *numbers);
