/* SPDX-License-Identifier: MIT */
#include "agent/toml_table.h"

#include "base/text.h"

/* A part of a text: a header, a pair, or a line without either. Texts end with a NUL. */
struct statement {
	enum {
		NOTHING,
		HEADER,
		LIST_HEADER,
		PAIR
	} kind;
	const char *begin, *end; /* whole lines */
	const char *value, *value_end; /* that of a pair */
	char *path; /* of a header, or of a pair with its table: "a.b.c" */
	char *key; /* of a pair: its key, unless that is dotted */
};

struct scan {
	const char *text, *end, *at;
	char *table; /* the current table; "" before the first one */
	struct statement now;
	struct ofs_error *err;
};

static void scan_init(struct scan *s, const char *text, size_t len, struct ofs_error *err)
{
	*s = (struct scan){ text, text + len, text, ofs_strdup(""), .err = err };
}

static void statement_finish(struct statement *t)
{
	free(t->path);
	free(t->key);
	*t = (struct statement){ 0 };
}

static void scan_finish(struct scan *s)
{
	statement_finish(&s->now);
	free(s->table);
}

static int wrong(struct scan *s, const char *at, const char *what)
{
	return ofs_error_set(s->err, EINVAL, "line %u: %s",
			     (unsigned int)ofs_text_newlines(s->text, (size_t)(at - s->text)) + 1,
			     what);
}

static void skip_blanks(struct scan *s)
{
	while (s->at < s->end && (*s->at == ' ' || *s->at == '\t'))
		s->at++;
}

static bool has(const struct scan *s, const char *word)
{
	size_t len = strlen(word);

	return (size_t)(s->end - s->at) >= len && memcmp(s->at, word, len) == 0;
}

/* Moves past a string. */
static int skip_string(struct scan *s)
{
	const char *begin = s->at;
	char quote = *begin;
	const char three[] = { quote, quote, quote, 0 };
	bool lines = has(s, three);

	s->at += lines ? 3 : 1;
	for (; s->at < s->end; s->at++) {
		if (*s->at == '\\' && quote == '"') {
			s->at++;
		} else if (*s->at == '\n' && !lines) {
			break;
		} else if (lines ? has(s, three) : *s->at == quote) {
			/* Up to two quotes may precede the closing ones. */
			for (s->at += lines ? 3 : 1; lines && s->at < s->end && *s->at == quote;)
				s->at++;
			return 0;
		}
	}
	return wrong(s, begin, "a string is not closed");
}

static void skip_comment(struct scan *s)
{
	if (s->at < s->end && *s->at == '#')
		while (s->at < s->end && *s->at != '\n')
			s->at++;
}

/* Moves past a value. */
static int skip_value(struct scan *s)
{
	const char *begin = s->at;
	unsigned int depth = 0;

	while (s->at < s->end) {
		char c = *s->at;

		if (c == '"' || c == '\'') {
			if (skip_string(s) < 0)
				return -EINVAL;
			continue;
		}
		if (c == '#' && depth) {
			skip_comment(s);
			continue;
		}
		if (!depth && strchr("\r\n#", c))
			break;
		depth += c == '[' || c == '{';
		if (c == ']' || c == '}') {
			if (!depth)
				return wrong(s, s->at, "a bracket closes nothing");
			depth--;
		}
		s->at++;
	}
	if (depth)
		return wrong(s, begin, "a bracket is not closed");
	while (s->at > begin && strchr(" \t", s->at[-1]))
		s->at--;
	return s->at > begin ? 0 : wrong(s, begin, "a value is missing");
}

/* Appends a dotted key, without the quotes of simple strings. Returns its number of parts. */
static int take_key(struct scan *s, struct ofs_buf *path)
{
	int parts = 0;

	for (;; s->at++) {
		const char *begin, *end;

		skip_blanks(s);
		begin = s->at;
		if (s->at < s->end && (*s->at == '"' || *s->at == '\'')) {
			if (skip_string(s) < 0)
				return -EINVAL;
			end = s->at - 1;
			begin++;
		} else {
			while (s->at < s->end && (*s->at == '_' || *s->at == '-' ||
						  (*s->at >= '0' && *s->at <= '9') ||
						  (*s->at >= 'a' && *s->at <= 'z') ||
						  (*s->at >= 'A' && *s->at <= 'Z')))
				s->at++;
			end = s->at;
			if (end == begin)
				return wrong(s, begin, "a key is missing");
		}
		if (path->len)
			ofs_buf_append_str(path, ".");
		/* A dot in a quoted part does not separate. */
		for (; begin < end; begin++)
			ofs_buf_append(path, *begin == '.' ? "\x1f" : begin, 1);
		parts++;
		skip_blanks(s);
		if (s->at == s->end || *s->at != '.')
			return parts;
	}
}

