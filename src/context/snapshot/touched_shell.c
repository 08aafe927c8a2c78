/* SPDX-License-Identifier: MIT */
/* Commands of a shell, as far as their words tell of files. */
#include <string.h>

#include "base/util.h"
#include "context/snapshot/prose.h"
#include "context/snapshot/touched.h"
#include "context/snapshot/touched_internal.h"

#define WORD_MAX 1024
#define MARK_MAX 64 /* of a here document */

/* Extensions that make a word a file, where no '/' does. */
static const char *const extensions[] = {
	"bash",	 "bat",	       "c",    "cc",	  "cfg",   "conf", "cpp",   "cs",   "css",  "csv",
	"diff",	 "dockerfile", "env",  "go",	  "gz",	   "h",	   "hpp",   "html", "ini",  "ipynb",
	"java",	 "jpg",	       "js",   "json",	  "jsonl", "jsx",  "kt",    "lock", "log",  "lua",
	"m",	 "md",	       "mjs",  "parquet", "patch", "pdf",  "php",   "pl",   "png",  "proto",
	"ps1",	 "py",	       "r",    "rb",	  "rs",	   "rst",  "scala", "sh",   "sql",  "svg",
	"swift", "tex",	       "toml", "ts",	  "tsv",   "tsx",  "txt",   "vue",  "wasm", "xlsx",
	"xml",	 "yaml",       "yml",  "zip",	  "zsh",
};

static bool is_known_extension(const char *p, size_t len)
{
	return ofs_touched_is_among(p, len, extensions, OFS_ARRAY_SIZE(extensions));
}

/* Whether a word of a command looks like a file. */
static bool looks_like_file(const char *p, size_t len)
{
	size_t ext = ofs_touched_extension(p, len);

	if (!ofs_touched_is_path(p, len) || memchr(p, ' ', len) || memchr(p, '=', len) ||
	    memchr(p, '(', len) || memchr(p, ',', len) || !ext)
		return false;
	return memchr(p, '/', len) || is_known_extension(p + len - ext, ext);
}

static const struct program {
	const char *name;
	enum ofs_touch how;
	bool shows; /* its output is the text of files, or their names */
} programs[] = {
	{ "awk", OFS_TOUCH_READ, true },	 { "bat", OFS_TOUCH_READ, true },
	{ "bash", OFS_TOUCH_RUN, false },	 { "cat", OFS_TOUCH_READ, true },
	{ "chmod", OFS_TOUCH_WRITTEN, false },	 { "cmp", OFS_TOUCH_READ, false },
	{ "create", OFS_TOUCH_CREATED, true },	 { "diff", OFS_TOUCH_READ, true },
	{ "edit", OFS_TOUCH_WRITTEN, true },	 { "find", OFS_TOUCH_READ, true },
	{ "grep", OFS_TOUCH_READ, true },	 { "head", OFS_TOUCH_READ, true },
	{ "jq", OFS_TOUCH_READ, true },		 { "less", OFS_TOUCH_READ, true },
	{ "ls", OFS_TOUCH_READ, true },		 { "more", OFS_TOUCH_READ, true },
	{ "nl", OFS_TOUCH_READ, true },		 { "node", OFS_TOUCH_RUN, false },
	{ "open", OFS_TOUCH_READ, true },	 { "patch", OFS_TOUCH_WRITTEN, false },
	{ "pytest", OFS_TOUCH_RUN, false },	 { "python", OFS_TOUCH_RUN, false },
	{ "python3", OFS_TOUCH_RUN, false },	 { "rg", OFS_TOUCH_READ, true },
	{ "rm", OFS_TOUCH_DELETED, false },	 { "sed", OFS_TOUCH_READ, true },
	{ "sh", OFS_TOUCH_RUN, false },		 { "tac", OFS_TOUCH_READ, true },
	{ "tail", OFS_TOUCH_READ, true },	 { "tee", OFS_TOUCH_WRITTEN, false },
	{ "touch", OFS_TOUCH_CREATED, false },	 { "wc", OFS_TOUCH_READ, true },
	{ "search_file", OFS_TOUCH_READ, true }, { "search_dir", OFS_TOUCH_READ, true },
	{ "find_file", OFS_TOUCH_READ, true },	 { "scroll_down", OFS_TOUCH_READ, true },
	{ "scroll_up", OFS_TOUCH_READ, true },	 { "goto", OFS_TOUCH_READ, true },
};

