/* SPDX-License-Identifier: MIT */
#include "client/outline.h"

#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <strings.h>

#include "base/map.h"
#include "base/name.h"
#include "base/redact.h"
#include "base/text.h"
#include "codec/hash.h"

/* Content of more than both is examined only at its two ends. */
#define HEAD_BYTES ((uint64_t)16 << 10)
#define TAIL_BYTES ((uint64_t)8 << 10)
/* End of the part in which error lines after the head are looked for. */
#define ERRORS_BYTES ((uint64_t)256 << 10)
#define JSON_BYTES ((uint64_t)1 << 20) /* no shape is made of larger content */
#define ARROW "\xe2\x86\x92"
#define LINE_MAX 160 /* bytes shown of a line */
#define ERRORS_MAX 6
#define LAST_MAX 3
/* If lines are longer than this on average, line numbers do not help to find a name. */
#define LONG_LINE 1000
#define SHAPE_KEYS 24
#define SHAPE_DEPTH 4
#define SHAPE_MAX 700

/* Redacted text, in whole lines. */
struct window {
	struct ofs_buf text;
	uint64_t first; /* line number of its start */
};

struct shown_line {
	uint64_t number;
	const char *p;
	size_t len;
};

struct name {
	const char *p;
	size_t len;
	uint64_t line; /* of its first use */
	uint32_t times;
	bool picked;
};

struct outline {
	const struct ofs_content *content;
	struct window head, tail; /* without a tail, the head has all content */
	struct shown_line lines[ERRORS_MAX + LAST_MAX];
	size_t n_lines;
	struct name *names;
	size_t n_names, cap_names;
	struct ofs_map by_hash; /* hash of a name -> its index + 1 */
};

static void outline_finish(struct outline *o)
{
	ofs_buf_finish(&o->head.text);
	ofs_buf_finish(&o->tail.text);
	free(o->names);
	ofs_map_finish(&o->by_hash);
}

static bool has_lines(const struct ofs_content *c)
{
	return c->lines && c->size / c->lines <= LONG_LINE;
}

/* ---- reading */

static int read_raw(const struct ofs_content *c, uint64_t start, uint64_t end, struct ofs_buf *out)
{
	ssize_t n;

	ofs_buf_reserve(out, (size_t)(end - start));
	n = ofs_spool_read(c->spool, out->data, (size_t)(end - start), start);
	if (n < 0)
		return (int)n;
	out->len = (size_t)n;
	return 0;
}

static int read_window(const struct ofs_content *c, uint64_t start, uint64_t end,
		       struct ofs_buf *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf raw = OFS_BUF_INIT;
	size_t from = 0, to;
	int r = read_raw(c, start, end, &raw);

	if (r < 0)
		return r;
	to = raw.len;
	/* Leave out an incomplete last line, or, in a long line, what may be part of a secret. */
	if (end < c->size) {
		const char *eol = memrchr(raw.data, '\n', to);

		to = eol ? (size_t)(eol - (char *)raw.data) + 1
			 : to - OFS_MIN(to, (size_t)OFS_REDACT_AHEAD);
	}
	ofs_redact_text(out, (char *)raw.data, to);
	if (start) {
		const char *eol = memchr(out->data, '\n', out->len);

		from = eol ? (size_t)(eol + 1 - (char *)out->data) : out->len;
		memmove(out->data, out->data + from, out->len - from);
		out->len -= from;
	}
	return 0;
}

/* Counts the lines of a text, including an unterminated last one. */
static uint64_t count_lines(const struct ofs_buf *text)
{
	const char *p = (const char *)text->data, *end = p + text->len;
	uint64_t n = 0;

	for (; p < end; n++) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		p = eol ? eol + 1 : end;
	}
	return n;
}

/* ---- lines that report errors */

/* True if `p` starts with an error word, in capitals or followed by ":" or "]". */
static bool is_error_word(const char *p, size_t len)
{
	static const char *const words[] = { "error", "errors", "fatal",     "failed", "failure",
					     "fail",  "panic",	"exception", "denied" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		size_t n = strlen(words[i]);

		if (len < n || strncasecmp(p, words[i], n) != 0 ||
		    (n < len && isalnum((unsigned char)p[n])))
			continue;
		if ((n < len && (p[n] == ':' || p[n] == ']')) || isupper((unsigned char)p[1]))
			return true;
	}
	return false;
}

/* The first two letters of an error word share a bit, which rules out most text quickly. */
static const uint8_t first_letters[256] = {
	['e'] = 1, ['E'] = 1, ['f'] = 2, ['F'] = 2, ['p'] = 2, ['P'] = 2, ['d'] = 4, ['D'] = 4,
};
static const uint8_t second_letters[256] = {
	['r'] = 1, ['R'] = 1, ['x'] = 1, ['X'] = 1, ['a'] = 2, ['A'] = 2, ['e'] = 4, ['E'] = 4,
};

