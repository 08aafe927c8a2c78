/* SPDX-License-Identifier: MIT */
/* The items of a snapshot by topic: gathered from new to old, and written within a budget. */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/* In the order in which they are written. */
enum ofs_topic {
	OFS_TOPIC_GOAL, /* what the user asked for */
	OFS_TOPIC_DECISIONS, /* what the model said, and the answers it got */
	OFS_TOPIC_COMMITS,
	OFS_TOPIC_TESTS, /* how they went last */
	OFS_TOPIC_DONE, /* calls that may have changed something */
	OFS_TOPIC_LOOKED, /* calls that have not */
	OFS_TOPIC_FILES,
	OFS_TOPIC_ERRORS,
	OFS_TOPIC_OPEN,
	OFS_TOPIC_NAMES, /* strings from results that were used later; several to a line */
	OFS_TOPIC_REFERENCES, /* what is stored */
	OFS_TOPICS,
};

/* How much an item is worth: what is worth least goes first, and of that the oldest. */
enum ofs_worth {
	OFS_WORTH_LITTLE,
	OFS_WORTH_SOME,
	OFS_WORTH_MUCH,
	OFS_WORTH_MOST,
	OFS_WORTH_FIXED, /* never left out, though it may be shortened */
};

struct ofs_item {
	char *text; /* one line */
	uint64_t key;
	uint64_t order; /* the larger, the newer */
	enum ofs_worth worth;
	uint32_t times;
	bool read, written; /* a file */
	bool over; /* an error: what failed went well later */
	size_t ref; /* a reference: where in `text` the ref starts, and where it ends; else 0 */
	size_t ref_end;
};

struct ofs_item_list {
	struct ofs_item *items;
	size_t n, cap;
	struct ofs_map by_key; /* number + 1 */
};

struct ofs_digest {
	struct ofs_item_list topics[OFS_TOPICS];
};

/* All zeros are an empty digest. Fit for OFS_CLEANUP. */
void ofs_digest_finish(struct ofs_digest *d);

/*
 * Adds an item, whose text is copied and is one line, or counts the one that has the text already.
 * NULL: the topic has enough of newer ones. Else the item, valid until the next is added.
 */
struct ofs_item *ofs_digest_add(struct ofs_digest *d, enum ofs_topic topic, enum ofs_worth worth,
				uint64_t order, const void *text, size_t len);

/* Adds what is stored at `path` (which ends with the ref); `what` may be empty. */
void ofs_digest_refer(struct ofs_digest *d, uint64_t order, const char *path, size_t path_len,
		      const char *what, size_t what_len);

/* Adds the items of an earlier snapshot, as older than all; other lines of it are left out. */
void ofs_digest_read(struct ofs_digest *d, const char *text, size_t len);

/* Appends the topics that have items, in at most `max_tokens` and what refs take. */
void ofs_digest_write(const struct ofs_digest *d, uint64_t max_tokens, struct ofs_buf *out);
