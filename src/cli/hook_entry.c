/* SPDX-License-Identifier: MIT */
#include "cli/hook_entry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/json/literal.h"
#include "context/json/span.h"

#define ENTRY_PROGRAM "offload"
#define ENTRY_WORDS "hook claude-code"
#define ENTRY_UNIT_MAX 16
#define ENTRY_UNIT "  " /* of a file that has no indentation to go by */

static const struct ofs_literal_style plain_style;

/* Settings must not lose a part of themselves where memory ends. */
static void put(struct ofs_buf *out, const void *data, size_t len)
{
	ofs_buf_append(out, data, len);
}

static void put_text(struct ofs_buf *out, const char *text)
{
	put(out, text, strlen(text));
}

bool ofs_hook_entry_is_ours(const char *command)
{
	const char *words = strstr(command, ENTRY_WORDS), *end = words;
	size_t len = strlen(ENTRY_PROGRAM);

	if (!words || words == command || words[-1] != ' ')
		return false;
	while (end > command && strchr(" '\"", end[-1]))
		end--;
	if ((size_t)(end - command) < len || memcmp(end - len, ENTRY_PROGRAM, len) != 0)
		return false;
	end -= len;
	return end == command || strchr("/'\" ", end[-1]);
}

/* ---- form */

/* How the file is laid out. */
struct form {
	bool spread; /* over several lines */
	const char *eol;
	char unit[ENTRY_UNIT_MAX + 1]; /* of indentation */
};

static void form_find(const char *text, size_t len, struct ofs_span root, struct form *ret)
{
	struct ofs_span_cursor c = ofs_span_enter(root);
	struct ofs_span name, value;
	const char *p, *eol = NULL;

	*ret = (struct form){ .spread = true, .eol = "\n", .unit = ENTRY_UNIT };
	if (len && memmem(text, len, "\r\n", 2))
		ret->eol = "\r\n";
	if (!ofs_span_next_member(&c, &name, &value))
		return;
	for (p = root.p; p < name.p; p++) {
		if (*p == '\n')
			eol = p;
	}
	ret->spread = eol != NULL;
	if (eol && name.p - eol - 1 <= ENTRY_UNIT_MAX) {
		memcpy(ret->unit, eol + 1, (size_t)(name.p - eol - 1));
		ret->unit[name.p - eol - 1] = '\0';
	}
}

/* A line break, and the indentation of `depth`. */
static void put_break(const struct form *f, size_t depth, struct ofs_buf *out)
{
	if (!f->spread)
		return;
	put_text(out, f->eol);
	while (depth--)
		put_text(out, f->unit);
}

static void put_string(const char *text, struct ofs_buf *out)
{
	ofs_literal_encode(&plain_style, text, strlen(text), out);
}

static void put_name(const struct form *f, const char *name, struct ofs_buf *out)
{
	put_string(name, out);
	put_text(out, f->spread ? ": " : ":");
}

/* The group of one hook: {"matcher": ..., "hooks": [{...}]}. */
static void put_group(const struct form *f, const struct ofs_hook_entry *e, size_t depth,
		      struct ofs_buf *out)
{
	put_text(out, "{");
	put_break(f, depth + 1, out);
	put_name(f, "matcher", out);
	put_string(e->matcher, out);
	put_text(out, ",");
	put_break(f, depth + 1, out);
	put_name(f, "hooks", out);
	put_text(out, "[");
	put_break(f, depth + 2, out);
	put_text(out, "{");
	put_break(f, depth + 3, out);
	put_name(f, "type", out);
	put_string("command", out);
	put_text(out, ",");
	put_break(f, depth + 3, out);
	put_name(f, "command", out);
	put_string(e->command, out);
	put_break(f, depth + 2, out);
	put_text(out, "}");
	put_break(f, depth + 1, out);
	put_text(out, "]");
	put_break(f, depth, out);
	put_text(out, "}");
}

/* The list of an event with one group in it. */
static void put_list(const struct form *f, const struct ofs_hook_entry *e, size_t depth,
		     struct ofs_buf *out)
{
	put_text(out, "[");
	put_break(f, depth + 1, out);
	put_group(f, e, depth + 1, out);
	put_break(f, depth, out);
	put_text(out, "]");
}

/* ---- changing the text */

