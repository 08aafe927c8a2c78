/* SPDX-License-Identifier: MIT */
/*
 * The history section of a prompt, for a language model.
 *
 *	# Steps so far, oldest first; read the stored output [ref X] with ...
 *	Earlier, 40 steps: 22 files read, 10 commands (2 failed), ...	<- folded: over the budget
 *	- Ran `make` (exit 2): failed: ...
 *	- refs: k3f9x2 (Read a.c), ...
 *	- Read 4 files: b.c (1.2 KB), c.c (3.0 KB) [ref 9s0d1k], ...	<- a line each, or a group
 *	## From step 53 on, in full
 *	- step_053 Bash {"command":"make"}: Ran make: exit 0, 20 lines output
 *
 * The same steps yield the same bytes, and another step mostly adds to the end, so the cache of the
 * prompt stays valid. For that, steps leave the full part OFS_RECAP_BLOCK at a time, and are folded
 * OFS_RECAP_FOLD at a time.
 */
#pragma once

#include <offloadfs/tree.h>

#include "context/settings.h"
#include "context/steps/step.h"

#define OFS_RECAP_BLOCK 4
#define OFS_RECAP_FOLD 16

struct ofs_recap_info {
	uint64_t tokens_before; /* with all steps in full */
	uint64_t tokens_after;
	bool compacted;
	size_t folded; /* steps reduced to counts, failures and refs */
};

/*
 * Appends the section, which is empty without steps. All steps are shown in full, unless there are
 * more than `s->steps` of them or they exceed `s->tokens` tokens: then only the last `s->keep`, and
 * up to OFS_RECAP_BLOCK - 1 before them. Beyond `s->budget` tokens the oldest are folded; failures
 * and refs always stay, even over the budget. `ret` may be NULL.
 */
void ofs_recap_write(const struct ofs_step_list *steps, const struct ofs_settings *s,
		     struct ofs_buf *out, struct ofs_recap_info *ret);

/*
 * Returns the writer of tasks/TASK/context.md, for the options of a tree. `s` is borrowed; it must
 * stay unchanged as long as the tree is open.
 */
struct ofs_tree_recap ofs_recap_for_tree(const struct ofs_settings *s);
