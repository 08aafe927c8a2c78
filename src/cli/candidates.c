/* SPDX-License-Identifier: MIT */
#include "cli/candidates.h"

#include <stdio.h>

#include "base/text.h"

#define ABOUT_MAX 72 /* bytes of a description */

const char *ofs_candidates_typed(const struct ofs_candidates *c)
{
	return c->line->words[c->line->n - 1] + c->before;
}

static bool is_harmless(const char *word)
{
	size_t len = strlen(word);
	int n;

	if (!ofs_text_is_line(word))
		return false;
	for (size_t i = 0; i < len; i += (size_t)n) {
		const unsigned char *p = (const unsigned char *)word + i;
		uint32_t code;

		n = ofs_text_utf8(p, len - i);
		code = ofs_text_code_point(p, n);
		if (ofs_text_deceives(code) || ofs_text_is_hidden(code))
			return false;
	}
	return len;
}

static void print_about(const char *about)
{
	OFS_FREE char *line = ofs_strdup(about);
	size_t len = strlen(line), used;

	for (char *p = line; (p = strchr(p, '\n'));)
		*p = ' ';
	putchar('\t');
	ofs_text_printable(stdout, line, len, false, ABOUT_MAX, &used);
	if (used < len)
		fputs("...", stdout);
}

void ofs_candidates_offer(const struct ofs_candidates *c, const char *value, const char *about)
{
	const char *word = c->line->words[c->line->n - 1], *typed = word + c->before;
	OFS_FREE char *whole = ofs_format("%.*s%s", (int)c->before, word, value);

	if (strncmp(value, typed, strlen(typed)) != 0 || !is_harmless(whole))
		return;
	if (c->quoted && !ofs_shell_line_print(c->line, whole))
		return;
	if (!c->quoted) {
		fputs(whole, stdout);
		if (about && *about)
			print_about(about);
	}
	putchar('\n');
}

void ofs_candidates_offer_words(const struct ofs_candidates *c, const char *const *words)
{
	for (; *words; words++)
		ofs_candidates_offer(c, *words, NULL);
}
