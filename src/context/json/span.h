/* SPDX-License-Identifier: MIT */
/*
 * JSON read in place. A value is a part of the text, so unchanged parts can be passed through byte
 * for byte, and a text of 100 MB needs no tree of values beside it. Small or new values are handled
 * with jansson.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "base/buf.h"

/* The deepest nesting accepted; deeper texts are refused. */
#define OFS_SPAN_DEPTH_MAX 512

/* A value in a borrowed text, without surrounding white space, or no value. */
struct ofs_span {
	const char *p; /* NULL: no value */
	size_t len;
};

/*
 * Parses a text that holds exactly one value. The whole text is checked, so `*ret` and all spans
 * within it are valid JSON in valid UTF-8. Half of a surrogate pair alone ("\ud800") is accepted,
 * since programs write it. Returns -EINVAL with the reason, line and column in `err` (may be NULL).
 */
int ofs_span_parse(const char *text, size_t len, struct ofs_error *err, struct ofs_span *ret);

/*
 * Parses the first value at or after byte `at` of a text that holds several in sequence (JSON
 * lines). Sets *ret_end to the position after the value. Returns -ENODATA if only white space is
 * left, or -EINVAL as above.
 */
int ofs_span_parse_at(const char *text, size_t len, size_t at, struct ofs_error *err,
		      struct ofs_span *ret, size_t *ret_end);

static inline bool ofs_span_is_object(struct ofs_span s)
{
	return s.len && *s.p == '{';
}

static inline bool ofs_span_is_array(struct ofs_span s)
{
	return s.len && *s.p == '[';
}

static inline bool ofs_span_is_string(struct ofs_span s)
{
	return s.len && *s.p == '"';
}

static inline bool ofs_span_is_null(struct ofs_span s)
{
	return s.len && *s.p == 'n';
}

/* An iterator over the elements of an array or the members of an object. */
struct ofs_span_cursor {
	const char *p;
	const char *end;
};

/* Starts an iteration. Values other than arrays and objects have no elements. */
struct ofs_span_cursor ofs_span_enter(struct ofs_span container);

/* As ofs_span_enter(), but only arrays have elements. */
struct ofs_span_cursor ofs_span_elements(struct ofs_span array);

/* Advances to the next element. Returns false at the end. */
bool ofs_span_next(struct ofs_span_cursor *c, struct ofs_span *ret);

/* Advances to the next member, whose name is a string span. Returns false at the end. */
bool ofs_span_next_member(struct ofs_span_cursor *c, struct ofs_span *ret_name,
			  struct ofs_span *ret);

/* Returns the value of a member, or no value. The last of several members with that name counts. */
struct ofs_span ofs_span_member(struct ofs_span object, const char *name);

/* Finds the members `names[0]` to `names[n - 1]` in one pass, each as by ofs_span_member(). */
void ofs_span_members(struct ofs_span object, const char *const names[], size_t n,
		      struct ofs_span ret[]);

/* Compares the decoded string with `text`, which must need no escapes. False for other values. */
bool ofs_span_is(struct ofs_span s, const char *text);

/*
 * Appends the decoded string in UTF-8. `string` must be a string. Half of a surrogate pair alone
 * becomes the three bytes that UTF-8 would encode it in.
 */
void ofs_span_decode(struct ofs_span string, struct ofs_buf *out);

/* Returns the decoded string, allocated; a NUL in it ends it early. NULL if it is not a string. */
char *ofs_span_text(struct ofs_span string);

/*
 * Returns a small value as a new jansson value, or NULL if jansson cannot represent it (a number
 * that is too large, half of a surrogate pair).
 */
json_t *ofs_span_json(struct ofs_span s);

/* Reads a number without fraction or exponent. False for others, and if out of range. */
bool ofs_span_integer(struct ofs_span s, long long *ret);
