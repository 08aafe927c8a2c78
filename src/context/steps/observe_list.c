/* SPDX-License-Identifier: MIT */
/* Rules for lists: names of files, matching lines, results of web searches. */
#include <ctype.h>
#include <stdio.h>

#include "context/json/args.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"

#define DIR_NAMES                                                                           \
	"path dirpath directory dir directorypath folder folderpath relativeworkspacepath " \
	"targetdirectory absolutepath searchdirectory searchpath root uri filepath file cwd"
#define NAME_NAMES "pattern globpattern glob name filename query namepattern search regex"
#define PATTERN_NAMES                                                                        \
	"pattern regex query searchterm searchquery substringpattern search q text keyword " \
	"term string"
#define QUERY_NAMES                                                                           \
	"query q searchquery searchterm search keywords keyword text input question queries " \
	"term"

/* Members that hold the results: a list, or an object with one. */
#define LIST_NAMES                                                                              \
	"matches results organicresults organic webresults entries items files filenames hits " \
	"children searchresults documents articles contents paths value pages links news "      \
	"sources webpages web data result response output"
#define DIR_LIST_NAMES "dirs directories folders subdirectories"
#define MATCH_COUNT_NAMES "nummatches matchcount totalmatches totalcount count total numlines"
#define FILE_COUNT_NAMES "numfiles filecount filesmatched"
#define LIST_DEPTH 3

/* length of "-rw-r--r--" */
#define MODE_SIZE 10

#define WEB_MARKS 5

struct tally {
	size_t items, dirs, files;
	bool counted; /* `items` is known */
	bool said; /* a sentence gave the numbers */
	const char *branch; /* what marks a name in a drawn tree; NULL: not a tree */
	const char *file; /* that of the last match */
	size_t file_len;
	size_t plain; /* lines without a file name */
	size_t numbered; /* lines "12:text", as for a single file */
	/* Context lines ("11-text"), and lines "--" between groups of them. */
	size_t around, breaks;
	size_t named; /* lines "a.c:text", without a number */
	size_t marked[WEB_MARKS];
};

/* ---- JSON */

static bool is_directory(struct ofs_span entry)
{
	struct ofs_span flag = ofs_args_find(entry, "isdir isdirectory isfolder directory");
	struct ofs_span type = ofs_args_find(entry, "type kind filetype");

	return (flag.len && *flag.p == 't') || ofs_span_is(type, "directory") ||
	       ofs_span_is(type, "dir") || ofs_span_is(type, "folder") ||
	       (ofs_span_is_string(entry) && entry.p[entry.len - 2] == '/');
}

static void count_array(struct ofs_span array, struct tally *t)
{
	struct ofs_span_cursor c = ofs_span_enter(array);
	struct ofs_span entry;

	for (; ofs_span_next(&c, &entry); t->items++)
		t->dirs += is_directory(entry);
	t->counted = true;
}

static bool take_number(struct ofs_span json, const char *names, size_t *ret)
{
	long long n;

	if (!ofs_span_integer(ofs_args_find(json, names), &n) || n < 0)
		return false;
	*ret = (size_t)n;
	return true;
}

/* Counts results in JSON; `numbers`: also by members with counts. Returns false if it cannot. */
static bool count_json(struct ofs_span json, int depth, bool numbers, struct tally *t)
{
	struct ofs_span list = ofs_span_is_array(json) ? json : ofs_args_find(json, LIST_NAMES);
	struct ofs_span dirs = ofs_args_find(json, DIR_LIST_NAMES);

	if (numbers) {
		t->counted = take_number(json, MATCH_COUNT_NAMES, &t->items);
		take_number(json, FILE_COUNT_NAMES, &t->files);
	}
	if (ofs_span_is_object(list) && !dirs.p && depth < LIST_DEPTH)
		return count_json(list, depth + 1, numbers, t);
	if (!t->counted && ofs_span_is_array(list))
		count_array(list, t);
	if (ofs_span_is_array(dirs)) {
		t->items += ofs_args_count(dirs);
		t->dirs += ofs_args_count(dirs);
		t->counted = true;
	}
	return t->counted || t->files;
}

/* ---- text */

static bool says_none(const char *text, size_t len)
{
	return !len || ofs_scan_begins(text, len, "Found 0 ") ||
	       (ofs_scan_begins(text, len, "No ") &&
		memmem(text, OFS_MIN(len, (size_t)80), " found", 6));
}

