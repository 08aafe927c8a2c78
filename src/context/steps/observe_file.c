/* SPDX-License-Identifier: MIT */
/* Files that are read and written. */
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/observe.h"

#define RANGE_NAMES                                                                         \
	"offset limit startline endline line linenumber viewrange pages start end from to " \
	"startlineoneindexed endlineoneindexed endlineoneindexedinclusive head tail"
#define TEXT_NAMES                                                                             \
	"content contents text filetext newfilecontent newcontent filecontent code data body " \
	"newsource codecontent fulltext source"
#define OLD_NAMES "oldstring oldstr old oldtext search targetcontent find"
#define NEW_NAMES \
	"newstring newstr new newtext replace replacement replacementcontent replacementtext"
#define PATCH_NAMES "patch input diff patchtext"
#define EDITS_NAMES "edits replacements replacementchunks changes"

/* The "command" of an editor is a word: "str_replace". */
#define COMMAND_MAX 24
/* Names of files in a patch that are shown. */
#define PATCH_FILES_SHOWN 3

/* "[File: setup.py (94 lines total)]", as an interface for agents shows what is open. */
static const char open_mark[] = "[File: ";

/* The name of the open file, if the text starts with it. */
static bool find_open(const char *text, size_t len, const char **ret, size_t *ret_len)
{
	const char *eol = memchr(text, '\n', len), *at, *end;

	if (len < strlen(open_mark) || memcmp(text, open_mark, strlen(open_mark)) != 0)
		return false;
	at = text + strlen(open_mark);
	end = memmem(at, (size_t)((eol ? eol : text + len) - at), " (", 2);
	if (!end)
		return false;
	*ret = at;
	*ret_len = (size_t)(end - at);
	return *ret_len > 0;
}

/* Puts the path, from the arguments or the result, into minimal_args; NULL if there is none. */
static const char *take_path(struct ofs_observing *o)
{
	const char *path = ofs_observe_take(o, OFS_OBSERVE_PATH_NAMES, "path"), *name;
	const struct ofs_tool_result *r = o->result;
	struct ofs_span inner = ofs_args_find(r->json, "file");
	struct ofs_span said =
		ofs_args_find(ofs_span_is_object(inner) ? inner : r->json, "filepath path");
	size_t len;
	json_t *json = NULL;

	if (path)
		return path;
	if (find_open(r->text, r->text_len, &name, &len))
		ofs_observe_note_text(o, "file", name, len);
	else if (ofs_span_is_string(said) && (json = ofs_observe_scalar(said)))
		json_object_set_new(o->metadata, "file", json);
	path = json_string_value(json_object_get(o->metadata, "file"));
	if (!path)
		return NULL;
	json_object_set(o->args, "path", json_object_get(o->metadata, "file"));
	json_object_del(o->metadata, "file");
	return json_string_value(json_object_get(o->args, "path"));
}

void ofs_observe_file(struct ofs_observing *o)
{
	const struct ofs_tool_result *r = o->result;
	const char *path = take_path(o);
	struct ofs_filetype type = ofs_observe_filetype(o, path);
	size_t n = ofs_args_count(ofs_args_find(o->call->args, "paths filepaths files"));

	ofs_observe_keep(o, RANGE_NAMES);
	json_object_set_new(o->metadata, "mime", json_string(type.mime));
	json_object_set_new(o->metadata, "type", json_string(type.name));
	ofs_observe_say(o, "Read ");
	if (path)
		ofs_observe_say_text(o, path, strlen(path), OFS_OBSERVATION_ARG_MAX);
	else
		ofs_observe_say(o, "a file");
	if (n > 1)
		ofs_observe_say(o, " and %zu more", n - 1);
	if (!o->failed && !r->text_len && r->images)
		ofs_observe_say(o, " (image)");
	else if (!o->failed && !r->text_len)
		ofs_observe_say(o, " (empty)");
	else if (!ofs_observe_say_failure(o))
		ofs_observe_say(o, " (%zu byte%s, %s)", r->text_len, r->text_len == 1 ? "" : "s",
				type.name);
	o->offload = r->text_len > o->settings->read_bytes ||
		     o->content->size > o->settings->max_bytes;
}

/* ---- patches */

struct patch {
	size_t files, added, removed;
	char names[PATCH_FILES_SHOWN][128]; /* cut */
};

/* "*** Update File: a.c" or "+++ b/a.c": the name, or NULL. */
static const char *patched_file(const char *line, size_t len, size_t *ret_len)
{
	static const char *const marks[] = { "*** Update File: ", "*** Add File: ",
					     "*** Delete File: ", "+++ b/", "+++ " };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(marks); i++) {
		size_t n = strlen(marks[i]);

		if (len > n && memcmp(line, marks[i], n) == 0) {
			*ret_len = len - n;
			return line + n;
		}
	}
	return NULL;
}

