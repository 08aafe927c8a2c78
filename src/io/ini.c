/* SPDX-License-Identifier: MIT */
#include "io/ini.h"

#include <ctype.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/text.h"
#include "io/file.h"

#define FILE_MAX ((size_t)64 << 10)

struct ofs_word_shown ofs_word_show(const char *text)
{
	OFS_FREE char *shown = ofs_redact_string(text);
	struct ofs_word_shown s;
	size_t cut = ofs_redact_cut(shown, strlen(shown), sizeof(s.text) - 1);
	char *p;

	snprintf(s.text, sizeof(s.text), "%.*s", (int)cut, shown);
	for (p = s.text; *p; p++)
		if (iscntrl((unsigned char)*p))
			*p = '?';
	return s;
}

/* ---- the table */

const struct ofs_ini_key *ofs_ini_find(const struct ofs_ini_table *table, unsigned int section,
				       const char *name)
{
	for (unsigned int i = 0; i < table->n_keys; i++)
		if (table->keys[i].section == section && strcmp(table->keys[i].name, name) == 0)
			return &table->keys[i];
	return NULL;
}

struct names {
	const struct ofs_ini_table *table;
	unsigned int section;
};

static const char *key_name(const void *arg, size_t n)
{
	const struct names *names = arg;

	for (unsigned int i = 0; i < names->table->n_keys; i++)
		if (names->table->keys[i].section == names->section && n-- == 0)
			return names->table->keys[i].name;
	return NULL;
}

static const char *section_name(const void *arg, size_t n)
{
	const struct ofs_ini_table *table = arg;

	return n + 1 < table->n_sections ? table->sections[n + 1].name : NULL;
}

const char *ofs_ini_nearest(const struct ofs_ini_table *table, unsigned int section,
			    const char *name)
{
	const struct names names = { table, section };

	return ofs_word_nearest(name, key_name, &names);
}

/* Returns -EINVAL and sets *err to `start` and the list of sections. */
static int list_sections(const struct ofs_ini_table *table, struct ofs_error *err,
			 const char *start)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;

	for (unsigned int i = 1; i < table->n_sections; i++)
		ofs_buf_printf(&list, "%s[%s%s]",
			       i == 1			   ? ""
			       : i + 1 < table->n_sections ? ", "
							   : " and ",
			       table->sections[i].name, table->sections[i].check ? " NAME" : "");
	return ofs_error_set(err, EINVAL, "%s: the %s %.*s", start,
			     table->n_sections == 2 ? "only one is" : "sections are", (int)list.len,
			     (const char *)list.data);
}

int ofs_ini_unknown(const struct ofs_ini_table *table, unsigned int section, const char *name,
		    struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf list = OFS_BUF_INIT;
	const struct names names = { table, section };
	const char *nearest = ofs_ini_nearest(table, section, name), *key;
	struct ofs_word_shown shown = ofs_word_show(name);
	char start[128];

	for (unsigned int i = 0; i < table->n_keys; i++) {
		const struct ofs_ini_section *other = &table->sections[table->keys[i].section];

		if (strcmp(table->keys[i].name, name) != 0)
			continue;
		if (!table->keys[i].section)
			return ofs_error_set(err, EINVAL, "'%s' belongs before the first section",
					     name);
		return ofs_error_set(err, EINVAL, "'%s' belongs in [%s%s]", name, other->name,
				     other->check ? " NAME" : "");
	}
	if (nearest)
		return ofs_error_set(err, EINVAL, "unknown key '%s': did you mean '%s'?",
				     shown.text, nearest);
	for (size_t i = 0; (key = key_name(&names, i)); i++)
		ofs_buf_printf(&list, "%s%s", i ? ", " : "", key);
	if (!list.len) {
		snprintf(start, sizeof(start), "unknown key '%s' before any section", shown.text);
		return list_sections(table, err, start);
	}
	if (!section)
		return ofs_error_set(err, EINVAL, "unknown key '%s': the keys are %.*s", shown.text,
				     (int)list.len, (const char *)list.data);
	return ofs_error_set(err, EINVAL, "unknown key '%s': the keys of [%s] are %.*s", shown.text,
			     table->sections[section].name, (int)list.len, (const char *)list.data);
}

/* ---- values */

void ofs_ini_describe(const struct ofs_ini_key *key, struct ofs_error *ret)
{
	size_t len;

	if (key->type == OFS_INI_NUMBER) {
		ofs_error_set(ret, 0, "%s", ofs_quantity_describe(&key->number).text);
		return;
	}
	if (key->type == OFS_INI_TEXT) {
		if (!key->check || key->check("", ret) == 0)
			ofs_error_set(ret, 0, "a text");
		return;
	}
	len = (size_t)snprintf(ret->text, sizeof(ret->text), "one of %s", key->words[0]);
	for (int i = 1; key->words[i]; i++)
		len += (size_t)snprintf(ret->text + len, sizeof(ret->text) - len, ", %s",
					key->words[i]);
}

