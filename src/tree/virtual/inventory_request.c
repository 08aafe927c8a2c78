/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

#include "tree/virtual/inventory.h"

const char *const ofs_inventory_orders[] = {
	[OFS_ORDER_USED] = "used",     [OFS_ORDER_MODIFIED] = "modified",
	[OFS_ORDER_SIZE] = "size",     [OFS_ORDER_TOKENS] = "tokens",
	[OFS_ORDER_STORED] = "stored", [OFS_ORDER_EXPIRES] = "expires",
	[OFS_ORDER_PATH] = "path",     [OFS_ORDERS] = NULL,
};

void ofs_inventory_request_finish(struct ofs_inventory_request *q)
{
	ofs_query_destroy(q->query);
	free(q->below);
	free(q->what);
	*q = (struct ofs_inventory_request){ 0 };
}

void ofs_inventory_quote(const char *value, struct ofs_buf *out)
{
	for (; *value; value++) {
		unsigned char c = (unsigned char)*value;

		if (isalnum(c) || strchr("._-,~+=", c))
			ofs_buf_append(out, value, 1);
		else
			ofs_buf_printf(out, "%%%02X", c);
	}
}

static int hex_digit(char c)
{
	return isdigit((unsigned char)c) ? c - '0'
	       : c >= 'A' && c <= 'F'	 ? c - 'A' + 10
	       : c >= 'a' && c <= 'f'	 ? c - 'a' + 10
					 : -1;
}

/* Decodes in place. Returns false if '%' is not followed by two hex digits, or stands for NUL. */
static bool unquote(char *text)
{
	char *to = text;

	for (; *text; text++) {
		*to = *text;
		if (*text == '%') {
			int high = hex_digit(text[1]), low = high < 0 ? -1 : hex_digit(text[2]);

			if (low < 0 || !(high || low))
				return false;
			*to = (char)(high << 4 | low);
			text += 2;
		}
		to++;
	}
	*to = '\0';
	return true;
}

static bool unquote_all(const struct ofs_wanted *w)
{
	for (size_t i = 0; i < w->n; i++)
		if (!unquote(w->list[i]))
			return false;
	return true;
}

/* ---- the words of a name */

struct parser {
	const struct ofs_tree *tree;
	struct ofs_inventory_request *q;
	struct ofs_error *err;
	struct ofs_buf filters; /* words for ofs_query_parse() */
	struct ofs_buf what;
};

static int take_time(struct parser *p, const char *word, const char *value, int64_t *ret)
{
	if (ofs_query_time(value, p->q->began, ret))
		return 0;
	return ofs_error_set(p->err, EINVAL,
			     "'%s' is not a time: give an age (30m, 6h, 7d) or a date", word);
}

static int take_order(struct parser *p, const char *value)
{
	for (int i = 0; i < OFS_ORDERS; i++)
		if (strcmp(value, ofs_inventory_orders[i]) == 0) {
			p->q->order = (enum ofs_inventory_order)i;
			return 0;
		}
	return ofs_error_set(p->err, EINVAL, "'%s' is not a known order", value);
}

static int take_below(struct parser *p, char *value)
{
	if (!unquote(value))
		return ofs_error_set(p->err, EINVAL, "'%s' is not a path", value);
	free(p->q->below);
	p->q->below = ofs_strdup(value);
	return 0;
}

/* Parses "BEGAN.KEY.REF", the first two in hex. The ref is "0" before the first file. */
static int take_position(struct parser *p, const char *value)
{
	char ref[OFS_REF_SIZE];
	uint64_t began, key;
	int end = 0;

	if (sscanf(value, "%16" SCNx64 ".%16" SCNx64 ".%8[0-9a-z]%n", &began, &key, ref, &end) !=
		    3 ||
	    value[end])
		return ofs_error_set(p->err, EINVAL, "'%s' is not a position", value);
	p->q->began = (int64_t)began;
	p->q->after = (struct ofs_inventory_entry){
		(int64_t)key, p->tree && strcmp(ref, "0") != 0 ? ofs_ref_parse(p->tree, ref) : 0
	};
	p->q->resumed = true;
	return 0;
}

