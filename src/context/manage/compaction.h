/* SPDX-License-Identifier: MIT */
/*
 * Compaction: takes large results of tools out of a chat. Each is stored, and a pointer replaces it
 * from then on. Only if the chat must still become smaller, and its beginning changes anyway, are
 * pointers made brief.
 */
#pragma once

#include "client/usage.h"
#include "context/chat/chat.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"

struct ofs_compaction_limits {
	/* Results with more tokens are offloaded if a pointer pays; 0: any result. */
	uint64_t result_tokens;
	size_t keep; /* the last results of the chat stay, */
	uint64_t kept_tokens; /* unless they have more tokens than this */
	/*
	 * The messages before this one are summarized next, so their pointers are brief, as nobody
	 * will see them. Among them, short results, and all but the newest few hundred, stay in
	 * their messages.
	 */
	size_t brief;
};

/* What became of a result. */
struct ofs_compacted {
	struct ofs_shelved *file; /* NULL, as for most: not offloaded now */
	struct ofs_buf text; /* replaces it; no data: unchanged */
	uint64_t tokens; /* tokens of the result or its replacement */
};

struct ofs_compaction {
	struct ofs_compacted *list; /* for each result of the chat */
	bool *fixed; /* for each: a pointer, or a short result that was read back */
	size_t n;
	size_t offloaded, shortened;
	/* Results newly offloaded, and results read back since the model's last message. */
	struct ofs_usage usage;
	uint64_t tokens; /* of the whole chat afterwards */
	struct ofs_literal_style style; /* style of the chat's strings */
};

/*
 * Examines a chat, without changing anything. Returns 0, or -errno with the reason in `err`; `ret`
 * must be finished in either case.
 */
int ofs_compaction_begin(const struct ofs_chat *chat, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compaction *ret);

/* Returns the fewest tokens that a plan may leave of a result. */
uint64_t ofs_compaction_least(const struct ofs_compaction *c, size_t result);

/*
 * Decides about each result, and stores those to be offloaded, if a pointer pays. Pointers, and
 * results read back by one, stay. Returns 0, or -errno with the reason in `err`.
 */
int ofs_compaction_plan(struct ofs_compaction *c, const struct ofs_chat *chat,
			const struct ofs_compaction_limits *limits, struct ofs_shelf *shelf,
			struct ofs_error *err);

/*
 * Replaces results and pointers in the messages from `from` on by brief pointers, the largest
 * first, until at least `tokens` are saved. Returns 0, or -errno with the reason in `err`.
 */
int ofs_compaction_squeeze(struct ofs_compaction *c, const struct ofs_chat *chat, size_t from,
			   uint64_t tokens, struct ofs_shelf *shelf, struct ofs_error *err);

/* Adds the changes to `edits`. */
void ofs_compaction_apply(struct ofs_compaction *c, const struct ofs_chat *chat,
			  struct ofs_edits *edits);
void ofs_compaction_finish(struct ofs_compaction *c);
