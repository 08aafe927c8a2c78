/* SPDX-License-Identifier: MIT */
/*
 * Reads what `offload top` shows from a tree, in a child, so that whoever draws never waits for a
 * tree that does not answer.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "client/target.h"

struct ofs_top_sampler {
	pid_t pid; /* 0: there is no child */
	int fd; /* a socket to it */
	struct ofs_buf in; /* received of its next answer */
	int64_t heard; /* when it was last asked or heard; monotonic, ns */
	bool asked; /* an answer is due */
	bool slow; /* it may take long, as it opens a store */
};

/* The questions. */
#define OFS_TOP_SAMPLE "sample" /* as soon as possible; what takes longer comes with the next one */
#define OFS_TOP_WHOLE "whole" /* everything */
#define OFS_TOP_SUMMARY "summary " /* followed by the path of a file */

/* Starts the child. It alone borrows the strings in `options`. 0 or -errno. */
int ofs_top_sampler_start(struct ofs_top_sampler *s, const struct ofs_target_options *options);

/* Ends the child, if there is one, whatever it is doing. */
void ofs_top_sampler_stop(struct ofs_top_sampler *s);

/* Asks, unless an answer is due. 0 or -errno. */
int ofs_top_sampler_ask(struct ofs_top_sampler *s, const char *what);

/*
 * Takes the answer when `fd` is readable. Returns 0 and an object that the caller owns, -EAGAIN if
 * the answer is not complete, or -EPIPE if the child has ended. For a sample the object has
 *
 *   store, mounted (where; null: it is not), status (status.json), log (the new lines, the newest
 *   last) and, if they are new, tiers (of each tier and category), tasks and agents (rows of
 *   ofs_savings_sum()). A store that is not mounted and was already shown has no status.
 *
 * For a summary it has "text". Any failure has "error".
 */
int ofs_top_sampler_take(struct ofs_top_sampler *s, json_t **ret);
