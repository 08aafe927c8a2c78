/* SPDX-License-Identifier: MIT */
/* The items of a snapshot by topic: added from newest to oldest, written within a budget. */
#pragma once

#include "base/buf.h"
#include "base/map.h"

/* In the order of writing. */
enum ofs_topic {
	OFS_TOPIC_GOAL, /* what the user asked for */
	OFS_TOPIC_DECISIONS, /* what the model said, and answers to its questions */
	OFS_TOPIC_COMMITS,
	OFS_TOPIC_TESTS, /* the latest results */
	OFS_TOPIC_DONE, /* calls that may have changed something */
	OFS_TOPIC_LOOKED, /* calls that only read something */
	OFS_TOPIC_FILES,
	OFS_TOPIC_ERRORS,
	OFS_TOPIC_OPEN,
	OFS_TOPIC_NAMES, /* strings from results that were used later; several per line */
	OFS_TOPIC_REFERENCES, /* stored results */
	OFS_TOPICS,
};

/* The worth of an item. The least worth is dropped first, and of that the oldest. */
enum ofs_worth {
	OFS_WORTH_LITTLE,
	OFS_WORTH_SOME,
	OFS_WORTH_MUCH,
	OFS_WORTH_MOST,
	OFS_WORTH_FIXED, /* never dropped, but may be shortened */
};

struct ofs_item {
	char *text; /* one line */
	uint64_t key;
	uint64_t order; /* larger is newer */
	enum ofs_worth worth;
	uint32_t times;
	bool read, written; /* for a file */
	bool over; /* for an error: the same call succeeded later */
	size_t ref; /* for a reference: start of the ref in `text`, and its end; else 0 */
	size_t ref_end;
};

struct ofs_item_list {
	struct ofs_item *items;
	size_t n, cap;
	struct ofs_map by_key; /* key -> index + 1 */
};

struct ofs_digest {
	struct ofs_item_list topics[OFS_TOPICS];
};

/* An empty digest is all zeros. Fit for OFS_CLEANUP. */
void ofs_digest_finish(struct ofs_digest *d);

/*
 * Adds an item with a copy of the text, which is one line, or counts it again if the topic has it
 * already. Returns the item, valid until the next one is added, or NULL if the topic is full of
 * newer ones.
 */
struct ofs_item *ofs_digest_add(struct ofs_digest *d, enum ofs_topic topic, enum ofs_worth worth,
				uint64_t order, const void *text, size_t len);

/* Adds a reference to what is stored at `path`, which ends with the ref. `what` may be empty. */
void ofs_digest_refer(struct ofs_digest *d, uint64_t order, const char *path, size_t path_len,
		      const char *what, size_t what_len);

/* Adds the items of an earlier snapshot, as the oldest of all. Its other lines are ignored. */
void ofs_digest_read(struct ofs_digest *d, const char *text, size_t len);

/* Appends the topics that have items, in at most `max_tokens` plus what the refs need. */
void ofs_digest_write(const struct ofs_digest *d, uint64_t max_tokens, struct ofs_buf *out);
