/* SPDX-License-Identifier: MIT */
/*
 * Text for people, models and programs: numbers, sizes, times, shell words, and bytes of any origin
 * made harmless.
 */
#pragma once

#include <stdio.h>

#include "base/buf.h"

struct json_t;

/* A stream whose output becomes a string. */
struct ofs_text_stream {
	FILE *out;
	char *text;
	size_t len;
};

FILE *ofs_text_open(struct ofs_text_stream *s);
/* Closes it. Allocated: what was written. */
char *ofs_text_close(struct ofs_text_stream *s);

/* "48,213". */
void ofs_text_number(FILE *out, uint64_t n);

/* "1 line", "48,213 lines". */
void ofs_text_count(FILE *out, uint64_t n, const char *noun);

/* "812 bytes", "4.2 KB", "1.3 MB", "20.0 GB": in steps of 1000. */
void ofs_text_size(FILE *out, uint64_t bytes);

/* Appends a time in nanoseconds since 1970 as "2026-01-31T12:00:00Z". */
int ofs_text_time(int64_t ns, struct ofs_buf *out);

/* Appends a duration in one unit or two: "41m", "2h 5m". */
void ofs_text_duration(int64_t ns, struct ofs_buf *out);

/* One word of a shell's command line, quoted only where the shell needs it. */
void ofs_text_shell_word(FILE *out, const char *word);

/* Allocated: the words of a NULL-terminated argv, as they would be typed. */
char *ofs_text_command(const char *const argv[]);

/* The character of `n` bytes at `p`, as ofs_text_utf8() has found it. */
uint32_t ofs_text_code_point(const unsigned char *p, int n);

/* A character that has no width: it is not seen, wherever it is. */
bool ofs_text_is_hidden(uint32_t c);

/*
 * A character that makes a line look as what it is not: DEL and the controls after ASCII, marks of
 * direction, line and paragraph separators, and tags.
 */
bool ofs_text_deceives(uint32_t c);

/* The newlines in a text. */
uint64_t ofs_text_newlines(const void *text, size_t len);

/* The length of the UTF-8 sequence at `p`, 0 when it is invalid, -1 when `len` ends inside it. */
int ofs_text_utf8(const unsigned char *p, size_t len);

/* How many bytes of `text`, from its start, are valid UTF-8; a sequence that `len` cuts is not. */
size_t ofs_text_utf8_prefix(const char *text, size_t len);

bool ofs_text_is_utf8(const char *text);

/* UTF-8 without control characters. */
bool ofs_text_is_line(const char *text);

/*
 * Allocated: `text` as UTF-8 of bounded length. If it is not UTF-8, every byte outside of ASCII
 * is shown as \xNN.
 */
char *ofs_text_readable(const char *text);

/*
 * Where to cut a UTF-8 text of more than `max` bytes in its middle, as the end of a path tells the
 * most: returns the length of what stays before "...", and sets where that begins which stays
 * behind it, at a character each.
 */
size_t ofs_text_middle(const char *text, size_t len, size_t max, size_t *ret_tail);

#define OFS_TEXT_ESC 0x1b

/*
 * The length of the terminal escape sequence at `p`, 0 when there is none, -1 when `len` ends
 * inside it.
 */
int ofs_text_escape(const void *p, size_t len);

/* A sequence that sets colours or the like (ESC [31m) ends before text[at]. */
bool ofs_text_ends_escape(const char *text, size_t at);

/*
 * Prints up to `max` bytes of a form of `data` that is valid UTF-8 on one line: terminal escape
 * sequences are dropped, other control characters shown as ^X, invalid bytes as \xNN, marks of
 * direction, separators of lines and tags as <U+202E>, and nothing is cut in the middle. `more`
 * says that the data continues after `len`: an unfinished sequence at the end is then left out.
 * `out` may be NULL to measure only. Returns the count of bytes printed; `ret_used` is the count of
 * input bytes that they stand for.
 */
size_t ofs_text_printable(FILE *out, const void *data, size_t len, bool more, size_t max,
			  size_t *ret_used);

/* Prints all of a text in that form. */
void ofs_text_line(FILE *out, const char *text);

/* Allocated: what ofs_text_line() writes. */
char *ofs_text_shown(const char *text);

/* Prints `json` as ofs_json_append() does, over several lines. */
int ofs_text_json(FILE *out, struct json_t *json);

/* The one of word(arg, 0), word(arg, 1), ... up to NULL that a misspelt word means; NULL: none. */
const char *ofs_word_nearest(const char *written, const char *(*word)(const void *arg, size_t n),
			     const void *arg);

/* A wall clock time in nanoseconds as text; null for one that cannot be written. */
struct json_t *ofs_json_time(int64_t ns);

/*
 * Appends `json`, which is consumed, in the form of `flags` (see json_dumps()), with what deceives as
 * \uXXXX. 0; -EINVAL: it is NULL or has a string that is not UTF-8.
 */
int ofs_json_append(struct json_t *json, size_t flags, struct ofs_buf *out);

/* Values in values that a message from elsewhere may have: what goes through them is recursive. */
#define OFS_JSON_DEPTH 200

/* The text nests deeper than that; the answer means nothing for a text that is not JSON. */
bool ofs_json_is_deep(const char *text, size_t len);

/* Appends UTF-8 as a JSON string, with what deceives as \uXXXX. */
void ofs_json_append_string(const char *text, struct ofs_buf *out);
