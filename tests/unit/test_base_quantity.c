/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "base/quantity.h"

static const struct ofs_quantity loose = { OFS_UNIT_S, 1, 7 * 86400, "never", false };
static const struct ofs_quantity strict = { OFS_UNIT_S, 1, 7 * 86400, "never", true };
static const struct ofs_quantity bytes = { OFS_UNIT_BYTES, 0, UINT64_MAX, NULL, false };
static const struct ofs_quantity lines = { OFS_UNIT_LINES, 0, 9, "unlimited", false };

#define REFUSED UINT64_MAX

static uint64_t parse(const struct ofs_quantity *q, const char *text)
{
	uint64_t n = 77;

	if (ofs_quantity_parse(q, text, &n))
		return n;
	cr_expect_eq(n, 77, "a result for '%s'", text);
	return REFUSED;
}

Test(base_quantity, numbers_with_a_unit)
{
	cr_expect_eq(parse(&loose, "90"), 90);
	cr_expect_eq(parse(&loose, "0045s"), 45);
	cr_expect_eq(parse(&loose, "30m"), 1800);
	cr_expect_eq(parse(&loose, "6H"), 6 * 3600);
	cr_expect_eq(parse(&loose, "7d"), 7 * 86400);
	cr_expect_eq(parse(&loose, "0"), 0, "which the word says, too");
	cr_expect_eq(parse(&loose, "never"), 0);
	cr_expect_eq(parse(&bytes, "4k"), 4096);
	cr_expect_eq(parse(&bytes, "1G"), 1 << 30);
	cr_expect_eq(parse(&bytes, "0"), 0);
}

Test(base_quantity, what_is_no_such_number)
{
	static const char *const none[] = { "",
					    "s",
					    "-1",
					    "+1",
					    " 1",
					    "1 s",
					    "1.5h",
					    "0x1",
					    "1h30",
					    "8d",
					    "1w",
					    "Never",
					    "1ms",
					    "m",
					    "1S5",
					    "d7",
					    "1ss",
					    "1s ",
					    "never ",
					    "99999999999999999999",
					    "5124095576030431h" };

	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		cr_expect_eq(parse(&loose, none[i]), REFUSED, "'%s'", none[i]);
	cr_expect_eq(parse(&lines, "10"), REFUSED);
	cr_expect_eq(parse(&lines, "1K"), REFUSED);
	cr_expect_eq(parse(&bytes, "18446744073709551616"), REFUSED);
	cr_expect_eq(parse(&bytes, "unlimited"), REFUSED);
}

Test(base_quantity, in_its_one_form)
{
	cr_expect_eq(parse(&strict, "30m"), 1800);
	cr_expect_eq(parse(&strict, "never"), 0);
	cr_expect_eq(parse(&strict, "90"), REFUSED);
	cr_expect_eq(parse(&strict, "0"), REFUSED);
	cr_expect_eq(parse(&strict, "0s"), REFUSED);
	cr_expect_eq(parse(&strict, "07d"), REFUSED);
	cr_expect_eq(parse(&strict, "7D"), REFUSED);
}

Test(base_quantity, what_is_shown_can_be_read)
{
	static const struct {
		uint64_t n;
		const char *text;
	} cases[] = { { 0, "never" },  { 1, "1s" },	 { 60, "1m" },
		      { 90, "90s" },   { 5400, "90m" },	 { 7200, "2h" },
		      { 86400, "1d" }, { 90000, "25h" }, { 7 * 86400, "7d" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		cr_expect_str_eq(ofs_quantity_show(&strict, cases[i].n).text, cases[i].text);
		cr_expect_eq(parse(&strict, cases[i].text), cases[i].n);
	}
	cr_expect_str_eq(ofs_quantity_show(&bytes, 65536).text, "64K");
	cr_expect_str_eq(ofs_quantity_show(&lines, 7).text, "7");
	cr_expect_str_eq(ofs_quantity_show(&lines, 0).text, "unlimited");
}

Test(base_quantity, what_is_allowed)
{
	cr_expect_str_eq(ofs_quantity_describe(&loose).text,
			 "a number of seconds from 1 to 604800, also with a unit (s, m, h, d), or "
			 "never");
	cr_expect_str_eq(
		ofs_quantity_describe(&strict).text,
		"a number of seconds from 1 to 604800, with a unit (s, m, h, d), or never");
	cr_expect_str_eq(ofs_quantity_describe(&lines).text,
			 "a number of lines from 0 to 9, or unlimited");
}
