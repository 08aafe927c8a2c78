/* SPDX-License-Identifier: MIT */
/* The agents that have trees in a tree, and their files. */
#pragma once

#include "client/files.h"

/* The directories of a tree that hold files, those of the working tier first. */
#define OFS_AGENT_TOPS 4
#define OFS_AGENT_WORKING_TOPS 2
extern const char *const ofs_agent_tops[OFS_AGENT_TOPS];

/*
 * Calls fn(arg, directory) for each agent in the tree at `dir` (""), and for those in each, which
 * come after it, until it returns what is not 0, which is returned. 0 or -errno.
 */
int ofs_agents_each(struct ofs_backend *b, const char *dir, int (*fn)(void *arg, const char *dir),
		    void *arg);

/* Adds the files of the tree at `dir`, not those of its own agents. 0 or -errno. */
int ofs_agents_gather(struct ofs_backend *b, const char *dir, struct ofs_files *ret);

/* An array of name ("a/b"), state, files, bytes and used of all agents. 0 or -errno. */
int ofs_agents_load(struct ofs_backend *b, json_t **ret);