const char *ofs_ini_placeholder(const struct ofs_ini_key *key)
{
	if (key->type == OFS_INI_NUMBER)
		return ofs_unit_placeholder(key->number.unit);
	return key->type == OFS_INI_WORD ? "WORD" : key->value ? key->value : "TEXT";
}

int ofs_ini_parse(const struct ofs_ini_key *key, const char *text, uint64_t *ret,
		  struct ofs_error *must)
{
	switch (key->type) {
	case OFS_INI_NUMBER:
		if (ofs_quantity_parse(&key->number, text, ret))
			return 0;
		break;
	case OFS_INI_WORD:
		for (*ret = 0; key->words[*ret]; ++*ret)
			if (strcmp(key->words[*ret], text) == 0)
				return 0;
		break;
	case OFS_INI_TEXT:
		if (!ofs_text_is_utf8(text))
			return ofs_error_set(must, EINVAL, "UTF-8");
		return key->check ? key->check(text, must) : 0;
	}
	if (must)
		ofs_ini_describe(key, must);
	return -EINVAL;
}

/* ---- the file */

struct reading {
	const struct ofs_ini_table *table;
	unsigned int line;
	unsigned int section; /* section of the line */
	const char *x; /* X of [NAME X], or NULL */
	struct ofs_ini_entry *entries;
	size_t n, cap;
	struct ofs_error wrong; /* error in that line */
};

static void add(struct reading *r, const struct ofs_ini_entry *entry)
{
	*ofs_append(r->entries, r->n, r->cap) = *entry;
}

/* Returns the line of an earlier entry of this key and X, or with NULL of this section; or 0. */
static unsigned int find_line(const struct reading *r, const struct ofs_ini_key *key, const char *x)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct ofs_ini_entry *e = &r->entries[i];

		if (e->key == key && (key || e->section == r->section) &&
		    (e->x && x ? strcmp(e->x, x) == 0 : e->x == x))
			return e->line;
	}
	return 0;
}

/* Starts a section [NAME X]; `at` is the text after NAME. */
static int start_named(struct reading *r, const struct ofs_ini_section *section, char *at)
{
	struct ofs_ini_entry start = { .section = r->section, .line = r->line };
	unsigned int before;

	while (isblank((unsigned char)*at))
		at++;
	if (!*at)
		return ofs_error_set(&r->wrong, EINVAL, "[%s] lacks a name: write it as [%s NAME]",
				     section->name, section->name);
	if (section->check(at, &r->wrong) < 0)
		return -EINVAL;
	before = find_line(r, NULL, at);
	if (before)
		return ofs_error_set(&r->wrong, EINVAL,
				     "[%s %s] appears twice, first in line %u: keep one",
				     section->name, ofs_word_show(at).text, before);
	start.x = r->x = at;
	add(r, &start);
	return 0;
}

static int start_section(struct reading *r, char *name)
{
	const struct ofs_ini_table *table = r->table;
	struct ofs_word_shown shown;
	const char *nearest;
	char start[96];

	r->x = NULL;
	for (r->section = 1; r->section < table->n_sections; r->section++) {
		const struct ofs_ini_section *s = &table->sections[r->section];
		size_t len = strlen(s->name);

		if (!s->check && strcmp(s->name, name) == 0)
			return 0;
		if (s->check && strncmp(s->name, name, len) == 0 &&
		    (!name[len] || isblank((unsigned char)name[len])))
			return start_named(r, s, name + len);
	}
	shown = ofs_word_show(name);
	name[strcspn(name, " \t")] = 0;
	nearest = ofs_word_nearest(name, section_name, table);
	for (unsigned int i = 1; nearest && i < table->n_sections; i++)
		if (table->sections[i].name == nearest)
			return ofs_error_set(&r->wrong, EINVAL,
					     "unknown section [%s]: did you mean [%s%s]?",
					     shown.text, nearest,
					     table->sections[i].check ? " NAME" : "");
	snprintf(start, sizeof(start), "unknown section [%s]", shown.text);
	return list_sections(table, &r->wrong, start);
}

