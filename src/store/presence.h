/* SPDX-License-Identifier: MIT */
/*
 * Whether the store is still there. Writing to a file that was removed, or in a directory that was
 * moved away, gives no error, yet nobody finds the data again. A store that is gone is broken:
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
	ino_t ino; /* 0: it was not there */
};

struct ofs_presence {
	/* Constant after the start. */
	char *path; /* absolute; NULL: not looked after */
	struct ofs_presence_part parts[OFS_PRESENCE_PARTS];

	_Atomic int64_t looked; /* monotonic */
};

/* The store is open: remembers what it is made of. */
void ofs_presence_start(struct ofs_store *s, const char *path);

/* Nothing is written from now on. `why` is constant, and told once; any lock may be held. */
void ofs_store_break(struct ofs_store *s, const char *why);

/* Looks now. False: the store is broken, for this or for another reason. */
bool ofs_store_is_whole(struct ofs_store *s);

/* The same for those who ask often: what has changed in the last 10 ms may pass. */
bool ofs_store_was_whole(struct ofs_store *s);
