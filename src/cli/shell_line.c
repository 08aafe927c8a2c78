/* SPDX-License-Identifier: MIT */
#include "cli/shell_line.h"

#include <stdio.h>

#include "base/buf.h"

#define BLANKS " \t\n"

static void add_word(struct ofs_shell_line *l, char *word)
{
	l->words = ofs_realloc(l->words, l->n + 2, sizeof(*l->words));
	l->words[l->n++] = word;
	l->words[l->n] = NULL;
}

/* Returns true if a backslash before `c` quotes it. */
static bool is_escapable(char quote, char c)
{
	return c && quote != '\'' && (quote != '"' || strchr("$`\"\\\n", c));
}

/* Reads the word at *text, and moves *text past it. */
static void read_word(const char **text, const char *breaks, struct ofs_shell_line *l)
{
	struct ofs_buf word = OFS_BUF_INIT;
	const char *p = *text;

	l->from = 0;
	l->quote = 0;
	for (; *p && (l->quote || !strchr(BLANKS, *p)); p++) {
		if (*p == '\\' && is_escapable(l->quote, p[1])) {
			ofs_buf_append(&word, ++p, 1);
		} else if (l->quote && *p == l->quote) {
			l->quote = 0;
		} else if (!l->quote && (*p == '\'' || *p == '"')) {
			l->quote = *p;
			l->from = word.len;
		} else if (*p != '\\' || p[1]) { /* not a backslash that nothing follows yet */
			ofs_buf_append(&word, p, 1);
			if (!l->quote && breaks && strchr(breaks, *p))
				l->from = word.len;
		}
	}
	add_word(l, ofs_buf_steal_str(&word));
	*text = p;
}

void ofs_shell_line_read(const char *text, const char *breaks, struct ofs_shell_line *ret)
{
	*ret = (struct ofs_shell_line){ 0 };
	do {
		text += strspn(text, BLANKS);
		read_word(&text, breaks, ret);
	} while (*text);
}

void ofs_shell_line_copy(int n, char *const words[], struct ofs_shell_line *ret)
{
	*ret = (struct ofs_shell_line){ 0 };
	for (int i = 0; i < n; i++)
		add_word(ret, ofs_strdup(words[i]));
}

void ofs_shell_line_finish(struct ofs_shell_line *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->words[i]);
	free(l->words);
	*l = (struct ofs_shell_line){ 0 };
}

static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c & 0x80 || strchr("_./%+@:,=-", c);
}

bool ofs_shell_line_print(const struct ofs_shell_line *l, const char *word)
{
	/* In double quotes, nothing keeps an interactive bash from expanding '!'. */
	if (l->quote == '"' && strchr(word + l->from, '!'))
		return false;
	for (const char *p = word + l->from; *p; p++) {
		if (l->quote == '\'' && *p == '\'') {
			fputs("'\\''", stdout);
			continue;
		}
		if (l->quote == '"' ? *p != '\n' && is_escapable('"', *p)
				    : !l->quote && !is_plain(*p))
			putchar('\\');
		putchar(*p);
	}
	return true;
}
