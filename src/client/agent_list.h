/* SPDX-License-Identifier: MIT */
/* The agents whose trees lie in a tree, and their files. */
#pragma once

#include "client/files.h"

/* The top directories of a tree that hold files. Those of the working tier come first. */
#define OFS_AGENT_TOPS 4
#define OFS_AGENT_WORKING_TOPS 2
extern const char *const ofs_agent_tops[OFS_AGENT_TOPS];

/*
 * Calls fn(arg, directory) for each agent in the tree at `dir` ("" is the root), each followed by
 * the agents in its own tree. Stops at the first nonzero result of fn and returns it; else returns
 * 0 or -errno. A missing directory counts as empty.
 */
int ofs_agents_each(struct ofs_backend *b, const char *dir, int (*fn)(void *arg, const char *dir),
		    void *arg);

/* Adds the files of the tree at `dir` to `ret`, without those of agents in it. 0 or -errno. */
int ofs_agents_gather(struct ofs_backend *b, const char *dir, struct ofs_files *ret);

/* Sets *ret to an array of objects, one for each agent: name ("a/b"), state, files, bytes, used. */
int ofs_agents_load(struct ofs_backend *b, json_t **ret);
