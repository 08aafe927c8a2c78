/* SPDX-License-Identifier: MIT */
/* Lists of files: how many names there are, and how many of them are directories. */
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/observe.h"
#include "context/steps/scan.h"

#define PATTERN_NAMES "pattern globpattern glob name filename query namepattern search regex"
#define ARRAY_NAMES \
	"entries items files filenames children contents matches results result paths data output"
#define DIR_ARRAY_NAMES "dirs directories folders subdirectories"
#define NAME_NAMES "name path filename file uri"

/* Objects that a list may be within. */
#define JSON_DEPTH 2
/* "-rw-r--r-- " */
#define MODE_SIZE 10

struct count {
	size_t items, dirs;
	bool typed; /* something told files from directories */
	bool named_total; /* a line said how many there are of each */
};

/* ---- JSON */

static bool is_directory(struct ofs_span entry)
{
	struct ofs_span flag = ofs_args_find(entry, "isdir isdirectory isfolder directory");
	struct ofs_span type = ofs_args_find(entry, "type kind filetype");

	return (flag.len && *flag.p == 't') || ofs_span_is(type, "directory") ||
	       ofs_span_is(type, "dir") || ofs_span_is(type, "folder") || ofs_span_is(type, "d") ||
	       ofs_span_is(type, "tree");
}

static void count_array(struct ofs_span array, struct count *n)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span entry;

	while (ofs_span_next(&c, &entry)) {
		n->items++;
		if (ofs_span_is_object(entry)) {
			n->typed |= ofs_args_find(entry,
						  "isdir isdirectory isfolder type kind filetype")
					    .p != NULL;
			n->dirs += is_directory(entry);
		} else if (ofs_span_is_string(entry) && entry.len > 2 &&
			   entry.p[entry.len - 2] == '/') {
			n->typed = true;
			n->dirs++;
		}
	}
}

/* False: the JSON has no list. */
static bool count_json(struct ofs_span json, int depth, struct count *n)
{
	struct ofs_span files, dirs;

	if (ofs_span_is_array(json)) {
		count_array(json, n);
		return true;
	}
	files = ofs_args_find(json, ARRAY_NAMES);
	dirs = ofs_args_find(json, DIR_ARRAY_NAMES);
	if (ofs_span_is_object(files) && !dirs.p && depth < JSON_DEPTH)
		return count_json(files, depth + 1, n);
	if (!ofs_span_is_array(files) && !ofs_span_is_array(dirs))
		return false;
	count_array(files, n);
	if (ofs_span_is_array(dirs)) {
		size_t more = ofs_args_count(dirs);

		n->typed = true;
		n->items += more;
		n->dirs += more;
	}
	return true;
}

/* ---- lines */

/* A line of ls -l; its first letter says what it is. */
static bool is_long(const char *p, size_t len)
{
	if (len <= MODE_SIZE || !strchr("-dlbcpsD", p[0]) || !p[0])
		return false;
	for (size_t i = 1; i < MODE_SIZE; i++) {
		if (!p[i] || !strchr("-rwxsStT", p[i]))
			return false;
	}
	return strchr(" .+@", p[MODE_SIZE]) != NULL;
}

/* "5 directories, 12 files", the last line of tree. */
static bool take_total(const char *p, size_t len, struct count *n)
{
	const char *end = p + len;
	size_t dirs, files = 0;

	if (!ofs_scan_number(&p, end, &dirs) || !ofs_scan_begins(p, (size_t)(end - p), " director"))
		return false;
	p = memchr(p, ',', (size_t)(end - p));
	if (p) {
		for (p++; p < end && *p == ' '; p++)
			;
		if (!ofs_scan_number(&p, end, &files))
			return false;
	}
	*n = (struct count){ files + dirs, dirs, true, true };
	return true;
}

/* The name after the drawn branches of a tree, or NULL. */
static const char *behind_branch(const char *p, size_t len)
{
	static const char *const marks[] = { "\xe2\x94\x9c\xe2\x94\x80\xe2\x94\x80",
					     "\xe2\x94\x94\xe2\x94\x80\xe2\x94\x80",
					     "|-- ",
					     "`-- ",
					     "+-- ",
					     "\\-- " };
	const char *best = NULL;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(marks); i++) {
		const char *at = memmem(p, len, marks[i], strlen(marks[i]));

		if (at && (!best || at < best))
			best = at + strlen(marks[i]);
	}
	while (best && best < p + len && (*best == ' ' || (unsigned char)*best == 0xa0))
		best++;
	return best;
}

/* A sentence about the list rather than a name in it. */
static bool is_remark(const char *p, size_t len)
{
	static const char *const words[] = {
		"total ",      "Found ",    "Listed ",	 "Directory listing",
		"Contents of", "Here's ",   "Here are ", "No files",
		"No matches",  "NOTE:",	    "Note:",	 "(Results",
		"Total:",      "There are", "Showing ",	 "Listing "
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(words); i++) {
		if ((*p | 0x20) == (words[i][0] | 0x20) && ofs_scan_begins(p, len, words[i]))
			return true;
	}
	return p[len - 1] == ':' || (p[0] == '(' && p[len - 1] == ')') ||
	       (p[0] == '[' && p[len - 1] == ']');
}