static int take_header(struct scan *s)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	bool list = has(s, "[[");

	s->at += list ? 2 : 1;
	if (take_key(s, &path) < 0)
		return -EINVAL;
	if (!has(s, list ? "]]" : "]"))
		return wrong(s, s->at, "']' is missing");
	s->at += list ? 2 : 1;
	s->now.kind = list ? LIST_HEADER : HEADER;
	s->now.path = ofs_buf_steal_str(&path);
	free(s->table);
	s->table = ofs_strdup(s->now.path);
	return 0;
}

static int take_pair(struct scan *s)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;
	int parts;

	ofs_buf_append_str(&path, s->table);
	parts = take_key(s, &path);
	if (parts < 0)
		return parts;
	if (!has(s, "="))
		return wrong(s, s->at, "'=' is missing");
	s->at++;
	skip_blanks(s);
	s->now.kind = PAIR;
	s->now.path = ofs_buf_steal_str(&path);
	if (parts == 1)
		s->now.key =
			ofs_strdup(*s->table ? s->now.path + strlen(s->table) + 1 : s->now.path);
	s->now.value = s->at;
	if (skip_value(s) < 0)
		return -EINVAL;
	s->now.value_end = s->at;
	return 0;
}

/* Reads the next statement. Returns 1, 0 at the end, or -EINVAL. */
static int scan_next(struct scan *s)
{
	int r = 0;

	statement_finish(&s->now);
	if (s->at == s->end)
		return 0;
	s->now.begin = s->at;
	skip_blanks(s);
	if (s->at < s->end && !strchr("\r\n#", *s->at))
		r = *s->at == '[' ? take_header(s) : take_pair(s);
	if (r < 0)
		return r;
	skip_blanks(s);
	skip_comment(s);
	if (has(s, "\r\n"))
		s->at++;
	if (s->at < s->end && *s->at != '\n')
		return wrong(s, s->at, "the line should end here");
	s->at += s->at < s->end;
	s->now.end = s->at;
	return 1;
}

/* Returns whether the path is `name` or below it. */
static bool is_in(const char *path, const char *name)
{
	size_t len = strlen(name);

	return path && strncmp(path, name, len) == 0 && (!path[len] || path[len] == '.');
}

/* Refuses forms in which the table, or one around it, cannot be edited. */
static int check_form(struct scan *s, const char *name)
{
	const struct statement *t = &s->now;
	bool inside = is_in(t->path, name);

	if (t->kind == LIST_HEADER && (inside || is_in(name, t->path)))
		return wrong(s, t->begin, "the table is a list of tables here");
	if (t->kind != PAIR)
		return 0;
	if (is_in(name, t->path))
		return wrong(s, t->begin, "the table is inline here, which cannot be edited");
	if (inside && !is_in(s->table, name))
		return wrong(s, t->begin,
			     "the table is in dotted keys here, which cannot be edited");
	return 0;
}

/* Reads and checks the next statement. */
static int next(struct scan *s, const char *name)
{
	int r = scan_next(s);

	return r > 0 && check_form(s, name) < 0 ? -EINVAL : r;
}

static void append_pair(struct ofs_buf *out, const struct ofs_toml_pair *pair)
{
	ofs_buf_printf(out, "%s = %s\n", pair->key, pair->value);
}

static void append_table(struct ofs_buf *out, const char *name, const struct ofs_toml_pair pairs[],
			 size_t n)
{
	if (out->len && out->data[out->len - 1] != '\n')
		ofs_buf_append_str(out, "\n");
	ofs_buf_printf(out, "%s[%s]\n", out->len ? "\n" : "", name);
	for (size_t i = 0; i < n; i++)
		append_pair(out, &pairs[i]);
}

/* Appends the statement with the pair's value. Returns whether that is a new value. */
static bool replace_value(struct ofs_buf *out, const struct statement *t,
			  const struct ofs_toml_pair *pair)
{
	size_t len = (size_t)(t->value_end - t->value);

	ofs_buf_append(out, t->begin, (size_t)(t->value - t->begin));
	ofs_buf_append_str(out, pair->value);
	ofs_buf_append(out, t->value_end, (size_t)(t->end - t->value_end));
	return len != strlen(pair->value) || memcmp(t->value, pair->value, len) != 0;
}

