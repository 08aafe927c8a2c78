/* SPDX-License-Identifier: MIT */
#include "agent/agent.h"

#include "io/path.h"

/* Commands that change their shell, though some systems have programs of the same name. */
static const char *const changing[] = {
	"alias",   "bg",    "builtin", "cd",   "command", "fg",	    "getopts", "hash",
	"jobs",	   "kill",  "newgrp",  "read", "time",	  "type",   "ulimit",  "umask",
	"unalias", "wait",  "exec",    "eval", "exit",	  "export", "set",     "source",
	"unset",   "shopt", "pushd",   "popd", "trap",	  "return", "logout",  "offload",
};

/* Bytes that end a word. */
#define SHELL_BREAKS " \t\n|&;<>"
/* Outside of quotes these are expanded, or group, or are no longer sure. */
#define SHELL_SPECIAL "$`*?[]{}()#!^"

enum token {
	TOKEN_WORD,
	TOKEN_REDIRECT, /* the word behind it is a file */
	TOKEN_NEXT, /* a command follows: | && || ; newline */
	TOKEN_END,
	TOKEN_UNSURE,
};

/* Adds one word, without its quotes, to `word`. */
static enum token scan_word(const char **p, struct ofs_buf *word)
{
	const char *s = *p;

	if (*s == '=') /* zsh expands it */
		return TOKEN_UNSURE;
	while (*s && !strchr(SHELL_BREAKS, *s)) {
		size_t len;

		if (*s == '\'') {
			len = strcspn(++s, "'");
			if (!s[len])
				return TOKEN_UNSURE;
			ofs_buf_append(word, s, len);
			s += len + 1;
		} else if (*s == '"') {
			len = strcspn(++s, "\"$`\\");
			if (s[len] != '"')
				return TOKEN_UNSURE;
			ofs_buf_append(word, s, len);
			s += len + 1;
		} else {
			bool escaped = *s == '\\';

			if (escaped ? !s[1] || s[1] == '\n' : strchr(SHELL_SPECIAL, *s) != NULL)
				return TOKEN_UNSURE;
			s += escaped;
			ofs_buf_append(word, s++, 1);
		}
	}
	*p = s;
	return TOKEN_WORD;
}

/* ">", ">>", "<", "&>", ">&" with what may follow; a here-document and "<(" are not sure. */
static enum token scan_redirect(const char **p)
{
	const char *s = *p;
	bool in = *s == '<';

	s += *s == '&' ? 2 : 1;
	if (*s == '>' && !in)
		s++;
	else if (*s == '&' && !in)
		s++;
	if (strchr("<>&|(", *s) && *s)
		return TOKEN_UNSURE;
	*p = s;
	return TOKEN_REDIRECT;
}

/* Takes the next token; a word goes to `word`, which is emptied first and ended by a NUL. */
static enum token scan(const char **p, struct ofs_buf *word)
{
	enum token token;

	word->len = 0;
	*p += strspn(*p, " \t");
	switch (**p) {
	case '\0':
		return TOKEN_END;
	case '\n':
	case ';':
		if ((*p)[0] == ';' && (*p)[1] == ';')
			return TOKEN_UNSURE;
		(*p)++;
		return TOKEN_NEXT;
	case '&':
		if ((*p)[1] == '>')
			return scan_redirect(p);
		if ((*p)[1] != '&')
			return TOKEN_UNSURE;
		*p += 2;
		return TOKEN_NEXT;
	case '|':
		if ((*p)[1] == '&')
			return TOKEN_UNSURE;
		*p += (*p)[1] == '|' ? 2 : 1;
		return TOKEN_NEXT;
	case '<':
	case '>':
		return scan_redirect(p);
	default:
		token = scan_word(p, word);
		ofs_buf_append(word, "", 1);
		return token;
	}
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool is_assignment(const char *word)
{
	size_t len = strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789_+");

	return len && word[len] == '=';
}

static bool is_number(const char *word)
{
	return *word && !word[strspn(word, "0123456789")];
}

static bool is_executable(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

/* What is no program may be an alias or a function, which another shell does not have. */
static bool is_program(const char *word)
{
	OFS_FREE char *path = ofs_strdup(getenv("PATH") ? getenv("PATH") : "");
	char *save = NULL, *folder;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(changing); i++) {
		if (strcmp(base_name(word), changing[i]) == 0)
			return false;
	}
	if (strchr(word, '/'))
		return is_executable(word);
	for (folder = strtok_r(path, ":", &save); folder; folder = strtok_r(NULL, ":", &save)) {
		OFS_FREE char *file = ofs_path_join(folder, word);

		if (is_executable(file))
			return true;
	}
	return false;
}

/* What was seen of the command that is being read. */
struct reading {
	bool assigns;
	bool runs; /* has a program */
	bool redirects; /* the next word is a file */
};

/* What a word is: an assignment, a descriptor's number, the program, or one more argument. */
static bool take_word(struct reading *r, const char *word, char next)
{
	if (r->redirects || r->runs)
		r->redirects = false;
	else if (is_assignment(word))
		r->assigns = true;
	else if (is_number(word) && (next == '<' || next == '>'))
		return true;
	else
		return r->runs = is_program(word);
	return true;
}

bool ofs_shell_line_is_plain(const char *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf word = OFS_BUF_INIT;
	struct reading r = { 0 };
	bool some = false;

	for (;;) {
		enum token token = scan(&line, &word);

		if (token == TOKEN_UNSURE || (r.redirects && token != TOKEN_WORD))
			return false;
		if (token == TOKEN_WORD) {
			if (!take_word(&r, (const char *)word.data, *line))
				return false;
			continue;
		}
		if (token == TOKEN_REDIRECT) {
			r.redirects = true;
			continue;
		}
		/* An assignment alone sets a variable of the shell. */
		if (!r.runs && (r.assigns || (token == TOKEN_NEXT && line[-1] != '\n')))
			return false;
		some |= r.runs;
		if (token == TOKEN_END)
			return some;
		r = (struct reading){ 0 };
	}
}
