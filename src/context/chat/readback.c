/* SPDX-License-Identifier: MIT */
#include "context/chat/readback.h"

#include <offloadfs/tree.h>

#include "client/workspace.h"
#include "io/path.h"

#define MEMORY_ID "memory_id"

struct readback {
	const struct ofs_access *access;
	bool in_tree; /* the current directory is in the tree, so paths need not name it */
};

static bool is_one_of(const char *word, const char *const list[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, list[i]) == 0)
			return true;
	return false;
}

/* ---- paths */

/* Returns the rest of `path` after the directory `name`, or NULL if it leads elsewhere. */
static const char *below(const char *path, const char *name)
{
	size_t len = name ? strlen(name) : 0;

	return len && strncmp(path, name, len) == 0 && path[len] == '/' ? path + len + 1 : NULL;
}

/* Returns the rest of `path` after the mount of a workspace anywhere in it, or NULL. */
static const char *below_any_mount(const char *path)
{
	const char *rest = below(path, OFS_WORKSPACE_MOUNT);

	for (const char *p = path; !rest && (p = strchr(p, '/')); p++)
		rest = below(p + 1, OFS_WORKSPACE_MOUNT);
	return rest;
}

/*
 * Returns whether a full path leads to a file of the tree, which is in a directory (refs/k3f9x2).
 */
static bool is_named(const struct readback *b, const char *path)
{
	const char *const names[] = { "$OFFLOAD_DIR", "${OFFLOAD_DIR}", b->access->mount,
				      b->access->target.root };
	const char *rest, *slash;

	if (strncmp(path, "file://", strlen("file://")) == 0)
		path += strlen("file://");
	rest = below_any_mount(path);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(names) && !rest; i++)
		rest = below(path, names[i]);
	slash = rest ? strchr(rest, '/') : NULL;
	return slash && slash != rest && slash[1];
}

/* Returns whether a word of a command names a file of the tree. */
static bool is_file(const struct readback *b, const char *word)
{
	return is_named(b, word) || (b->in_tree && *word && *word != '/' && *word != '-');
}

/* ---- command lines */

enum token {
	TOKEN_END,
	TOKEN_WORD,
	TOKEN_INPUT,
	TOKEN_OUTPUT,
	TOKEN_PIPE,
	TOKEN_NEXT
};

static bool is_operator(char c)
{
	return c && strchr("|&;()<>\n", c);
}

/* Reads a word, without its quotes. */
static const char *take_word(const char *p, struct ofs_buf *word)
{
	char quote = '\0';

	for (word->len = 0; *p && (quote || (!is_operator(*p) && *p != ' ' && *p != '\t')); p++) {
		if (quote ? *p == quote : *p == '\'' || *p == '"')
			quote = quote ? '\0' : *p;
		else if (*p == '\\' && quote != '\'' && p[1])
			ofs_buf_append(word, ++p, 1);
		else
			ofs_buf_append(word, p, 1);
	}
	return p;
}

static enum token take_token(const char **line, struct ofs_buf *word)
{
	const char *p = *line + strspn(*line, " \t\r");
	size_t n = strspn(p, "|&;()<>\n");
	enum token token = TOKEN_NEXT;

	if (!*p)
		return TOKEN_END;
	if (!n) {
		*line = take_word(p, word);
		return TOKEN_WORD;
	}
	if (*p == '<' || *p == '>' || (*p == '&' && p[1] == '>')) {
		token = *p == '<' ? TOKEN_INPUT : TOKEN_OUTPUT;
		n = strspn(p, "&<>");
		n += p[n] == '&';
	} else if (*p == '|' && p[1] != '|') {
		token = TOKEN_PIPE;
		n = 1 + (p[1] == '&');
	}
	*line = p + n;
	return token;
}

/* What the words read so far tell about one command of a line. */
struct simple {
	size_t words;
	bool reader; /* it prints what it reads */
	bool ours; /* it is "offload" */
	bool moves; /* it is "cd" */
	bool reads; /* it reads a file of the tree */
};

static void add_word(const struct readback *b, const char *word, struct simple *s)
{
	static const char *const readers[] = { "cat", "head", "tail", "sed",  "grep", "rg",
					       "awk", "jq",   "nl",   "less", "more" };
	static const char *const commands[] = { "slice", "show" };
	const char *slash = strrchr(word, '/'), *name = slash ? slash + 1 : word;

	if (!s->words) {
		s->reader = is_one_of(name, readers, OFS_ARRAY_SIZE(readers));
		s->ours = strcmp(name, "offload") == 0;
		s->moves = strcmp(name, "cd") == 0;
	} else if (s->words == 1 && s->ours) {
		s->reads = is_one_of(word, commands, OFS_ARRAY_SIZE(commands));
	} else if (s->reader && is_file(b, word)) {
		s->reads = true;
	}
	s->words++;
}

