/* SPDX-License-Identifier: MIT */
/*
 * Gives memory what it must know of a store that has just been opened: the drafts that the index
 * names, and what the journal has from the index's position on. Memory is empty, and nobody else
 * uses it.
 */
#pragma once

#include <offloadfs/error.h>

#include "index/index.h"

struct ofs_store;

/*
 * Opens the journal and replays it over the index, whose meta is `meta`. For a follower it ends
 * before whatever cannot be read. 0 or -errno, with a message.
 */
int ofs_store_replay(struct ofs_store *s, const char *path, const struct ofs_index_meta *meta,
		     struct ofs_error *err);

/* Lays the drafts that the index names over their files. 0 or -errno. */
int ofs_store_load_drafts(struct ofs_store *s);

/* Drops inodes without a name: nobody can hold one across a restart. 0 or -errno. */
int ofs_store_drop_orphans(struct ofs_store *s);
