/* SPDX-License-Identifier: MIT */
/* Text for people and models: counts, shell words, and bytes of any origin made harmless. */
#ifndef OFS_CLIENT_TEXT_H
#define OFS_CLIENT_TEXT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* "48,213". */
void ofs_text_number(FILE *out, uint64_t n);

/* "1 line", "48,213 lines". */
void ofs_text_count(FILE *out, uint64_t n, const char *noun);

/* "812 bytes", "4.2 KB", "1.3 MB", "20.0 GB": in steps of 1000. */
void ofs_text_size(FILE *out, uint64_t bytes);

/* One word of a shell's command line, quoted only where the shell needs it. */
void ofs_text_shell_word(FILE *out, const char *word);

/* Allocated: the words of a NULL-terminated argv, as they would be typed. */
char *ofs_text_command(const char *const argv[]);

/*
 * Prints up to `max` bytes of a form of `data` that is valid UTF-8 on one line: terminal escape
 * sequences are dropped, other control characters shown as ^X, invalid bytes as \xNN, and nothing
 * is cut in the middle. `more` says that the data goes on behind `len`: an unfinished sequence at
 * the end is then left out. `out` may be NULL to measure only.
 * Returns the count of bytes printed; `ret_used` is the count of input bytes that they stand for.
 */
size_t ofs_text_printable(FILE *out, const void *data, size_t len, bool more, size_t max,
			  size_t *ret_used);

/* All of a text in that form. */
void ofs_text_line(FILE *out, const char *text);

/* Prints `json`, which is taken, over several lines. 0 or -errno; -EINVAL: it is NULL. */
int ofs_text_json(FILE *out, json_t *json);

/* The length of the UTF-8 sequence at `p`, 0 when it is invalid, -1 when `len` ends inside it. */
int ofs_text_utf8(const unsigned char *p, size_t len);

#endif
