/* SPDX-License-Identifier: MIT */
/* Rules for reading files and pages, and for writing files. */
#include <stdio.h>

#include "context/json/args.h"
#include "context/steps/line.h"
#include "context/steps/observe.h"

#define TEXT_NAMES                                                                             \
	"content contents text filetext newfilecontent newcontent filecontent code data body " \
	"newsource codecontent fulltext source"
#define OLD_NAMES "oldstring oldstr old oldtext search targetcontent find"
#define NEW_NAMES \
	"newstring newstr new newtext replace replacement replacementcontent replacementtext"
#define PATCH_NAMES "patch input diff patchtext command cmd"
#define EDITS_NAMES "edits replacements replacementchunks changes"
#define URL_NAMES "url uri link href address page website targeturl starturl urls pageurl"

/* The most file names of a patch that are shown. */
#define PATCH_FILES_SHOWN 3

/* HTTP statuses. */
#define STATUS_MIN 100
#define STATUS_ERROR 400
#define STATUS_MAX 599

/* "[File: setup.py (94 lines total)]", by which some interfaces for agents show the open file. */
static const char open_mark[] = "[File: ";

/* Copies the path from the arguments or the result to minimal_args. Returns it, or NULL. */
static const char *take_path(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	const char *path = ofs_observe_take(o, o->call->args, OFS_OBSERVE_PATH_NAMES, "path"), *end;
	struct ofs_span file = ofs_args_find(r->json, "file");

	if (path)
		return path;
	if (!ofs_scan_begins(r->text, r->text_len, open_mark))
		return ofs_observe_take(o, ofs_span_is_object(file) ? file : r->json,
					"filepath path", "path");
	path = r->text + strlen(open_mark);
	end = memmem(path, r->text_len - strlen(open_mark), " (", 2);
	return end ? ofs_observe_set_arg(o, "path", path, (size_t)(end - path)) : NULL;
}

/* Returns the file type of the result's text. */
static struct ofs_filetype type_of(const struct ofs_observing *o, const char *path)
{
	struct ofs_content content = o->content;

	/* Here the stored content is JSON around the text. */
	if (o->result.text != o->result.content) {
		content.ext = "txt";
		content.binary = false;
	}
	return ofs_filetype_find(path, &content, o->result.text, o->result.text_len);
}

void ofs_observe_file(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	const char *path = take_path(o);
	struct ofs_filetype type = type_of(o, path);
	size_t n = ofs_args_count(ofs_args_find(o->call->args, "paths filepaths files"));

	json_object_set_new(o->metadata, "mime", json_string(type.mime));
	json_object_set_new(o->metadata, "type", json_string(type.name));
	ofs_observe_say(o, "Read %s", path ? path : "a file");
	if (n > 1)
		ofs_observe_say(o, " and %zu more", n - 1);
	if (!o->failed && !r->text_len)
		ofs_observe_say(o, r->images ? " (image)" : " (empty)");
	else if (!o->failed)
		ofs_observe_say(o, " (%s, %s)", ofs_counted(r->text_len, "byte").text, type.name);
	o->offload = r->text_len > o->settings->read_bytes ||
		     o->content.size > o->settings->max_bytes;
}

/* ---- patches */

/* Before the name of a file that is patched; in a diff, its old name comes first. */
static const char *const marks[] = {
	"*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ ", NULL
};
static const char *const old_marks[] = { "--- a/", "--- ", NULL };

/* Returns what follows the first of the marks that the line starts with, or NULL. */
static const char *after_mark(const char *line, size_t len, const char *const begins[],
			      size_t *ret_len)
{
	for (size_t i = 0; begins[i]; i++) {
		size_t n = strlen(begins[i]);

		if (len > n && memcmp(line, begins[i], n) == 0) {
			*ret_len = len - n;
			return line + n;
		}
	}
	return NULL;
}

/* Describes a patch; its first file becomes the path. Returns false if the text is not a patch. */
static bool observe_patch(struct ofs_observing *o, const char *p, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf names = OFS_BUF_INIT;
	size_t files = 0, added = 0, removed = 0, n, size = 0, old_size = 0;
	const char *end = p + len, *line, *name, *old = NULL;

	while (ofs_scan_line(&p, end, &line, &n)) {
		name = after_mark(line, n, marks, &size);
		if (name && old && ofs_scan_begins(name, size, "/dev/null")) { /* it is deleted */
			name = old;
			size = old_size;
		}
		old = after_mark(line, n, old_marks, &old_size);
		if (name && ++files <= PATCH_FILES_SHOWN) {
			ofs_buf_append_str(&names, files > 1 ? ", " : "");
			ofs_line_append(&names, name, size, OFS_OBSERVATION_ARG_MAX / 2);
		}
		if (files == 1 && name && !json_object_get(o->args, "path"))
			ofs_observe_set_arg(o, "path", name, size);
		if (!name && n) {
			added += *line == '+';
			removed += *line == '-' && !old;
		}
	}
	if (!files)
		return false;
	ofs_observe_say(o, "Patched %s", ofs_buf_str(&names));
	if (files > PATCH_FILES_SHOWN)
		ofs_observe_say(o, " and %zu more", files - PATCH_FILES_SHOWN);
	ofs_observe_say(o, " (+%zu -%zu lines)", added, removed);
	ofs_observe_note_number(o, "added", added);
	ofs_observe_note_number(o, "removed", removed);
	return true;
}