/* `text` with `ret` in place of what lies from `from` to `to`. */
static void replace(const char *text, size_t len, const char *from, const char *to,
		    const struct ofs_buf *by, struct ofs_buf *ret)
{
	put(ret, text, (size_t)(from - text));
	if (by)
		put(ret, by->data, by->len);
	put(ret, to, (size_t)(text + len - to));
}

/* What lies in a container at its end: the next element or member goes behind it. */
static const char *last_end(struct ofs_span container)
{
	struct ofs_span_cursor c = ofs_span_enter(container);
	struct ofs_span name, value;
	const char *end = NULL;

	if (ofs_span_is_array(container)) {
		while (ofs_span_next(&c, &value))
			end = value.p + value.len;
	} else {
		while (ofs_span_next_member(&c, &name, &value))
			end = value.p + value.len;
	}
	return end;
}

/* `text` with `item` (of that depth) as the last in the container. */
static void insert(const char *text, size_t len, const struct form *f, struct ofs_span container,
		   const struct ofs_buf *item, size_t depth, struct ofs_buf *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf added = OFS_BUF_INIT;
	const char *end = last_end(container), *close = container.p + container.len - 1;

	if (end)
		put_text(&added, ",");
	put_break(f, depth, &added);
	put(&added, item->data, item->len);
	if (!end)
		put_break(f, depth - 1, &added);
	replace(text, len, end ? end : container.p + 1, end ? end : close, &added, ret);
}

/* `text` without what lies from `from` to `to` in the container: its one comma goes as well. */
static void cut(const char *text, size_t len, struct ofs_span container, const char *from,
		const char *to, struct ofs_buf *ret)
{
	struct ofs_span_cursor c = ofs_span_enter(container);
	struct ofs_span name = { 0 }, value;
	const char *before = NULL, *behind = NULL;
	bool array = ofs_span_is_array(container);

	while (array ? ofs_span_next(&c, &value) : ofs_span_next_member(&c, &name, &value)) {
		const char *start = array ? value.p : name.p;

		if (start < from)
			before = value.p + value.len;
		else if (start > from && !behind)
			behind = start;
	}
	if (before)
		from = before;
	else
		to = behind ? behind : container.p + container.len - 1;
	replace(text, len, before || behind ? from : container.p + 1, to, NULL, ret);
}

/* ---- finding */

/* Where a hook of ours is. */
struct place {
	struct ofs_span root;
	struct ofs_span hooks; /* the member of the root, and its name */
	struct ofs_span hooks_name;
	struct ofs_span list; /* of the event */
	struct ofs_span list_name;
	struct ofs_span group;
	struct ofs_span group_hooks;
	struct ofs_span hook;
	struct ofs_span command;
};

static struct ofs_span find_member(struct ofs_span object, const char *wanted,
				   struct ofs_span *ret_name)
{
	struct ofs_span_cursor c = ofs_span_enter(object);
	struct ofs_span name, value, found = { 0 };

	while (ofs_span_next_member(&c, &name, &value)) {
		if (!ofs_span_is(name, wanted))
			continue;
		found = value;
		*ret_name = name;
	}
	return found;
}

static bool find_in_group(struct place *p)
{
	struct ofs_span_cursor c;

	p->group_hooks = ofs_span_member(p->group, "hooks");
	if (!ofs_span_is_array(p->group_hooks))
		return false;
	c = ofs_span_enter(p->group_hooks);
	while (ofs_span_next(&c, &p->hook)) {
		OFS_FREE char *command = NULL;

		if (!ofs_span_is_object(p->hook))
			continue;
		p->command = ofs_span_member(p->hook, "command");
		command = ofs_span_text(p->command);
		if (command && ofs_hook_entry_is_ours(command))
			return true;
	}
	return false;
}

static bool find_in_list(struct place *p)
{
	struct ofs_span_cursor c = ofs_span_enter(p->list);

	if (!ofs_span_is_array(p->list))
		return false;
	while (ofs_span_next(&c, &p->group)) {
		if (ofs_span_is_object(p->group) && find_in_group(p))
			return true;
	}
	return false;
}

/* In any event. */
static bool find_anywhere(struct place *p)
{
	struct ofs_span_cursor c = ofs_span_enter(p->hooks);

	while (ofs_span_next_member(&c, &p->list_name, &p->list)) {
		if (find_in_list(p))
			return true;
	}
	return false;
}

