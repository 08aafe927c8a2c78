/* SPDX-License-Identifier: MIT */
/*
 * The styles in which programs write JSON strings. Each style reproduces its bytes, and a mix that
 * no program writes has no style.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/json/literal.h"
#include "test_draw.h"

#define STYLES (1 << 7)

static const struct ofs_literal_style plain;

static struct ofs_literal_style style_of(int bits)
{
	return (struct ofs_literal_style){ bits & 1,  bits & 2,	 bits & 4, bits & 8,
					   bits & 16, bits & 32, bits & 64 };
}

static bool same_style(const struct ofs_literal_style *a, const struct ofs_literal_style *b)
{
	return a->ascii == b->ascii && a->upper == b->upper && a->slash == b->slash &&
	       a->html == b->html && a->separators == b->separators && a->del == b->del &&
	       a->plain_controls == b->plain_controls;
}

static struct ofs_span parsed(const struct ofs_buf *string)
{
	struct ofs_error err = { "" };
	struct ofs_span s = { 0 };

	cr_assert_eq(ofs_span_parse((const char *)string->data, string->len, &err, &s), 0,
		     "%.*s: %s", (int)string->len, string->data, err.text);
	cr_assert_eq(s.len, string->len);
	return s;
}

/* Tells whether a style is found, which must reproduce the string. `ret` as for the finder. */
static bool round_trips(struct ofs_span string, struct ofs_literal_style *ret)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT, again = OFS_BUF_INIT;

	ofs_span_decode(string, &text);
	if (!ofs_literal_style_find(string, text.data, text.len, ret))
		return false;
	ofs_literal_encode(ret, text.data, text.len, &again);
	cr_assert_eq(again.len, string.len, "%.*s became %.*s", (int)string.len, string.p,
		     (int)again.len, again.data);
	cr_assert_eq(memcmp(again.data, string.p, again.len), 0, "%.*s became %.*s",
		     (int)string.len, string.p, (int)again.len, again.data);
	return true;
}

static void expect_style(const char *string, const char *name)
{
	struct ofs_span s = { string, strlen(string) };
	struct ofs_literal_style found = plain;
	char got[OFS_LITERAL_NAME_MAX];

	cr_assert(round_trips(s, &found), "no style for %s", string);
	ofs_literal_style_name(&found, got);
	cr_expect_str_eq(got, name, "%s is %s", string, got);
}

static void expect_no_style(const char *string)
{
	struct ofs_span s = { string, strlen(string) };

	for (int i = 0; i < STYLES; i++) {
		struct ofs_literal_style found = style_of(i), before = found;

		cr_expect_not(round_trips(s, &found), "%s has style %d", string, i);
		cr_expect(same_style(&found, &before), "changed for %s", string);
	}
}

