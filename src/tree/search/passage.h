/* SPDX-License-Identifier: MIT */
/* Finding the lines of a text that answer a query best. */
#pragma once

#include "base/buf.h"
#include "tree/search/match.h"

#define OFS_PASSAGES_MAX 3 /* of one text */
#define OFS_SNIPPET_CHARS 160

/* Some lines that follow each other. */
struct ofs_passage {
	uint64_t first, last; /* from 1 */
	uint64_t off; /* offset of line `first` */
	uint64_t line, line_off; /* the line of the snippet, and its offset */
	uint64_t match; /* where what is shown was found */
	uint64_t match_end;
	double score; /* 0 to 1, the more the better */
	struct ofs_buf snippet; /* one line of UTF-8 */
};

/* The matches of a query in a text. To be zeroed before the first scan. */
struct ofs_passages {
	struct ofs_passage list[OFS_PASSAGES_MAX]; /* best first; none overlaps another */
	size_t n;
	/* Of each of the terms, the unwanted ones included. */
	enum ofs_match found[OFS_TERMS_MAX];
	uint32_t count[OFS_TERMS_MAX]; /* how often, up to some thousands */
};

void ofs_passages_finish(struct ofs_passages *p);

/*
 * Scans a part of a text: its bytes from `off` on, which start with line `line`. Parts may
 * come in any order, each once.
 */
void ofs_passages_scan(struct ofs_passages *p, const struct ofs_query *q, const char *text,
		       size_t len, uint64_t off, uint64_t line);

/*
 * Appends about OFS_SNIPPET_CHARS characters of [text, text + len) around the byte `at`, as one
 * line of valid UTF-8 without control characters.
 */
void ofs_snippet_append(struct ofs_buf *out, const char *text, size_t len, size_t at);
