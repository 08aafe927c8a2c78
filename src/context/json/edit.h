/* SPDX-License-Identifier: MIT */
/* Changes to a text that is read in place: it is written out once, with them, and never built in memory. */
#ifndef OFS_CONTEXT_JSON_EDIT_H
#define OFS_CONTEXT_JSON_EDIT_H

#include <stddef.h>

#include "base/buf.h"
#include "context/json/span.h"

/* Where bytes go. write() returns 0 or -errno, which ends the writing. */
struct ofs_sink {
	int (*write)(void *arg, const void *data, size_t len);
	void *arg;
};

/* A sink that appends to a buffer. */
struct ofs_sink ofs_sink_to_buf(struct ofs_buf *buf);

struct ofs_edit {
	const char *at;
	size_t len; /* bytes there that are left out */
	struct ofs_buf text; /* what stands there instead */
};

struct ofs_edits {
	struct ofs_edit *list;
	size_t n, cap;
};

void ofs_edits_finish(struct ofs_edits *e);

/*
 * Puts `text`, which is taken, in the place of a part of the source; a part of no length is a place where it is
 * put in. Parts do not overlap, and no two begin at the same place.
 */
void ofs_edits_replace(struct ofs_edits *e, struct ofs_span part, struct ofs_buf *text);

/* To be called once behind the last change, before anything is written. */
void ofs_edits_sort(struct ofs_edits *e);

/* Writes the source from `start` up to `end` with the changes that begin there. 0 or -errno. */
int ofs_edits_write(const struct ofs_edits *e, const char *start, const char *end,
		    const struct ofs_sink *sink);

#endif
