/* SPDX-License-Identifier: MIT */
/* The grammar of slices. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/util.h"
#include "tree/core/slice.h"

#define END UINT64_MAX

/* `base` is the expected base of the name. It is unused if `result` is -ENOENT. */
struct sample {
	const char *name;
	int result;
	const char *base;
	int kind;
	uint64_t first, last;
};

static void expect(const struct sample *c)
{
	struct ofs_slice_spec spec = { .kind = OFS_SLICE_BYTES, .first = 77, .last = 78 };
	size_t len = SIZE_MAX;
	int r = ofs_slice_parse(c->name, &len, &spec);

	cr_assert_eq(r, c->result, "'%s': %d, not %d", c->name, r, c->result);
	if (r == -ENOENT)
		return;
	cr_assert_eq(len, strlen(c->base), "'%s': base of %zu", c->name, len);
	cr_assert_eq(memcmp(c->name, c->base, len), 0, "'%s'", c->name);
	if (r < 0)
		return;
	cr_assert_eq((int)spec.kind, c->kind, "'%s': kind %d", c->name, (int)spec.kind);
	cr_assert_eq(spec.first, c->first, "'%s': first %" PRIu64, c->name, spec.first);
	cr_assert_eq(spec.last, c->last, "'%s': last %" PRIu64, c->name, spec.last);
}

static void expect_all(const struct sample *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		expect(&list[i]);
}

#define LINES OFS_SLICE_LINES
#define LAST OFS_SLICE_LAST_LINES
#define BYTES OFS_SLICE_BYTES

Test(tree_slice, every_form)
{
	static const struct sample list[] = {
		{ "F:120-180", 0, "F", LINES, 120, 180 },
		{ "F:120", 0, "F", LINES, 120, 120 },
		{ "F:120-", 0, "F", LINES, 120, END },
		{ "F:-50", 0, "F", LAST, 50, END },
		{ "F#L120-L180", 0, "F", LINES, 120, 180 },
		{ "F#L120-180", 0, "F", LINES, 120, 180 },
		{ "F#L120", 0, "F", LINES, 120, 120 },
		{ "F@L120-180", 0, "F", LINES, 120, 180 },
		{ "F@L120-L180", 0, "F", LINES, 120, 180 },
		{ "F@L120", 0, "F", LINES, 120, 120 },
		{ "F:b0-4095", 0, "F", BYTES, 0, 4095 },
		{ "F:b7", 0, "F", BYTES, 7, 7 },
		{ "F:b7-", 0, "F", BYTES, 7, END },
		{ "F:b0-0", 0, "F", BYTES, 0, 0 },
		{ "F:1-1", 0, "F", LINES, 1, 1 },
		{ "F:007-010", 0, "F", LINES, 7, 10 },
		{ "F:info", 0, "F", OFS_SLICE_INFO, 0, 0 },
		{ "F:1:summary", 0, "F:1", OFS_SLICE_SUMMARY, 0, 0 },
	};

	expect_all(list, OFS_ARRAY_SIZE(list));
}

