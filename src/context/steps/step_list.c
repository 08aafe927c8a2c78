/* SPDX-License-Identifier: MIT */
#include "context/steps/step_list.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/steps/line.h"

#define NAME_CHARS 64
#define REASON_CHARS 160
#define MEMBER "steps"

void ofs_step_list_finish(struct ofs_step_list *l)
{
	while (l->n)
		ofs_step_finish(&l->steps[--l->n]);
	free(l->steps);
	free(l->skipped);
	*l = (struct ofs_step_list)OFS_STEP_LIST_INIT;
}

/* Takes back what was added behind the first `n`. */
static void cut(struct ofs_step_list *l, size_t n)
{
	while (l->n > n)
		ofs_step_finish(&l->steps[--l->n]);
}

static int add(struct ofs_step_list *l, struct ofs_span object, size_t number,
	       struct ofs_error *err)
{
	struct ofs_error what = { "" };
	struct ofs_step step;
	int r = ofs_step_parse(object, &what, &step);

	if (r < 0)
		return ofs_error_set(err, -r, "step %zu: %s", number, what.text);
	l->steps = ofs_grow(l->steps, &l->cap, l->n + 1, sizeof(*l->steps));
	l->steps[l->n++] = step;
	return 0;
}

/* `first`: how many there were before this text. */
static int add_value(struct ofs_step_list *l, struct ofs_span value, size_t first,
		     struct ofs_error *err)
{
	struct ofs_span list = value, element;
	struct ofs_span_cursor c;
	int r = 0;

	if (ofs_span_is_object(value))
		list = ofs_span_member(value, MEMBER);
	if (!ofs_span_is_array(list))
		return add(l, value, l->n - first + 1, err);
	for (c = ofs_span_enter(list); r == 0 && ofs_span_next(&c, &element);)
		r = add(l, element, l->n - first + 1, err);
	return r;
}

/* Says with what is wrong with a value in which line of the text it begins. */
static int value_error(const char *text, struct ofs_span value, const struct ofs_error *what,
		       struct ofs_error *err)
{
	size_t line = 1;

	for (const char *p = text; (p = memchr(p, '\n', (size_t)(value.p - p))); p++)
		line++;
	return ofs_error_set(err, EINVAL, "line %zu: %s", line, what->text);
}

int ofs_step_list_parse(struct ofs_step_list *l, const char *text, size_t len,
			struct ofs_error *err)
{
	struct ofs_error what = { "" };
	size_t before = l->n, at = 0;
	struct ofs_span value;
	int r;

	while ((r = ofs_span_parse_at(text, len, at, err, &value, &at)) == 0) {
		r = add_value(l, value, before, &what);
		if (r < 0) {
			value_error(text, value, &what, err);
			break;
		}
	}
	if (r == -ENODATA && l->n > before)
		return 0;
	cut(l, before);
	if (r != -ENODATA)
		return r;
	return ofs_error_set(err, EINVAL,
			     "there are no steps: give them as JSON lines, as an array, or as "
			     "{\"steps\": [...]}");
}

/* ---- files */

static int parse_file(const struct ofs_task_step *file, struct ofs_error *err, struct ofs_step *ret)
{
	struct ofs_span object;
	int r;

	if (file->error)
		return ofs_error_set(err, -file->error, "%s", strerror(-file->error));
	r = ofs_span_parse(file->text, file->len, err, &object);
	return r < 0 ? r : ofs_step_parse(object, err, ret);
}

/* "step_004.json (the input is empty), step_007.json (Permission denied)". */
static void note_skipped(struct ofs_step_list *l, const char *name, const char *reason)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	int r = 0;

	if (l->n_skipped++ >= OFS_STEP_LIST_NAMED)
		return;
	if (l->skipped)
		ofs_buf_printf(&text, "%s, ", l->skipped);
	r |= ofs_line_append(&text, name, strlen(name), NAME_CHARS);
	ofs_buf_append_str(&text, " (");
	r |= ofs_line_append(&text, reason, strlen(reason), REASON_CHARS);
	ofs_buf_append(&text, ")", sizeof(")"));
	if (r < 0)
		return;
	free(l->skipped);
	l->skipped = (char *)ofs_steal(text.data);
}

void ofs_step_list_add_file(struct ofs_step_list *l, const struct ofs_task_step *file)
{
	struct ofs_error what = { "" };
	struct ofs_step step;

	if (parse_file(file, &what, &step) < 0) {
		note_skipped(l, file->name, what.text);
		return;
	}
	l->steps = ofs_grow(l->steps, &l->cap, l->n + 1, sizeof(*l->steps));
	l->steps[l->n++] = step;
}
