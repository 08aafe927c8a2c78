/* SPDX-License-Identifier: MIT */
/*
 * JSON read in place: refusals and their positions, decoding strings, and walking; compared with
 * jansson.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/json/span.h"
#include "test_draw.h"

static struct ofs_span parsed(const char *text, size_t len)
{
	struct ofs_error err = { "" };
	struct ofs_span s = { 0 };

	cr_assert_eq(ofs_span_parse(text, len, &err, &s), 0, "%s: %s", text, err.text);
	return s;
}

static struct ofs_span parsed_str(const char *text)
{
	return parsed(text, strlen(text));
}

static void expect_refused_bytes(const char *text, size_t len, const char *why)
{
	char *exact = malloc(len + 1); /* nothing after it for a reader to overrun into */
	struct ofs_error err = { "" };
	struct ofs_span s = { 0 };

	memcpy(exact, text, len);
	exact = realloc(exact, len ? len : 1);
	cr_expect_eq(ofs_span_parse(exact, len, &err, &s), -EINVAL, "%s was let through", text);
	cr_expect(strstr(err.text, why), "%s: \"%s\" does not say \"%s\"", text, err.text, why);
	cr_expect_null(s.p);
	cr_expect_eq(ofs_span_parse(exact, len, NULL, &s), -EINVAL);
	free(exact);
}

static void expect_refused(const char *text, const char *why)
{
	expect_refused_bytes(text, strlen(text), why);
}

Test(context_span, what_is_wrong_and_where)
{
	expect_refused("", "empty");
	expect_refused(" \t\r\n", "empty");
	expect_refused("[1,", "the text ends where a value should be at line 1, column 4");
	expect_refused("[", "without an end at line 1, column 2");
	expect_refused("{ ", "without an end at line 1, column 3");
	expect_refused("[1", "no ',' or ']' after an element at line 1, column 3");
	expect_refused("[1 2]", "no ',' or ']' after an element at line 1, column 4");
	expect_refused("[}", "at line 1, column 2");
	expect_refused("{]", "at line 1, column 2");
	expect_refused("[1}", "no ',' or ']' after an element at line 1, column 3");
	expect_refused("[1,]", "an invalid value at line 1, column 4");
	expect_refused("[,1]", "an invalid value at line 1, column 2");
	expect_refused("{\"a\":1,}",
		       "no name where a member of an object should begin at line 1, column 8");
	expect_refused("{\"a\":1", "no ',' or '}' after a member at line 1, column 7");
	expect_refused("{\"a\":1]", "no ',' or '}' after a member at line 1, column 7");
	expect_refused("{\"a\" 1}", "no ':' after the name of a member at line 1, column 6");
	expect_refused("{\"a\"", "no ':' after the name of a member at line 1, column 5");
	expect_refused("{\"a\":", "the text ends where a value should be at line 1, column 6");
	expect_refused("{\"a\":}", "an invalid value at line 1, column 6");
	expect_refused("{a:1}",
		       "no name where a member of an object should begin at line 1, column 2");
	expect_refused("{1:1}", "no name where a member");
	expect_refused("[1]\n\n  [2]", "more text after the value at line 3, column 3");
	expect_refused("1 ,", "more text after the value");
	expect_refused("]", "an invalid value at line 1, column 1");
	expect_refused("[1]]", "more text after the value at line 1, column 4");
	expect_refused("\xef\xbb\xbf[]", "line 1, column 1"); /* a byte order mark */
}

