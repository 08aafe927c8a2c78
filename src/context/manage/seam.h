/* SPDX-License-Identifier: MIT */
/*
 * Where messages were taken out of a chat: the snapshot that stands for them in the system's text,
 * and the file that has them, so that both sides of compression agree.
 *
 * The file is a JSON object with a line for each message:
 *
 *     {"kept": 2, "earlier": false, "separators": ", ", "system": null, "messages": [
 *     {"role": "user", ...},
 *     ...
 *     ]}
 *
 * `messages` are those that stood before the ones that stayed, as they were. `separators` is what
 * stood behind each of them, or an array where it was not always the same. `kept` messages at the
 * start of the list, not counting what was fetched in advance, are to be replaced by them.
 * `earlier`: the system's text had a snapshot then, too (what else looks like one is a text).
 * `system` is what stood beside the list, if that was changed.
 */
#pragma once

#include "context/chat/chat.h"
#include "context/chat/mark.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"

/* The last snapshot in a text. */
struct ofs_snapshot_place {
	size_t start; /* in the text, with the blank line before it */
	size_t inside, inside_len; /* what is between its tags */
	size_t end;
	char ref[OFS_MARK_REF_MAX + 1];
	char tag[OFS_MARK_TAG + 1]; /* as it says; it may be another's text */
};

/* Finds it; there may be more text behind it. False: there is none. */
bool ofs_seam_find(const void *text, size_t len, struct ofs_snapshot_place *ret);

/* Whether it was made for this store, as of ofs_shelf_find_mark(). */
int ofs_seam_is_ours(const struct ofs_snapshot_place *place, struct ofs_shelf *shelf,
		     struct ofs_error *err);

/* Appends a snapshot to what a system's text says (`start`: nothing does). */
void ofs_seam_write_snapshot(const void *inside, size_t len, size_t messages, const char *path,
			     const char *tag, bool start, struct ofs_buf *out);

/*
 * The part of a chat that holds the system's text: a string, at whose end a snapshot stands or can
 * be put. Nothing: there is none.
 */
struct ofs_span ofs_seam_system(const struct ofs_chat *chat);

/* Messages at the start of the list that are the system's. */
size_t ofs_seam_head(const struct ofs_chat *chat);

/* A file to be written. */
struct ofs_seam_draft {
	const struct ofs_chat *chat;
	const struct ofs_edits *edits; /* to the chat, sorted */
	size_t end; /* the messages before this number are put there */
	size_t kept; /* of them and what is put in, those that stay */
	bool earlier;
	bool system; /* with what stands beside the list */
};

/* 0 or -errno. */
int ofs_seam_write_file(const struct ofs_seam_draft *draft, const struct ofs_sink *sink);

/* What the file says; spans of its text. */
struct ofs_seam_file {
	size_t kept;
	bool earlier;
	struct ofs_span separators;
	struct ofs_span system; /* nothing: it was not changed */
	struct ofs_span messages;
};

/* -EINVAL: it is not such a file. */
int ofs_seam_read_file(const void *text, size_t len, struct ofs_seam_file *ret);

/* Appends its messages as they stood in the list, with what stood behind each. -EINVAL, too. */
int ofs_seam_write_messages(const struct ofs_seam_file *file, struct ofs_buf *out);
