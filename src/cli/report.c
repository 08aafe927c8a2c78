/* SPDX-License-Identifier: MIT */
#include "cli/report.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/text.h"

/* ---- messages */

/* Of a message that is shown. */
#define LINE_MAX_LEN 2047

static const char *report_command;

void ofs_report_set_command(const char *name)
{
	report_command = name;
}

__attribute__((format(printf, 2, 0))) static void report_write(const char *hint, const char *fmt,
							       va_list ap)
{
	OFS_FREE char *shown = NULL;
	char line[LINE_MAX_LEN + OFS_REDACT_AHEAD];

	vsnprintf(line, sizeof(line), fmt, ap);
	ofs_redact_line(line, sizeof(line));
	line[ofs_redact_cut(line, strlen(line), LINE_MAX_LEN)] = '\0';
	shown = ofs_text_shown(line);
	fflush(stdout);
	fprintf(stderr, "offload: %s%s%s%s\n", report_command ? report_command : "",
		report_command ? ": " : "", shown, hint);
}

int ofs_report(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	report_write("", fmt, ap);
	va_end(ap);
	return OFS_EXIT_FAILURE;
}

int ofs_report_usage(const char *fmt, ...)
{
	char hint[64];
	va_list ap;

	snprintf(hint, sizeof(hint), "; see offload %s%s--help",
		 report_command ? report_command : "", report_command ? " " : "");
	va_start(ap, fmt);
	report_write(hint, fmt, ap);
	va_end(ap);
	return OFS_EXIT_USAGE;
}

void ofs_report_line(FILE *out, const char *fmt, ...)
{
	OFS_FREE char *line = NULL;
	va_list ap;

	va_start(ap, fmt);
	line = ofs_vformat(fmt, ap);
	va_end(ap);
	ofs_text_line(out, line);
	putc('\n', out);
}

const char *ofs_report_errno(int code)
{
	switch (code) {
	case EKEYEXPIRED:
		return "the file has expired and was removed";
	case ENODEV:
		return "the tree was unmounted meanwhile";
	case ENOTCONN:
	case ECONNABORTED:
	case ECANCELED: /* a request that was on its way over io_uring */
		return "the mount has lost its daemon; 'offload up' mounts it again";
	default:
		return strerror(code);
	}
}

void ofs_report_stale(const struct ofs_target *t)
{
	if (t->stale)
		ofs_report("the daemon of '%s' is gone; 'offload up' starts it again",
			   t->mountpoint);
}

/* ---- results */

/* A field of a form. */
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

/* Reads the field at `p`, after the brace. */
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

void ofs_print_form(FILE *out, const json_t *object, const char *form)
{
	print_range(out, object, form, form + strlen(form));
}

json_t *ofs_print_string(const char *text)
{
	return text ? json_string_nocheck(text) : json_null();
}

static int report_not_utf8(const char *name)
{
	return ofs_report("the name '%s' is not UTF-8, which JSON needs", name);
}

int ofs_print_json(json_t *json, const char *name)
{
	return ofs_text_json(stdout, json) < 0 ? report_not_utf8(name) : OFS_EXIT_OK;
}

int ofs_print_item(json_t *list, json_t *item, const char *form)
{
	int code = OFS_EXIT_OK;

	if (!list) {
		ofs_print_form(stdout, item, form);
	} else {
		OFS_FREE char *text = json_dumps(item, 0);
		const json_t *path = json_object_get(item, "path");

		if (text)
			json_array_append(list, item);
		else
			code = report_not_utf8(
				json_string_value(path ? path : json_object_get(item, "name")));
	}
	json_decref(item);
	return code;
}