/* Reads the settings as far as `hooks`. */
static int open_settings(const char *text, size_t len, struct ofs_error *err, struct place *ret)
{
	struct ofs_error why;
	int r = ofs_span_parse(text, len, &why, &ret->root);

	if (r < 0)
		return ofs_error_set(err, EINVAL, "%s (comments have no place in it)", why.text);
	if (!ofs_span_is_object(ret->root))
		return ofs_error_set(err, EINVAL, "settings are a JSON object, this is none");
	ret->hooks = find_member(ret->root, "hooks", &ret->hooks_name);
	if (ret->hooks.len && !ofs_span_is_object(ret->hooks))
		return ofs_error_set(err, EINVAL, "\"hooks\" is to be an object, and is none");
	return 0;
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (!strchr(" \t\r\n", text[i]) || !text[i])
			return false;
	}
	return true;
}

/* ---- the two ways */

static int add_new(const char *text, size_t len, const struct ofs_hook_entry *entry,
		   const struct place *p, struct ofs_buf *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf item = OFS_BUF_INIT;
	struct form f;

	form_find(text, len, p->root, &f);
	if (p->list.len) {
		put_group(&f, entry, 3, &item);
		insert(text, len, &f, p->list, &item, 3, ret);
		return 1;
	}
	if (p->hooks.len) {
		put_name(&f, entry->event, &item);
		put_list(&f, entry, 2, &item);
		insert(text, len, &f, p->hooks, &item, 2, ret);
		return 1;
	}
	put_name(&f, "hooks", &item);
	put_text(&item, "{");
	put_break(&f, 2, &item);
	put_name(&f, entry->event, &item);
	put_list(&f, entry, 2, &item);
	put_break(&f, 1, &item);
	put_text(&item, "}");
	insert(text, len, &f, p->root, &item, 1, ret);
	return 1;
}

int ofs_hook_entry_add(const char *text, size_t len, const struct ofs_hook_entry *entry,
		       struct ofs_error *err, struct ofs_buf *ret)
{
	static const char nothing[] = "{}\n";
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf command = OFS_BUF_INIT;
	struct place p = { 0 };
	int r;

	ret->len = 0;
	if (is_blank(text, len)) {
		text = nothing;
		len = strlen(nothing);
	}
	r = open_settings(text, len, err, &p);
	if (r < 0)
		return r;
	p.list = find_member(p.hooks, entry->event, &p.list_name);
	if (p.list.len && !ofs_span_is_array(p.list))
		return ofs_error_set(err, EINVAL, "\"%s\" is to be a list, and is none",
				     entry->event);
	if (!find_in_list(&p))
		return add_new(text, len, entry, &p, ret);
	put_string(entry->command, &command);
	replace(text, len, p.command.p, p.command.p + p.command.len, &command, ret);
	return !ofs_span_is(p.command, entry->command);
}

/* Takes one out. */
static void remove_one(const char *text, size_t len, const struct place *p, struct ofs_buf *ret)
{
	const struct {
		struct ofs_span container;
		const char *from;
		struct ofs_span item;
	} levels[] = {
		{ p->group_hooks, p->hook.p, p->hook },
		{ p->list, p->group.p, p->group },
		{ p->hooks, p->list_name.p, p->list },
		{ p->root, p->hooks_name.p, p->hooks },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(levels); i++) {
		const char *end = levels[i].item.p + levels[i].item.len;
		struct ofs_span_cursor c = ofs_span_enter(levels[i].container);
		struct ofs_span name, value;
		size_t items = 0;

		if (ofs_span_is_array(levels[i].container)) {
			while (ofs_span_next(&c, &value))
				items++;
		} else {
			while (ofs_span_next_member(&c, &name, &value))
				items++;
		}
		if (items == 1 && i + 1 < OFS_ARRAY_SIZE(levels))
			continue;
		cut(text, len, levels[i].container, levels[i].from, end, ret);
		return;
	}
}

int ofs_hook_entry_remove(const char *text, size_t len, struct ofs_error *err, struct ofs_buf *ret)
{
	int changed = 0;

	ret->len = 0;
	put(ret, text, len);
	if (is_blank(text, len))
		return 0;
	for (;;) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf next = OFS_BUF_INIT;
		struct place p = { 0 };
		int r = open_settings((const char *)ret->data, ret->len, err, &p);

		if (r < 0)
			return r;
		if (!find_anywhere(&p))
			return changed;
		remove_one((const char *)ret->data, ret->len, &p, &next);
		ofs_buf_finish(ret);
		*ret = next;
		next = (struct ofs_buf)OFS_BUF_INIT;
		changed = 1;
	}
}
