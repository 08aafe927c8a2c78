/* SPDX-License-Identifier: MIT */
/*
 * What memory knows when a store has just been opened: the drafts that the index names, and what the
 * journal has from the index's position on. For memory that holds nothing yet, and that nobody else
 * uses.
 */
#pragma once

#include <offloadfs/error.h>

#include "index/index.h"

struct ofs_store;

/*
 * Opens the journal and replays it over the index, of which `meta` is. A follower's ends before
 * whatever cannot be read. 0 or -errno, with a message.
 */
int ofs_store_replay(struct ofs_store *s, const char *path, const struct ofs_index_meta *meta,
		     struct ofs_error *err);

/* Lays the drafts that the index knows over their files. */
int ofs_store_load_drafts(struct ofs_store *s);

/* Drops what has no name: nobody can hold an unlinked file across a restart. */
int ofs_store_drop_orphans(struct ofs_store *s);