static bool tells_error(const char *p, size_t len)
{
	if ((len > 9 && memcmp(p, "Traceback", 9) == 0) ||
	    (len > 7 && memcmp(p, "not ok ", 7) == 0)) /* TAP */
		return true;
	for (size_t i = 0; i + 4 <= len; i++) {
		unsigned char before = i ? (unsigned char)p[i - 1] : ' ';

		/* "TypeError:" is one word. */
		if ((first_letters[(unsigned char)p[i]] &
		     second_letters[(unsigned char)p[i + 1]]) &&
		    (!isalpha(before) || (islower(before) && isupper((unsigned char)p[i]))) &&
		    is_error_word(p + i, len - i))
			return true;
	}
	return false;
}

/*
 * Sets *ret to the end of a head that includes the first errors. The search is cheap; redacting the
 * text up to them is not, and is only done if there are any.
 */
static int find_head_end(const struct ofs_content *c, uint64_t *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf raw = OFS_BUF_INIT;
	int r = read_raw(c, HEAD_BYTES, OFS_MIN(c->size - TAIL_BYTES, ERRORS_BYTES), &raw);
	const char *p = (const char *)raw.data, *start = p, *end = p + raw.len, *eol;

	*ret = HEAD_BYTES;
	for (size_t found = 0; found < ERRORS_MAX && p < end; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			break;
		if (tells_error(p, (size_t)(eol - p))) {
			*ret = HEAD_BYTES + (uint64_t)(eol + 1 - start);
			found++;
		}
	}
	return r;
}

static int read_windows(struct outline *o)
{
	const struct ofs_content *c = o->content;
	uint64_t end = c->size;
	int r = 0;

	if (c->size > HEAD_BYTES + TAIL_BYTES)
		r = find_head_end(c, &end);
	if (r == 0)
		r = read_window(c, 0, end, &o->head.text);
	o->head.first = 1;
	if (r < 0 || end == c->size)
		return r;
	r = read_window(c, c->size - TAIL_BYTES, c->size, &o->tail.text);
	if (r == 0)
		o->tail.first = c->lines + 1 - count_lines(&o->tail.text);
	return r;
}

/* ---- examining a window */

/* True if a line has a letter or digit, which a closing brace has not. */
static bool says_something(const char *p, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (isalnum((unsigned char)p[i]) || (unsigned char)p[i] >= 0x80)
			return true;
	return false;
}

/*
 * Returns the length of the line number that a tool prints before a line ("  12\t", "  12→",
 * "12:"), or 0, as for the time of day "12:30". Sets *ret to the number.
 */
static size_t number_length(const char *p, size_t len, uint64_t *ret)
{
	size_t n = 0;

	*ret = 0;
	while (n < len && p[n] == ' ')
		n++;
	if (n == len || !isdigit((unsigned char)p[n]))
		return 0;
	for (; n < len && isdigit((unsigned char)p[n]); n++)
		*ret = *ret * 10 + (uint64_t)(p[n] - '0');
	if (n < len && (p[n] == '\t' || p[n] == ':'))
		return p[n] == ':' && n + 1 < len && isdigit((unsigned char)p[n + 1]) ? 0 : n + 1;
	return len - n >= strlen(ARROW) && memcmp(p + n, ARROW, strlen(ARROW)) == 0
		       ? n + strlen(ARROW)
		       : 0;
}

/* True if the first two lines have consecutive numbers, as when a tool prints a file. */
static bool is_numbered(const struct ofs_buf *text)
{
	const char *p = (const char *)text->data, *end = p + text->len;
	const char *eol = text->len ? memchr(p, '\n', text->len) : NULL;
	uint64_t first, second;

	return eol && number_length(p, (size_t)(eol - p), &first) &&
	       number_length(eol + 1, (size_t)(end - eol - 1), &second) && second == first + 1;
}

/* Returns the start of the next escape sequence, or `end`. Sets *ret_next to what follows it. */
static const char *plain_end(const char *p, const char *end, const char **ret_next)
{
	const char *esc = memchr(p, OFS_TEXT_ESC, (size_t)(end - p));
	int len = esc ? ofs_text_escape(esc, (size_t)(end - esc)) : 0;

	*ret_next = !esc || len < 0 ? end : esc + OFS_MAX(len, 1);
	return esc ? esc : end;
}

static void note_names_in(struct outline *o, const char *p, const char *end, uint64_t line)
{
	const char *name;
	size_t len;

	while ((name = ofs_name_next(&p, end, &len))) {
		uint64_t hash = ofs_checksum(name, len, 0);
		size_t number = (size_t)(uintptr_t)ofs_map_get(&o->by_hash, hash);

		if (number) {
			o->names[number - 1].times++;
			continue;
		}
		*ofs_append(o->names, o->n_names, o->cap_names) =
			(struct name){ .p = name, .len = len, .line = line, .times = 1 };
		ofs_map_put(&o->by_hash, hash, (void *)(uintptr_t)o->n_names);
	}
}