Test(tree_slice, no_form_at_all)
{
	static const char *const names[] = {
		"",	      "F",    "F:",    "F:b",	 "F:bx",       "F:x", "F:Info",
		"F:summary ", "F: 1", "F:+1",  "F:L1",	 "F#",	       "F#1", "F#L",
		"F#Lx",	      "F#l1", "F@",    "F@L",	 "F@1",	       "F@x", ":",
		":1",	      ":1-2", ":-5",   ":b0-1",	 "#L1",	       "@L1", "F.txt",
		"user@host",  "C#",   "a:b:c", "F:B0-1", "F\xff:\xff",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		expect(&(struct sample){ .name = names[i], .result = -ENOENT });
}

Test(tree_slice, forms_that_make_no_sense)
{
	static const char *const tails[] = {
		":0",	":0-5",	 ":5-4",   ":1-0",   ":1-2-3", ":1x",	 ":1-x",   ":1-2x",
		":1 ",	":1,2",	 ":1--2",  ":-",     ":-0",    ":-x",	 ":-5-",   ":-5x",
		":--5", ":1-L2", ":b5-4",  ":b5x",   ":b5-x",  ":b5-6x", ":b5-b6", ":b1-2-3",
		":0-",	"#L0",	 "#L5-L4", "#L1x",   "#L1-x",  "#L1-L",	 "#L1-Lx", "#L1-LL2",
		"@L0",	"@L9-8", "@L1-L",  "@L1-2 ",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(tails); i++) {
		char name[32];

		snprintf(name, sizeof(name), "base%s", tails[i]);
		expect(&(struct sample){ .name = name, .result = -EINVAL, .base = "base" });
	}
}

Test(tree_slice, numbers_end_at_64_bits)
{
	static const struct sample list[] = {
		{ "F:18446744073709551614", 0, "F", LINES, END - 1, END - 1 },
		{ "F:18446744073709551615", 0, "F", LINES, END, END },
		{ "F:1-18446744073709551615", 0, "F", LINES, 1, END },
		{ "F:-18446744073709551615", 0, "F", LAST, END, END },
		{ "F:b18446744073709551615-", 0, "F", BYTES, END, END },
		{ "F:18446744073709551616", -EINVAL, "F", 0, 0, 0 },
		{ "F:1-18446744073709551616", -EINVAL, "F", 0, 0, 0 },
		{ "F:-18446744073709551616", -EINVAL, "F", 0, 0, 0 },
		{ "F:b18446744073709551616", -EINVAL, "F", 0, 0, 0 },
		{ "F:b0-99999999999999999999999999", -EINVAL, "F", 0, 0, 0 },
		{ "F#L99999999999999999999999999", -EINVAL, "F", 0, 0, 0 },
		{ "F:00000000000000000000000000000001", 0, "F", LINES, 1, 1 },
	};

	expect_all(list, OFS_ARRAY_SIZE(list));
}

Test(tree_slice, the_last_mark_counts)
{
	static const struct sample list[] = {
		{ "a:b:1-2", 0, "a:b", LINES, 1, 2 },
		{ "a:1:2", 0, "a:1", LINES, 2, 2 },
		{ "12:30:45.log:5", 0, "12:30:45.log", LINES, 5, 5 },
		{ "12:30:45.log#L5", 0, "12:30:45.log", LINES, 5, 5 },
		{ "12:30:45.log@L5-6", 0, "12:30:45.log", LINES, 5, 6 },
		{ "a:b0.txt#L5", 0, "a:b0.txt", LINES, 5, 5 },
		{ "a:-x#L5", 0, "a:-x", LINES, 5, 5 },
		{ "a#b:7", 0, "a#b", LINES, 7, 7 },
		{ "a#L1:7", 0, "a#L1", LINES, 7, 7 },
		{ "a#b#L7", 0, "a#b", LINES, 7, 7 },
		{ "a#L1#L7", 0, "a#L1", LINES, 7, 7 },
		{ "user@host:7", 0, "user@host", LINES, 7, 7 },
		{ "user@host@L7", 0, "user@host", LINES, 7, 7 },
		{ "user@host#L7", 0, "user@host", LINES, 7, 7 },
		{ "a#b@L7-8", 0, "a#b", LINES, 7, 8 },
		{ "a#L1@L7", 0, "a#L1", LINES, 7, 7 },
		{ "a@L1#L7", 0, "a@L1", LINES, 7, 7 },
		{ "::1", 0, ":", LINES, 1, 1 },
		{ "##L1", 0, "#", LINES, 1, 1 },
		{ "a:b-c", -ENOENT, NULL, 0, 0, 0 },
	};

	expect_all(list, OFS_ARRAY_SIZE(list));
}

static void expect_print_and_parse(uint64_t first, uint64_t last)
{
	static const struct {
		const char *fmt;
		int kind;
		bool lines;
	} forms[] = {
		{ "x.y:%" PRIu64 "-%" PRIu64, LINES, true },
		{ "x.y#L%" PRIu64 "-L%" PRIu64, LINES, true },
		{ "x.y@L%" PRIu64 "-%" PRIu64, LINES, true },
		{ "x.y:b%" PRIu64 "-%" PRIu64, BYTES, false },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms); i++) {
		bool valid = last >= first && (first || !forms[i].lines);
		char name[80];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		snprintf(name, sizeof(name), forms[i].fmt, first, last);
#pragma GCC diagnostic pop
		expect(&(struct sample){ name, valid ? 0 : -EINVAL, "x.y", forms[i].kind, first,
					 last });
	}
}

Test(tree_slice, what_is_printed_is_parsed)
{
	static const uint64_t numbers[] = {
		0, 1, 2, 9, 10, 11, 99, 100, 65535, 65536, UINT32_MAX, INT64_MAX, END - 1, END
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(numbers); i++)
		for (size_t j = 0; j < OFS_ARRAY_SIZE(numbers); j++)
			expect_print_and_parse(numbers[i], numbers[j]);
}

Test(tree_slice, any_short_text_is_parsed_or_refused)
{
	static const char letters[] = "F:#@Lb-019x";
	const size_t n = sizeof(letters) - 1;
	char name[7] = "";

	for (size_t code = 0; code < n * n * n * n * n * n; code++) {
		struct ofs_slice_spec spec;
		size_t rest = code, len = SIZE_MAX;
		int r;

		for (size_t i = 0; i < 6; i++, rest /= n)
			name[i] = letters[rest % n];
		r = ofs_slice_parse(name, &len, &spec);
		cr_assert(r == 0 || r == -ENOENT || r == -EINVAL, "'%s': %d", name, r);
		if (r == -ENOENT)
			continue;
		cr_assert(len > 0 && len < 6, "'%s': base of %zu", name, len);
		cr_assert(strchr(":#@", name[len]), "'%s': base of %zu", name, len);
		cr_assert(r < 0 || spec.kind == LAST || spec.first <= spec.last, "'%s'", name);
	}
}
