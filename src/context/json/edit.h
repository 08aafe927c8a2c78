/* SPDX-License-Identifier: MIT */
/* Edits of JSON that is read in place: the text is written out once with its edits applied. */
#pragma once

#include "context/json/span.h"

/* A destination of bytes. write() returns 0 or -errno, which stops the writing. */
struct ofs_sink {
	int (*write)(void *arg, const void *data, size_t len);
	void *arg;
};

/* A sink that appends to a buffer. */
struct ofs_sink ofs_sink_to_buf(struct ofs_buf *buf);

struct ofs_edit {
	const char *at;
	size_t len; /* bytes replaced */
	struct ofs_buf text; /* the replacement */
};

struct ofs_edits {
	struct ofs_edit *list;
	size_t n, cap;
};

void ofs_edits_finish(struct ofs_edits *e);

/*
 * Replaces a part of the source by `text`, which is taken; with a part of length 0 the text is
 * inserted. Parts must not overlap, and no two may start at the same place.
 */
void ofs_edits_replace(struct ofs_edits *e, struct ofs_span part, struct ofs_buf *text);

/* To be called once after the last edit, before anything is written. */
void ofs_edits_sort(struct ofs_edits *e);

/* Writes the source from `start` to `end` with the edits that start there. 0 or -errno. */
int ofs_edits_write(const struct ofs_edits *e, const char *start, const char *end,
		    const struct ofs_sink *sink);

struct ofs_member_edit {
	const char *name;
	const char *json; /* the new value; NULL removes the member */
};

/*
 * Appends the object on one line with the `n` edits made, all other members byte for byte. Members
 * that the object lacks are not added.
 */
void ofs_member_replace(struct ofs_span object, const struct ofs_member_edit edits[], size_t n,
			struct ofs_buf *out);