/* One name, with marks of what it is. */
static void count_name(const char *p, size_t len, struct count *n)
{
	static const char *const dirs[] = { "[DIR]",	       "[D]",	      "DIR ",
					    "[folder]",	       "[directory]", "\xf0\x9f\x93\x81",
					    "\xf0\x9f\x93\x82" };
	static const char *const files[] = { "[FILE]", "[F]", "\xf0\x9f\x93\x84" };

	if ((len == 1 && *p == '.') || (len == 2 && memcmp(p, "..", 2) == 0))
		return;
	n->items++;
	if (p[len - 1] == '/') {
		n->dirs++;
		n->typed = true;
		return;
	}
	/* Most names start differently. */
	if (!strchr("[D\xf0", *p))
		return;
	for (size_t i = 0; i < OFS_ARRAY_SIZE(dirs); i++) {
		if (ofs_scan_begins(p, len, dirs[i])) {
			n->dirs++;
			n->typed = true;
			return;
		}
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(files); i++)
		n->typed |= ofs_scan_begins(p, len, files[i]);
}

/* The names in a line; ls separates several by tabs or more than one blank. */
static void count_columns(const char *p, size_t len, struct count *n)
{
	const char *end = p + len;

	while (p < end) {
		const char *stop = p;

		while (stop < end && *stop != '\t' &&
		       !(stop + 1 < end && stop[0] == ' ' && stop[1] == ' '))
			stop++;
		if (stop > p)
			count_name(p, (size_t)(stop - p), n);
		for (p = stop; p < end && (*p == ' ' || *p == '\t'); p++)
			;
	}
}

static void count_line(const char *p, size_t len, bool drawn, struct count *n)
{
	const char *name = drawn ? behind_branch(p, len) : NULL;
	size_t indent = 0;

	if (take_total(p, len, n))
		return;
	if (is_long(p, len)) {
		const char *last = memrchr(p, ' ', len);
		size_t size = (size_t)(p + len - last - 1);

		if ((size == 1 && last[1] == '.') || (size == 2 && memcmp(last + 1, "..", 2) == 0))
			return;
		n->items++;
		n->dirs += p[0] == 'd';
		n->typed = true;
		return;
	}
	if (name && name < p + len) {
		count_name(name, (size_t)(p + len - name), n);
		return;
	}
	/* Of a tree that is drawn the other lines are its root and remarks. */
	if (drawn)
		return;
	while (indent < len && (p[indent] == ' ' || p[indent] == '\t'))
		indent++;
	p += indent;
	len -= indent;
	if (len > 2 && (memcmp(p, "- ", 2) == 0 || memcmp(p, "* ", 2) == 0)) {
		count_name(p + 2, len - 2, n);
		return;
	}
	if (ofs_scan_begins(p, len, "[DIR]") || ofs_scan_begins(p, len, "[FILE]"))
		count_name(p, len, n);
	else if (!is_remark(p, len))
		count_columns(p, len, n);
}

static void count_lines(const char *text, size_t len, struct count *n)
{
	const char *p = text, *end = text + len, *line;
	bool drawn = memmem(text, len, "\xe2\x94\x80\xe2\x94\x80", 6) ||
		     memmem(text, len, "|-- ", 4) || memmem(text, len, "`-- ", 4) ||
		     memmem(text, len, "+-- ", 4) || memmem(text, len, "\\-- ", 4);
	size_t size;

	while (!n->named_total && ofs_scan_line(&p, end, &line, &size)) {
		size = ofs_scan_trim(line, size);
		if (size)
			count_line(line, size, drawn, n);
	}
}

/* Without a path the directory is the current one. */
static void say_place(struct ofs_observing *o)
{
	const char *pattern = ofs_observe_take(o, PATTERN_NAMES, "pattern");
	const char *path = ofs_observe_take(o, OFS_OBSERVE_DIR_NAMES, "path");

	if (!path && !pattern) {
		json_object_set_new(o->args, "path", json_string("."));
		path = ".";
	}
	ofs_observe_say(o, "Listed ");
	if (pattern)
		ofs_observe_say_text(o, pattern, strlen(pattern), OFS_OBSERVATION_ARG_MAX / 2);
	if (pattern && path)
		ofs_observe_say(o, " in ");
	if (path)
		ofs_observe_say_text(o, path, strlen(path), OFS_OBSERVATION_ARG_MAX / 2);
}

static void say_counts(struct ofs_observing *o, const struct count *n)
{
	size_t files = n->items - n->dirs;

	ofs_observe_say(o, "%zu item%s", n->items, n->items == 1 ? "" : "s");
	ofs_observe_note_number(o, "items", n->items);
	if (!n->typed)
		return;
	ofs_observe_say(o, " (%zu file%s, %zu dir%s)", files, files == 1 ? "" : "s", n->dirs,
			n->dirs == 1 ? "" : "s");
	ofs_observe_note_number(o, "files", files);
	ofs_observe_note_number(o, "dirs", n->dirs);
}

void ofs_observe_list(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	struct count n = { 0 };

	say_place(o);
	ofs_observe_keep(o, "recursive depth maxdepth ignore");
	if (ofs_observe_say_failure(o)) {
		o->offload = ofs_observe_is_large(o);
		return;
	}
	ofs_observe_say(o, ": ");
	if (!r->text_json.p || !count_json(r->text_json, 0, &n))
		count_lines(r->text, r->text_len, &n);
	say_counts(o, &n);
	o->offload = n.items > o->settings->list_items || o->content->size > o->settings->max_bytes;
}
