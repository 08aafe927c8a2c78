/* SPDX-License-Identifier: MIT */
/*
 * Taking large results of tools out of a chat: each is put on a shelf, and a pointer stands in its
 * place. A prompt that is too large all the same gets shorter pointers, the older ones first.
 */
#pragma once

#include "context/chat/chat.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"

struct ofs_compaction_limits {
	uint64_t result_tokens; /* a result with more of them is offloaded */
	uint64_t total_tokens; /* a prompt with more of them has shorter pointers */
	uint64_t bare_tokens; /* and with more than these, bare pointers alone */
	size_t keep; /* results at the end of the chat that stay as they are */
};

/* What became of a result. */
struct ofs_compacted {
	struct ofs_shelved *file; /* NULL, as mostly: it was not offloaded now */
	struct ofs_buf text; /* what stands in its place; no data: itself */
	uint64_t tokens; /* of what stands there */
};

struct ofs_compaction {
	struct ofs_compacted *list; /* for each result of the chat */
	size_t n;
	size_t offloaded, shortened;
	uint64_t tokens; /* of the whole chat afterwards */
	struct ofs_literal_style style; /* in which the chat's strings are written */
};

/*
 * Decides for every result, and puts on the shelf what is to be offloaded; the chat itself is not
 * changed. Whoever calls applies it with ofs_compaction_apply(). What is a pointer already, or was
 * read back by way of one, stays. 0, or -errno with the reason in `err`.
 */
int ofs_compaction_plan(const struct ofs_chat *chat, const struct ofs_compaction_limits *limits,
			struct ofs_shelf *shelf, struct ofs_error *err, struct ofs_compaction *ret);

/* Notes the changes. */
void ofs_compaction_apply(struct ofs_compaction *c, const struct ofs_chat *chat,
			  struct ofs_edits *edits);
void ofs_compaction_finish(struct ofs_compaction *c);
