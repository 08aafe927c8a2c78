/* SPDX-License-Identifier: MIT */
/* Finds out whether a call failed, by the members of the call and its result, and by the text. */
#include <ctype.h>

#include "context/json/args.h"
#include "context/snapshot/trouble.h"
#include "context/steps/observation.h"

#define FAILED_NAMES "iserror"
#define ERROR_NAMES "error errormessage exception"
#define REASON_NAMES "message error reason detail details text description"
#define SUCCESS_NAMES "success ok succeeded"

/* Longer text that starts like an error is content, if the tool returns what it reads. */
#define PASSED_ON_MAX 1000

#define TRACEBACK "Traceback (most recent call last)"

/* ---- text */

/* Takes the reason from a text that reports a failure. */
static void fail_by_text(struct ofs_observing *o, const char *text, size_t len)
{
	const char *p = text, *line;
	size_t n = 0;

	if (ofs_scan_begins(text, len, TRACEBACK)) {
		ofs_scan_last_line(text, len, &text, &n);
	} else if (ofs_scan_line(&p, text + len, &line, &n)) {
		n = ofs_scan_trim(text, n);
		/* The first line may only introduce the second. */
		if (n && text[n - 1] == ':' && ofs_scan_line(&p, text + len, &line, &n))
			n += (size_t)(line - text);
	}
	ofs_observe_fail(o, text, n);
}

/* Returns whether the text is mostly quoted from elsewhere. */
static bool passes_on(const struct ofs_observing *o, size_t len)
{
	return len > PASSED_ON_MAX && o->rule != OFS_TOOL_OTHER && o->rule != OFS_TOOL_WRITE &&
	       o->rule != OFS_TOOL_SHELL;
}

static void look_at_text(struct ofs_observing *o, const char *text, size_t len)
{
	if (!passes_on(o, len) && ofs_trouble_begins(text, len))
		fail_by_text(o, text, len);
}

/* ---- members */

/* The value of "error" may also mean that there is none. */
static bool says_error(struct ofs_span s)
{
	if (!s.p || *s.p == 'f' || *s.p == '0')
		return false;
	return s.len > 2 && (ofs_span_is_string(s) || ofs_args_count(s) > 0 || isalnum(*s.p));
}

/* Takes the reason from a text, or from an object that contains one. */
static void fail_with(struct ofs_observing *o, struct ofs_span reason)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span inner = ofs_args_find(reason, REASON_NAMES);

	reason = inner.p ? inner : reason;
	if (*reason.p != 't')
		ofs_args_text(reason, &text);
	ofs_observe_fail(o, (char *)text.data, text.len);
}

static bool is_value(struct ofs_span object, const char *names, char start)
{
	struct ofs_span value = ofs_args_find(object, names);

	return value.p && *value.p == start;
}

static void look_at_members(struct ofs_observing *o, struct ofs_span object, const char *text,
			    size_t len)
{
	struct ofs_span error = ofs_args_find(object, ERROR_NAMES);
	struct ofs_span message = ofs_args_find(object, REASON_NAMES);

	if (says_error(error))
		fail_with(o, error);
	else if (!is_value(object, FAILED_NAMES, 't') && !is_value(object, SUCCESS_NAMES, 'f') &&
		 !ofs_span_is(ofs_args_find(object, "status"), "error"))
		return;
	else if (ofs_span_is_string(message))
		fail_with(o, message);
	else
		fail_by_text(o, text, len);
}

/* Returns whether the members are the tool's own, not part of what it read or ran. */
static bool is_own(const struct ofs_observing *o, struct ofs_span json)
{
	return json.p == o->call->result.p || o->result.unwrapped.data ||
	       (o->rule != OFS_TOOL_SHELL && !passes_on(o, json.len));
}

void ofs_failure_find(struct ofs_observing *o, bool by_text)
{
	const char *text = o->result.text;
	size_t len = o->result.text_len;

	for (; len && isspace((unsigned char)*text); len--)
		text++;
	look_at_members(o, o->call->object, text, len);
	if (!o->failed && is_own(o, o->result.json))
		look_at_members(o, o->result.json, text, len);
	if (!o->failed && by_text)
		look_at_text(o, text, len);
}
