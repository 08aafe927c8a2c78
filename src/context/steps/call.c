/* SPDX-License-Identifier: MIT */
#include "context/steps/call.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "base/util.h"
#include "context/steps/args.h"

#define TOOL_NAMES "tool toolname name"
#define ARGS_NAMES "args arguments toolinput input parameters"
#define RESULT_NAMES "result toolresponse output content response"
#define TIME_NAMES "timestampms timestamp ts"
#define TIME_MS_NAMES "timestampms"

#define TOOL_MAX 256
/* Larger members hold nothing that is looked for. */
#define REST_MAX ((size_t)16 << 10)
#define TIME_TEXT_MAX 40
/* Larger numbers are milliseconds, and so on; seconds reach this in the year 5138. */
#define TIME_SECONDS_MAX 1e11
#define MS_PER_S 1000

void ofs_tool_call_finish(struct ofs_tool_call *call)
{
	free(call->tool);
	ofs_buf_finish(&call->args_text);
	ofs_buf_finish(&call->rest_text);
	*call = (struct ofs_tool_call){ 0 };
}

static const char *kind_of(struct ofs_span s)
{
	if (!s.len)
		return "nothing";
	switch (*s.p) {
	case '{':
		return "an object";
	case '[':
		return "an array";
	case '"':
		return "a string";
	case 'n':
		return "null";
	case 't':
	case 'f':
		return "a boolean";
	default:
		return "a number";
	}
}

/* ---- time */

/* The number of two digits at *p, after the character `before` unless 0; or -1. */
static int two_digits(const char **p, char before)
{
	const char *at = *p;

	if (before && *at++ != before)
		return -1;
	if (!isdigit((unsigned char)at[0]) || !isdigit((unsigned char)at[1]))
		return -1;
	*p = at + 2;
	return (at[0] - '0') * 10 + at[1] - '0';
}

/* Milliseconds and the offset from UTC in seconds, as they follow the seconds. False: neither. */
static bool read_zone(const char *p, int *ret_ms, long *ret_offset)
{
	int unit = 100, hours, minutes, sign;

	*ret_ms = 0;
	*ret_offset = 0;
	if (*p == '.' || *p == ',') {
		for (p++; isdigit((unsigned char)*p); p++, unit /= 10)
			*ret_ms += (*p - '0') * unit;
	}
	if (!*p || strcmp(p, "Z") == 0 || strcmp(p, "z") == 0)
		return true;
	if (*p != '+' && *p != '-')
		return false;
	sign = *p++ == '-' ? -1 : 1;
	hours = two_digits(&p, 0);
	minutes = *p ? two_digits(&p, *p == ':' ? ':' : 0) : 0;
	*ret_offset = sign * (hours * 3600L + minutes * 60L);
	return hours >= 0 && minutes >= 0 && !*p;
}

/* "2026-11-22T19:30:54.123+01:00"; without a zone it is UTC. */
static bool read_iso(const char *p, int64_t *ret_ms)
{
	struct tm tm = { 0 };
	int century = two_digits(&p, 0), year = two_digits(&p, 0), ms;
	long offset;

	tm.tm_mon = two_digits(&p, '-') - 1;
	tm.tm_mday = two_digits(&p, '-');
	if (century < 0 || year < 0 || tm.tm_mon < 0 || tm.tm_mon > 11 || tm.tm_mday < 1 ||
	    tm.tm_mday > 31)
		return false;
	tm.tm_year = century * 100 + year - 1900;
	if (*p == 'T' || *p == 't' || *p == ' ') {
		p++;
		tm.tm_hour = two_digits(&p, 0);
		tm.tm_min = two_digits(&p, ':');
		tm.tm_sec = *p == ':' ? two_digits(&p, ':') : 0;
		if (tm.tm_hour < 0 || tm.tm_min < 0 || tm.tm_sec < 0)
			return false;
	}
	if (!read_zone(p, &ms, &offset))
		return false;
	*ret_ms = ((int64_t)timegm(&tm) - offset) * MS_PER_S + ms;
	return true;
}

/* Seconds, or milliseconds down to nanoseconds. */
static bool read_number(struct ofs_span s, int64_t *ret_ms)
{
	long long whole;
	char text[TIME_TEXT_MAX], *end;
	double value, limit = TIME_SECONDS_MAX;

	if (s.len >= sizeof(text))
		return false;
	memcpy(text, s.p, s.len);
	text[s.len] = '\0';
	value = strtod(text, &end);
	if (*end || value < 0 || value >= limit * 1e9)
		return false;
	if (value < limit) {
		*ret_ms = (int64_t)(value * MS_PER_S + 0.5);
		return true;
	}
	if (!ofs_span_integer(s, &whole))
		whole = (long long)value;
	for (limit *= MS_PER_S; value >= limit; limit *= MS_PER_S)
		whole /= MS_PER_S;
	*ret_ms = whole;
	return true;
}

