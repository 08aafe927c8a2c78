/* SPDX-License-Identifier: MIT */
#include "context/snapshot/touched.h"

#include <string.h>

#include "base/util.h"
#include "context/snapshot/prose.h"
#include "context/snapshot/touched_internal.h"
#include "context/tool.h"

#define NAME_MAX_LEN 63
#define EXT_MAX 8
/* Where an output names the open file. */
#define OUTPUT_EDGE 512

void ofs_touched_finish(struct ofs_touched *t)
{
	ofs_buf_finish(&t->open);
	ofs_buf_finish(&t->dir);
}

/* ---- paths */

void ofs_touched_set(struct ofs_buf *b, const char *text, size_t len)
{
	b->len = 0;
	ofs_buf_append(b, text, len);
}

static bool starts_with(const char *p, size_t len, const char *with)
{
	return len >= strlen(with) && memcmp(p, with, strlen(with)) == 0;
}

/* What a path has no business to have, or what stands for other things in a shell. */
bool ofs_touched_is_path(const char *p, size_t len)
{
	if (!len || len > PATH_LEN_MAX || *p == '-' || starts_with(p, len, "/dev/") ||
	    starts_with(p, len, "/proc/") || memmem(p, len, "://", 3))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (!p[i] || strchr("\"'`$*?<>|&;{}\\^", p[i]))
			return false;
	}
	return ofs_prose_is_line(p, len) && p[len - 1] != '/' && !(len == 1 && *p == '.') &&
	       !(len == 2 && memcmp(p, "..", 2) == 0);
}

bool ofs_touched_is_among(const char *p, size_t len, const char *const names[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ofs_touched_is(p, len, names[i]))
			return true;
	}
	return false;
}

void ofs_touched_note(struct ofs_touched *t, const char *p, size_t len, enum ofs_touch how)
{
	const char *dir = (const char *)t->dir.data;

	while (len > 2 && p[0] == '.' && p[1] == '/') {
		p += 2;
		len -= 2;
	}
	if (!ofs_touched_is_path(p, len))
		return;
	if (t->dir.len && len > t->dir.len + 1 && memcmp(p, dir, t->dir.len) == 0 &&
	    p[t->dir.len] == '/') {
		p += t->dir.len + 1;
		len -= t->dir.len + 1;
	}
	ofs_digest_touch(t->digest, p, len, how, 1);
	t->notes++;
}

/* The length of what stands behind the last '.' of a path's last part, or 0. */
size_t ofs_touched_extension(const char *p, size_t len)
{
	size_t n = 0;
	bool letter = false;

	while (n < len && p[len - n - 1] != '.' && p[len - n - 1] != '/') {
		char c = ofs_prose_lower(p[len - n - 1]);

		letter |= c >= 'a' && c <= 'z';
		if (!ofs_prose_is_word(c) || ++n > EXT_MAX)
			return 0;
	}
	return n < len && n && p[len - n - 1] == '.' && letter ? n : 0;
}

/* ---- calls */

/* A name of a tool or an argument in lower case letters alone: "fs:read_file" is "fsreadfile". */
static void plain_name(const char *name, size_t len, char ret[NAME_MAX_LEN + 1])
{
	size_t n = 0;

	for (size_t i = 0; i < len && n < NAME_MAX_LEN; i++) {
		char c = ofs_prose_lower(name[i]);

		if (c >= 'a' && c <= 'z')
			ret[n++] = c;
	}
	ret[n] = '\0';
}

static bool has_any(const char *name, const char *const words[], size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strstr(name, words[i]))
			return true;
	}
	return false;
}

/* What a tool of that name does to the file it is given. */
static enum ofs_touch touch_of(const char *name)
{
	static const char *const creates[] = { "create", "newfile" };
	static const char *const writes[] = { "write",	"edit",	 "replace", "insert",
					      "append", "patch", "update",  "modify",
					      "save",	"move",	 "rename",  "undo" };
	static const char *const deletes[] = { "delete", "remove" };

	if (has_any(name, creates, OFS_ARRAY_SIZE(creates)))
		return OFS_TOUCH_CREATED;
	if (has_any(name, writes, OFS_ARRAY_SIZE(writes)))
		return OFS_TOUCH_WRITTEN;
	if (has_any(name, deletes, OFS_ARRAY_SIZE(deletes)))
		return OFS_TOUCH_DELETED;
	return OFS_TOUCH_READ;
}

static bool is_path_name(const char *name)
{
	static const char *const names[] = {
		"path",
		"file",
		"filepath",
		"filename",
		"targetfile",
		"relativepath",
		"absolutepath",
		"notebookpath",
		"oldpath",
		"newpath",
		"sourcepath",
		"destinationpath",
		"relativeworkspacepath",
		"paths",
		"files",
		"filepaths",
	};

	return ofs_touched_is_among(name, strlen(name), names, OFS_ARRAY_SIZE(names));
}