/* Tries an argument, or the last word of a command: ["apply_patch", "*** Begin Patch..."]. */
static bool try_patch(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span value = ofs_args_find(o->call->args, PATCH_NAMES), element;
	struct ofs_span_cursor c = ofs_span_elements(value);

	while (ofs_span_next(&c, &element))
		value = element;
	if (!ofs_span_is_string(value))
		return false;
	ofs_span_decode(value, &text);
	return observe_patch(o, ofs_buf_str(&text), text.len);
}

/* ---- writing */

/* Returns the bytes of a string, and its lines in *ret_lines; 0 for other values. */
static size_t measure(struct ofs_span value, size_t *ret_lines)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_span_is_string(value))
		ofs_span_decode(value, &text);
	*ret_lines = ofs_scan_lines(ofs_buf_str(&text), text.len);
	return text.len;
}

/* Returns whether the tool's name or result says that the whole file was written. */
static bool is_whole(const struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;

	return strcasestr(o->call->tool, "create") ||
	       ofs_span_is(ofs_args_find(r->json, "type"), "create") ||
	       ofs_scan_begins(r->text, r->text_len, "File created") ||
	       ofs_scan_begins(r->text, r->text_len, "Created ");
}

static void observe_edit(struct ofs_observing *o, const char *path)
{
	struct ofs_span old = ofs_args_find(o->call->args, OLD_NAMES);
	struct ofs_span new = ofs_args_find(o->call->args, NEW_NAMES);
	struct ofs_span edits = ofs_args_find(o->call->args, EDITS_NAMES);
	bool whole = is_whole(o);
	size_t removed, added;

	ofs_observe_say(o, "%s %s", whole ? "Wrote" : "Edited", path ? path : "a file");
	if (whole)
		json_object_set_new(o->metadata, "whole", json_true());
	if (ofs_span_is_array(edits)) {
		ofs_observe_say(o, " (%s)", ofs_counted(ofs_args_count(edits), "edit").text);
	} else if (ofs_span_is_string(old) || ofs_span_is_string(new)) {
		measure(old, &removed);
		measure(new, &added);
		ofs_observe_say(o, " (-%zu +%zu lines)", removed, added);
		ofs_observe_note_number(o, "removed", removed);
		ofs_observe_note_number(o, "added", added);
	}
}

void ofs_observe_write(struct ofs_observing *o)
{
	const char *path = take_path(o);
	struct ofs_span text = ofs_args_find(o->call->args, TEXT_NAMES);
	struct ofs_span old = ofs_args_find(o->call->args, OLD_NAMES);
	size_t bytes, lines;

	/* An edit that replaces an empty string creates a file. */
	if (!ofs_span_is_string(text) && ofs_span_is_string(old) && old.len == 2)
		text = ofs_args_find(o->call->args, NEW_NAMES);
	if (ofs_span_is_string(text) && (!ofs_span_is_string(old) || old.len == 2)) {
		bytes = measure(text, &lines);
		ofs_observe_say(o, "Wrote %s (%s)", path ? path : "a file",
				ofs_counted(bytes, "byte").text);
		ofs_observe_note_number(o, "written", bytes);
	} else if (!try_patch(o)) {
		observe_edit(o, path);
	}
	/* Written content is on disk already; only a failure report can be worth storing. */
	o->offload = o->failed && ofs_observe_is_large(o);
}

/* ---- pages */

/* Appends an address without its scheme and a trailing slash. */
static void say_url(struct ofs_observing *o, const char *url)
{
	const char *scheme = strstr(url, "://");
	size_t len;

	url = scheme ? scheme + strlen("://") : url;
	len = strlen(url);
	ofs_line_append(&o->observation, url, len - (len && url[len - 1] == '/'),
			OFS_OBSERVATION_ARG_MAX);
}

/* Finds the HTTP status: 200, "200 OK", or "HTTP/1.1 200 OK" at the start of the text. */
static bool find_status(const struct ofs_tool_result *r, long long *ret)
{
	struct ofs_span s =
		ofs_args_find(r->json, "statuscode status httpstatus code responsecode");
	const char *at = memchr(r->text, ' ', OFS_MIN(r->text_len, sizeof("HTTP/1.1 ")));

	if (ofs_span_is_string(s) && s.len >= 5)
		s = (struct ofs_span){ s.p + 1, 3 };
	if (!s.p && at && ofs_scan_begins(r->text, r->text_len, "HTTP/") &&
	    r->text + r->text_len - at > 3)
		s = (struct ofs_span){ at + 1, 3 };
	return ofs_span_integer(s, ret) && *ret >= STATUS_MIN && *ret <= STATUS_MAX;
}

void ofs_observe_visit(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = &o->result;
	const char *url = ofs_observe_take(o, o->call->args, URL_NAMES, "url");
	struct ofs_span title = ofs_args_find(r->json, "title pagetitle");
	char reason[32];
	long long status;
	bool has_status = find_status(r, &status);

	if (!url)
		url = ofs_observe_take(o, r->json, "url finalurl", "url");
	if (ofs_span_is_string(title) && title.len > 2)
		json_object_set_new(o->metadata, "title", ofs_observe_scalar(title));
	ofs_observe_say(o, "Visited ");
	say_url(o, url ? url : "a page");
	ofs_observe_say(o, " (");
	if (has_status && status >= STATUS_ERROR && !o->failed)
		ofs_observe_fail(o, reason,
				 (size_t)snprintf(reason, sizeof(reason), "HTTP status %lld",
						  status));
	if (has_status) {
		ofs_observe_say(o, "status=%lld, ", status);
		ofs_observe_note_number(o, "status", (uint64_t)status);
	}
	ofs_observe_say_size(o, r->text_len);
	ofs_observe_say(o, " %s)", type_of(o, NULL).name);
	o->offload = r->text_len > 0;
}
