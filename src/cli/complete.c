/* SPDX-License-Identifier: MIT */
#include "cli/complete.h"

#include <ctype.h>
#include <stdio.h>

#include "base/buf.h"
#include "client/daemon_options.h"

#define OPERANDS_MAX 16 /* operands of one form in a synopsis */

/* The words of a command line before the one to complete. */
struct typed {
	const struct ofs_command *command;
	const struct ofs_option *waiting; /* an option that still needs its value; NULL: none */
	bool options_end;
	size_t operands[OPERANDS_MAX]; /* indexes of words */
	size_t n;
	const struct ofs_command *const *commands;
	size_t n_commands;
};

/* ---- commands and options */

static void offer_commands(const struct typed *t, const struct ofs_candidates *c)
{
	for (size_t i = 0; i < t->n_commands; i++)
		if (!t->commands[i]->hidden)
			ofs_candidates_offer(c, t->commands[i]->name, t->commands[i]->summary);
}

static const struct ofs_option *find_option(const struct ofs_command *command, const char *name,
					    size_t len, char letter)
{
	const struct ofs_option *options[OFS_OPTIONS_MAX];
	size_t n = ofs_command_options(command, options);

	for (size_t i = 0; i < n; i++)
		if (name ? strlen(options[i]->name) == len &&
				    memcmp(options[i]->name, name, len) == 0
			 : options[i]->letter == letter)
			return options[i];
	return NULL;
}

/*
 * Returns the option in `word` that takes a value, or NULL. *ret_at is the offset of the value in
 * the word, or 0 if it is the next word.
 */
static const struct ofs_option *option_with_value(const struct ofs_command *command,
						  const char *word, size_t *ret_at)
{
	const struct ofs_option *o = NULL;
	size_t len;

	*ret_at = 0;
	if (word[0] == '-' && word[1] == '-') {
		len = strcspn(word + 2, "=");
		o = find_option(command, word + 2, len, 0);
		if (word[2 + len])
			*ret_at = 2 + len + 1;
		return o && o->value ? o : NULL;
	}
	for (size_t i = 1; word[i]; i++) {
		o = find_option(command, NULL, 0, word[i]);
		if (!o)
			return NULL;
		if (o->value) {
			*ret_at = word[i + 1] ? i + 1 : 0;
			return o;
		}
	}
	return NULL;
}

/* Takes options that choose the tree: names in it may be completed. */
static void take_value(const struct ofs_option *o, const char *value)
{
	if (o->to == &ofs_command_target.dir || o->to == &ofs_command_target.store ||
	    o->to == &ofs_command_target.agent)
		*(const char **)o->to = value;
}

static void read_words(const struct ofs_shell_line *l, size_t from, struct typed *t)
{
	size_t at;

	for (size_t i = from; i < l->n - 1; i++) {
		const char *word = l->words[i];

		if (t->waiting) {
			take_value(t->waiting, word);
			t->waiting = NULL;
		} else if (!t->options_end && strcmp(word, "--") == 0) {
			t->options_end = true;
		} else if (!t->options_end && word[0] == '-' && word[1]) {
			t->waiting = option_with_value(t->command, word, &at);
			if (t->waiting && at) {
				take_value(t->waiting, word + at);
				t->waiting = NULL;
			}
		} else {
			t->options_end = t->options_end || t->command->wraps;
			if (t->n < OPERANDS_MAX)
				t->operands[t->n] = i;
			t->n++;
		}
	}
}

static void offer_value(struct ofs_candidates *c, const struct ofs_option *o)
{
	if (o->words)
		ofs_candidates_offer_words(c, o->words);
	else
		ofs_candidates_offer_values(c, o->value, true);
}

static void offer_options(const struct ofs_candidates *c, const struct ofs_command *command)
{
	const struct ofs_option *options[OFS_OPTIONS_MAX];
	size_t n = ofs_command_options(command, options);

	for (size_t i = 0; i < n; i++) {
		const char *about = ofs_command_option_text(command, options[i]);
		OFS_FREE char *name = ofs_format("--%s", options[i]->name);
		char letter[] = { '-', options[i]->letter, '\0' };

		ofs_candidates_offer(c, name, about);
		if (options[i]->letter && !ofs_candidates_typed(c)[1])
			ofs_candidates_offer(c, letter, about);
	}
}

/* ---- operands, by the synopsis */

struct token {
	const char *text;
	size_t len;
};

/* The operands of one form: words in lower case, typed as they are, and placeholders. */
struct form {
	struct token tokens[OPERANDS_MAX];
	size_t n;
};

static bool is(const struct token *t, const char *text)
{
	return strlen(text) == t->len && memcmp(t->text, text, t->len) == 0;
}

/*
 * Returns the next token of a synopsis, without brackets. A '|' that stands alone and a newline are
 * tokens. Returns false at the end.
 */
static bool next_token(const char **synopsis, struct token *ret)
{
	const char *p = *synopsis + strspn(*synopsis, " []");

	*synopsis = p;
	if (!*p)
		return false;
	ret->text = p;
	ret->len = *p == '\n' ? 1 : strcspn(p, " []\n");
	*synopsis = p + ret->len;
	return true;
}

