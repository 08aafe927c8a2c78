/* SPDX-License-Identifier: MIT */
/*
 * Marks: texts in messages that replace what was taken out, in a form that can be recognised. A
 * pointer replaces the result of a tool and ends with "(detailed result is stored in PATH)", a
 * snapshot replaces messages and ends with "(original messages are stored in PATH)"; PATH leads to
 * refs/.
 *
 * What can be undone has a tag that only somebody with the key of the store can make: a text from
 * elsewhere that imitates a mark is a text.
 */
#pragma once

#include "context/json/literal.h"

#define OFS_MARK_REF_MAX 8
/* Hex digits of a checksum of the removed bytes. */
#define OFS_MARK_HASH 8
#define OFS_MARK_TAG 6
/* Room for the code after the ref: "ja-9f86d081-k2m4x9". */
#define OFS_MARK_CODE_MAX (OFS_LITERAL_NAME_MAX + OFS_MARK_HASH + OFS_MARK_TAG + 3)

/* The string that a pointer replaces. */
struct ofs_mark {
	char ref[OFS_MARK_REF_MAX + 1];
	char hash[OFS_MARK_HASH + 1];
	char tag[OFS_MARK_TAG + 1];
	/* How the string was written; `raw`: the file holds the string itself, with its quotes. */
	struct ofs_literal_style style;
	bool raw;
};

/* Whether a text starts as pointers do: a quick look before others. */
bool ofs_mark_may_be(const void *text, size_t len);

/* Reads what has the form of a pointer that can be undone; false if the text has not. */
bool ofs_mark_read(const void *text, size_t len, struct ofs_mark *ret);

/* The tag of what is said, by the key of a store. */
void ofs_mark_sign(const char *key, const void *said, size_t len, char ret[OFS_MARK_TAG + 1]);

/*
 * The tag that belongs into a pointer, which covers every other byte of it, and its place. False:
 * the text is no pointer that can be undone.
 */
bool ofs_mark_tag(const void *text, size_t len, const char *key, char ret[OFS_MARK_TAG + 1],
		  size_t *ret_at);

/* The code after the ref in a pointer that can be undone. */
void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX]);

/*
 * Appends a pointer of client/pointer.h with that code, and its closing line; `path` is its ref's.
 * The tag in it is still to be set.
 */
void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out);

/*
 * Appends a pointer that has this form as one line, with a tag that is no longer its own; any other
 * text as it is.
 */
void ofs_mark_shrink(const void *text, size_t len, struct ofs_buf *out);