static const struct ofs_toml_pair *pair_of(const struct statement *t, const char *table,
					   const char *name, const struct ofs_toml_pair pairs[],
					   size_t n)
{
	if (t->kind != PAIR || !t->key || strcmp(table, name) != 0)
		return NULL;
	for (size_t i = 0; i < n; i++)
		if (strcmp(t->key, pairs[i].key) == 0)
			return &pairs[i];
	return NULL;
}

/* Sets a bit in *ret for each of the pairs that the table has. */
static int find_pairs(const char *text, size_t len, const char *name,
		      const struct ofs_toml_pair pairs[], size_t n, struct ofs_error *err,
		      bool *ret_table, uint64_t *ret)
{
	OFS_CLEANUP(scan_finish) struct scan s = { 0 };
	int r;

	*ret = 0;
	*ret_table = false;
	scan_init(&s, text, len, err);
	while ((r = next(&s, name)) > 0) {
		const struct ofs_toml_pair *pair = pair_of(&s.now, s.table, name, pairs, n);

		if (pair)
			*ret |= UINT64_C(1) << (pair - pairs);
		*ret_table |= s.now.kind == HEADER && strcmp(s.now.path, name) == 0;
	}
	return r;
}

int ofs_toml_table_set(const char *text, size_t len, const char *name,
		       const struct ofs_toml_pair pairs[], size_t n, struct ofs_error *err,
		       struct ofs_buf *out)
{
	OFS_CLEANUP(scan_finish) struct scan s = { 0 };
	bool there, changed = false;
	uint64_t found;
	int r = find_pairs(text, len, name, pairs, n, err, &there, &found);

	if (r < 0)
		return r;
	if (!there) {
		ofs_buf_append(out, text, len);
		append_table(out, name, pairs, n);
		return 1;
	}
	scan_init(&s, text, len, err);
	while (next(&s, name) > 0) {
		const struct ofs_toml_pair *pair = pair_of(&s.now, s.table, name, pairs, n);

		if (pair)
			changed |= replace_value(out, &s.now, pair);
		else
			ofs_buf_append(out, s.now.begin, (size_t)(s.now.end - s.now.begin));
		if (s.now.kind != HEADER || strcmp(s.now.path, name) != 0)
			continue;
		if (s.now.end[-1] != '\n')
			ofs_buf_append_str(out, "\n");
		for (size_t i = 0; i < n; i++)
			if (!(found >> i & 1))
				append_pair(out, &pairs[i]);
	}
	return changed || found != (UINT64_C(1) << n) - 1;
}

/* Appends the text between the table and the next one, but not a second blank line. */
static void append_between(struct ofs_buf *out, const char *begin, const char *end)
{
	bool blank = !out->len || (out->len > 1 && out->data[out->len - 2] == '\n');

	if (begin < end && *begin == '\n' && blank)
		begin++;
	ofs_buf_append(out, begin, (size_t)(end - begin));
}

int ofs_toml_table_remove(const char *text, size_t len, const char *name, struct ofs_error *err,
			  struct ofs_buf *out)
{
	OFS_CLEANUP(scan_finish) struct scan s = { 0 };
	const char *between = NULL; /* comments and blank lines at the end of the table */
	bool found = false;
	int r;

	scan_init(&s, text, len, err);
	while ((r = next(&s, name)) > 0) {
		if (is_in(s.table, name)) {
			found = true;
			if (s.now.kind != NOTHING)
				between = s.now.end;
			continue;
		}
		if (between)
			append_between(out, between, s.now.begin);
		between = NULL;
		ofs_buf_append(out, s.now.begin, (size_t)(s.now.end - s.now.begin));
	}
	if (r < 0)
		return r;
	if (between)
		append_between(out, between, s.end);
	/* Remove the blank line before the table. */
	if (found && out->len > 1 && out->data[out->len - 1] == '\n' &&
	    out->data[out->len - 2] == '\n')
		out->len--;
	return found;
}

int ofs_toml_table_get(const char *text, size_t len, const char *name, const char *key,
		       struct ofs_error *err, char **ret)
{
	const struct ofs_toml_pair wanted = { key, NULL };
	OFS_CLEANUP(scan_finish) struct scan s = { 0 };
	int r;

	*ret = NULL;
	scan_init(&s, text, len, err);
	while ((r = next(&s, name)) > 0) {
		if (*ret || !pair_of(&s.now, s.table, name, &wanted, 1))
			continue;
		*ret = ofs_strndup(s.now.value, (size_t)(s.now.value_end - s.now.value));
	}
	return r;
}
