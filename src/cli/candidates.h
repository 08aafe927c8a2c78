/* SPDX-License-Identifier: MIT */
/*
 * What a word that is being typed can become. It is printed as it is found: a line for each, after
 * a tab what it is, and last a line that begins with ':' and says what else to offer
 * (`offload complete`). Names come from others: one that would not stay on its line, or looks like
 * what it is not, is left out.
 */
#pragma once

#include "cli/command.h"
#include "cli/shell_line.h"

struct ofs_candidates {
	const struct ofs_shell_line *line;
	size_t before; /* what is completed begins at this byte of the last word: "--task=" */
	bool quoted; /* print them as they are to be inserted, without what they are */
	/* Said at the end: "files", "dirs", "command N" (the words from the Nth on are one). */
	char rest[32];
};

/* What is completed, as far as it is typed. */
const char *ofs_candidates_typed(const struct ofs_candidates *c);

/*
 * Offers `value`, where that is what is typed or goes on from there. `about` may be NULL. One that
 * ends with '/', '=', ':' or ',' is to be gone on with.
 */
void ofs_candidates_offer(const struct ofs_candidates *c, const char *value, const char *about);

/* The same of words up to NULL.. */
void ofs_candidates_offer_words(const struct ofs_candidates *c, const char *const *words);

/*
 * Offers what can stand for the placeholder of a usage text, such as TASK: this is the table of
 * them. `option`: as the value of an option. A second at most, or OFFLOAD_TIMEOUT, is spent on
 * asking a tree, and nothing is changed in it.
 */
void ofs_candidates_offer_values(struct ofs_candidates *c, const char *placeholder, bool option);