static const struct program *find_program(const char *p, size_t len)
{
	p = ofs_digest_base(p, len, &len);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(programs); i++) {
		if (ofs_touched_is(p, len, programs[i].name))
			return &programs[i];
	}
	return NULL;
}

/* What leaves nothing behind that is worth a word. */
static bool is_idle(const char *p, size_t len)
{
	static const char *const names[] = { "cd",    "clear", "echo",	      "export",	   "false",
					     "goto",  "ls",    "printf",      "pwd",	   "set",
					     "sleep", "true",  "scroll_down", "scroll_up", "source",
					     "state", "[",     "test",	      "wait" };

	p = ofs_digest_base(p, len, &len);
	return ofs_touched_is_among(p, len, names, OFS_ARRAY_SIZE(names));
}

/* What changes nothing, though it has no files to name. */
static bool is_look(const char *p, size_t len)
{
	static const char *const names[] = { "cut",    "date", "df",	   "dig",    "du",
					     "env",    "fd",   "file",	   "free",   "id",
					     "lsof",   "man",  "nproc",	   "ps",     "readlink",
					     "sort",   "stat", "strings",  "tr",     "tree",
					     "uname",  "uniq", "uptime",   "which",  "whoami",
					     "column", "comm", "hexdump",  "md5sum", "sha256sum",
					     "xxd",    "ss",   "realpath", "pgrep",  "journalctl" };

	p = ofs_digest_base(p, len, &len);
	return ofs_touched_is_among(p, len, names, OFS_ARRAY_SIZE(names));
}

/* The same of a program with commands of its own: "git log". */
static bool is_look_of(const char *p, size_t len)
{
	static const char *const names[] = { "blame",	  "describe", "diff",	  "grep",
					     "help",	  "images",   "info",	  "inspect",
					     "list",	  "log",      "logs",	  "ls",
					     "ls-files",  "ps",	      "outdated", "reflog",
					     "search",	  "shortlog", "show",	  "status",
					     "rev-parse", "version",  "view" };

	return ofs_touched_is_among(p, len, names, OFS_ARRAY_SIZE(names));
}

/* A command line, taken apart word by word. */
struct shell {
	struct ofs_touched *touched;
	const char *p, *end;
	char word[WORD_MAX];
	size_t len;
	bool quoted;
	char stop; /* the operator that stands here instead of a word; '\n' for all that end a command */
	bool piped; /* that was a pipe */
};

static bool is_operator(char c)
{
	return c == ';' || c == '&' || c == '|' || c == '\n' || c == '(' || c == ')' || c == '<' ||
	       c == '>';
}

static void put(struct shell *s, char c)
{
	if (s->len < sizeof(s->word))
		s->word[s->len] = c;
	s->len++;
}

static void read_quoted(struct shell *s, char quote)
{
	s->quoted = true;
	for (s->p++; s->p < s->end && *s->p != quote; s->p++) {
		if (*s->p == '\\' && quote == '"' && s->p + 1 < s->end)
			s->p++;
		put(s, *s->p);
	}
	s->p += s->p < s->end;
}

/* An operator: `stop` is '>' or '<' where a file follows, 'h' before the mark of a here document. */
static void read_operator(struct shell *s)
{
	char c = *s->p++;

	s->stop = '\n';
	s->piped = c == '|' && (s->p == s->end || *s->p != '|');
	if (c == '|' && !s->piped) {
		s->p++;
	} else if (c == '>') {
		s->stop = '>';
		if (s->p < s->end && *s->p == '>')
			s->p++;
		if (s->p < s->end && *s->p == '&')
			s->stop = 'd';
	} else if (c == '<') {
		s->stop = '<';
		if (s->p < s->end && *s->p == '<') {
			s->stop = 'h';
			s->p += s->end - s->p > 1 && s->p[1] == '-' ? 2 : 1;
		}
	} else if (c == '&' && s->p < s->end && *s->p == '>') {
		s->p++;
		s->stop = '>';
	}
}

