/* SPDX-License-Identifier: MIT */
/* Text for people, models and programs: numbers, sizes, times, shell words, harmless output. */
#pragma once

#include <stdio.h>

#include "base/buf.h"

struct json_t;

/* A stream that writes to a string. */
struct ofs_text_stream {
	FILE *out;
	char *text;
	size_t len;
};

FILE *ofs_text_open(struct ofs_text_stream *s);
/* Closes the stream and returns what was written; the caller frees it. */
char *ofs_text_close(struct ofs_text_stream *s);

/* Prints a number as "48,213". */
void ofs_text_number(FILE *out, uint64_t n);

/* Prints a count as "1 line", "48,213 lines". */
void ofs_text_count(FILE *out, uint64_t n, const char *noun);

/* Prints a size as "812 bytes", "4.2 KB", "1.3 MB", "20.0 GB", in powers of 1000. */
void ofs_text_size(FILE *out, uint64_t bytes);

/* Appends a time in ns since 1970 as "2026-01-31T12:00:00Z"; -ERANGE if the year is too large. */
int ofs_text_time(int64_t ns, struct ofs_buf *out);

/* Appends a duration in nanoseconds in one or two units: "41m", "2h 5m". */
void ofs_text_duration(int64_t ns, struct ofs_buf *out);

/* Prints one word of a shell command, quoted only if necessary. */
void ofs_text_shell_word(FILE *out, const char *word);

/* Returns the words of a NULL-terminated argv as typed in a shell; the caller frees the result. */
char *ofs_text_command(const char *const argv[]);

/* Decodes the character of `n` bytes at `p`; `n` is what ofs_text_utf8() returned. */
uint32_t ofs_text_code_point(const unsigned char *p, int n);

/* True for an invisible character of no width. */
bool ofs_text_is_hidden(uint32_t c);

/*
 * True for a character that makes text look different from what it is: DEL, a C1 control, a
 * direction mark, a line or paragraph separator, or a tag.
 */
bool ofs_text_deceives(uint32_t c);

/* Counts the newlines in a text. */
uint64_t ofs_text_newlines(const void *text, size_t len);

/* Returns the length of the UTF-8 sequence at `p`; 0: invalid; -1: `len` ends inside it. */
int ofs_text_utf8(const unsigned char *p, size_t len);

/* Returns how many bytes at the start of `text` are whole, valid UTF-8 sequences. */
size_t ofs_text_utf8_prefix(const char *text, size_t len);

bool ofs_text_is_utf8(const char *text);

/* True for UTF-8 without C0 controls and DEL. */
bool ofs_text_is_line(const char *text);

/*
 * Returns `text` as UTF-8 of bounded length; the caller frees it. Text that is too long or not
 * UTF-8 has each byte outside ASCII written as \xNN.
 */
char *ofs_text_readable(const char *text);

/*
 * Shortens a UTF-8 text of more than `max` bytes in its middle, keeping more of its end, the most
 * telling part of a path. Returns the length of the part before "..." and sets *ret_tail to the
 * offset of the part after it. No character is cut.
 */
size_t ofs_text_middle(const char *text, size_t len, size_t max, size_t *ret_tail);

#define OFS_TEXT_ESC 0x1b

/* Returns the length of the terminal escape sequence at `p`; 0: none; -1: `len` ends inside it. */
int ofs_text_escape(const void *p, size_t len);

/* True if a sequence such as ESC [31m, which sets a colour, ends right before text[at]. */
bool ofs_text_ends_escape(const char *text, size_t at);

/*
 * Prints `data` as one line of valid UTF-8 of at most `max` bytes. Terminal escape sequences are
 * dropped. Control characters appear as ^X, invalid bytes as \xNN, and direction marks, separators
 * and tags as <U+202E>. Nothing is cut in the middle. With `more`, the data continues after `len`,
 * and an unfinished sequence at the end is left out. `out` may be NULL to measure only. Returns the
 * number of bytes printed and sets *ret_used to the number of input bytes that they represent.
 */
size_t ofs_text_printable(FILE *out, const void *data, size_t len, bool more, size_t max,
			  size_t *ret_used);

/* Prints a whole text in that form. */
void ofs_text_line(FILE *out, const char *text);

/* Returns the output of ofs_text_line(); the caller frees it. */
char *ofs_text_shown(const char *text);

/* Prints `json`, indented, as ofs_json_append() does, and a newline. */
int ofs_text_json(FILE *out, struct json_t *json);

/*
 * Returns the one of word(arg, 0), word(arg, 1), ... up to NULL that `written` misspells, or NULL.
 */
const char *ofs_word_nearest(const char *written, const char *(*word)(const void *arg, size_t n),
			     const void *arg);

/* Returns a wall clock time in nanoseconds as a string, or null if it cannot be represented. */
struct json_t *ofs_json_time(int64_t ns);

/*
 * Appends `json`, formatted by `flags` (see json_dumps()), with deceptive characters as \uXXXX.
 * Consumes `json`. Returns 0, or -EINVAL if it is NULL or contains a string that is not UTF-8.
 */
int ofs_json_append(struct json_t *json, size_t flags, struct ofs_buf *out);

/* As ofs_json_append() with JSON_COMPACT, but keeps deceptive characters, and borrows `json`. */
int ofs_json_append_plain(const struct json_t *json, struct ofs_buf *out);

/* Deepest nesting accepted in JSON from outside, since it is processed recursively. */
#define OFS_JSON_DEPTH 200

/* True if the text nests deeper than that. Meaningless if the text is not JSON. */
bool ofs_json_is_deep(const char *text, size_t len);

/* Appends UTF-8 as a JSON string, with deceptive characters as \uXXXX. */
void ofs_json_append_string(const char *text, struct ofs_buf *out);