static void note_names(struct outline *o, const char *p, const char *end, uint64_t line)
{
	for (const char *next; p < end; p = next)
		note_names_in(o, p, plain_end(p, end, &next), line);
}

static void show_line(struct outline *o, uint64_t number, const char *p, size_t len)
{
	for (size_t i = 0; i < o->n_lines; i++)
		if (o->lines[i].number == number)
			return;
	len -= len && p[len - 1] == '\r';
	o->lines[o->n_lines++] = (struct shown_line){ number, p, len };
}

/* Collects error lines from the window, and names from its first `names` bytes. */
static void look(struct outline *o, const struct window *w, size_t names)
{
	const char *p = w->text.len ? (const char *)w->text.data : "";
	const char *end = p + w->text.len, *eol;
	const char *names_end = p + OFS_MIN(names, w->text.len);

	/* Do not take a name that is cut. */
	while (names_end > p && names_end < end && !isspace((unsigned char)names_end[-1]))
		names_end--;
	for (uint64_t line = w->first, number; p < end; line++, p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		note_names(o, p + number_length(p, (size_t)(eol - p), &number),
			   OFS_MIN(eol, names_end), line);
		if (o->n_lines < ERRORS_MAX && tells_error(p, (size_t)(eol - p)))
			show_line(o, line, p, (size_t)(eol - p));
	}
}

static void look_at_last(struct outline *o, const struct window *w)
{
	const char *text = (const char *)w->text.data, *end = text + w->text.len;
	uint64_t line = o->content->lines;

	if (end > text && end[-1] == '\n')
		end--;
	for (size_t n = 0; n < LAST_MAX && end > text && line >= w->first; line--) {
		const char *p = memrchr(text, '\n', (size_t)(end - text));

		p = p ? p + 1 : text;
		if (says_something(p, (size_t)(end - p))) {
			show_line(o, line, p, (size_t)(end - p));
			n++;
		}
		end = p > text ? p - 1 : text;
	}
}

/* ---- the shape of JSON */

static void print_shape(const json_t *value, int depth, FILE *out)
{
	static const char *const types[] = {
		[JSON_OBJECT] = "{...}",   [JSON_ARRAY] = "[...]", [JSON_STRING] = "string",
		[JSON_INTEGER] = "number", [JSON_REAL] = "number", [JSON_TRUE] = "boolean",
		[JSON_FALSE] = "boolean",  [JSON_NULL] = "null",
	};
	size_t size = json_is_object(value) ? json_object_size(value) : json_array_size(value);
	size_t n = 0;
	const char *key;
	json_t *member;

	if (!size || depth == SHAPE_DEPTH) {
		if (json_is_array(value))
			fprintf(out, "[%zu]", size);
		else
			fputs(json_is_object(value) && !size ? "{}" : types[json_typeof(value)],
			      out);
		return;
	}
	if (json_is_array(value)) {
		fprintf(out, "[%zu x ", size);
		print_shape(json_array_get(value, 0), depth + 1, out);
		putc(']', out);
		return;
	}
	putc('{', out);
	json_object_foreach((json_t *)value, key, member)
	{
		if (n == SHAPE_KEYS) {
			fprintf(out, ", +%zu keys", size - n);
			break;
		}
		fprintf(out, "%s%s: ", n++ ? ", " : "", key);
		print_shape(member, depth + 1, out);
	}
	putc('}', out);
}

/* Returns "[120 x {id: number, name: string}]", with the first element of an array for all. */
static char *make_shape(const struct ofs_content *c)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf raw = OFS_BUF_INIT, shown = OFS_BUF_INIT;
	OFS_FREE char *shape = NULL;
	struct ofs_text_stream s;
	json_t *value;
	size_t used;

	if (strcmp(c->ext, "json") != 0 || c->size > JSON_BYTES ||
	    read_raw(c, 0, c->size, &raw) < 0)
		return NULL;
	value = json_loadb((char *)raw.data, raw.len, 0, NULL);
	if (!value)
		return NULL;
	print_shape(value, 0, ofs_text_open(&s));
	shape = ofs_text_close(&s);
	json_decref(value);
	ofs_redact_text(&shown, shape, strlen(shape));
	ofs_text_open(&s);
	ofs_text_printable(s.out, shown.data, shown.len, false, SHAPE_MAX, &used);
	if (used < shown.len)
		fputs("...", s.out);
	return ofs_text_close(&s);
}

/* ---- printing */