/* False: the command line is at its end. `stop` is 0 for a word. */
static bool next_word(struct shell *s)
{
	s->len = 0;
	s->quoted = false;
	s->stop = 0;
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t' || *s->p == '\r'))
		s->p++;
	while (s->p < s->end && *s->p == '#') {
		const char *eol = memchr(s->p, '\n', (size_t)(s->end - s->p));

		s->p = eol ? eol : s->end;
	}
	if (s->p == s->end)
		return false;
	if (is_operator(*s->p)) {
		read_operator(s);
		return true;
	}
	while (s->p < s->end && !ofs_prose_is_blank(*s->p) && !is_operator(*s->p)) {
		if (*s->p == '\'' || *s->p == '"') {
			read_quoted(s, *s->p);
			continue;
		}
		if (*s->p == '\\' && s->p + 1 < s->end)
			s->p++;
		put(s, *s->p++);
	}
	return true;
}

/* Behind the line that is the mark of a here document. */
static void skip_document(struct shell *s)
{
	char mark[MARK_MAX];
	size_t n = OFS_MIN(s->len, sizeof(mark));
	const char *p = memchr(s->p, '\n', (size_t)(s->end - s->p));

	memcpy(mark, s->word, n);
	while (p && p < s->end) {
		const char *line = p + 1;

		p = memchr(line, '\n', (size_t)(s->end - line));
		if ((size_t)((p ? p : s->end) - line) == n && memcmp(line, mark, n) == 0)
			break;
	}
	/* What stands behind the mark on its line is looked at no more. */
	s->p = p ? p : s->end;
}

static void change_dir(struct ofs_touched *t, const char *p, size_t len)
{
	while (len > 1 && p[len - 1] == '/')
		len--;
	if (len > 1 && *p == '/' && ofs_touched_is_path(p, len))
		ofs_touched_set(&t->dir, p, len);
	else
		t->dir.len = 0;
}

/* A simple command under way. */
struct simple {
	const struct program *program;
	size_t words; /* behind the program */
	bool in_place; /* sed -i */
	bool moves; /* cp, mv: the last word is written */
	bool changes_dir;
	bool known;
	bool idle;
	bool looks;
	bool piped; /* it reads what another writes */
	size_t notes; /* what there were before */
	char last[PATH_LEN_MAX];
	size_t last_len;
};

static bool is_word(const struct shell *s, const char *text)
{
	return ofs_touched_is(s->word, s->len, text);
}

static void begin_simple(struct simple *c, const struct shell *s)
{
	if (!s->len || memchr(s->word, '=', s->len) || ofs_prose_is_digit(*s->word) ||
	    is_word(s, "sudo") || is_word(s, "time") || is_word(s, "timeout") ||
	    is_word(s, "nohup") || is_word(s, "env"))
		return; /* the program is still to come */
	c->known = true;
	c->notes = s->touched->notes;
	c->idle = is_idle(s->word, s->len);
	c->looks = is_look(s->word, s->len);
	c->program = find_program(s->word, s->len);
	c->moves = is_word(s, "cp") || is_word(s, "mv");
	c->changes_dir = is_word(s, "cd");
	if (!c->program && looks_like_file(s->word, s->len))
		ofs_touched_note(s->touched, s->word, s->len, OFS_TOUCH_RUN);
}

static enum ofs_touch how_touched(const struct simple *c)
{
	if (c->in_place)
		return OFS_TOUCH_WRITTEN;
	return c->program ? c->program->how : OFS_TOUCH_READ;
}

/* "open" and "create" of an editor take any name. */
static bool names_file(const struct simple *c, const struct shell *s)
{
	bool editor = c->program && (strcmp(c->program->name, "open") == 0 ||
				     strcmp(c->program->name, "create") == 0);

	if (editor && c->words == 1)
		return ofs_touched_is_path(s->word, s->len);
	if (s->quoted && c->words == 1 && how_touched(c) == OFS_TOUCH_READ)
		return false; /* a pattern */
	return looks_like_file(s->word, s->len);
}

