/* SPDX-License-Identifier: MIT */
/* Failures of a call, by what its harness, its result and its text say. */
#include <ctype.h>
#include <string.h>

#include "base/util.h"
#include "context/steps/args.h"
#include "context/steps/observation.h"
#include "context/steps/scan.h"

#define FAILED_NAMES "iserror"
#define ERROR_NAMES "error errormessage exception"
#define REASON_NAMES "message error reason detail details text description"
#define SUCCESS_NAMES "success ok succeeded"

/*
 * A longer text that starts like an error, from a tool that returns what it has read, is taken for
 * what was read.
 */
#define PASSED_ON_MAX 1000

static const char *const begins[] = {
	"Error:",
	"Error executing",
	"Error calling",
	"Error occurred",
	"Error running",
	"Error reading",
	"Error writing",
	"Error while",
	"Error - ",
	"Exception:",
	"fatal:",
	"<error>",
	"<tool_use_error>",
	"Invalid tool",
	"Unknown tool",
	"Tool execution failed",
	"Tool call failed",
	"Permission denied",
	"File not found",
	"File does not exist",
	"No such file or directory",
	"Failed to ",
	"Command timed out",
	"Request timed out",
	"Your proposed edit has introduced new syntax error",
};

static const char traceback[] = "Traceback (most recent call last)";

/* The length of the result's text from its first character on that is not white space. */
static size_t skip_blanks(const struct ofs_tool_result *r, const char **ret)
{
	size_t i = 0;

	while (i < r->text_len && isspace((unsigned char)r->text[i]))
		i++;
	*ret = r->text + i;
	return r->text_len - i;
}

/* ---- the reason */

/* The first line, or two where the first only announces what the second says. */
static size_t first_line(const char *text, size_t len)
{
	const char *eol = memchr(text, '\n', len);
	size_t n = ofs_scan_trim(text, eol ? (size_t)(eol - text) : len);

	if (eol && n && text[n - 1] == ':') {
		eol = memchr(eol + 1, '\n', (size_t)(text + len - eol - 1));
		n = eol ? (size_t)(eol - text) : len;
	}
	return n;
}

/* Takes the reason from the text, which is known to report a failure. */
static void fail_by_text(struct ofs_observing *o)
{
	const char *text, *line;
	size_t len = skip_blanks(o->result, &text), n = first_line(text, len);

	if (ofs_scan_begins(text, len, traceback)) {
		ofs_scan_last_line(text, len, &line, &n);
		text = line;
	}
	ofs_observe_fail(o, text, n);
}

/* ---- members */

/* A reason, from a text or an object that has it. */
static void fail_with(struct ofs_observing *o, struct ofs_span reason)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	if (ofs_span_is_object(reason)) {
		struct ofs_span inner = ofs_args_find(reason, REASON_NAMES);

		reason = inner.p ? inner : reason;
	}
	if (reason.p && *reason.p != 't')
		ofs_args_head(reason, &text);
	ofs_observe_fail(o, (char *)text.data, text.len);
}

/* The value of "error" may say that there is none. */
static bool says_error(struct ofs_span s)
{
	if (!s.p || *s.p == 'f' || *s.p == '0' || ofs_span_is_null(s))
		return false;
	if (ofs_span_is_object(s) || ofs_span_is_array(s))
		return ofs_args_count(s) > 0;
	return s.len > 2;
}

static bool look_at_members(struct ofs_observing *o, struct ofs_span object)
{
	struct ofs_span error = ofs_args_find(object, ERROR_NAMES);
	struct ofs_span failed = ofs_args_find(object, FAILED_NAMES);
	struct ofs_span success = ofs_args_find(object, SUCCESS_NAMES);
	struct ofs_span status = ofs_args_find(object, "status");
	struct ofs_span message = ofs_args_find(object, REASON_NAMES);

	if (says_error(error)) {
		fail_with(o, error);
		return true;
	}
	if ((failed.p && *failed.p == 't') || (success.p && *success.p == 'f') ||
	    ofs_span_is(status, "error")) {
		if (ofs_span_is_string(message))
			fail_with(o, message);
		else
			fail_by_text(o);
		return true;
	}
	return false;
}

/* ---- text */

/* The text of these tools is mostly quoted from elsewhere. */
static bool passes_on(enum ofs_tool_rule rule)
{
	return rule == OFS_TOOL_READ || rule == OFS_TOOL_VISIT || rule == OFS_TOOL_GREP ||
	       rule == OFS_TOOL_LIST || rule == OFS_TOOL_SEARCH;
}

static void look_at_text(struct ofs_observing *o)
{
	const char *text;
	size_t len = skip_blanks(o->result, &text);
	bool found;

	if (!len || (passes_on(o->rule) && len > PASSED_ON_MAX))
		return;
	found = ofs_scan_begins(text, len, traceback);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(begins) && !found; i++)
		found = ofs_scan_begins(text, len, begins[i]);
	if (found)
		fail_by_text(o);
}

/* Members of the result are the tool's own, unless they are part of what it has read or run. */
static bool is_own(const struct ofs_observing *o, struct ofs_span json)
{
	bool in_string = json.p != o->call->result.p;

	if (!ofs_span_is_object(json))
		return false;
	if (!in_string || o->result->unwrapped.data)
		return true;
	return o->rule != OFS_TOOL_SHELL && !(passes_on(o->rule) && json.len > PASSED_ON_MAX);
}

void ofs_failure_find(struct ofs_observing *o, bool by_text)
{
	if (look_at_members(o, o->call->rest))
		return;
	if (is_own(o, o->result->json) && look_at_members(o, o->result->json))
		return;
	if (by_text)
		look_at_text(o);
}