Test(context_span, wrong_scalars)
{
	expect_refused("nul", "an invalid value");
	expect_refused("nulL", "an invalid value");
	expect_refused("nulll", "more text after the value at line 1, column 5");
	expect_refused("[truefalse]", "no ',' or ']'");
	expect_refused("True", "an invalid value");
	expect_refused("NaN", "an invalid value");
	expect_refused("Infinity", "an invalid value");
	expect_refused("'a'", "an invalid value");
	expect_refused("//x\n1", "an invalid value");
	expect_refused("-", "an invalid value at line 1, column 1");
	expect_refused("[-]", "an invalid value at line 1, column 2");
	expect_refused("+1", "an invalid value");
	expect_refused(".5", "an invalid value");
	expect_refused("01", "more text after the value at line 1, column 2");
	expect_refused("-01", "more text after the value");
	expect_refused("1.", "a number without digits after its point at line 1, column 3");
	expect_refused("[1.,2]", "a number without digits after its point");
	expect_refused("1e", "a number without digits in its exponent");
	expect_refused("1e+", "a number without digits in its exponent at line 1, column 4");
	expect_refused("1e5.5", "more text after the value");
	expect_refused("0x10", "more text after the value");
}

Test(context_span, wrong_strings)
{
	expect_refused("\"", "a string without an end at line 1, column 2");
	expect_refused("\"abc", "a string without an end at line 1, column 5");
	expect_refused("\"abc\\", "a string without an end");
	expect_refused("\"abc\\\"", "a string without an end");
	expect_refused("\"\\x41\"", "an unknown escape at line 1, column 2");
	expect_refused("\"\\'\"", "an unknown escape");
	expect_refused("\"\\N\"", "an unknown escape");
	expect_refused("\"\\u12\"", "\\u without four hex digits at line 1, column 2");
	expect_refused("\"\\u12", "\\u without four hex digits");
	expect_refused("\"\\u\"", "\\u without four hex digits");
	expect_refused("\"\\u12g4\"", "\\u without four hex digits");
	expect_refused("\"\\u 123\"", "\\u without four hex digits");
	expect_refused("\"\\U0041\"", "an unknown escape");
	expect_refused("\"\\u+123\"", "\\u without four hex digits");
	expect_refused("[\n \"a\tb\"]", "a control character in a string at line 2, column 4");
	expect_refused("\"a\nb\"", "a control character in a string at line 1, column 3");
	expect_refused("\"\x1f\"", "a control character in a string");
	expect_refused_bytes("\"a\0b\"", 5, "a control character in a string at line 1, column 3");
	expect_refused_bytes("\"\\\0\"", 4, "an unknown escape");
	expect_refused_bytes("1\0", 2, "more text after the value");
	expect_refused_bytes("\0", 1, "an invalid value");
}

Test(context_span, strings_that_are_not_utf8)
{
	static const char *const bad[] = {
		"\x80", /* a stray continuation byte */
		"\xff",
		"\xfe",
		"\xc3", /* truncated by the quote */
		"\xc0\xaf", /* '/' in two bytes */
		"\xe0\x80\xaf", /* '/' in three bytes */
		"\xf0\x80\x80\xaf",
		"\xed\xa0\x80", /* a high surrogate */
		"\xed\xbf\xbf", /* a low surrogate */
		"\xed\xa0\xbd\xed\xb8\x80", /* a surrogate pair */
		"\xf4\x90\x80\x80", /* beyond U+10FFFF */
		"\xf8\x88\x80\x80\x80",
		"\xe2\x82",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++) {
		char text[32];

		snprintf(text, sizeof(text), "[\"%s\"]", bad[i]);
		expect_refused(text, "bytes that are not UTF-8 at line 1, column 3");
		snprintf(text, sizeof(text), "\"%s", bad[i]);
		expect_refused(text, "");
	}
	expect_refused("\xc3\xa4", "an invalid value");
	parsed_str(
		"\"\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xef\xbf\xbf\xf0\x90\x80\x80"
		"\xf4\x8f\xbf\xbf\"");
}

static char *nested(size_t depth, bool objects, size_t *ret_len)
{
	size_t each = objects ? 5 : 1; /* length of {"a": */
	char *text = malloc(depth * (each + 1) + 1), *p = text;

	for (size_t i = 0; i < depth; i++, p += each)
		memcpy(p, objects ? "{\"a\":" : "[", each);
	if (objects)
		*p++ = '1';
	memset(p, objects ? '}' : ']', depth);
	*ret_len = (size_t)(p - text) + depth;
	return text;
}

