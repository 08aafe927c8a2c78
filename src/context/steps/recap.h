/* SPDX-License-Identifier: MIT */
/*
 * The history section of a prompt: what was done so far, for a language model.
 *
 *	# Steps so far, oldest first; read the stored output [ref X] with ...
 *	Earlier, 40 steps: 22 files read, 10 commands (2 failed), ...	<- folded: over the budget
 *	- Ran `make` (exit 2): failed: ...
 *	- refs: k3f9x2 (Read a.c), ...
 *	- Read 4 files: b.c (1.2 KB), c.c (3.0 KB) [ref 9s0d1k], ...	<- a line each, or a group
 *	## The last 3 of 55 steps, in full
 *	- step_053 Bash {"command":"make"}: Ran make: exit 0, 20 lines output
 *
 * The same steps give the same bytes. When a step is added, the text stays what it was up to the last
 * line or group of the older steps, as long as nothing is folded; once it is, the line of counts
 * changes only with every OFS_RECAP_BLOCK-th step or so, as steps are folded that many at a time. So
 * put what changes less often before it in a prompt, and it costs a prompt's cache little.
 */
#ifndef OFS_CONTEXT_STEPS_RECAP_H
#define OFS_CONTEXT_STEPS_RECAP_H

#include "base/buf.h"
#include "context/settings.h"
#include "context/steps/step_list.h"

#define OFS_RECAP_BLOCK 4

/* What became of the steps. */
struct ofs_recap_info {
	uint64_t tokens_before; /* with all of them in full */
	uint64_t tokens_after;
	bool compacted;
	size_t folded; /* those of which only counts, failures and refs are left */
};

/*
 * Appends the section. It has all steps in full unless there are more of them than `s->steps`, or
 * more tokens than `s->tokens`: then the last `s->keep` alone. Over `s->budget` tokens the oldest are
 * folded, as few as that takes; what failed and every ref stay even where that leaves it over the
 * budget. Without steps it is empty. `ret` may be NULL. 0 or -errno.
 */
int ofs_recap_write(const struct ofs_step_list *steps, const struct ofs_settings *s,
		    struct ofs_buf *out, struct ofs_recap_info *ret);

#endif
