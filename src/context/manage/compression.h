/* SPDX-License-Identifier: MIT */
/*
 * Putting a summary in the place of the older messages of a chat: a snapshot stands at the end of
 * the system's text, and the messages are on a shelf, with all that is needed to put them back.
 */
#pragma once

#include "context/chat/chat.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"
#include "context/summarizer/summarizer.h"

struct ofs_compression_request {
	const struct ofs_chat *chat;
	const struct ofs_edits
		*edits; /* to the chat, sorted: what is summed up and put away has them */
	const uint64_t *message_tokens; /* of each message, with the edits */
	const struct ofs_summarizer *summarizer; /* NULL: by rule */
	struct ofs_literal_style style; /* of the chat's strings */
	size_t end; /* those from here on stay; of ofs_compression_end() */
	uint64_t group_tokens; /* a summarizer gets so many at a time; 0: all at once */
	uint64_t snapshot_tokens; /* of a summary that is made by rule */
};

/* Which messages go, and what comes instead. */
struct ofs_compression {
	bool *gone; /* for each message */
	size_t removed; /* how many */
	/*
	 * The text of the system: what stands in the place of a part of the source (of no length:
	 * is put in there), or, where the source has none and it has no place in the list, is a
	 * string of its own.
	 */
	struct ofs_span system_part;
	struct ofs_buf system;
	struct ofs_shelved file;
	uint64_t tokens; /* of the whole chat afterwards */
};

/*
 * Where the messages begin that stay: the last `keep` of them, or fewer where those have more than
 * `max_tokens`, but one at least; and with each result its call.
 */
size_t ofs_compression_end(const struct ofs_chat *chat, const uint64_t message_tokens[],
			   size_t keep, uint64_t max_tokens);

/*
 * Decides what goes, makes the summary and puts the messages on the shelf. 1: `ret` tells the
 * changes. 0: nothing would be gained, or the summarizer failed, and `err` says so. -errno, with
 * the reason in `err`.
 */
int ofs_compression_plan(const struct ofs_compression_request *request, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compression *ret);
void ofs_compression_finish(struct ofs_compression *c);

/* Notes the change to the system's text among the others. */
void ofs_compression_apply(struct ofs_compression *c, const struct ofs_chat *chat,
			   struct ofs_edits *edits);

/*
 * Writes the list without its brackets, with the edits (sorted) and without what goes; `c` may be
 * NULL: nothing does. 0 or -errno.
 */
int ofs_compression_write(const struct ofs_compression *c, const struct ofs_chat *chat,
			  const struct ofs_edits *edits, const struct ofs_sink *sink);
