/* SPDX-License-Identifier: MIT */
/*
 * Taking large results of tools out of a chat: each is put on a shelf, and a pointer stands in its
 * place, from then on and as it is. Only where a chat has to become smaller all the same, and its
 * beginning changes anyway, do pointers become brief.
 */
#pragma once

#include "client/usage.h"
#include "context/chat/chat.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"

struct ofs_compaction_limits {
	/* A result with more of them may be offloaded; 0: every one. */
	uint64_t result_tokens;
	size_t keep; /* results at the end of the chat that stay as they are, */
	uint64_t kept_tokens; /* unless they have more than so many each */
	/*
	 * The messages before this one are summed up at once. Pointers in them are brief, since
	 * nobody will see them. A result that is short, or has hundreds of newer ones behind it,
	 * stays in its message.
	 */
	size_t brief;
};

/* What became of a result. */
struct ofs_compacted {
	struct ofs_shelved *file; /* NULL, as mostly: it was not offloaded now */
	struct ofs_buf text; /* what stands in its place; no data: itself */
	uint64_t tokens; /* of what stands there */
};

struct ofs_compaction {
	struct ofs_compacted *list; /* for each result of the chat */
	bool *fixed; /* for each: it is a pointer, or short and was read back */
	size_t n;
	size_t offloaded, shortened;
	/* Of what was not offloaded before, and what was read back since the model spoke last. */
	struct ofs_usage usage;
	uint64_t tokens; /* of the whole chat afterwards */
	struct ofs_literal_style style; /* in which the chat's strings are written */
};

/*
 * Looks at a chat, of which nothing is taken out yet. 0, or -errno with the reason in `err`. Then,
 * as after a failure, `ret` is to be finished.
 */
int ofs_compaction_begin(const struct ofs_chat *chat, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compaction *ret);

/* The fewest tokens that a plan may leave of a result. */
uint64_t ofs_compaction_least(const struct ofs_compaction *c, size_t result);

/*
 * Decides for every result, and puts on the shelf what is to be offloaded, where a pointer pays.
 * What is a pointer already, or was read back by way of one, stays. 0, or -errno with the reason in
 * `err`.
 */
int ofs_compaction_plan(struct ofs_compaction *c, const struct ofs_chat *chat,
			const struct ofs_compaction_limits *limits, struct ofs_shelf *shelf,
			struct ofs_error *err);

/*
 * Makes brief pointers of results and pointers of the messages from `from` on, the largest first,
 * until at least `tokens` are saved. 0, or -errno with the reason in `err`.
 */
int ofs_compaction_squeeze(struct ofs_compaction *c, const struct ofs_chat *chat, size_t from,
			   uint64_t tokens, struct ofs_shelf *shelf, struct ofs_error *err);

/* Notes the changes; the chat itself is not changed. */
void ofs_compaction_apply(struct ofs_compaction *c, const struct ofs_chat *chat,
			  struct ofs_edits *edits);
void ofs_compaction_finish(struct ofs_compaction *c);
