/* SPDX-License-Identifier: MIT */
/*
 * Checks that the store is still there. Writing to a removed file, or in a directory that was moved
 * away, gives no error, yet nobody finds the data again. A store that is gone is marked as broken:
 * nothing is written to it until the next start.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define OFS_PRESENCE_PARTS 6

struct ofs_store;

struct ofs_presence_part {
	dev_t dev;
	ino_t ino; /* 0: absent at the start */
};

struct ofs_presence {
	/* Constant after the start. */
	char *path; /* absolute; NULL: the store is not checked */
	struct ofs_presence_part parts[OFS_PRESENCE_PARTS];

	_Atomic int64_t looked; /* time of the last check, monotonic */
};

/* Remembers the identity of the store's files. `path` is the store's directory, which is open. */
void ofs_presence_start(struct ofs_store *s, const char *path);

/* Stops all writing. `why` must be a constant; it is logged once. Any lock may be held. */
void ofs_store_break(struct ofs_store *s, const char *why);

/* Checks now. False: the store is broken, for this or another reason. */
bool ofs_store_is_whole(struct ofs_store *s);

/* The same for frequent callers: a change within the last 10 ms may go unnoticed. */
bool ofs_store_was_whole(struct ofs_store *s);