Test(context_span, how_deep_it_may_be)
{
	for (int objects = 0; objects < 2; objects++) {
		size_t len;
		char *text = nested(OFS_SPAN_DEPTH_MAX, objects, &len);
		struct ofs_span s = parsed(text, len);

		cr_expect_eq(s.len, len);
		for (int depth = 1; depth < OFS_SPAN_DEPTH_MAX; depth++) {
			struct ofs_span_cursor c = ofs_span_enter(s);
			struct ofs_span name;

			cr_assert(objects ? ofs_span_next_member(&c, &name, &s)
					  : ofs_span_next(&c, &s));
		}
		free(text);
		text = nested(OFS_SPAN_DEPTH_MAX + 1, objects, &len);
		expect_refused_bytes(text, len, "more than 512 levels of nesting");
		free(text);
		text = nested(200000, objects, &len);
		expect_refused_bytes(text, len, "more than 512 levels of nesting");
		expect_refused_bytes(text, len / 2, "more than 512 levels of nesting");
		free(text);
	}
}

static void expect_says(const char *string, const char *text, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;

	ofs_buf_append_str(&said, "before");
	ofs_span_decode(parsed_str(string), &said);
	cr_expect_eq(said.len, len + 6, "%s says %zu bytes", string, said.len - 6);
	cr_expect_eq(memcmp(said.data + 6, text, len), 0, "%s says something else", string);
}