static int take_count(struct parser *p, const char *value, uint64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoull(value, &end, 10);
	if (!isdigit((unsigned char)*value) || *end || errno || !*ret)
		return ofs_error_set(p->err, EINVAL, "'%s' is not a number of files", value);
	return 0;
}

/* Returns 0, 1 if it is none of these words, or -errno. */
static int take_word(struct parser *p, char *word)
{
	char *value = strchr(word, ':');
	size_t len = value ? (size_t)(value - word) : 0;

#define IS(name) (len == strlen(name) && strncmp(word, name, len) == 0)
	if (!value)
		return 1;
	value++;
	if (IS("older"))
		return take_time(p, word, value, &p->q->used_before);
	if (IS("newer"))
		return take_time(p, word, value, &p->q->used_from);
	if (IS("sort"))
		return take_order(p, value);
	if (IS("below"))
		return take_below(p, value);
	if (IS("max"))
		return take_count(p, value, &p->q->max);
	if (IS("page"))
		return take_count(p, value, &p->q->page);
	if (IS("from"))
		return 0; /* already parsed by ofs_inventory_parse() */
	if (IS("reverse"))
		p->q->reverse = strcmp(value, "yes") == 0;
	else if (IS("groups"))
		p->q->groups = strcmp(value, "yes") == 0;
	else
		return 1;
#undef IS
	return 0;
}

static bool starts(const char *word, const char *with)
{
	return strncmp(word, with, strlen(with)) == 0;
}

static int take_words(struct parser *p, char *name)
{
	char *rest = name, *word;
	int r = 0;

	while (r >= 0 && (word = strsep(&rest, " "))) {
		if (!*word)
			continue;
		if (!starts(word, "max:") && !starts(word, "page:") && !starts(word, "from:"))
			ofs_buf_printf(&p->what, "%s ", word);
		r = take_word(p, word);
		if (r > 0)
			ofs_buf_printf(&p->filters, "%s ", word);
	}
	return OFS_MIN(r, 0);
}

static int take_filters(struct parser *p)
{
	struct ofs_inventory_request *q = p->q;
	int r = ofs_query_parse(ofs_buf_str(&p->filters), q->began, p->err, &q->query);

	if (r < 0)
		return r;
	if (q->query->nwords || q->query->wanted || q->query->unwanted)
		return ofs_error_set(p->err, EINVAL, "'%s' is not a filter", q->query->plain);
	if (!unquote_all(&q->query->categories) || !unquote_all(&q->query->tasks) ||
	    !unquote_all(&q->query->tags))
		return ofs_error_set(p->err, EINVAL, "a value is not a name");
	return 0;
}

int ofs_inventory_parse(const struct ofs_tree *t, const char *name, int64_t now,
			struct ofs_error *err, struct ofs_inventory_request *ret)
{
	struct ofs_inventory_request q = { .used_from = INT64_MIN,
					   .used_before = INT64_MAX,
					   .max = UINT64_MAX,
					   .page = UINT64_MAX,
					   .began = now,
					   .below = ofs_strdup("") };
	struct parser p = { .tree = t, .q = &q, .err = err };
	OFS_FREE char *words = ofs_strdup(name);
	const char *from = starts(name, "from:") ? name : strstr(name, " from:");
	int r = 0;

	/* The position is parsed first: ages are relative to the time of the first page. */
	if (from) {
		OFS_FREE char *position = NULL;

		from = strchr(from, ':') + 1;
		position = ofs_strndup(from, strcspn(from, " "));
		r = take_position(&p, position);
	}
	if (r == 0)
		r = take_words(&p, words);
	if (r == 0)
		r = take_filters(&p);
	q.what = ofs_buf_steal_str(&p.what);
	ofs_buf_finish(&p.filters);
	if (r < 0)
		ofs_inventory_request_finish(&q);
	else
		*ret = q;
	return r;
}
