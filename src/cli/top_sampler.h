/* SPDX-License-Identifier: MIT */
/*
 * What `offload top` shows, read from a tree by a child: whoever draws never waits for a tree that
 * does not answer.
 */
#pragma once

#include <jansson.h>

#include "base/buf.h"
#include "client/target.h"

struct ofs_top_sampler {
	pid_t pid; /* 0: there is no child */
	int fd; /* of a socket to it */
	struct ofs_buf in; /* what it has said of its next answer */
	int64_t heard; /* when it was asked or said something; monotonic */
	bool asked; /* an answer is due */
	bool slow; /* which may take long: it opens a store */
};

/* What can be asked for. */
#define OFS_TOP_SAMPLE "sample" /* as soon as possible: the next one has what takes longer */
#define OFS_TOP_WHOLE "whole" /* all of it */
#define OFS_TOP_SUMMARY "summary " /* and the path of a file */

/* Starts the child; strings in `options` are borrowed by it alone. 0 or -errno. */
int ofs_top_sampler_start(struct ofs_top_sampler *s, const struct ofs_target_options *options);

/* Ends the child, wherever it is. It may not have been started. */
void ofs_top_sampler_stop(struct ofs_top_sampler *s);

/* Asks, unless an answer is due. 0 or -errno. */
int ofs_top_sampler_ask(struct ofs_top_sampler *s, const char *what);

/*
 * Takes the answer when `fd` can be read: 0 and an object, owned; -EAGAIN: it is not there yet; -EPIPE:
 * the child has ended. To a question for a sample the object is
 *
 *   store, mounted (where; null: at rest), status (status.json), log (the new lines, the newest last)
 *   and, where they are new, tiers (of each tier and category) and tasks and agents (rows as of
 *   ofs_savings_sum()); or, of a store at rest that was shown already, no status;
 *
 * to another "text"; and to any "error" where it failed.
 */
int ofs_top_sampler_take(struct ofs_top_sampler *s, json_t **ret);
