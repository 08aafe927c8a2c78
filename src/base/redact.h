/* SPDX-License-Identifier: MIT */
/*
 * Secrets (keys, tokens, passwords) in text that is shown: found by their form or by the name they
 * are assigned to, and replaced by "[redacted: KIND]". What is stored is never altered.
 *
 * Every function takes any bytes, takes time in proportion to their number whatever they are, and
 * gives the same for the same text. Redacted text redacted again is the same. A secret is seen only
 * when all of it is there: redact first, with OFS_REDACT_AHEAD bytes behind what will be shown, and
 * cut then.
 */
#ifndef OFS_BASE_REDACT_H
#define OFS_BASE_REDACT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"

/* What a caller that cuts should have read behind the cut. */
#define OFS_REDACT_AHEAD 4096

/* Where a secret is; of `password=X` it is X. Only a private key has more than one line. */
struct ofs_secret {
	size_t start;
	size_t len;
	const char *kind; /* static: "github-token", "password", ... */
};

/* A walk over the secrets of a text, which stays the caller's and must not change. */
struct ofs_redact_scan {
	const char *text;
	size_t len;
	size_t at; /* where the last secret ended: what is before it is not looked at again */
	bool key_open; /* the last secret is a private key whose end lies behind the text */

	/* What has been read ahead, so that it is not read again. */
	size_t word_start, word_end; /* bytes without white space, quotes or brackets */
	size_t no_key; /* no private key that began before the text has lines before this */
};

/* Finds secrets or, when off, none. On by default; to be set at start, before any thread exists. */
void ofs_redact_set_enabled(bool on);

void ofs_redact_scan_init(struct ofs_redact_scan *s, const char *text, size_t len);

/* The next secret: in order, not empty, none overlapping another. False: there are no more. */
bool ofs_redact_scan_next(struct ofs_redact_scan *s, struct ofs_secret *ret);

/*
 * Appends `text` with a mark in place of each secret. A private key of several lines gets one in
 * each, so that the text keeps its number of lines. Returns the number of secrets or -ENOMEM (what
 * was appended until then stays).
 */
int ofs_redact_text(struct ofs_buf *out, const char *text, size_t len);

/*
 * Redacts the NUL-terminated text in a buffer of `size` bytes (at least 1). What no longer fits is
 * cut off as ofs_redact_cut() says; without memory, all from the first secret on.
 */
void ofs_redact_line(char *line, size_t size);

/*
 * How much of a redacted text to keep for at most `limit` bytes: no mark and no UTF-8 character is
 * cut in two.
 */
size_t ofs_redact_cut(const char *text, size_t len, size_t limit);

/*
 * For lines that are shown one by one, in order and without a gap: knows whether the next is within
 * a private key.
 */
struct ofs_redact_state {
	bool in_key;
};

/*
 * `ahead` is the text of which the lines will come, as far as it is at hand (may be empty): it
 * tells whether the first of them are the rest of a key that began before.
 */
void ofs_redact_state_init(struct ofs_redact_state *state, const char *ahead, size_t len);

/* As ofs_redact_text(), for one line, with or without its newline. */
int ofs_redact_state_line(struct ofs_redact_state *state, struct ofs_buf *out, const char *line,
			  size_t len);

#endif