static void read_patch(const char *text, size_t len, struct patch *p)
{
	const char *end = text + len;

	*p = (struct patch){ 0 };
	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text)), *name;
		size_t n = (size_t)((eol ? eol : end) - text), size;

		if (n && text[n - 1] == '\r')
			n--;
		name = patched_file(text, n, &size);
		if (name) {
			if (p->files < PATCH_FILES_SHOWN) {
				size = OFS_MIN(size, sizeof(p->names[0]) - 1);
				memcpy(p->names[p->files], name, size);
			}
			p->files++;
		} else if (n && text[0] == '+') {
			p->added++;
		} else if (n && text[0] == '-' && !(n >= 4 && memcmp(text, "--- ", 4) == 0)) {
			p->removed++;
		}
		text = eol ? eol + 1 : end;
	}
}

/* The first file of a patch becomes the path. False: it is none. */
static bool observe_patch(struct ofs_observing *o, const char *text, size_t len)
{
	struct patch p;

	read_patch(text, len, &p);
	if (!p.files)
		return false;
	ofs_observe_say(o, "Patched ");
	for (size_t i = 0; i < OFS_MIN(p.files, PATCH_FILES_SHOWN); i++) {
		if (i)
			ofs_observe_say(o, ", ");
		ofs_observe_say_text(o, p.names[i], strlen(p.names[i]),
				     OFS_OBSERVATION_ARG_MAX / 2);
	}
	if (p.files > PATCH_FILES_SHOWN)
		ofs_observe_say(o, " and %zu more", p.files - PATCH_FILES_SHOWN);
	ofs_observe_say(o, " (+%zu -%zu lines)", p.added, p.removed);
	if (!json_object_get(o->args, "path")) {
		ofs_observe_note_text(o, "file", p.names[0], strlen(p.names[0]));
		json_object_set(o->args, "path", json_object_get(o->metadata, "file"));
		json_object_del(o->metadata, "file");
	}
	ofs_observe_note_number(o, "patched", p.files);
	ofs_observe_note_number(o, "added", p.added);
	ofs_observe_note_number(o, "removed", p.removed);
	return true;
}

/* A patch is an argument, or the last word of a command: ["apply_patch", "*** Begin Patch..."]. */
static bool try_patch(struct ofs_observing *o)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span value = ofs_args_find(o->call->args, PATCH_NAMES " command cmd"), element;
	struct ofs_span_cursor c = ofs_span_enter(value);

	if (ofs_span_is_array(value)) {
		while (ofs_span_next(&c, &element))
			value = element;
	}
	if (!ofs_span_is_string(value))
		return false;
	ofs_span_decode(value, &text);
	return text.len && observe_patch(o, (char *)text.data, text.len);
}

/* ---- writing */

static void say_path(struct ofs_observing *o, const char *verb, const char *path)
{
	ofs_observe_say(o, "%s ", verb);
	if (path)
		ofs_observe_say_text(o, path, strlen(path), OFS_OBSERVATION_ARG_MAX);
	else
		ofs_observe_say(o, "a file");
}

static void observe_edit(struct ofs_observing *o, const char *path)
{
	struct ofs_span old = ofs_args_find(o->call->args, OLD_NAMES);
	struct ofs_span new = ofs_args_find(o->call->args, NEW_NAMES);
	struct ofs_span edits = ofs_args_find(o->call->args, EDITS_NAMES);
	uint64_t old_bytes, old_lines, new_bytes, new_lines;

	say_path(o, strcasestr(o->call->tool, "create") ? "Created" : "Edited", path);
	if (ofs_span_is_array(edits)) {
		size_t n = ofs_args_count(edits);

		ofs_observe_say(o, " (%zu edit%s)", n, n == 1 ? "" : "s");
		ofs_observe_note_number(o, "edits", n);
	} else if (ofs_span_is_string(old) || ofs_span_is_string(new)) {
		ofs_args_measure(old, &old_bytes, &old_lines);
		ofs_args_measure(new, &new_bytes, &new_lines);
		ofs_observe_say(o, " (-%llu +%llu lines)", (unsigned long long)old_lines,
				(unsigned long long)new_lines);
		ofs_observe_note_number(o, "removed", old_lines);
		ofs_observe_note_number(o, "added", new_lines);
	}
}

void ofs_observe_write(struct ofs_observing *o)
{
	const char *path = take_path(o);
	struct ofs_span text = ofs_args_find(o->call->args, TEXT_NAMES);
	struct ofs_span old = ofs_args_find(o->call->args, OLD_NAMES);
	struct ofs_span command = ofs_args_find(o->call->args, "command");
	uint64_t bytes, lines;

	ofs_observe_keep(o, "mode insertline startline endline editmode cellid");
	if (ofs_span_is_string(command) && command.len <= COMMAND_MAX)
		ofs_observe_keep(o, "command");
	if (ofs_span_is_string(text) && !ofs_span_is_string(old)) {
		ofs_args_measure(text, &bytes, &lines);
		say_path(o, "Wrote", path);
		ofs_observe_say(o, " (%llu byte%s)", (unsigned long long)bytes,
				bytes == 1 ? "" : "s");
		ofs_observe_note_number(o, "written", bytes);
		ofs_observe_note_number(o, "written_lines", lines);
	} else if (!try_patch(o)) {
		observe_edit(o, path);
	}
	ofs_observe_say_failure(o);
	/* The content written is on disk; only the report of a failure may be long. */
	o->offload = o->failed && ofs_observe_is_large(o);
}