/* Counts results in JSON if there is any, or else with `count_line` for each line of the text. */
static void count(const struct ofs_observing *o, struct tally *t,
		  void (*count_line)(const char *p, size_t len, struct tally *t))
{
	const struct ofs_tool_result *r = &o->result;
	const char *p = r->text, *line;
	/* An array that was unwrapped to a text consisted of blocks, not results. */
	bool is_text = ofs_span_is_array(r->json) && r->unwrapped.data;
	struct ofs_span json = r->text_json.p || is_text ? r->text_json : r->json;
	size_t len;

	if (count_json(json, 0, o->rule == OFS_TOOL_GREP, t))
		return;
	if (says_none(r->text, r->text_len)) {
		t->counted = true;
		return;
	}
	while (ofs_scan_line(&p, r->text + r->text_len, &line, &len)) {
		len = ofs_scan_trim(line, len);
		if (len)
			count_line(line, len, t);
	}
}

/* ---- names of files */

/* Counts one name. "a/", "[DIR] a" and names after a picture of a folder are directories. */
static void count_name(const char *p, size_t len, struct tally *t)
{
	bool is_self = strspn(p, ".") >= len && len < 3;

	t->items += !is_self;
	t->dirs += !is_self && (p[len - 1] == '/' || ofs_scan_begins(p, len, "[dir") ||
				ofs_scan_begins(p, len, "\xf0\x9f\x93\x81"));
}

/* Returns whether this is a line of ls -l. Its first letter is the type. */
static bool is_long(const char *p, size_t len)
{
	return len > MODE_SIZE && memchr("-dlbcps", p[0], 7) &&
	       strspn(p + 1, "-rwxsStT") == MODE_SIZE - 1;
}

/* Counts the names in a line. ls puts tabs or several blanks between them. */
static void count_columns(const char *p, size_t len, struct tally *t)
{
	const char *end = p + len;

	while (p < end) {
		const char *start = p;

		while (p < end && *p != '\t' && !(p + 1 < end && p[0] == ' ' && p[1] == ' '))
			p++;
		if (p > start)
			count_name(start, (size_t)(p - start), t);
		while (p < end && (*p == ' ' || *p == '\t'))
			p++;
	}
}

/* Returns whether the line is about the list rather than a name in it. */
static bool is_remark(const char *p, size_t len)
{
	return ofs_scan_begins(p, len, "total ") || ofs_scan_begins(p, len, "note:") ||
	       ofs_scan_begins(p, len, "found ") || p[len - 1] == ':' ||
	       (p[0] == '(' && p[len - 1] == ')') || (p[0] == '[' && p[len - 1] == ']');
}

static void count_names(const char *p, size_t len, struct tally *t)
{
	const char *end = p + len, *at;
	size_t before, dirs, files = 0;
	char start[64];
	int total = 0;

	if (t->said)
		return;
	snprintf(start, sizeof(start), "%.*s", (int)OFS_MIN(len, sizeof(start)), p);
	sscanf(start, "%zu director%*[a-z]%n, %zu file", &dirs, &total, &files);
	if (total) {
		*t = (struct tally){ .items = files + dirs, .dirs = dirs, .said = true };
	} else if (is_long(p, len) && (at = memrchr(p, ' ', len))) {
		before = t->items;
		count_name(at + 1, (size_t)(end - at - 1), t);
		t->dirs += t->items > before && p[0] == 'd' && end[-1] != '/';
	} else if (t->branch) {
		/* Other lines of a tree are its root and remarks. */
		at = memmem(p, len, t->branch, strlen(t->branch));
		for (at = at ? at + strlen(t->branch) : end; at < end && *at == ' ';)
			at++;
		if (at < end)
			count_name(at, (size_t)(end - at), t);
	} else {
		while (isspace((unsigned char)*p))
			p++;
		if (end - p > 2 && (*p == '-' || *p == '*') && p[1] == ' ')
			p += 2;
		if (!is_remark(p, (size_t)(end - p)))
			count_columns(p, (size_t)(end - p), t);
	}
}