Test(context_span, what_strings_say)
{
	expect_says("\"\"", "", 0);
	expect_says("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	expect_says("\"a\\u0000b\"", "a\0b", 3);
	expect_says("\"\\u0041\\u00e4\\u20AC\\uFFFF\"", "A\xc3\xa4\xe2\x82\xac\xef\xbf\xbf", 9);
	expect_says("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
	expect_says("\"\\uD800\\uDC00\\uDBFF\\uDFFF\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8);
	/* Lone surrogates, a pair in the wrong order, and one before a pair. */
	expect_says("\"\\ud800\"", "\xed\xa0\x80", 3);
	expect_says("\"\\udfff\"", "\xed\xbf\xbf", 3);
	expect_says("\"\\ude00\\ud83d\"", "\xed\xb8\x80\xed\xa0\xbd", 6);
	expect_says("\"\\ud83d\\ud83d\\ude00\"", "\xed\xa0\xbd\xf0\x9f\x98\x80", 7);
	expect_says("\"\\ud83dx\\ude00\"", "\xed\xa0\xbdx\xed\xb8\x80", 7);
	expect_says("\"\\ud83d\\n\"", "\xed\xa0\xbd\n", 4);
	expect_says("\"\\ud83d\\u0041\"",
		    "\xed\xa0\xbd"
		    "A",
		    4);
	expect_says("\"\\\\ud83d\"", "\\ud83d", 6);
	expect_says("\"ends in a backslash\\\\\"", "ends in a backslash\\", 20);
}

Test(context_span, is_a_text)
{
	cr_expect(ofs_span_is(parsed_str("\"role\""), "role"));
	cr_expect(ofs_span_is(parsed_str("\"r\\u006fle\""), "role"));
	cr_expect(ofs_span_is(parsed_str("\"\\u0072\\u006f\\u006c\\u0065\""), "role"));
	cr_expect(ofs_span_is(parsed_str("\"\""), ""));
	cr_expect(ofs_span_is(parsed_str("\"a\\/b\""), "a/b"));
	cr_expect(ofs_span_is(parsed_str("\"\\ud83d\\ude00\""), "\xf0\x9f\x98\x80"));
	cr_expect_not(ofs_span_is(parsed_str("\"roles\""), "role"));
	cr_expect_not(ofs_span_is(parsed_str("\"rol\""), "role"));
	cr_expect_not(ofs_span_is(parsed_str("\"rol\\u0065s\""), "role"));
	cr_expect_not(ofs_span_is(parsed_str("\"role\\u0000\""), "role"));
	cr_expect_not(ofs_span_is(parsed_str("null"), "null"));
	cr_expect_not(ofs_span_is((struct ofs_span){ 0 }, ""));
}

Test(context_span, texts_and_values)
{
	OFS_FREE char *text = ofs_span_text(parsed_str("\"a\\u0000b\""));
	OFS_FREE char *none = ofs_span_text(parsed_str("[\"a\"]"));
	json_t *json;

	cr_expect_str_eq(text, "a");
	cr_expect_null(none);
	cr_expect_null(ofs_span_text((struct ofs_span){ 0 }));
	cr_expect_null(ofs_span_json((struct ofs_span){ 0 }));
	cr_expect_null(ofs_span_json(parsed_str("\"\\ud800\"")));
	cr_expect_null(ofs_span_json(parsed_str("[123456789012345678901234567890]")));
	json = ofs_span_json(parsed_str(" {\"a\": [1, \"\\u0000\"]} "));
	cr_expect(json_is_object(json));
	json_decref(json);
}

Test(context_span, integers)
{
	static const char *const none[] = { "1.0",
					    "1e3",
					    "\"1\"",
					    "null",
					    "true",
					    "[1]",
					    "{}",
					    "9223372036854775808",
					    "-9223372036854775809",
					    "100000000000000000000000000000000000000000000000" };
	long long n;

	cr_expect(ofs_span_integer(parsed_str("0"), &n) && n == 0);
	cr_expect(ofs_span_integer(parsed_str("-0"), &n) && n == 0);
	cr_expect(ofs_span_integer(parsed_str(" 42 "), &n) && n == 42);
	cr_expect(ofs_span_integer(parsed_str("9223372036854775807"), &n) && n == INT64_MAX);
	cr_expect(ofs_span_integer(parsed_str("-9223372036854775808"), &n) && n == INT64_MIN);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(none); i++)
		cr_expect_not(ofs_span_integer(parsed_str(none[i]), &n), "%s", none[i]);
	cr_expect_not(ofs_span_integer((struct ofs_span){ 0 }, &n));
}

static void expect_span(struct ofs_span s, const char *text)
{
	cr_expect(s.p && s.len == strlen(text) && memcmp(s.p, text, s.len) == 0,
		  "\"%.*s\" is not \"%s\"", (int)s.len, s.p ? s.p : "", text);
}

Test(context_span, walking_with_odd_white_space)
{
	static const char *const elements[] = {
		"1",	"-2.5e+3", "\"]\\\\\"", "[ [ ] , {} ]", "{ \"a\" : \"}\" }",
		"null", "true",	   "false",	"\"\\\"\""
	};
	struct ofs_span s =
		parsed_str("\n[\t1\r\n,-2.5e+3 ,\"]\\\\\",[ [ ] , {} ]\n,{ \"a\" : \"}\" },"
			   "null\t,true,false , \"\\\"\" \n]\r");
	struct ofs_span_cursor c = ofs_span_enter(s);
	struct ofs_span element, name;
	size_t n = 0;

	while (ofs_span_next(&c, &element))
		expect_span(element, elements[n++]);
	cr_expect_eq(n, OFS_ARRAY_SIZE(elements));
	cr_expect_not(ofs_span_next(&c, &element));
	s = parsed_str("{\"a\":1,\n\"b\\\"\" \t: [2]\r,\"\":{}}");
	c = ofs_span_enter(s);
	cr_assert(ofs_span_next_member(&c, &name, &element));
	expect_span(name, "\"a\"");
	expect_span(element, "1");
	cr_assert(ofs_span_next_member(&c, &name, &element));
	expect_span(name, "\"b\\\"\"");
	expect_span(element, "[2]");
	cr_assert(ofs_span_next_member(&c, &name, &element));
	expect_span(name, "\"\"");
	expect_span(element, "{}");
	cr_expect_not(ofs_span_next_member(&c, &name, &element));
}

Test(context_span, nothing_to_walk)
{
	static const char *const texts[] = { "[]", "[ \n ]", "{}", "{\t}", "1", "\"[1]\"", "null" };
	struct ofs_span none;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(texts); i++) {
		struct ofs_span_cursor c = ofs_span_enter(parsed_str(texts[i]));

		cr_expect_not(ofs_span_next(&c, &none), "%s", texts[i]);
	}
	cr_expect_null(ofs_span_member(parsed_str("[\"a\", 1]"), "a").p);
	cr_expect_null(ofs_span_member((struct ofs_span){ 0 }, "a").p);
}

