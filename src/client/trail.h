/* SPDX-License-Identifier: MIT */
/*
 * Reads the log of a tree: through the mount, or directly from the files of an unmounted store, so
 * that a process that follows the log holds no lock.
 */
#pragma once

#include "client/access.h"

/* Maximum range of positions that is read at once. */
#define OFS_TRAIL_PAGE (UINT64_C(1) << 20)

struct ofs_trail {
	struct ofs_access access;
	int store; /* directory of an unmounted store, else -1 */
	uint64_t start, end; /* of the log, when last opened or refreshed */
};

#define OFS_TRAIL_INIT       \
	{                    \
		.store = -1, \
	}

/*
 * Finds the log of the tree that the options name, whose strings are borrowed. *agent_dir caches
 * the number of the agent's directory, for which an unmounted store is opened for a moment: it is 0
 * at first, and kept by the caller for later calls. 0 or -errno; `t` must be closed in either case.
 */
int ofs_trail_open(struct ofs_trail *t, const struct ofs_target_options *options,
		   uint64_t *agent_dir, struct ofs_error *err);
/* Updates `start` and `end` of an open log. 0 or -errno. */
int ofs_trail_refresh(struct ofs_trail *t, uint64_t agent_dir, struct ofs_error *err);
void ofs_trail_close(struct ofs_trail *t);

/* Sets *ret to the lines that begin in [from, to), at most a page; allocated. 0 or -errno. */
int ofs_trail_read(struct ofs_trail *t, uint64_t agent_dir, uint64_t from, uint64_t to, char **ret);
