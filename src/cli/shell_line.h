/* SPDX-License-Identifier: MIT */
/* A command line that is being typed in a shell, up to the cursor. */
#pragma once

#include "base/util.h"

struct ofs_shell_line {
	char **words; /* without quotes, up to NULL; the last is being typed and may be "" */
	size_t n;
	/*
	 * What a shell replaces of the last word: from this byte of the word without quotes on. More
	 * than 0 after a quote that is open, and after a character that breaks words.
	 */
	size_t from;
	char quote; /* that is open at the end: ' or "; else 0 */
};

/*
 * Splits a line as a POSIX shell does, and expands nothing. `breaks` (NULL: none) are characters at
 * which the shell's completion begins a new word, as bash's does by COMP_WORDBREAKS.
 */
void ofs_shell_line_read(const char *text, const char *breaks, struct ofs_shell_line *ret);

/* The same of words that need no splitting, which are copied. There must be one. */
void ofs_shell_line_copy(int n, char *const words[], struct ofs_shell_line *ret);

void ofs_shell_line_finish(struct ofs_shell_line *l);

/*
 * Prints what takes the place of the last word from `from` on to make it `word`: quoted as the quote
 * that is open needs it. False: it cannot be written there, and nothing is printed.
 */
bool ofs_shell_line_print(const struct ofs_shell_line *l, const char *word);