/* A timestamp that cannot be read is ignored. */
static void read_time(struct ofs_tool_call *call)
{
	struct ofs_span s = ofs_args_find(call->rest, TIME_NAMES);
	struct ofs_span as_ms = ofs_args_find(call->rest, TIME_MS_NAMES);
	long long whole;
	int64_t ms = 0;
	bool found;

	if (ofs_span_integer(as_ms, &whole)) { /* whatever its size */
		found = whole >= 0;
		ms = whole;
	} else if (ofs_span_is_string(s)) {
		OFS_FREE char *text = s.len <= TIME_TEXT_MAX ? ofs_span_text(s) : NULL;
		struct ofs_span number = { s.p + 1, s.len - 2 };

		found = text && (read_iso(text, &ms) ||
				 (isdigit((unsigned char)*text) && read_number(number, &ms)));
	} else {
		found = s.len && isdigit((unsigned char)*s.p) && read_number(s, &ms);
	}
	call->has_timestamp = found;
	call->timestamp_ms = found ? ms : 0;
}

/* ---- the call */

/* The parts of the object, found in one walk, since the result may be very long. */
struct parts {
	struct ofs_span tool, args, result;
	size_t tool_index, args_index, result_index;
};

/* Takes the value if its name comes before that of the one taken so far. */
static bool take(struct ofs_span name, struct ofs_span value, const char *names,
		 struct ofs_span *taken, size_t *taken_index)
{
	size_t index = ofs_args_index(name, names);

	if (!index || (*taken_index && *taken_index < index))
		return false;
	*taken = value;
	*taken_index = index;
	return true;
}

static void take_rest(struct ofs_tool_call *call, struct ofs_span name, struct ofs_span value)
{
	struct ofs_buf *out = &call->rest_text;

	if (name.len + value.len > REST_MAX)
		return;
	ofs_buf_append_str(out, out->len > 1 ? ", " : "");
	ofs_buf_append(out, name.p, name.len);
	ofs_buf_append_str(out, ": ");
	ofs_buf_append(out, value.p, value.len);
}

static void read_parts(struct ofs_tool_call *call, struct parts *p)
{
	struct ofs_span_cursor c = ofs_span_enter(call->object);
	struct ofs_span name, value;

	ofs_buf_append_str(&call->rest_text, "{");
	*p = (struct parts){ 0 };

	while (ofs_span_next_member(&c, &name, &value)) {
		if (ofs_span_is_null(value) ||
		    take(name, value, TOOL_NAMES, &p->tool, &p->tool_index) ||
		    take(name, value, ARGS_NAMES, &p->args, &p->args_index) ||
		    take(name, value, RESULT_NAMES, &p->result, &p->result_index))
			continue;
		take_rest(call, name, value);
	}
	ofs_buf_append_str(&call->rest_text, "}");
	call->rest = (struct ofs_span){ (char *)call->rest_text.data, call->rest_text.len };
}

static int read_tool(struct ofs_tool_call *call, struct ofs_span s, struct ofs_error *err)
{
	size_t len;

	if (!s.p)
		return ofs_error_set(
			err, EINVAL,
			"an object without \"tool\": give {\"tool\": NAME, \"args\": {...}, \"result\": ...}");
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

static int read_args(struct ofs_tool_call *call, struct ofs_span s, struct ofs_error *err)
{
	static const struct ofs_span none = { "{}", 2 };
	struct ofs_error why;

	call->args = s.p ? s : none;
	if (!s.p || ofs_span_is_object(s))
		return 0;
	if (!ofs_span_is_string(s))
		return ofs_error_set(err, EINVAL,
				     "\"args\" is %s: give an object, or a string that holds one",
				     kind_of(s));
	ofs_span_decode(s, &call->args_text);
	if (s.len == 2) {
		call->args = none;
		return 0;
	}
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
	struct parts parts;
	int r;

	if (!ofs_span_is_object(object))
		return ofs_error_set(
			err, EINVAL,
			"%s where an object should be: give {\"tool\": NAME, \"args\": {...}, \"result\": ...}",
			kind_of(object));
	read_parts(&call, &parts);
	r = read_tool(&call, parts.tool, err);
	if (r == 0)
		r = read_args(&call, parts.args, err);
	if (r < 0)
		return r;
	call.result = parts.result;
	read_time(&call);
	*ret = call;
	call = (struct ofs_tool_call){ 0 };
	return 0;
}