static int take_value(struct reading *r, const char *name, const char *text)
{
	const struct ofs_ini_key *key = ofs_ini_find(r->table, r->section, name), *same = NULL;
	struct ofs_ini_entry entry = {
		.section = r->section, .x = r->x, .text = text, .line = r->line
	};
	OFS_FREE char *alias = NULL;
	const char *prefix;
	struct ofs_error must;
	unsigned int before;

	if (!key)
		return ofs_ini_unknown(r->table, r->section, name, &r->wrong);
	if (key->user_only && r->table->user_file)
		return ofs_error_set(&r->wrong, EINVAL,
				     "'%s' is not taken from a store: it belongs in '%s'", name,
				     r->table->user_file);
	prefix = r->table->sections[r->section].alias;
	if (r->x && prefix) {
		alias = ofs_alloc(strlen(prefix) + strlen(r->x) + 1);
		strcat(strcpy(alias, prefix), r->x);
		same = ofs_ini_find(r->table, 0, alias);
	}
	if (same) {
		key = same;
		entry.x = NULL;
	}
	before = find_line(r, key, entry.x);
	if (before)
		return ofs_error_set(&r->wrong, EINVAL,
				     "'%s' is set twice, first in line %u: keep one", key->name,
				     before);
	if (ofs_ini_parse(key, text, &entry.number, &must) < 0)
		return ofs_error_set(&r->wrong, EINVAL, "%s = '%s': must be %s", name,
				     ofs_word_show(text).text, must.text);
	entry.key = key;
	add(r, &entry);
	return 0;
}

static char *trim(char *text)
{
	size_t len;

	while (isspace((unsigned char)*text))
		text++;
	len = strlen(text);
	while (len && isspace((unsigned char)text[len - 1]))
		text[--len] = 0;
	return text;
}

static int take_line(struct reading *r, char *text)
{
	char *end, *rest;

	text = trim(text);
	if (!*text || *text == ';' || *text == '#')
		return 0;
	if (*text == '[') {
		end = strchr(text, ']');
		rest = end ? trim(end + 1) : text;
		if (*rest && *rest != ';' && *rest != '#')
			return ofs_error_set(&r->wrong, EINVAL, "not a line of the form [SECTION]");
		*end = 0;
		return start_section(r, text + 1);
	}
	for (rest = text + 1; *rest && !(*rest == ';' && isspace((unsigned char)rest[-1])); rest++)
		;
	*rest = 0;
	end = strpbrk(text, "=:");
	if (!end)
		return ofs_error_set(&r->wrong, EINVAL, "not a line of the form KEY = VALUE");
	*end = 0;
	return take_value(r, trim(text), trim(end + 1));
}

static int take_text(struct reading *r, char *text, size_t len)
{
	static const char bom[] = "\xef\xbb\xbf";
	const char *nul = memchr(text, 0, len);
	char *next;
	int e = 0;

	r->line = 1;
	if (nul) {
		for (; text < nul; text++)
			r->line += *text == '\n';
		return ofs_error_set(&r->wrong, EINVAL,
				     "a NUL byte: it must be a text file in UTF-8");
	}
	if (strncmp(text, bom, strlen(bom)) == 0)
		text += strlen(bom);
	for (; e == 0 && *text; text = next) {
		next = text + strcspn(text, "\n");
		if (*next)
			*next++ = 0;
		e = take_line(r, text);
		r->line += e == 0;
	}
	return e;
}

static int read_text(int dirfd, const char *path, struct ofs_error *err, struct ofs_buf *ret)
{
	const char *name = dirfd == AT_FDCWD ? path : strrchr(path, '/') + 1;
	/* Opening a FIFO would block until somebody opens its other end. */
	OFS_CLOSE int fd = ofs_io_open(dirfd, name, O_RDONLY | O_NONBLOCK, 0);
	struct stat st;
	int r = fd < 0 ? fd : fstat(fd, &st) < 0 ? -errno : 0;

	if (r == -ELOOP || (r == 0 && !S_ISREG(st.st_mode)))
		return ofs_error_set(err, EINVAL, "'%s' is not a regular file", path);
	r = r < 0 ? r : ofs_io_read_fd(fd, FILE_MAX, ret);
	if (r == -EFBIG)
		return ofs_error_set(err, EINVAL, "'%s' is larger than %zu KiB", path,
				     FILE_MAX >> 10);
	return r < 0 ? ofs_error_set(err, -r, "cannot read '%s': %s", path, strerror(-r)) : 0;
}

int ofs_ini_load(int dirfd, const char *path, const struct ofs_ini_table *table,
		 void (*take)(void *arg, const struct ofs_ini_entry *entry), void *arg,
		 struct ofs_error *err)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct reading r = { .table = table };
	int e = read_text(dirfd, path, err, &text);

	if (e < 0)
		return e;
	ofs_buf_append(&text, "", 1);
	e = take_text(&r, (char *)text.data, text.len - 1);
	if (e < 0)
		ofs_error_set(err, -e, "%s:%u: %s", path, r.line, r.wrong.text);
	for (size_t i = 0; e == 0 && i < r.n; i++)
		take(arg, &r.entries[i]);
	free(r.entries);
	return e;
}
