/* SPDX-License-Identifier: MIT */
/* From a call of a tool to the step that stays in a prompt, and its output in the tree. */
#pragma once

#include "client/access.h"
#include "context/settings.h"
#include "context/steps/call.h"
#include "context/steps/step.h"

/* All borrowed. */
struct ofs_reduce_request {
	const struct ofs_settings *settings;
	struct ofs_access *access;
	/* Its history gets the step, and its folder "outputs" the output; NULL: none. */
	const char *task;
	const char *category; /* of offloaded output; NULL: that of the rule */
};

/*
 * Makes the step by the rule for the tool, and stores the output if the rule or the settings say
 * so. The tree is opened when something is stored. The same call and tree give the same step.
 * After a failure the history has no new step, and no part of a file. 0 or -errno with the reason
 * in `err`.
 */
int ofs_reduce(const struct ofs_reduce_request *request, const struct ofs_tool_call *call,
	       struct ofs_error *err, struct ofs_step *ret);