void ofs_observe_list(struct ofs_observing *o)
{
	static const char drawn[] = "\xe2\x94\x80\xe2\x94\x80", plain[] = "-- ";
	const struct ofs_tool_result *r = &o->result;
	const char *pattern = ofs_observe_take(o, o->call->args, NAME_NAMES, "pattern");
	const char *path = ofs_observe_take(o, o->call->args, DIR_NAMES, "path");
	struct tally t = { 0 };

	/* The default is the current directory. */
	if (!path && !pattern)
		path = ofs_observe_set_arg(o, "path", ".", 1);
	ofs_observe_say(o, "Listed %s%s%s", pattern ? pattern : "", pattern && path ? " in " : "",
			path ? path : "");
	if (o->failed)
		return;
	if (memmem(r->text, r->text_len, drawn, strlen(drawn)))
		t.branch = drawn;
	else if (memmem(r->text, r->text_len, "|-- ", 4) || memmem(r->text, r->text_len, "`-- ", 4))
		t.branch = plain;
	count(o, &t, count_names);
	ofs_observe_say(o, ": %s", ofs_counted(t.items, "item").text);
	ofs_observe_note_number(o, "items", t.items);
	if (t.dirs) {
		t.files = t.items - t.dirs;
		ofs_observe_say(o, " (%s, %s)", ofs_counted(t.files, "file").text,
				ofs_counted(t.dirs, "dir").text);
		ofs_observe_note_number(o, "files", t.files);
		ofs_observe_note_number(o, "dirs", t.dirs);
	}
	o->offload = t.items > o->settings->list_items || o->content.size > o->settings->max_bytes;
}

/* ---- lines that match */

/* Returns whether the last component has a dot; "src/2024" of "src/2024-01.md" has none. */
static bool is_file(const char *p, size_t len)
{
	const char *slash = memrchr(p, '/', len);
	size_t folder = slash ? (size_t)(slash + 1 - p) : 0;

	return memchr(p + folder, '.', len - folder);
}

/*
 * Returns the length of the name in "src/a.c:12:text" or "src/a.c-12-text" (a context line), or 0.
 * A name may contain numbers, as in "a-1-b.c-11-text".
 */
static size_t file_part(const char *p, const char *end)
{
	size_t first = 0;
	bool has_dot = false; /* in the last component */

	for (const char *q = p; q < end; q++) {
		const char *after = q + 1;

		has_dot = *q == '.' || (has_dot && *q != '/');
		if (q == p || (*q != ':' && *q != '-'))
			continue;
		while (after < end && isdigit((unsigned char)*after))
			after++;
		if (after == q + 1 || after == end || *after != *q)
			continue;
		if (*q == ':' || has_dot)
			return (size_t)(q - p);
		first = first ? first : (size_t)(q - p);
	}
	return first;
}

/* Returns the character after the leading number of a line, or 0 if the line has none. */
static char after_number(const char *p, const char *end)
{
	const char *q = p;

	while (q < end && isdigit((unsigned char)*q))
		q++;
	return q > p && q < end ? *q : 0;
}

/* Returns whether the line starts with "NAME:", as grep prints matches without numbers. */
static bool is_named(const char *p, size_t len)
{
	const char *colon = memchr(p, ':', len);

	return colon && is_file(p, (size_t)(colon - p)) && !memchr(p, ' ', (size_t)(colon - p));
}

/* Counts a line of grep -n, or "src/a.c (3 matches)" after "Found 3 matches" or "Found 2 files". */
static void count_matches(const char *p, size_t len, struct tally *t)
{
	char start[64], noun, after = after_number(p, p + len);
	size_t name = after == ':' ? 0 : file_part(p, p + len), number;

	if (after == '-' && !is_file(p, name))
		name = 0;
	snprintf(start, sizeof(start), "%.*s", (int)OFS_MIN(len, sizeof(start)), p);
	if (!t->items && !t->plain && sscanf(start, "Found %zu %c", &number, &noun) == 2) {
		*(noun == 'f' ? &t->files : &t->items) = number;
		t->counted = noun != 'f';
		t->said = true;
	} else if (t->said) {
		t->files += p[len - 1] == ')' && memmem(p, len, " match", 6);
	} else if (name) {
		t->items += p[name] == ':';
		t->files += name != t->file_len || memcmp(p, t->file, name) != 0;
		t->file = p;
		t->file_len = name;
	} else if (len == 2 && memcmp(p, "--", 2) == 0) {
		t->breaks++;
	} else {
		t->numbered += after == ':';
		t->around += after == '-';
		t->plain += after != ':' && after != '-';
		t->named += is_named(p, len);
	}
}

/* Counts a name of a file, as grep -l prints it, or "Found 2 files" before the names. */
static void count_file(const char *p, size_t len, struct tally *t)
{
	if (t->said || ofs_scan_begins(p, len, "Found "))
		count_matches(p, len, t);
	else
		t->files++;
}

/* Counts a line "src/a.c:3" or "3", as of grep -c. */
static void count_counts(const char *p, size_t len, struct tally *t)
{
	const char *end = p + len, *digits = end;
	size_t n = 0;

	while (digits > p && isdigit((unsigned char)digits[-1]))
		digits--;
	if (digits == end || (digits > p && digits[-1] != ':'))
		return;
	for (const char *q = digits; q < end; q++)
		n = n * 10 + (size_t)(*q - '0');
	t->items += n;
	t->files += digits > p && n;
	t->counted = true;
}

