/* SPDX-License-Identifier: MIT */
/* The items of a snapshot by topic: gathered, folded where they are the same, and written within a budget. */
#ifndef OFS_CONTEXT_SNAPSHOT_DIGEST_H
#define OFS_CONTEXT_SNAPSHOT_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"

/* In the order in which they are written. */
enum ofs_topic {
	OFS_TOPIC_GOAL,
	OFS_TOPIC_DECISIONS,
	OFS_TOPIC_DONE, /* calls that may have changed something */
	OFS_TOPIC_LOOKED, /* calls that have not */
	OFS_TOPIC_FILES,
	OFS_TOPIC_ERRORS,
	OFS_TOPIC_OPEN,
	OFS_TOPIC_REFERENCES,
	OFS_TOPICS,
};

/* What was done to a file, each counted. */
enum ofs_touch {
	OFS_TOUCH_CREATED,
	OFS_TOUCH_WRITTEN,
	OFS_TOUCH_READ,
	OFS_TOUCH_RUN,
	OFS_TOUCH_DELETED,
	OFS_TOUCHES,
};

/* How much an item is worth: what is worth least goes first, and of that the oldest. */
enum ofs_worth {
	OFS_WORTH_LITTLE,
	OFS_WORTH_SOME,
	OFS_WORTH_MORE,
	OFS_WORTH_MUCH,
	OFS_WORTH_MOST,
	OFS_WORTH_FIXED, /* never left out, though it may be shortened */
};

struct ofs_item {
	char *text;
	uint64_t key;
	uint64_t order; /* the later, the newer */
	enum ofs_worth worth;
	uint32_t times;
	uint32_t touches[OFS_TOUCHES]; /* of files */
	uint64_t cause; /* an error: what is the same for the same call; 0: not known */
	bool over; /* an error: what failed went well later */
	size_t ref; /* a reference: where in `text` the ref begins; 0: it is none */
	size_t ref_end;
};

/* Lines of the goal that are worth most. */
#define OFS_GOAL_LINES 3

/* Items of a topic that are written at most, beside those that are fixed. */
extern const size_t ofs_topic_max[OFS_TOPICS];

struct ofs_item_list {
	struct ofs_item *items;
	size_t n, cap;
	struct ofs_map by_key; /* number + 1 */
};

struct ofs_digest {
	struct ofs_item_list topics[OFS_TOPICS];
	uint64_t order;
};

void ofs_digest_init(struct ofs_digest *d);
void ofs_digest_finish(struct ofs_digest *d);

/* What items with the same text have in common. */
uint64_t ofs_digest_key(const void *text, size_t len);

/* Where the last part of a path begins, and its length. */
const char *ofs_digest_base(const char *path, size_t len, size_t *ret_len);

/* The item of that key, or NULL. It is valid until the next is added. */
struct ofs_item *ofs_digest_find(struct ofs_digest *d, enum ofs_topic topic, uint64_t key);

/*
 * Adds an item, or counts it again where there is one with the key. The text is copied, and is one line. Returns
 * it, valid until the next is added.
 */
struct ofs_item *ofs_digest_add(struct ofs_digest *d, enum ofs_topic topic, uint64_t key,
				enum ofs_worth worth, const void *text, size_t len);

/* Adds a file, or counts what was done to it; an absolute path and the end of it are the same file. */
void ofs_digest_touch(struct ofs_digest *d, const char *path, size_t len, enum ofs_touch touch,
		      uint32_t times);

/* Adds what is stored at `path` (which ends with the ref); `what` may be empty. */
void ofs_digest_refer(struct ofs_digest *d, const char *path, size_t path_len, const char *what,
		      size_t what_len);

/*
 * How much something that was done is worth: a command (it begins with '`') may be repeated more lightly than
 * a call that, say, books a flight.
 */
static inline enum ofs_worth ofs_digest_worth_done(const char *text)
{
	return *text == '`' ? OFS_WORTH_MORE : OFS_WORTH_MUCH;
}

/* Takes in the inside of a snapshot as ofs_digest_write() made it; what is none of it is left out. */
void ofs_digest_read(struct ofs_digest *d, const char *text, size_t len);

/* Appends all topics that have items in at most `max_tokens` and what refs take. 0 or -ENOMEM. */
int ofs_digest_write(const struct ofs_digest *d, uint64_t max_tokens, struct ofs_buf *out);

#endif
