/* SPDX-License-Identifier: MIT */
#include "base/text_form.h"

#include "base/text.h"

/* A field of a form: the text between braces. */
struct field {
	const json_t *value; /* NULL: absent */
	bool hidden; /* nothing is printed */
	char kind; /* ':', '|' or '}' */
	char word[32]; /* after the kind */
};

static const json_t *find_member(const json_t *object, const char *key, size_t len)
{
	char name[64];
	char *rest = name;

	snprintf(name, sizeof(name), "%.*s", (int)len, key);
	for (const char *each; (each = strsep(&rest, "."));)
		object = json_object_get(object, each);
	return object;
}

static bool is_absent(const json_t *value, bool positive)
{
	return !value || json_is_null(value) || json_is_false(value) ||
	       (json_is_string(value) && !json_string_length(value)) ||
	       (positive && json_integer_value(value) == 0);
}

/* Parses the field at `p`, just after its brace. */
static struct field read_field(const json_t *object, const char *p)
{
	bool positive = *p == '+';
	struct field f = { .hidden = *p == '?' };
	size_t len;

	p += positive || f.hidden;
	len = strcspn(p, ":|}");
	f.value = find_member(object, p, len);
	if (is_absent(f.value, positive))
		f.value = NULL;
	f.kind = p[len];
	if (f.kind != '}')
		snprintf(f.word, sizeof(f.word), "%.*s", (int)strcspn(p + len + 1, "}"),
			 p + len + 1);
	return f;
}

static void print_field(FILE *out, const struct field *f)
{
	json_int_t value = json_integer_value(f->value);
	uint64_t n = value < 0 ? -(uint64_t)value : (uint64_t)value;

	if (f->hidden)
		return;
	if (value < 0)
		putc('-', out);
	if (!f->value && f->kind == '|')
		fputs(f->word, out);
	else if (json_is_string(f->value))
		ofs_text_line(out, json_string_value(f->value));
	else if (f->kind != ':')
		ofs_text_number(out, n);
	else if (strcmp(f->word, "size") == 0)
		ofs_text_size(out, n);
	else
		ofs_text_count(out, n, f->word);
}

static bool has_all(const json_t *object, const char *p, const char *end)
{
	while ((p = memchr(p, '{', (size_t)(end - p)))) {
		struct field f = read_field(object, ++p);

		if (!f.value && f.kind != '|')
			return false;
	}
	return true;
}

static void print_range(FILE *out, const json_t *object, const char *p, const char *end)
{
	while (p < end) {
		const char *closing = *p == '{' ? strchr(p, '}') : *p == '[' ? strchr(p, ']') : p;

		if (*p == '{') {
			struct field f = read_field(object, p + 1);

			print_field(out, &f);
		} else if (*p != '[') {
			putc(*p, out);
		} else if (has_all(object, p + 1, closing)) {
			print_range(out, object, p + 1, closing);
		}
		p = closing + 1;
	}
}

void ofs_text_form(FILE *out, const json_t *object, const char *form)
{
	print_range(out, object, form, form + strlen(form));
}