/* Returns how to count the lines of the output that the call asked for. */
static void (*line_counter(struct ofs_span args))(const char *p, size_t len, struct tally *t)
{
	struct ofs_span mode = ofs_args_find(args, "outputmode");

	if (ofs_span_is(mode, "files_with_matches"))
		return count_file;
	return ofs_span_is(mode, "count") ? count_counts : count_matches;
}

/* Returns whether the call asked for context lines, as grep -C 3 does. */
static bool has_context(struct ofs_span args)
{
	static const char *const names[] = { "c context contextlines surroundinglines",
					     "a after aftercontext linesafter",
					     "b before beforecontext linesbefore" };
	long long n;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		if (ofs_span_integer(ofs_args_find(args, names[i]), &n) && n > 0)
			return true;
	return false;
}

/* Counts matching lines that lack names and numbers; 0 if context cannot be told apart. */
static size_t count_plain(const struct ofs_observing *o, const struct tally *t)
{
	if (t->numbered)
		return t->numbered;
	if (t->breaks || has_context(o->call->args))
		return t->named;
	return t->plain + t->around;
}

void ofs_observe_grep(struct ofs_observing *o)
{
	const char *pattern = ofs_observe_take(o, o->call->args, PATTERN_NAMES, "pattern");
	const char *path = ofs_observe_take(o, o->call->args, DIR_NAMES, "path");
	struct tally t = { 0 };

	if (!o->failed) {
		count(o, &t, line_counter(o->call->args));
		if (!t.said && !t.counted) {
			t.items = t.items ? t.items : count_plain(o, &t);
			t.counted = t.items || !o->result.text_len;
		}
	}
	ofs_observe_say(o, o->failed ? "Searched files for " : "Found ");
	if (t.counted) {
		ofs_observe_say(o, "%s for ", ofs_counted(t.items, "match").text);
		ofs_observe_note_number(o, "matches", t.items);
	}
	ofs_observe_say(o, "'%s'", pattern ? pattern : "");
	if (t.files) {
		ofs_observe_say(o, " in %s", ofs_counted(t.files, "file").text);
		ofs_observe_note_number(o, "files", t.files);
	} else if (path && !o->failed) {
		ofs_observe_say(o, " in %s", path);
	}
	if (!o->failed && t.items && !t.said && ofs_span_is_string(o->call->result))
		ofs_observe_say_answer(o);
}

/* ---- results of web searches */

/* Counts lines of each kind. A result has one of a kind, so the first kind found counts. */
static void count_results(const char *p, size_t len, struct tally *t)
{
	static const char *const marks[WEB_MARKS] = { "url:", "link:", "title:", "[", "http" };

	/* As in "- **URL:**" or "3. [a](http://a)". */
	while (len && strchr(" \t-*#.)0123456789", *p)) {
		p++;
		len--;
	}
	for (size_t i = 0; i < WEB_MARKS; i++)
		t->marked[i] += ofs_scan_begins(p, len, marks[i]);
}

/* Counts links in JSON within a text: "Links: [{"title": ..., "url": ...}, ...]". */
static bool count_embedded(const char *text, size_t len, struct tally *t)
{
	const char *at = memmem(text, len, "[{\"", 3);
	struct ofs_span json;
	size_t used;

	if (!at || ofs_span_parse_at(at, (size_t)(text + len - at), 0, NULL, &json, &used) < 0)
		return false;
	t->items = ofs_args_count(json);
	return true;
}

void ofs_observe_search(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	const char *query = ofs_observe_take(o, o->call->args, QUERY_NAMES, "query");
	struct tally t = { 0 };

	if (!o->failed) {
		count(o, &t, count_results);
		t.counted = t.counted || count_embedded(r->text, r->text_len, &t);
		for (size_t i = 0; i < WEB_MARKS && !t.counted; i++) {
			t.items = t.marked[i];
			t.counted = t.items > 0;
		}
	}
	if (t.counted) {
		ofs_observe_say(o, "Found %s", ofs_counted(t.items, "result").text);
		ofs_observe_note_number(o, "results", t.items);
	}
	ofs_observe_say(o, "%s for '%s'", t.counted ? "" : "Searched", query ? query : "");
	if (!t.counted && !o->failed) {
		ofs_observe_say(o, " (");
		ofs_observe_say_size(o, r->text_len);
		ofs_observe_say(o, " of text)");
	}
	o->offload = t.items > o->settings->search_results ||
		     o->content.size > o->settings->max_bytes;
}
