/* SPDX-License-Identifier: MIT */
/* Makes the observation of a call, by the rule for its kind of tool. */
#pragma once

#include "context/steps/observation.h"

/* Observes a call by a rule. Returns 0 or -errno; then, too, `o` needs ofs_observe_finish(). */
int ofs_observe(struct ofs_observing *o, const struct ofs_tool_call *call, enum ofs_tool_rule rule,
		const struct ofs_settings *settings);
void ofs_observe_finish(struct ofs_observing *o);

/* ---- the rules, one for each kind of tool */

void ofs_observe_file(struct ofs_observing *o); /* OFS_TOOL_READ */
void ofs_observe_write(struct ofs_observing *o);
void ofs_observe_list(struct ofs_observing *o);
void ofs_observe_grep(struct ofs_observing *o);
void ofs_observe_search(struct ofs_observing *o);
void ofs_observe_visit(struct ofs_observing *o);
void ofs_observe_shell(struct ofs_observing *o);