/* Returns whether each pipeline starts with a command that reads a file of the tree. */
static bool line_reads(const struct readback *b, const char *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf word = OFS_BUF_INIT;
	struct simple s = { 0 };
	bool any = false, filter = false;
	enum token token, before = TOKEN_NEXT;

	do {
		token = take_token(&line, &word);
		if (token == TOKEN_WORD) {
			if (before == TOKEN_INPUT)
				s.reads |= s.reader && is_file(b, ofs_buf_str(&word));
			else if (before != TOKEN_OUTPUT)
				add_word(b, ofs_buf_str(&word), &s);
		} else if (token != TOKEN_INPUT && token != TOKEN_OUTPUT) {
			if (s.words && !filter && !s.reads && !s.moves)
				return false;
			any |= s.reads;
			filter = token == TOKEN_PIPE;
			s = (struct simple){ 0 };
		}
		before = token;
	} while (token != TOKEN_END);
	return any;
}

/* ---- arguments */

static bool text_reads(const struct readback *b, const char *text)
{
	bool has_blank = text[strcspn(text, " \t\n")];

	return (!has_blank && is_named(b, text)) || line_reads(b, text);
}

static bool value_reads(const struct readback *b, struct ofs_span value)
{
	struct ofs_span_cursor c;
	struct ofs_span item;

	if (ofs_span_is_string(value)) {
		OFS_FREE char *text = ofs_span_text(value);

		return text && text_reads(b, text);
	}
	if (!ofs_span_is_array(value))
		return false;
	c = ofs_span_enter(value);
	while (ofs_span_next(&c, &item))
		if (ofs_span_is_string(item) && value_reads(b, item))
			return true;
	return false;
}

/* Returns whether this is an argument of memory_fetch: a ref, or a path in the tree. */
static bool is_memory_id(struct ofs_span value)
{
	static const char *const tops[] = { "cache/",	"tasks/", "persistent/",
					    "archive/", "refs/",  "agents/" };
	static const char uri[] = "offload://";
	OFS_FREE char *text = ofs_span_is_string(value) ? ofs_span_text(value) : NULL;
	const char *id = text;
	size_t len;

	if (!id)
		return false;
	if (strncmp(id, uri, strlen(uri)) == 0)
		id += strlen(uri);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(tops); i++)
		if (strncmp(id, tops[i], strlen(tops[i])) == 0)
			return true;
	len = strspn(id, "0123456789abcdefghijklmnopqrstuvwxyz");
	return len && len < OFS_REF_SIZE && (!id[len] || id[len] == ':');
}

static bool object_reads(const struct readback *b, struct ofs_span args)
{
	struct ofs_span_cursor c = ofs_span_enter(args);
	struct ofs_span name, value;

	while (ofs_span_next_member(&c, &name, &value))
		if ((ofs_span_is(name, MEMORY_ID) && is_memory_id(value)) ||
		    (!ofs_span_is(name, "description") && value_reads(b, value)))
			return true;
	return false;
}

bool ofs_readback_call(struct ofs_span args, const struct ofs_access *access)
{
	OFS_FREE char *cwd = ofs_path_cwd(), *text = NULL;
	const char *point = access->target.root;
	const struct readback b = {
		.access = access,
		.in_tree = point && cwd && ofs_path_below(point, cwd),
	};
	struct ofs_span inner;

	if (ofs_span_is_object(args))
		return object_reads(&b, args);
	if (!ofs_span_is_string(args))
		return value_reads(&b, args);
	/* Some programs write the object as a string. */
	text = ofs_span_text(args);
	if (text && ofs_span_parse(text, strlen(text), NULL, &inner) == 0 &&
	    ofs_span_is_object(inner))
		return object_reads(&b, inner);
	return text && text_reads(&b, text);
}

bool ofs_readback_tells(struct ofs_span args)
{
	static const char slice[] = "offload slice";

	return memmem(args.p, args.len, slice, strlen(slice)) ||
	       memmem(args.p, args.len, MEMORY_ID, strlen(MEMORY_ID));
}
