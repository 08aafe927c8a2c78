/* SPDX-License-Identifier: MIT */
/*
 * The completions of a partly typed word. They are printed as they are found, one to a line,
 * each with a tab and a description. A last line that starts with ':' says what the shell is to
 * offer if there is none (`offload complete`). Names come from others: one that would not stay on
 * its line, or that looks like something else, is left out.
 */
#pragma once

#include "cli/command.h"
#include "cli/shell_line.h"

struct ofs_candidates {
	const struct ofs_shell_line *line;
	size_t before; /* offset in the last word of the part to complete: after "--task=" */
	bool quoted; /* print candidates ready to insert, without descriptions */
	/* Printed last: "files", "dirs" or "command N" (a command starts at word N). */
	char rest[32];
};

/* Returns what has been typed of the part to complete. */
const char *ofs_candidates_typed(const struct ofs_candidates *c);

/*
 * Offers `value` if it starts with what has been typed. `about`, its description, may be NULL. A
 * value that ends with '/', '=', ':' or ',' is to be continued.
 */
void ofs_candidates_offer(const struct ofs_candidates *c, const char *value, const char *about);

/* Offers each word of a list that ends with NULL. */
void ofs_candidates_offer_words(const struct ofs_candidates *c, const char *const *words);

/*
 * Offers values for a placeholder of a usage text, such as TASK (candidate_values.c has a table of
 * them). `option`: it is the value of an option. Asks a tree for a second at most, or for
 * OFFLOAD_TIMEOUT, and changes nothing in it.
 */
void ofs_candidates_offer_values(struct ofs_candidates *c, const char *placeholder, bool option);