static void take_word(struct simple *c, const struct shell *s)
{
	size_t len = s->len;

	if (++c->words == 1 && !c->program)
		c->looks |= is_look_of(s->word, s->len);
	if (c->program && strcmp(c->program->name, "sed") == 0 && len >= 2 &&
	    memcmp(s->word, "-i", 2) == 0)
		c->in_place = true;
	if (c->changes_dir && c->words == 1)
		change_dir(s->touched, s->word, len);
	if (len > sizeof(s->word) || !names_file(c, s))
		return;
	/* pytest's "file.py::test" */
	ofs_touched_note(s->touched, s->word, len, how_touched(c));
	c->last_len = OFS_MIN(len, sizeof(c->last));
	memcpy(c->last, s->word, c->last_len);
	if (c->program &&
	    (strcmp(c->program->name, "open") == 0 || strcmp(c->program->name, "create") == 0))
		ofs_touched_set(&s->touched->open, s->word, len);
}

/* Whether the files that were noted tell all of a simple command. */
static bool is_told(const struct simple *c, size_t notes)
{
	if (c->idle)
		return true;
	if (c->piped && (c->looks || (c->program && how_touched(c) == OFS_TOUCH_READ)))
		return true;
	if (notes == c->notes)
		return false;
	if (!c->program)
		return c->moves || c->looks || !c->words; /* "./run.sh" */
	return c->program->how != OFS_TOUCH_RUN || c->words == 1;
}

/* Adds to the kind of a command line what this part of it is. */
static void end_simple(struct ofs_touched *t, struct simple *c, bool piped,
		       struct ofs_touch_kind *kind)
{
	bool looks;

	if (c->moves && c->last_len)
		ofs_touched_note(t, c->last, c->last_len, OFS_TOUCH_WRITTEN);
	if (c->known) {
		looks = c->looks || c->idle || (c->program && how_touched(c) == OFS_TOUCH_READ);
		kind->looks &= looks;
		kind->told &= is_told(c, t->notes);
	}
	*c = (struct simple){ .piped = piped };
}

static void take_redirection(struct shell *s, char how)
{
	if (!next_word(s) || s->stop || s->len > sizeof(s->word))
		return;
	if (how == 'h')
		skip_document(s);
	else if (how != 'd')
		ofs_touched_note(s->touched, s->word, s->len,
				 how == '>' ? OFS_TOUCH_WRITTEN : OFS_TOUCH_READ);
}

/* Editors of some harnesses: a program and its text, which is no command line. */
static bool take_edit(struct ofs_touched *t, const char *command, size_t len)
{
	size_t n = 0;

	while (n < len && !ofs_prose_is_blank(command[n]))
		n++;
	if (!(n == 4 && memcmp(command, "edit", 4) == 0) &&
	    !(n == 6 && memcmp(command, "insert", 6) == 0))
		return false;
	if (t->open.len)
		ofs_touched_note(t, (const char *)t->open.data, t->open.len, OFS_TOUCH_WRITTEN);
	return true;
}

struct ofs_touch_kind ofs_touched_command(struct ofs_touched *t, const char *command, size_t len)
{
	struct ofs_touch_kind kind = { .shows = true, .told = true, .looks = true };
	struct shell s = { .touched = t,
			   .p = command,
			   .end = command + OFS_MIN(len, (size_t)COMMAND_MAX) };
	struct simple c = { 0 };
	bool any = false;

	if (take_edit(t, command, len)) {
		kind.looks = false;
		return kind;
	}
	while (next_word(&s)) {
		if (s.stop == '\n') {
			end_simple(t, &c, s.piped, &kind);
		} else if (s.stop) {
			take_redirection(&s, s.stop);
		} else if (c.known) {
			take_word(&c, &s);
		} else if (s.len <= sizeof(s.word)) {
			begin_simple(&c, &s);
			if (c.known && !c.changes_dir) {
				any = true;
				kind.shows &= c.program && c.program->shows;
			}
		}
	}
	end_simple(t, &c, false, &kind);
	kind.shows &= any;
	return kind;
}
