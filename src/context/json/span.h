/* SPDX-License-Identifier: MIT */
/*
 * JSON read in place: a value is a part of the text, so that unchanged parts can be passed through
 * byte for byte, and a text of 100 MB needs no tree of values beside it. Small or new values are
 * handled with jansson.
 */
#pragma once

#include <jansson.h>

#include <offloadfs/error.h>

#include "base/buf.h"

/* Levels of nesting; a text with more is refused. */
#define OFS_SPAN_DEPTH_MAX 512

/* A value in borrowed text, without the white space around it; or nothing. */
struct ofs_span {
	const char *p; /* NULL: nothing */
	size_t len;
};

/*
 * The one value of a text, checked all the way down: a span of it, and those within, are JSON in
 * valid UTF-8. A half of a surrogate pair alone ("\ud800") is let through, since programs write it.
 * -EINVAL, and `err` (may be NULL) says what is wrong at which line and column.
 */
int ofs_span_parse(const char *text, size_t len, struct ofs_error *err, struct ofs_span *ret);

/*
 * The first value from the byte `at` on of a text that has several, one after the other (JSON
 * lines): `ret_end` is where the rest starts. -ENODATA if there is only white space.
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

/* Starts; other values have no elements. */
struct ofs_span_cursor ofs_span_enter(struct ofs_span container);

/* The same for an array; other values, objects included, have no elements. */
struct ofs_span_cursor ofs_span_elements(struct ofs_span array);

/* The next element; false if there is none. */
bool ofs_span_next(struct ofs_span_cursor *c, struct ofs_span *ret);

/* The next member; its name is a string. False if there is none. */
bool ofs_span_next_member(struct ofs_span_cursor *c, struct ofs_span *ret_name,
			  struct ofs_span *ret);

/* The value of a member, the last of several with that name as in parsers; or nothing. */
struct ofs_span ofs_span_member(struct ofs_span object, const char *name);

/* The values of the members `names[0]` to `names[n - 1]`, all in one go through the object. */
void ofs_span_members(struct ofs_span object, const char *const names[], size_t n,
		      struct ofs_span ret[]);

/* It is the string `text`, in which nothing needs an escape. */
bool ofs_span_is(struct ofs_span s, const char *text);

/*
 * Appends the decoded string in UTF-8; half of a surrogate pair alone becomes the three bytes that
 * UTF-8 would have for it.
 */
void ofs_span_decode(struct ofs_span string, struct ofs_buf *out);

/* The same as an allocated text; a NUL within ends it early. NULL if it is no string. */
char *ofs_span_text(struct ofs_span string);

/*
 * A small value as one of jansson's. NULL if jansson cannot represent it (a number that is too
 * large, half of a surrogate pair).
 */
json_t *ofs_span_json(struct ofs_span s);

/* The value of a number without a fraction. False: it is none, or too large. */
bool ofs_span_integer(struct ofs_span s, long long *ret);
