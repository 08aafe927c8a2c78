/* SPDX-License-Identifier: MIT */
/*
 * The seam where messages were taken out of a chat: the snapshot that replaces them in the system's
 * text, and the file that holds them. Compressing and restoring both use this.
 *
 * The file is a JSON object with a line for each message:
 *
 *     {"kept": 2, "earlier": false, "separators": ", ", "system": null, "messages": [
 *     {"role": "user", ...},
 *     ...
 *     ]}
 *
 * `messages` are those that preceded the ones that stayed, unchanged. `separators` is the text
 * after each of them, or an array if it differs. On restoring they replace `kept` messages at the
 * start of the list, not counting prefetched ones. `earlier`: the system's text had a snapshot at
 * that time, too (anything else that looks like one is ordinary text). `system` is what stood
 * beside the list, if that was changed.
 */
#pragma once

#include "context/chat/chat.h"
#include "context/chat/mark.h"
#include "context/json/edit.h"
#include "context/manage/shelf.h"

/* The last snapshot in a text; positions are in bytes. */
struct ofs_snapshot_place {
	size_t start; /* includes the blank line before it */
	size_t inside, inside_len; /* the text between its tags */
	size_t end;
	char ref[OFS_MARK_REF_MAX + 1];
	char tag[OFS_MARK_TAG + 1]; /* as written; not verified */
};

/* Finds the last snapshot, which other text may follow. Returns false if there is none. */
bool ofs_seam_find(const void *text, size_t len, struct ofs_snapshot_place *ret);

/* Returns 1 if the snapshot was made for this store, else 0, or -errno with the reason in `err`. */
int ofs_seam_is_ours(const struct ofs_snapshot_place *place, struct ofs_shelf *shelf,
		     struct ofs_error *err);

/* Appends a snapshot of `messages` messages to the system's text; `start`: if that is empty. */
void ofs_seam_write_snapshot(const void *inside, size_t len, size_t messages, const char *path,
			     const char *tag, bool start, struct ofs_buf *out);

/* Returns the string of the system's text, to which a snapshot is or can be added, or no value. */
struct ofs_span ofs_seam_system(const struct ofs_chat *chat);

/* Returns the number of system messages at the start of the list. */
size_t ofs_seam_head(const struct ofs_chat *chat);

/* The content of a file to be written. */
struct ofs_seam_draft {
	const struct ofs_chat *chat;
	const struct ofs_edits *edits; /* edits of the chat, sorted */
	size_t end; /* the messages before this one are written */
	size_t kept; /* messages before `end`, or inserted there, that stay */
	bool earlier;
	bool system; /* include what stands beside the list */
};

/* Returns 0 or the sink's -errno. */
int ofs_seam_write_file(const struct ofs_seam_draft *draft, const struct ofs_sink *sink);

/* The content of a file; spans point into its text. */
struct ofs_seam_file {
	size_t kept;
	bool earlier;
	struct ofs_span separators;
	struct ofs_span system; /* no value: unchanged */
	struct ofs_span messages;
};

/* Returns -EINVAL if the text is not such a file. */
int ofs_seam_read_file(const void *text, size_t len, struct ofs_seam_file *ret);

/*
 * Appends the file's messages as they stood in the list, each with its separator. Returns -EINVAL
 * if separators are missing.
 */
int ofs_seam_write_messages(const struct ofs_seam_file *file, struct ofs_buf *out);