Test(context_span, of_several_members_the_last)
{
	struct ofs_span s = parsed_str("{\"a\": 1, \"b\": {\"a\": 9}, \"\\u0061\": 2, \"aa\": 3}");

	expect_span(ofs_span_member(s, "a"), "2");
	expect_span(ofs_span_member(ofs_span_member(s, "b"), "a"), "9");
	expect_span(ofs_span_member(s, "aa"), "3");
	cr_expect_null(ofs_span_member(s, "c").p);
}

Test(context_span, one_after_the_other)
{
	static const char text[] = "{\"a\":1}\n{\"b\":2} [3]\r\n\"x\"4 5 \n";
	static const char *const values[] = { "{\"a\":1}", "{\"b\":2}", "[3]", "\"x\"", "4", "5" };
	const char *p = text, *end = text + strlen(text);
	struct ofs_error err = { "" };
	struct ofs_span s;
	size_t used;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(values); i++, p += used) {
		cr_assert_eq(ofs_span_parse_at(p, (size_t)(end - p), 0, &err, &s, &used), 0);
		expect_span(s, values[i]);
	}
	cr_expect_eq(ofs_span_parse_at(p, (size_t)(end - p), 0, &err, &s, &used), -ENODATA);
	cr_expect_eq(ofs_span_parse_at("{\"a\":1}\n{", 9, 0, &err, &s, &used), 0);
	cr_expect_eq(ofs_span_parse_at("\n{", 2, 0, &err, &s, &used), -EINVAL);
	cr_expect(strstr(err.text, "line 2, column 2"), "%s", err.text);
}

/* ---- compared with jansson */

static void put(struct ofs_buf *b, const char *text)
{
	ofs_buf_append_str(b, text);
}

static void put_blank(struct ofs_buf *b)
{
	static const char *const blanks[] = { "", "", "", " ", "\n", "\t", "\r\n", "  \n " };

	put(b, blanks[draw(OFS_ARRAY_SIZE(blanks))]);
}

static void put_string(struct ofs_buf *b)
{
	static const char *const pieces[] = {
		"a",
		"role",
		" ",
		"\\n",
		"\\\"",
		"\\\\",
		"\\/",
		"/",
		"\\u00e4",
		"\xc3\xa4",
		"\\u20aC",
		"\\ud83d\\ude00",
		"\xf0\x9f\x98\x80",
		"\\b",
		"\\f",
		"\\t",
		"\\r",
		"[",
		"}",
		",",
		":",
		"\x7f",
		"\\u001f",
		"0",
		"\\u0000",
	};

	put(b, "\"");
	for (uint32_t n = draw(6); n; n--)
		put(b, pieces[draw(OFS_ARRAY_SIZE(pieces))]);
	put(b, "\"");
}

static void put_value(struct ofs_buf *b, int depth)
{
	static const char *const scalars[] = { "null", "true",	  "false",	  "0",
					       "-0",   "12",	  "-7.5",	  "1e3",
					       "2E-2", "-0.0e+1", "1234567890123" };
	uint32_t kind = draw(depth ? 4 : 2);
	uint32_t n = draw(4);

	if (kind == 0) {
		put(b, scalars[draw(OFS_ARRAY_SIZE(scalars))]);
		return;
	}
	if (kind == 1) {
		put_string(b);
		return;
	}
	put(b, kind == 2 ? "[" : "{");
	put_blank(b);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			put(b, ",");
		put_blank(b);
		if (kind == 3) {
			put_string(b);
			put_blank(b);
			put(b, ":");
			put_blank(b);
		}
		put_value(b, depth - 1);
		put_blank(b);
	}
	put(b, kind == 2 ? "]" : "}");
}

