/* SPDX-License-Identifier: MIT */
/*
 * Marks: texts that stand in messages for what was taken out of them, made so that they are known
 * again. A pointer stands for the result of a tool and ends with "(detailed result is stored in PATH)", a
 * snapshot for messages and ends with "(original messages are stored in PATH)"; PATH leads to refs/.
 */
#ifndef OFS_CONTEXT_CHAT_MARK_H
#define OFS_CONTEXT_CHAT_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/literal.h"

#define OFS_MARK_REF_MAX 8
/* Hex digits of a checksum of what was taken out, as it was written. */
#define OFS_MARK_HASH 8
/* Room for what stands behind the ref: "ja-9f86d081". */
#define OFS_MARK_CODE_MAX (OFS_LITERAL_NAME_MAX + OFS_MARK_HASH + 2)

/* What a pointer says of the string that it stands for. */
struct ofs_mark {
	char ref[OFS_MARK_REF_MAX + 1];
	char hash[OFS_MARK_HASH + 1];
	/* How the string was written; `raw`: the file holds the string itself, with its quotes. */
	struct ofs_literal_style style;
	bool raw;
};

/* How much of a pointer there is. */
enum ofs_mark_detail {
	OFS_MARK_FULL,
	OFS_MARK_BRIEF, /* what it is, how to read it, and a few lines */
	OFS_MARK_BARE, /* one line */
};

/* Whether a text is a pointer of any command: to offload it would hide it behind another. */
bool ofs_mark_is_pointer(const void *text, size_t len);

/* Whether a text is a pointer that can be undone, and what it says. */
bool ofs_mark_find(const void *text, size_t len, struct ofs_mark *ret);

/* What stands behind the ref in a pointer that can be undone. */
void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX]);

/* Appends a pointer (of client/pointer.h, with that code) and its closing line; `path` is that of its ref. */
void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out);

/*
 * Appends a pointer that can be undone with less detail. `instruct`: with a line that tells how to read what
 * is stored. A text that has no more detail than that is appended as it is.
 */
void ofs_mark_shrink(const void *text, size_t len, enum ofs_mark_detail detail, bool instruct,
		     struct ofs_buf *out);

#endif
