/* SPDX-License-Identifier: MIT */
#include "context/steps/call.h"

#include <time.h>

#include "base/text.h"
#include "context/json/args.h"

#define TOOL_NAMES "tool toolname name"
#define ARGS_NAMES "args arguments toolinput input parameters"
#define RESULT_NAMES "result toolresponse output content response"
#define TIME_NAMES "timestampms timestamp ts"
#define TIME_MS_NAMES "timestampms"

#define TOOL_MAX 256
#define TIME_TEXT_MAX 40
/* Larger numbers are not seconds but milliseconds or finer; seconds reach this in the year 5138. */
#define TIME_SECONDS_MAX 1e11

#define EXAMPLE "{\"tool\": NAME, \"args\": {...}, \"result\": ...}"

void ofs_tool_call_finish(struct ofs_tool_call *call)
{
	free(call->tool);
	ofs_buf_finish(&call->args_text);
	*call = (struct ofs_tool_call){ 0 };
}

static const char *kind_of(struct ofs_span s)
{
	static const char starts[] = "{[\"ntf";
	static const char *const kinds[] = { "an object", "an array",  "a string", "null",
					     "a boolean", "a boolean", "a number" };

	return kinds[strcspn(starts, (char[]){ *s.p, '\0' })];
}

/* ---- time */

/* Reads "2026-11-22T19:30:54.123+01:00". Without a zone it is UTC. */
static bool read_date(const char *p, int64_t *ret_ms)
{
	struct tm tm = { 0 };
	const char *time = strptime(p, "%Y-%m-%d", &tm);
	double fraction = 0;
	long offset = 0;

	p = time;
	if (p && *p && (p = strptime(p + 1, "%H:%M", &tm)) && *p == ':')
		p = strptime(p, ":%S", &tm);
	if (p && (*p == '.' || *p == ',')) {
		for (double unit = 100; *++p >= '0' && *p <= '9'; unit /= 10)
			fraction += (*p - '0') * unit;
	}
	if (p && *p) {
		struct tm zone = { 0 };

		p = strptime(p, "%z", &zone);
		offset = zone.tm_gmtoff;
	}
	if (!p || *p || !strchr("Tt ", *time))
		return false;
	*ret_ms = ((int64_t)timegm(&tm) - offset) * 1000 + (int64_t)fraction;
	return true;
}

/* Reads a number of seconds, or of milli-, micro- or nanoseconds, which its size tells. */
static bool read_number(const char *text, int64_t *ret_ms)
{
	char *end;
	double value = strtod(text, &end);

	if (*text < '0' || *text > '9' || *end || value >= TIME_SECONDS_MAX * 1e9)
		return false;
	if (value < TIME_SECONDS_MAX)
		value = value * 1000 + 0.5;
	while (value >= TIME_SECONDS_MAX * 1000)
		value /= 1000;
	*ret_ms = (int64_t)value;
	return true;
}

/* Reads the timestamp; an unreadable one is ignored. */
static void read_time(struct ofs_tool_call *call)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_span s = ofs_args_find(call->object, TIME_NAMES);
	long long ms;

	if (ofs_span_integer(ofs_args_find(call->object, TIME_MS_NAMES), &ms)) {
		call->has_timestamp = ms >= 0; /* in milliseconds, whatever its size */
		call->timestamp_ms = ms;
	} else if (s.p && s.len <= TIME_TEXT_MAX) {
		ofs_args_text(s, &text);
		call->has_timestamp = read_date(ofs_buf_str(&text), &call->timestamp_ms) ||
				      read_number(ofs_buf_str(&text), &call->timestamp_ms);
	}
}

/* ---- the call */

static int read_tool(struct ofs_tool_call *call, struct ofs_error *err)
{
	struct ofs_span s = ofs_args_find(call->object, TOOL_NAMES);
	size_t len;

	if (!s.p)
		return ofs_error_set(err, EINVAL, "an object without \"tool\": give " EXAMPLE);
	if (!ofs_span_is_string(s))
		return ofs_error_set(err, EINVAL, "\"tool\" is %s: give the name of a tool",
				     kind_of(s));
	call->tool = s.len <= 6 * TOOL_MAX + 2 ? ofs_span_text(s) : NULL;
	len = call->tool ? strlen(call->tool) : 0;
	if (!len || len > TOOL_MAX)
		return ofs_error_set(err, EINVAL, "\"tool\" is %s: give the name of a tool",
				     s.len > 2 ? "too long or not text" : "empty");
	if (!ofs_text_is_utf8(call->tool))
		return ofs_error_set(err, EINVAL, "\"tool\" is not text in UTF-8");
	return 0;
}

static int read_args(struct ofs_tool_call *call, struct ofs_error *err)
{
	struct ofs_span s = ofs_args_find(call->object, ARGS_NAMES);
	struct ofs_error why;

	call->args = s;
	if (!s.p || (ofs_span_is_string(s) && s.len == 2))
		call->args = (struct ofs_span){ "{}", 2 };
	if (ofs_span_is_object(call->args))
		return 0;
	if (!ofs_span_is_string(s))
		return ofs_error_set(err, EINVAL,
				     "\"args\" is %s: give an object, or a string that holds one",
				     kind_of(s));
	ofs_span_decode(s, &call->args_text);
	if (ofs_span_parse((char *)call->args_text.data, call->args_text.len, &why, &call->args) <
	    0)
		return ofs_error_set(err, EINVAL,
				     "\"args\" is a string that holds no object: %.300s", why.text);
	if (!ofs_span_is_object(call->args))
		return ofs_error_set(err, EINVAL,
				     "\"args\" is a string that holds %s: an object is needed",
				     kind_of(call->args));
	return 0;
}

int ofs_tool_call_parse(struct ofs_span object, struct ofs_error *err, struct ofs_tool_call *ret)
{
	OFS_CLEANUP(ofs_tool_call_finish) struct ofs_tool_call call = { .object = object };
	int r;

	if (!ofs_span_is_object(object))
		return ofs_error_set(err, EINVAL, "%s where an object should be: give " EXAMPLE,
				     kind_of(object));
	r = read_tool(&call, err);
	if (r == 0)
		r = read_args(&call, err);
	if (r < 0)
		return r;
	call.result = ofs_args_find(object, RESULT_NAMES);
	read_time(&call);
	*ret = ofs_steal(call);
	return 0;
}