static void compare(struct ofs_span s, json_t *json);

static void compare_string(struct ofs_span s, json_t *json)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;

	cr_assert(ofs_span_is_string(s));
	ofs_span_decode(s, &said);
	cr_assert_eq(said.len, json_string_length(json));
	cr_assert_eq(memcmp(said.data, json_string_value(json), said.len), 0);
}

static void compare_array(struct ofs_span s, json_t *json)
{
	struct ofs_span_cursor c = ofs_span_enter(s);
	struct ofs_span element;
	size_t n = 0;

	while (ofs_span_next(&c, &element))
		compare(element, json_array_get(json, n++));
	cr_assert_eq(n, json_array_size(json));
}

static void compare_object(struct ofs_span s, json_t *json)
{
	struct ofs_span_cursor c = ofs_span_enter(s);
	struct ofs_span name, value;
	const char *key;
	json_t *member;

	while (ofs_span_next_member(&c, &name, &value)) {
		OFS_FREE char *text = ofs_span_text(name);

		cr_assert(json_object_get(json, text));
	}
	json_object_foreach(json, key, member) compare(ofs_span_member(s, key), member);
}

static void compare(struct ofs_span s, json_t *json)
{
	long long n;

	cr_assert(s.p && json);
	switch (json_typeof(json)) {
	case JSON_OBJECT:
		compare_object(s, json);
		break;
	case JSON_ARRAY:
		compare_array(s, json);
		break;
	case JSON_STRING:
		compare_string(s, json);
		break;
	case JSON_INTEGER:
		cr_assert(ofs_span_integer(s, &n) && n == json_integer_value(json));
		break;
	case JSON_REAL:
		cr_assert(!ofs_span_integer(s, &n) && strtod(s.p, NULL) == json_real_value(json));
		break;
	default:
		cr_assert_eq(*s.p, json_is_null(json) ? 'n' : json_is_true(json) ? 't' : 'f');
	}
}

/* jansson refuses some valid JSON, and lone surrogates, which ofs_span_parse() accepts. */
static bool is_janssons_own(const json_error_t *error)
{
	switch (json_error_code(error)) {
	case json_error_numeric_overflow:
	case json_error_null_byte_in_key:
	case json_error_duplicate_key:
		return true;
	case json_error_invalid_syntax:
		return strstr(error->text, "Unicode") != NULL;
	default:
		return false;
	}
}

static void compare_text(const struct ofs_buf *text)
{
	char *exact = malloc(text->len + 2);
	struct ofs_span s = { 0 };
	json_error_t error;
	json_t *json;
	int r;

	/* jansson parses numbers with strtod(), which needs a terminator. */
	memcpy(exact, text->data, text->len);
	exact[text->len] = '\0';
	r = ofs_span_parse(exact, text->len, NULL, &s);
	json = json_loadb(exact, text->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
	cr_assert(!json || r == 0, "jansson takes %s", exact);
	cr_assert(json || r < 0 || is_janssons_own(&error), "jansson refuses %s: %s", exact,
		  error.text);
	if (json)
		compare(s, json);
	json_decref(json);
	free(exact);
}

Test(context_span, the_same_as_jansson)
{
	/* Without NUL, which jansson takes for the end of the text. */
	static const unsigned char odd[] = "\"\\[]{}:,0-.eE \n\tnu\x80\xc3\x1f/9";

	draw_state = 0x9e3779b97f4a7c15;
	for (int i = 0; i < 6000; i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		put_blank(&text);
		put_value(&text, 4);
		put_blank(&text);
		compare_text(&text);
		for (int j = 0; j < 4; j++) {
			size_t at = draw((uint32_t)text.len);

			text.data[at] = odd[draw(sizeof(odd) - 1)];
			compare_text(&text);
		}
		text.len = draw((uint32_t)text.len + 1);
		compare_text(&text);
	}
}
