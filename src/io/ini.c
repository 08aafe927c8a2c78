/* SPDX-License-Identifier: MIT */
#include "io/ini.h"

#include <ctype.h>
#include <fcntl.h>
#include <ini.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/util.h"
#include "io/file.h"

#define FILE_MAX ((size_t)64 << 10)

struct reading {
	const char *path;
	ofs_ini_fn fn;
	void *arg;
	struct ofs_error *err;
	char *section; /* NULL: none yet */
	const char *next; /* what is still to be read */
	const char *end;
	unsigned int line; /* number of the line before `next` */
	bool failed; /* with the reason in `err`; at `line` */
};

static void fail(struct reading *r, unsigned int line, const char *what)
{
	r->failed = true;
	ofs_error_set(r->err, EINVAL, "%s:%u: %s", r->path, line, what);
}

/* Hands a line out. */
static void take(struct reading *r, const char *name, const char *value)
{
	const struct ofs_ini_line line = { r->line, r->section, name, value };
	struct ofs_error what = { "" };

	if (r->fn(r->arg, &line, &what) != 0)
		fail(r, r->line, what.text);
}

/* A line that begins with '['. The parser has no room for long names of sections, and never sees one. */
static void take_section(struct reading *r, const char *text, const char *eol)
{
	const char *close = memchr(text, ']', (size_t)(eol - text)), *rest;

	for (rest = close ? close + 1 : eol; rest < eol && isspace((unsigned char)*rest);)
		rest++;
	if (!close || (rest < eol && !strchr(";#", *rest))) {
		fail(r, r->line, "not a line of the form [SECTION]");
		return;
	}
	free(r->section);
	r->section = ofs_alloc((size_t)(close - text));
	memcpy(r->section, text + 1, (size_t)(close - text) - 1);
	take(r, NULL, NULL);
}

/* The parser's fgets(); hands out one line without blanks around it, and no comments. */
static char *read_line(char *ret, int size, void *arg)
{
	struct reading *r = arg;
	const char *text = r->next, *eol;
	char what[64];

	if (r->failed || text == r->end)
		return NULL;
	eol = memchr(text, '\n', (size_t)(r->end - text));
	if (!eol)
		eol = r->end;
	r->next = eol < r->end ? eol + 1 : eol;
	r->line++;
	/* A line that begins with a blank is no continuation of the one before. */
	while (text < eol && isspace((unsigned char)*text))
		text++;
	while (text < eol && isspace((unsigned char)eol[-1]))
		eol--;
	if (text < eol && strchr(";#", *text))
		text = eol;
	if (text < eol && *text == '[') {
		take_section(r, text, eol);
		text = eol;
	}
	/* Room for the newline and the final NUL. */
	if (eol - text > size - 2) {
		snprintf(what, sizeof(what), "a line of more than %d bytes", size - 2);
		fail(r, r->line, what);
	}
	if (r->failed)
		return NULL;
	memcpy(ret, text, (size_t)(eol - text));
	strcpy(ret + (eol - text), "\n");
	return ret;
}

static int take_value(void *arg, const char *section, const char *name, const char *value)
{
	struct reading *r = arg;

	(void)section;
	take(r, name, value);
	return !r->failed;
}

static unsigned int line_at(const struct ofs_buf *text, const uint8_t *at)
{
	unsigned int line = 1;
	const uint8_t *p;

	for (p = text->data; p < at; p++)
		line += *p == '\n';
	return line;
}

static int parse_text(struct reading *r, const struct ofs_buf *text)
{
	static const char bom[] = "\xef\xbb\xbf";
	const uint8_t *nul = text->len ? memchr(text->data, 0, text->len) : NULL;
	int wrong;

	if (nul) {
		fail(r, line_at(text, nul), "a NUL byte: it must be a text file in UTF-8");
		return -EINVAL;
	}
	r->next = text->len ? (const char *)text->data : "";
	r->end = r->next + text->len;
	if (text->len >= strlen(bom) && memcmp(r->next, bom, strlen(bom)) == 0)
		r->next += strlen(bom);
	wrong = ini_parse_stream(read_line, r, take_value, r);
	/* The first line that is wrong counts; the parser goes on behind one that it cannot read. */
	if (wrong > 0 && !(r->failed && (unsigned int)wrong >= r->line))
		fail(r, (unsigned int)wrong, "not a line of the form KEY = VALUE");
	if (wrong < 0)
		return ofs_error_set(r->err, ENOMEM, "out of memory");
	return r->failed ? -EINVAL : 0;
}

static int read_text(const char *path, struct ofs_error *err, struct ofs_buf *ret)
{
	struct stat st;
	int r;

	if (stat(path, &st) < 0)
		return ofs_error_set(err, errno, "cannot read '%s': %s", path, strerror(errno));
	/* Reading a pipe would wait for its other end. */
	if (!S_ISREG(st.st_mode))
		return ofs_error_set(err, EINVAL, "'%s' is not a regular file", path);
	r = ofs_io_read_file(AT_FDCWD, path, FILE_MAX, ret);
	if (r == -EFBIG)
		return ofs_error_set(err, EINVAL, "'%s' is larger than %zu KiB", path,
				     FILE_MAX >> 10);
	return r < 0 ? ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

int ofs_ini_load(const char *path, ofs_ini_fn fn, void *arg, struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct reading r = { .path = path, .fn = fn, .arg = arg, .err = err };
	int e = read_text(path, err, &text);

	if (e == 0)
		e = parse_text(&r, &text);
	free(r.section);
	return e;
}