Test(context_literal, names)
{
	static const char *const none[] = { "", "a", "x", "jx", "J", "j ", "j-", "raw", "ja\n" };
	struct ofs_literal_style parsed_style;

	for (int i = 0; i < STYLES; i++) {
		struct ofs_literal_style style = style_of(i);
		char name[OFS_LITERAL_NAME_MAX];

		ofs_literal_style_name(&style, name);
		cr_assert_lt(strlen(name), OFS_LITERAL_NAME_MAX);
		cr_assert_eq(strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789"), strlen(name));
		cr_assert(ofs_literal_style_parse(name, &parsed_style), "%s", name);
		cr_assert(same_style(&style, &parsed_style), "%s", name);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(none); i++)
		cr_expect_not(ofs_literal_style_parse(none[i], &parsed_style), "'%s'", none[i]);
}

Test(context_literal, what_programs_write)
{
	/* Python's json.dumps(), and with ensure_ascii=False */
	expect_style("\"a\\u00e4\\u20ac\\ud83d\\ude00/<>&\\b\\f\\n\\u0000\\u001b\x7f\"", "ja");
	expect_style(
		"\"a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80/<>&\\b\\f\\u0000\\u001b\x7f\\\\\\\"\"",
		"j");
	expect_style("\"\xe2\x80\xa8\xe2\x80\xa9\"", "j");
	/* JSON.stringify(), which escapes lone surrogates */
	expect_style("\"\\ud83d \xf0\x9f\x98\x80 \\udc00 \\u0001\"", "j");
	/* Go's json.Marshal(): HTML and the separators, and in newer versions \b and \f */
	expect_style("\"\\u003ca href=\\\"x\\\"\\u003e \\u0026 \\u2028\\u2029 \xc3\xa4 \\b\"",
		     "jhs");
	expect_style("\"\\u003cb\\u003e \\u0008\\u000c \\u2028\"", "jhsc");
	/* SetEscapeHTML(false) */
	expect_style("\"<b> \\u2028 \xc3\xa4\"", "js");
	/* PHP's json_encode() */
	expect_style("\"\\/usr\\/bin \\u00e4 <\"", "jaz");
	/* JSON_UNESCAPED_UNICODE, which leaves the separators escaped */
	expect_style("\"\\/usr \xc3\xa4 \\u2028\"", "jzs");
	/* jansson's JSON_ENSURE_ASCII */
	expect_style("\"\\u00E4\\uD83D\\uDE00\\u001F\"", "jau");
	/* Java's Jackson with upper-case escapes */
	expect_style("\"\xc3\xa4\\u001F\"", "ju");
	expect_style("\"\\u007f\"", "jd");
	expect_style("\"\\u00e4\\u007f\"", "jad");
	expect_style("\"\"", "j");
}

Test(context_literal, mixed_or_written_by_hand)
{
	expect_no_style("\"\\u00e4 \xc3\xa4\"");
	expect_no_style("\"/ \\/\"");
	expect_no_style("\"< \\u003c\"");
	expect_no_style("\"\\u003c >\"");
	expect_no_style("\"\\u00e4 \\u00E4\"");
	expect_no_style("\"\\u00aB\"");
	expect_no_style("\"\\u000a\""); /* every program writes \n */
	expect_no_style("\"\\u0041\"");
	expect_no_style("\"\\u0022\"");
	expect_no_style("\"\\u005c\"");
	expect_no_style("\"\\u002f\"");
	expect_no_style("\"\\u0009\"");
	expect_no_style("\"\\b \\u0008\"");
	expect_no_style("\"\\b \\u000c\"");
	expect_no_style("\"\x7f \\u007f\"");
	expect_no_style("\"\\u0080 \xf0\x9f\x98\x80\"");
	expect_no_style("\"\\ud83d\\uDE00\"");
	expect_no_style("\"\\u2028 \xe2\x80\xa9\"");
}

Test(context_literal, the_end_of_a_string_is_looked_at)
{
	expect_no_style("\"\\u00e4 and so on, up to the last \xc3\xa4\"");
	expect_style("\"\\u00e4 and so on, up to the last \\u00e5\"", "ja");
	expect_style("\"plain but for the last /\"", "j");
}

/* What a string does not reveal is kept as found in earlier strings. */
Test(context_literal, what_is_not_shown_is_kept)
{
	for (int i = 0; i < STYLES; i++) {
		struct ofs_literal_style found = style_of(i), before = found;

		cr_assert(round_trips((struct ofs_span){ "\"abc\\n\"", 7 }, &found));
		cr_expect(same_style(&found, &before));
		cr_assert(round_trips((struct ofs_span){ "\"\\/ \\u001f\"", 11 }, &found));
		before.slash = true;
		before.upper = false;
		cr_expect(same_style(&found, &before));
	}
}

Test(context_literal, bytes_that_are_not_utf8)
{
	static const char *const texts[] = {
		"\xff", "a\xc3", "\x80z", "\xed\xa0", "\xf4\x90\x80\x80", "\xe2\x82"
	};

	for (int i = 0; i < STYLES; i++) {
		for (size_t j = 0; j < OFS_ARRAY_SIZE(texts); j++) {
			OFS_CLEANUP(ofs_buf_finish) struct ofs_buf string = OFS_BUF_INIT;
			struct ofs_literal_style style = style_of(i);

			ofs_literal_encode(&style, texts[j], strlen(texts[j]), &string);
			parsed(&string);
		}
	}
}

/* ---- every style with every kind of character */

static void put_code(struct ofs_buf *b, uint32_t c)
{
	char bytes[4] = { (char)c };
	size_t n = 1;

	if (c >= 0x10000) {
		bytes[0] = (char)(0xf0 | c >> 18);
		bytes[1] = (char)(0x80 | (c >> 12 & 0x3f));
		bytes[2] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[3] = (char)(0x80 | (c & 0x3f));
		n = 4;
	} else if (c >= 0x800) {
		bytes[0] = (char)(0xe0 | c >> 12);
		bytes[1] = (char)(0x80 | (c >> 6 & 0x3f));
		bytes[2] = (char)(0x80 | (c & 0x3f));
		n = 3;
	} else if (c >= 0x80) {
		bytes[0] = (char)(0xc0 | c >> 6);
		bytes[1] = (char)(0x80 | (c & 0x3f));
		n = 2;
	}
	ofs_buf_append(b, bytes, n);
}

static void put_character(struct ofs_buf *b)
{
	static const uint32_t codes[] = { 0,	   '\b',     '\f',   '\n',   '\t',   '\r',
					  0x1f,	   '"',	     '\\',   '/',    '<',    '>',
					  '&',	   0x7f,     0x80,   0xff,   0x2027, 0x2028,
					  0x2029,  0x202a,   0xd7ff, 0xe000, 0xffff, 0x10000,
					  0x1f600, 0x10ffff, 0xd800, 0xdabc };

	put_code(b, draw(3) ? ' ' + draw(0x5f) : codes[draw(OFS_ARRAY_SIZE(codes))]);
}

Test(context_literal, every_style_gives_its_bytes_again)
{
	draw_state = 88172645463325252u;
	for (int i = 0; i < STYLES * 40; i++) {
		OFS_CLEANUP(ofs_buf_finish)
		struct ofs_buf text = OFS_BUF_INIT, string = OFS_BUF_INIT, said = OFS_BUF_INIT;
		struct ofs_literal_style style = style_of(i % STYLES),
					 found = style_of((int)draw(STYLES));
		struct ofs_span s;

		for (uint32_t n = draw(40); n; n--)
			put_character(&text);
		ofs_literal_encode(&style, text.data, text.len, &string);
		s = parsed(&string);
		ofs_span_decode(s, &said);
		cr_assert_eq(said.len, text.len);
		cr_assert(!text.len || memcmp(said.data, text.data, text.len) == 0);
		cr_assert(round_trips(s, &found), "style %d: %.*s", i % STYLES, (int)s.len, s.p);
	}
}

Test(context_literal, each_code_point)
{
	for (int i = 0; i < STYLES; i += 3) {
		struct ofs_literal_style style = style_of(i);

		for (uint32_t c = 0; c < 0x110000; c += c < 0x300 ? 1 : 0x1f) {
			OFS_CLEANUP(ofs_buf_finish)
			struct ofs_buf text = OFS_BUF_INIT, string = OFS_BUF_INIT;
			struct ofs_literal_style found = plain;

			put_code(&text, c);
			ofs_literal_encode(&style, text.data, text.len, &string);
			cr_assert(round_trips(parsed(&string), &found), "U+%04X", c);
		}
	}
}
