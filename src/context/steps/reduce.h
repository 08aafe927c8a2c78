/* SPDX-License-Identifier: MIT */
/* Reduces a tool call to the step that stays in a prompt, and stores its output in the tree. */
#pragma once

#include "client/access.h"
#include "context/settings.h"
#include "context/steps/call.h"
#include "context/steps/step.h"

/* All members are borrowed. */
struct ofs_reduce_request {
	const struct ofs_settings *settings;
	struct ofs_access *access;
	/* Gets the step in its history, and output in its folder "outputs"; NULL: neither. */
	const char *task;
	const char *category; /* category of offloaded output; NULL: the rule's */
};

/*
 * Makes the step by the rule for the tool, and stores the output if the rule or the settings say
 * so. The tree is opened when something must be stored. The same call and tree yield the same step.
 * Returns 0, or -errno with the reason in `err`; then the history is unchanged.
 */
int ofs_reduce(const struct ofs_reduce_request *request, const struct ofs_tool_call *call,
	       struct ofs_error *err, struct ofs_step *ret);
