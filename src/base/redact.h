/* SPDX-License-Identifier: MIT */
/*
 * Secrets (keys, tokens, passwords) in text that is shown: found by their form or by the name they
 * are assigned to, and replaced by "[redacted: KIND]". Stored content is never altered.
 *
 * Every function takes any bytes, runs in time proportional to their number, and depends on the
 * text alone. Redacting redacted text changes nothing. A secret is found only if all of it is
 * there: first redact, with OFS_REDACT_AHEAD bytes after those that will be shown, then cut.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "base/buf.h"

/* Bytes after the cut that a caller should have read. */
#define OFS_REDACT_AHEAD 4096

/* Off: no secrets are found. On by default; set at start, before any thread exists. */
void ofs_redact_set_enabled(bool on);

/* A list of words, each allocated. Begins as zeros. */
struct ofs_redact_words {
	char **at;
	size_t n, cap;
};

void ofs_redact_words_add(struct ofs_redact_words *words, const char *word);
void ofs_redact_words_finish(struct ofs_redact_words *words);

/* A rule of the user's own; the fields mean what they mean to gitleaks. */
struct ofs_redact_custom {
	const char *id; /* the KIND of its marks */
	const char *regex; /* of PCRE2 */
	unsigned int group; /* that is the secret; 0: the first that is not empty, or the whole */
	double entropy; /* that the secret has at least, in bits per byte; 0: any */
	struct ofs_redact_words keywords; /* one, in any case, is near; none of them: anywhere */
	struct ofs_redact_words stopwords; /* none of them is in the secret */
	struct ofs_redact_words allowed; /* no regex of these matches the secret */
};

/*
 * Adds it to the rules there are, at start, before any thread exists. -EINVAL: a regex is wrong, as
 * `err` says. A search that takes a regex too long finds nothing.
 */
int ofs_redact_add_rule(const struct ofs_redact_custom *rule, struct ofs_error *err);

/* The walk over the secrets of a text; see base/redact_rules.h. */
struct ofs_redact_scan;
struct ofs_secret;

void ofs_redact_scan_init(struct ofs_redact_scan *s, const char *text, size_t len);

/* The next secret: in order, not empty, none overlapping another. False: there are no more. */
bool ofs_redact_scan_next(struct ofs_redact_scan *s, struct ofs_secret *ret);

/*
 * Appends `text` with a mark in place of each secret. A private key of several lines gets one in
 * each, so that the text keeps its number of lines. Returns the number of secrets.
 */
int ofs_redact_text(struct ofs_buf *out, const char *text, size_t len);

/* The same, and `at` becomes where the byte at `at`, or the mark in its place, is in `out`. */
int ofs_redact_text_at(struct ofs_buf *out, const char *text, size_t len, size_t *at);

/* Allocated: the same of a NUL-terminated text. */
char *ofs_redact_string(const char *text);

/*
 * Redacts the NUL-terminated text in a buffer of `size` bytes (at least 1). A text that no longer
 * fits is cut as ofs_redact_cut() says.
 */
void ofs_redact_line(char *line, size_t size);

/*
 * How much of a redacted text to keep for at most `limit` bytes, so that no mark and no UTF-8
 * character is cut in two.
 */
size_t ofs_redact_cut(const char *text, size_t len, size_t limit);