/* "README" and ".gitignore" as well as what has an extension. */
static bool is_file_name(const char *p, size_t len)
{
	const char *slash = memrchr(p, '/', len);
	const char *base = slash ? slash + 1 : p;

	return ofs_touched_extension(p, len) ||
	       (base < p + len &&
		((*base >= 'A' && *base <= 'Z') || (*base == '.' && p + len - base > 2)));
}

static void touch_string(struct ofs_touched *t, struct ofs_span string, enum ofs_touch how)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf path = OFS_BUF_INIT;

	if (!ofs_span_is_string(string) || string.len > 6 * PATH_LEN_MAX)
		return;
	ofs_span_decode(string, &path);
	/* A directory that is listed is no file. */
	if (how == OFS_TOUCH_READ && !is_file_name((const char *)path.data, path.len))
		return;
	ofs_touched_note(t, (const char *)path.data, path.len, how);
	ofs_touched_set(&t->open, (const char *)path.data, path.len);
}

static void touch_value(struct ofs_touched *t, struct ofs_span value, enum ofs_touch how)
{
	struct ofs_span_cursor cursor = ofs_span_enter(value);
	struct ofs_span element;

	touch_string(t, value, how);
	while (ofs_span_is_array(value) && ofs_span_next(&cursor, &element)) {
		touch_string(t, element, how);
		touch_string(t, ofs_span_member(element, "path"), how);
	}
}

/* "*** Update File: PATH" */
static void touch_patch(struct ofs_touched *t, struct ofs_span string)
{
	static const struct {
		const char *begin;
		enum ofs_touch how;
	} lines[] = { { "*** Update File: ", OFS_TOUCH_WRITTEN },
		      { "*** Add File: ", OFS_TOUCH_CREATED },
		      { "*** Delete File: ", OFS_TOUCH_DELETED } };
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	const char *p, *end;

	if (!memmem(string.p, string.len, "*** ", 4))
		return;
	ofs_span_decode(string, &text);
	end = (const char *)text.data + text.len;
	for (p = (const char *)text.data; p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		size_t len = (size_t)((eol ? eol : end) - p);

		for (size_t i = 0; i < OFS_ARRAY_SIZE(lines); i++) {
			size_t n = strlen(lines[i].begin);

			if (starts_with(p, len, lines[i].begin))
				ofs_touched_note(t, p + n, len - n, lines[i].how);
		}
		p = eol ? eol + 1 : end;
	}
}

bool ofs_touched_shell(struct ofs_span args, struct ofs_buf *ret)
{
	static const char *const names[] = { "command", "cmd", "script", "commands" };
	struct ofs_span command = { 0 }, word;
	struct ofs_span_cursor cursor;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names) && !command.p; i++)
		command = ofs_span_member(args, names[i]);
	if (ofs_span_is_string(command)) {
		ofs_span_decode(command, ret);
		return ret->len;
	}
	cursor = ofs_span_enter(command);
	while (ofs_span_is_array(command) && ofs_span_next(&cursor, &word)) {
		/* "bash -lc" only leads to the command. */
		if (!ofs_span_is_string(word) || ofs_span_is(word, "bash") ||
		    ofs_span_is(word, "-lc") || ofs_span_is(word, "sh") || ofs_span_is(word, "-c"))
			continue;
		if (ret->len)
			ofs_buf_append(ret, " ", 1);
		ofs_span_decode(word, ret);
	}
	return ret->len > 0;
}

/* Editors with one tool for all name what they do in "command". */
static bool is_editor_command(const struct ofs_buf *command, enum ofs_touch *ret)
{
	static const struct {
		const char *name;
		enum ofs_touch how;
	} commands[] = { { "view", OFS_TOUCH_READ },	       { "create", OFS_TOUCH_CREATED },
			 { "str_replace", OFS_TOUCH_WRITTEN }, { "insert", OFS_TOUCH_WRITTEN },
			 { "undo_edit", OFS_TOUCH_WRITTEN },   { "write", OFS_TOUCH_WRITTEN },
			 { "delete", OFS_TOUCH_DELETED } };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(commands); i++) {
		if (command->len == strlen(commands[i].name) &&
		    memcmp(command->data, commands[i].name, command->len) == 0) {
			*ret = commands[i].how;
			return true;
		}
	}
	return false;
}

/* Names are looked for; what is found is not read yet. */
static bool only_finds(const char *name)
{
	static const char *const finds[] = { "find", "search", "glob", "grep", "list" };

	return has_any(name, finds, OFS_ARRAY_SIZE(finds));
}

static bool shows_files(const char *name, enum ofs_touch how)
{
	static const char *const shows[] = { "read", "view",   "open", "search", "grep",  "glob",
					     "find", "scroll", "goto", "list",	 "fetch", "edit" };

	return how == OFS_TOUCH_CREATED || has_any(name, shows, OFS_ARRAY_SIZE(shows));
}

