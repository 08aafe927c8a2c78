/* SPDX-License-Identifier: MIT */
/*
 * Compression: replaces the older messages of a chat by a summary. A snapshot goes to the end of
 * the system's text, and the messages go to a shelf with all that is needed to restore them.
 */
#pragma once

#include "context/chat/chat.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"
#include "context/summarizer/summarizer.h"

struct ofs_compression_request {
	const struct ofs_chat *chat;
	const struct ofs_edits *edits; /* of the chat, sorted; applied to all that is stored */
	const uint64_t *message_tokens; /* of each message, after the edits */
	const struct ofs_summarizer *summarizer; /* NULL: by rule */
	struct ofs_literal_style style; /* style of the chat's strings */
	size_t end; /* from ofs_compression_end(): messages from here on stay */
	uint64_t group_tokens; /* input of a summarizer at a time; 0: all at once */
	uint64_t snapshot_tokens; /* size of a summary made by rule */
};

/* The messages that go, and their replacement. */
struct ofs_compression {
	bool *gone; /* for each message */
	size_t removed; /* number of those gone */
	/*
	 * The new text of the system. It replaces this part of the source, or is inserted there if
	 * that is empty. No value: it is a string beside the list.
	 */
	struct ofs_span system_part;
	struct ofs_buf system;
	struct ofs_shelved file;
	uint64_t tokens; /* of the whole chat afterwards */
};

/*
 * Returns the first message that stays. The last `keep` messages stay, or fewer if they have more
 * than `max_tokens`, but at least one; the calls of their results stay as well.
 */
size_t ofs_compression_end(const struct ofs_chat *chat, const uint64_t message_tokens[],
			   size_t keep, uint64_t max_tokens);

/*
 * Selects the messages, makes the summary and stores the messages. Returns 1 with the changes in
 * `ret`; 0 with the reason in `err` if nothing would be gained or the summarizer failed; or -errno
 * with the reason in `err`.
 */
int ofs_compression_plan(const struct ofs_compression_request *request, struct ofs_shelf *shelf,
			 struct ofs_error *err, struct ofs_compression *ret);
void ofs_compression_finish(struct ofs_compression *c);

/*
 * Adds the change of the system's text to `edits`, unless it is a message, which
 * ofs_compression_write() inserts.
 */
void ofs_compression_apply(struct ofs_compression *c, const struct ofs_chat *chat,
			   struct ofs_edits *edits);

/*
 * Writes the list without its brackets, with the sorted edits and without the messages that go; `c`
 * NULL: none go. Returns 0 or the sink's -errno.
 */
int ofs_compression_write(const struct ofs_compression *c, const struct ofs_chat *chat,
			  const struct ofs_edits *edits, const struct ofs_sink *sink);
