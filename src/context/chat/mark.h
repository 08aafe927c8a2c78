/* SPDX-License-Identifier: MIT */
/*
 * Marks: recognizable texts in messages that replace what was taken out. A pointer replaces the
 * result of a tool, and ends with "(detailed result is stored in PATH)". A snapshot replaces
 * messages, and ends with "(original messages are stored in PATH)". PATH leads to refs/.
 *
 * A mark that can be undone has a tag that only a holder of the store's key can make. Other texts
 * that look like a mark are ordinary text.
 */
#pragma once

#include "context/json/literal.h"

#define OFS_MARK_REF_MAX 8
/* Hex digits of a checksum of the string removed. */
#define OFS_MARK_HASH 8
#define OFS_MARK_TAG 6
/* Size of a buffer for the code after the ref: "ja-9f86d081-k2m4x9". */
#define OFS_MARK_CODE_MAX (OFS_LITERAL_NAME_MAX + OFS_MARK_HASH + OFS_MARK_TAG + 3)

/* What a pointer says about the string that it replaces. */
struct ofs_mark {
	char ref[OFS_MARK_REF_MAX + 1];
	char hash[OFS_MARK_HASH + 1];
	char tag[OFS_MARK_TAG + 1];
	/* How the string was written. `raw`: the file has the string itself, with its quotes. */
	struct ofs_literal_style style;
	bool raw;
};

/* Returns whether a text starts like a pointer, as a quick first test. */
bool ofs_mark_may_be(const void *text, size_t len);

/* Reads a pointer that has the form of a reversible one. False for other texts. */
bool ofs_mark_read(const void *text, size_t len, struct ofs_mark *ret);

/* Computes the tag of a text with the key of a store, ended by a NUL. */
void ofs_mark_sign(const char *key, const void *said, size_t len, char ret[OFS_MARK_TAG + 1]);

/*
 * Computes the tag that a pointer should have, which covers all its other bytes, and the tag's
 * position in the text. Returns false if the text does not have the form of a reversible pointer.
 */
bool ofs_mark_tag(const void *text, size_t len, const char *key, char ret[OFS_MARK_TAG + 1],
		  size_t *ret_at);

/* Writes the code that follows the ref in a reversible pointer. */
void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX]);

/*
 * Appends a pointer of client/pointer.h, which contains the code, and a closing line with `path`,
 * that of the ref. The tag is yet to be set.
 */
void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out);

/* Appends a reversible pointer as one line, which invalidates its tag; other texts unchanged. */
void ofs_mark_shrink(const void *text, size_t len, struct ofs_buf *out);
