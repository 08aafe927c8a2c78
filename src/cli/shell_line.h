/* SPDX-License-Identifier: MIT */
/* A command line that is being typed in a shell, up to the cursor. */
#pragma once

#include "base/util.h"

struct ofs_shell_line {
	char **words; /* without quotes; ends with NULL; the last is being typed and may be "" */
	size_t n;
	/*
	 * The shell replaces the last word from this byte of the word without quotes. Not 0 after
	 * an open quote, and after a character that breaks words.
	 */
	size_t from;
	char quote; /* open at the end: ' or "; else 0 */
};

/*
 * Splits a line as a POSIX shell does, but expands nothing. At the characters in `breaks` (NULL:
 * none) the shell's completion starts a new word, as bash does with COMP_WORDBREAKS.
 */
void ofs_shell_line_read(const char *text, const char *breaks, struct ofs_shell_line *ret);

/* Copies words that need no splitting. There must be one. */
void ofs_shell_line_copy(int n, char *const words[], struct ofs_shell_line *ret);

void ofs_shell_line_finish(struct ofs_shell_line *l);

/*
 * Prints what replaces the last word from `from` on to make it `word`, quoted as the open quote
 * requires. Returns false, and prints nothing, if that cannot be written there.
 */
bool ofs_shell_line_print(const struct ofs_shell_line *l, const char *word);
