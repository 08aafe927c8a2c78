/* SPDX-License-Identifier: MIT */
/*
 * The log of a tree, wherever that is: a mounted tree is asked for it; that of a store at rest is
 * read where it lies, so that nobody who follows it holds a lock.
 */
#pragma once

#include "client/access.h"

/* Positions that are read at once, at most. */
#define OFS_TRAIL_PAGE (UINT64_C(1) << 20)

struct ofs_trail {
	struct ofs_access access;
	int store; /* the directory of a store at rest */
	uint64_t start, end; /* of the log, when it was opened */
};

#define OFS_TRAIL_INIT       \
	{                    \
		.store = -1, \
	}

/*
 * Finds the log of the tree that the options name, whose strings are borrowed. `agent_dir` is 0, or
 * what it became when the same log was opened before: the number of the agent's directory, to find
 * which a store at rest is opened for a moment. 0 or -errno; it is to be closed all the same.
 */
int ofs_trail_open(struct ofs_trail *t, const struct ofs_target_options *options,
		   uint64_t *agent_dir, struct ofs_error *err);
/* Looks again where the log begins and ends; it is open. 0 or -errno. */
int ofs_trail_refresh(struct ofs_trail *t, uint64_t agent_dir, struct ofs_error *err);
void ofs_trail_close(struct ofs_trail *t);

/* The lines that begin in [from, to), at most a page of it; *ret is allocated. 0 or -errno. */
int ofs_trail_read(struct ofs_trail *t, uint64_t agent_dir, uint64_t from, uint64_t to, char **ret);