static int compare_lines(const void *a, const void *b)
{
	const struct shown_line *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

static const char *skip_indent(const struct shown_line *l, size_t *ret_len)
{
	size_t indent = 0;

	while (indent < l->len && isblank((unsigned char)l->p[indent]))
		indent++;
	*ret_len = l->len - indent;
	return l->p + indent;
}

/* Prints lines; the last ones take precedence over errors. Returns about the bytes printed. */
static size_t print_lines(struct outline *o, size_t max, FILE *out)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	size_t printed = 0;

	for (size_t i = o->n_lines; i-- > 0;) {
		struct shown_line *l = &o->lines[i];
		size_t len;

		skip_indent(l, &len);
		len = OFS_MIN(len, (size_t)LINE_MAX) + 8;
		if (printed + len > max)
			l->number = UINT64_MAX;
		else
			printed += len;
	}
	qsort(o->lines, o->n_lines, sizeof(*o->lines), compare_lines);
	while (o->n_lines && o->lines[o->n_lines - 1].number == UINT64_MAX)
		o->n_lines--;
	if (!o->n_lines)
		return 0;
	fprintf(out, "--- %zu of ", o->n_lines);
	ofs_text_count(out, o->content->lines, "line");
	fputs(" ---\n", out);
	for (size_t i = 0; i < o->n_lines; i++) {
		size_t len, used;
		const char *p = skip_indent(&o->lines[i], &len);

		fprintf(out, "%llu: ", (unsigned long long)o->lines[i].number);
		ofs_text_printable(out, p, len, false, LINE_MAX, &used);
		fputs(used < len ? "...\n" : "\n", out);
	}
	return printed;
}

/* True for dates, times and sizes, which are hardly ever asked for again. */
static bool is_number(const struct name *n)
{
	for (size_t i = 0; i < n->len; i++)
		if (isalpha((unsigned char)n->p[i]))
			return false;
	return true;
}

/*
 * Ranks names, lowest first. A name that occurs two or three times is probably what the text is
 * about: it is defined in one place and used in another. More frequent names are everywhere.
 */
static uint32_t rank(const struct name *n)
{
	if (is_number(n))
		return UINT32_MAX;
	return n->times == 1 ? 7 : 2 * n->times;
}

static int compare_ranks(const void *a, const void *b)
{
	const struct name *x = *(const struct name *const *)a;
	const struct name *y = *(const struct name *const *)b;

	if (rank(x) != rank(y))
		return rank(x) < rank(y) ? -1 : 1;
	return x->p < y->p ? -1 : x->p > y->p;
}

/* Leaves out names that `shape` (or NULL) shows. */
static void print_names(struct outline *o, const char *shape, size_t max, FILE *out)
{
	OFS_FREE struct name **ranked = ofs_alloc((o->n_names + 1) * sizeof(*ranked));
	bool lines = has_lines(o->content);
	size_t used = 0, picked = 0;

	for (size_t i = 0; i < o->n_names; i++)
		ranked[i] = &o->names[i];
	qsort(ranked, o->n_names, sizeof(*ranked), compare_ranks);
	for (size_t i = 0; i < o->n_names && used < max; i++) {
		size_t len = ranked[i]->len + 5;

		if (used + len > max ||
		    (shape && memmem(shape, strlen(shape), ranked[i]->p, ranked[i]->len)))
			continue;
		used += len;
		ranked[i]->picked = true;
		picked++;
	}
	if (!picked)
		return;
	fprintf(out, "--- %zu of %zu names%s ---\n", picked, o->n_names,
		o->tail.text.data ? " in its first 16 KiB" : "");
	for (size_t i = 0, n = 0; i < o->n_names; i++) {
		const struct name *name = &o->names[i];

		if (!name->picked)
			continue;
		fprintf(out, "%s%.*s", n++ ? " " : "", (int)name->len, name->p);
		if (lines)
			fprintf(out, ":%llu", (unsigned long long)name->line);
	}
	putc('\n', out);
}

int ofs_outline_print(const struct ofs_content *c, size_t max, FILE *out)
{
	OFS_CLEANUP(outline_finish) struct outline o = { .content = c };
	OFS_FREE char *shape = NULL;
	int r = read_windows(&o);

	if (r < 0)
		return r;
	look(&o, &o.head, o.tail.text.data ? HEAD_BYTES : SIZE_MAX);
	look(&o, &o.tail, 0);
	shape = make_shape(c);
	if (shape && strlen(shape) < max) {
		fprintf(out, "JSON: %s\n", shape);
		max -= strlen(shape);
	} else {
		free(ofs_steal(shape));
	}
	/* The end of a program's output shows its outcome; the end of a file shows nothing. */
	if (!is_numbered(&o.head.text) && !(shape && !has_lines(c)))
		look_at_last(&o, o.tail.text.data ? &o.tail : &o.head);
	max -= print_lines(&o, max / 2, out);
	print_names(&o, shape, max, out);
	return 0;
}
