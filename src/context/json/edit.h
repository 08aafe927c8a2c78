/* SPDX-License-Identifier: MIT */
/* Edits of JSON that is read in place. They are applied while the text is written out, once. */
#pragma once

#include "context/json/span.h"

/* A destination of bytes. write() returns 0, or -errno, which stops the writing. */
struct ofs_sink {
	int (*write)(void *arg, const void *data, size_t len);
	void *arg;
};

/* A sink that appends to a buffer. */
struct ofs_sink ofs_sink_to_buf(struct ofs_buf *buf);

struct ofs_edit {
	const char *at;
	size_t len; /* number of bytes replaced */
	struct ofs_buf text; /* the replacement */
};

struct ofs_edits {
	struct ofs_edit *list;
	size_t n, cap;
};

void ofs_edits_finish(struct ofs_edits *e);

/*
 * Replaces a part of the source by `text`, whose content is taken over. A part of length 0 inserts.
 * Parts must not overlap, and no two may start at the same position.
 */
void ofs_edits_replace(struct ofs_edits *e, struct ofs_span part, struct ofs_buf *text);

/* Must be called once, after the last edit and before ofs_edits_write(). */
void ofs_edits_sort(struct ofs_edits *e);

/* Writes the source from `start` to `end` with the edits that start there. Returns 0 or -errno. */
int ofs_edits_write(const struct ofs_edits *e, const char *start, const char *end,
		    const struct ofs_sink *sink);

struct ofs_member_edit {
	const char *name;
	const char *json; /* the new value; NULL removes the member */
};

/*
 * Appends the object with `n` edits made, with no white space between members. Values that are not
 * edited stay byte for byte. Members that the object lacks are not added.
 */
void ofs_member_replace(struct ofs_span object, const struct ofs_member_edit edits[], size_t n,
			struct ofs_buf *out);
