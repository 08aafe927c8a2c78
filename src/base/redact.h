/* SPDX-License-Identifier: MIT */
/*
 * Finds secrets (keys, tokens, passwords) in text to be shown, by their form or by the name that
 * they are assigned to, and replaces each by the mark "[redacted: KIND]". Stored content is never
 * altered.
 *
 * Every function accepts any bytes, runs in linear time and depends on the text alone. Redacting
 * redacted text changes nothing. Only a complete secret is recognised, so redact first, with
 * OFS_REDACT_AHEAD bytes beyond those to be shown, and cut afterwards.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <offloadfs/error.h>

#include "base/buf.h"

/* Bytes that a caller should read beyond the cut. */
#define OFS_REDACT_AHEAD 4096

/* Turns redaction on (the default) or off. Set at start, before any thread exists. */
void ofs_redact_set_enabled(bool on);

/* A list of words, which it owns. Zero-initialised, it is empty. */
struct ofs_redact_words {
	char **at;
	size_t n, cap;
};

void ofs_redact_words_add(struct ofs_redact_words *words, const char *word);
void ofs_redact_words_finish(struct ofs_redact_words *words);

/* A rule of the user's own. The fields mean the same as in gitleaks. */
struct ofs_redact_custom {
	const char *id; /* the KIND in its marks */
	const char *regex; /* PCRE2 syntax */
	/* group that is the secret; 0: the first non-empty group, or the whole match */
	unsigned int group;
	double entropy; /* least entropy of the secret, in bits per byte; 0 for any */
	struct ofs_redact_words keywords; /* one must be near, in any case; if empty, no limit */
	struct ofs_redact_words stopwords; /* must not occur in the secret, in any case */
	struct ofs_redact_words allowed; /* regexes that must not match the secret */
};

/*
 * Adds a rule of the user's own; `rule` is copied. Call it at start, before any thread exists.
 * Returns 0, or -EINVAL and sets *err if a regex is invalid. A match that takes a regex too long is
 * given up.
 */
int ofs_redact_add_rule(const struct ofs_redact_custom *rule, struct ofs_error *err);

/* An iteration over the secrets of a text; defined in base/redact_rules.h. */
struct ofs_redact_scan;
struct ofs_secret;

void ofs_redact_scan_init(struct ofs_redact_scan *s, const char *text, size_t len);

/* Finds the next secret; false at the end. Secrets are ordered, not empty, and do not overlap. */
bool ofs_redact_scan_next(struct ofs_redact_scan *s, struct ofs_secret *ret);

/*
 * Appends `text` with each secret replaced by a mark. A secret of several lines, such as a private
 * key, gets a mark in each, so that the number of lines stays the same. Returns the number of
 * secrets.
 */
int ofs_redact_text(struct ofs_buf *out, const char *text, size_t len);

/*
 * As ofs_redact_text(); also maps the offset *at in `text` to the offset in `out` of the same byte,
 * or of the mark in its place.
 */
int ofs_redact_text_at(struct ofs_buf *out, const char *text, size_t len, size_t *at);

/* As ofs_redact_text() for a C string. The caller frees the result. */
char *ofs_redact_string(const char *text);

/*
 * Redacts the C string in a buffer of `size` bytes (at least 1). Cuts a result that does not fit as
 * ofs_redact_cut() does.
 */
void ofs_redact_line(char *line, size_t size);

/*
 * Returns how many bytes of a redacted text to keep, at most `limit`, without cutting a mark or a
 * UTF-8 character.
 */
size_t ofs_redact_cut(const char *text, size_t len, size_t limit);