/* The first word of a tool's own name: "get" of "mcp__shop__getOrders", lower case. */
static void first_verb(const char *tool, char ret[NAME_MAX_LEN + 1])
{
	const char *p = ofs_tool_own_name(tool);
	size_t n = 0;

	while (*p == '_')
		p++;
	while (ofs_prose_is_word(p[n]) && n < NAME_MAX_LEN &&
	       (!n || !(p[n] >= 'A' && p[n] <= 'Z') || (p[n - 1] >= 'A' && p[n - 1] <= 'Z'))) {
		ret[n] = ofs_prose_lower(p[n]);
		n++;
	}
	ret[n] = '\0';
}

/* Whether a tool changes nothing, by its name. */
static bool only_looks(const char *tool)
{
	static const char *const verbs[] = {
		"analyze", "browse",   "calculate", "compute", "count",	 "describe", "fetch",
		"find",	   "get",      "glob",	    "grep",    "help",	 "inspect",  "list",
		"look",	   "lookup",   "ls",	    "query",   "read",	 "retrieve", "scroll",
		"search",  "navigate", "show",	    "stat",    "status", "view",     "visit",
	};
	char verb[NAME_MAX_LEN + 1];

	first_verb(tool, verb);
	if (ofs_touched_is_among(verb, strlen(verb), verbs, OFS_ARRAY_SIZE(verbs)))
		return true;
	switch (ofs_tool_rule(tool)) {
	case OFS_TOOL_READ:
	case OFS_TOOL_LIST:
	case OFS_TOOL_GREP:
	case OFS_TOOL_SEARCH:
	case OFS_TOOL_VISIT:
		return true;
	default:
		return false;
	}
}

/* Tools for the model's own thoughts: what they say is found in other ways, or gone. */
static bool is_thought(const char *name)
{
	return strcmp(name, "think") == 0 || strcmp(name, "updateplan") == 0 ||
	       strstr(name, "todo") || strstr(name, "sequentialthinking");
}

struct ofs_touch_kind ofs_touched_call(struct ofs_touched *t, const char *tool,
				       struct ofs_span args)
{
	size_t notes = t->notes;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf command = OFS_BUF_INIT;
	struct ofs_span_cursor cursor = ofs_span_enter(args);
	struct ofs_span key, value;
	char name[NAME_MAX_LEN + 1], arg[NAME_MAX_LEN + 1];
	enum ofs_touch how;
	bool touched = false, finds;

	plain_name(tool, strlen(tool), name);
	how = touch_of(name);
	finds = how == OFS_TOUCH_READ && only_finds(name);
	if (ofs_touched_shell(args, &command) && !is_editor_command(&command, &how))
		return ofs_touched_command(t, (const char *)command.data, command.len);
	while (ofs_span_is_object(args) && ofs_span_next_member(&cursor, &key, &value)) {
		plain_name(key.p, key.len, arg);
		if (!finds && is_path_name(arg)) {
			touch_value(t, value, how);
			touched = true;
		} else if (ofs_span_is_string(value) && value.len < COMMAND_MAX &&
			   (strcmp(arg, "input") == 0 || strcmp(arg, "patch") == 0)) {
			touch_patch(t, value);
		}
	}
	/* An edit without a path is of the file that is open. */
	if (!touched && how == OFS_TOUCH_WRITTEN && t->open.len &&
	    (strcmp(name, "edit") == 0 || strcmp(name, "insert") == 0))
		ofs_touched_note(t, (const char *)t->open.data, t->open.len, how);
	return (struct ofs_touch_kind){
		.shows = shows_files(name, how),
		.told = is_thought(name) || t->notes > notes,
		.looks = only_looks(tool),
	};
}

/* ---- outputs */

/* What stands behind `label` up to ')', in the last bytes of an output. */
static bool find_label(const char *text, size_t len, const char *label, struct ofs_buf *ret)
{
	size_t edge = OFS_MIN(len, (size_t)OUTPUT_EDGE);
	const char *at = memmem(text + len - edge, edge, label, strlen(label)), *end;

	if (!at)
		return false;
	at += strlen(label);
	end = memchr(at, ')', (size_t)(text + len - at));
	if (!end || end == at || end - at > PATH_LEN_MAX || memchr(at, '\n', (size_t)(end - at)))
		return false;
	ofs_touched_set(ret, at, (size_t)(end - at));
	return true;
}

void ofs_touched_output(struct ofs_touched *t, const char *text, size_t len)
{
	if (find_label(text, len, "(Open file: ", &t->open) && t->open.len == 3 &&
	    memcmp(t->open.data, "n/a", 3) == 0)
		t->open.len = 0;
	find_label(text, len, "(Current directory: ", &t->dir);
}