/* Reads the form that starts at *synopsis, and moves *synopsis past it. */
static void read_form(const struct ofs_command *command, const char **synopsis, struct form *ret)
{
	bool skip = false; /* the next token is a value, or a file for standard input */
	struct token t;
	size_t at;

	ret->n = 0;
	while (next_token(synopsis, &t) && *t.text != '\n' && !is(&t, "|")) {
		if (skip || is(&t, "...") || is(&t, "OPTION...")) {
			skip = false;
		} else if (*t.text == '-') {
			OFS_FREE char *word = ofs_strndup(t.text, t.len);

			skip = option_with_value(command, word, &at) && !at;
		} else if (*t.text == '<') {
			skip = true;
		} else if (ret->n < OPERANDS_MAX) {
			ret->tokens[ret->n++] = t;
		}
	}
	/* "offload NAME" starts each further line. */
	if (ret->n >= 2 && is(&ret->tokens[0], "offload") && is(&ret->tokens[1], command->name)) {
		ret->n -= 2;
		memmove(ret->tokens, ret->tokens + 2, ret->n * sizeof(ret->tokens[0]));
	}
}

static bool is_repeated(const struct token *t)
{
	return t->len > 3 && memcmp(t->text + t->len - 3, "...", 3) == 0;
}

/* Returns the token of the next operand, or NULL if the form has none or does not match. */
static const struct token *next_operand(const struct form *form, const struct ofs_shell_line *l,
					const struct typed *t)
{
	for (size_t i = 0; i < t->n && i < form->n; i++) {
		if (is_repeated(&form->tokens[i]))
			return &form->tokens[i];
		if (islower((unsigned char)*form->tokens[i].text) &&
		    !is(&form->tokens[i], l->words[t->operands[i]]))
			return NULL;
	}
	return t->n < form->n ? &form->tokens[t->n] : NULL;
}

/* Returns what the command's help says about a word, on a line of its own; allocated, or NULL. */
static char *describe_word(const struct ofs_command *command, const char *word)
{
	OFS_FREE char *start = ofs_format("  %s ", word);
	const char *line = command->help, *about;

	while (line && strncmp(line, start, strlen(start)) != 0) {
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	about = line ? strstr(line + 2, "  ") : NULL;
	if (!about)
		return NULL;
	about += strspn(about, " ");
	return ofs_strndup(about, strcspn(about, "\n"));
}

static void offer_operand(struct ofs_candidates *c, const struct typed *t,
			  const struct token *token)
{
	OFS_FREE char *word = ofs_strndup(token->text, token->len);
	OFS_FREE char *about = NULL;

	if (is_repeated(token))
		word[token->len - 3] = '\0';
	if (islower((unsigned char)*word)) {
		about = describe_word(t->command, word);
		ofs_candidates_offer(c, word, about);
	} else if (strcmp(word, "COMMAND") == 0) {
		offer_commands(t, c);
	} else if (strcmp(word, "CMD") == 0) {
		snprintf(c->rest, sizeof(c->rest), "command %zu", c->line->n - 1);
	} else {
		ofs_candidates_offer_values(c, word, false);
	}
}

static void offer_operands(struct ofs_candidates *c, const struct typed *t)
{
	const char *synopsis = t->command->synopsis;

	if (t->command->wraps && t->n) {
		snprintf(c->rest, sizeof(c->rest), "command %zu", t->operands[0]);
		return;
	}
	while (*synopsis) {
		struct form form;
		const struct token *token;

		read_form(t->command, &synopsis, &form);
		token = next_operand(&form, c->line, t);
		if (token)
			offer_operand(c, t, token);
	}
}

/* ---- the line */

/* Returns the word that names one of our programs; words such as `env` may precede it. */
static size_t find_program(const struct ofs_shell_line *l, bool *ret_daemon)
{
	for (size_t i = 0; i < l->n; i++) {
		const char *slash = strrchr(l->words[i], '/');
		const char *name = slash ? slash + 1 : l->words[i];

		*ret_daemon = strcmp(name, "offloadfs") == 0;
		if (*ret_daemon || strcmp(name, "offload") == 0)
			return i;
	}
	*ret_daemon = false;
	return 0;
}

void ofs_complete(const struct ofs_command *const *commands, size_t n, struct ofs_candidates *c)
{
	const struct ofs_shell_line *l = c->line;
	const char *last = l->words[l->n - 1];
	struct typed t = { .commands = commands, .n_commands = n };
	const struct ofs_option *o;
	bool daemon;
	size_t program = find_program(l, &daemon), at = 0;

	if (program + 1 >= l->n)
		return;
	if (daemon) {
		ofs_complete_daemon(c, program);
		return;
	}
	for (size_t i = 0; i < n && program + 2 < l->n; i++)
		if (strcmp(commands[i]->name, l->words[program + 1]) == 0)
			t.command = commands[i];
	if (program + 2 == l->n) {
		offer_commands(&t, c);
		ofs_candidates_offer(c, "--help", "Describes the tool");
		ofs_candidates_offer(c, "--version", "Prints its version");
	}
	if (!t.command)
		return;
	read_words(l, program + 2, &t);
	o = t.waiting;
	if (!o && !t.options_end && last[0] == '-')
		o = option_with_value(t.command, last, &at);
	if (t.waiting || (o && at)) {
		c->before = at;
		offer_value(c, o);
	} else if (!t.options_end && last[0] == '-') {
		offer_options(c, t.command);
	} else {
		offer_operands(c, &t);
	}
}
