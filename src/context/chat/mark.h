/* SPDX-License-Identifier: MIT */
/*
 * Marks: texts in messages that replace what was taken out, in a form that can be recognised. A
 * pointer replaces the result of a tool and ends with "(detailed result is stored in PATH)", a
 * snapshot replaces messages and ends with "(original messages are stored in PATH)"; PATH leads to
 * refs/.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "context/json/literal.h"

#define OFS_MARK_REF_MAX 8
/* Hex digits of a checksum of the removed bytes. */
#define OFS_MARK_HASH 8
/* Room for the code after the ref: "ja-9f86d081". */
#define OFS_MARK_CODE_MAX (OFS_LITERAL_NAME_MAX + OFS_MARK_HASH + 2)

/* The string that a pointer replaces. */
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

/* A pointer of any command: it must not be offloaded, as that would hide it in another. */
bool ofs_mark_is_pointer(const void *text, size_t len);

/* Reads a pointer that can be undone; false if the text is none. */
bool ofs_mark_find(const void *text, size_t len, struct ofs_mark *ret);

/* The code after the ref in a pointer that can be undone. */
void ofs_mark_code(const struct ofs_mark *mark, char ret[OFS_MARK_CODE_MAX]);

/*
 * Appends a pointer of client/pointer.h with that code, and its closing line; `path` is its ref's.
 */
void ofs_mark_write(const char *pointer, const char *path, struct ofs_buf *out);

/*
 * Appends a pointer that can be undone with less detail; `instruct` adds a line on how to read
 * stored results. A text that has no more detail is appended unchanged.
 */
void ofs_mark_shrink(const void *text, size_t len, enum ofs_mark_detail detail, bool instruct,
		     struct ofs_buf *out);
