/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "cli/operand.h"
#include "cli/slice_path.h"

Test(cli_operand, refs_by_their_form)
{
	cr_expect(ofs_operand_is_ref("k3f9x2"));
	cr_expect(ofs_operand_is_ref("12345678"));
	cr_expect_not(ofs_operand_is_ref(""));
	cr_expect_not(ofs_operand_is_ref("123456789"));
	cr_expect_not(ofs_operand_is_ref("K3f9x2"));
	cr_expect_not(ofs_operand_is_ref("a/b"));
	cr_expect_not(ofs_operand_is_ref("a.txt"));
}

static void expect_suffix(const char *spec, const char *expected)
{
	char *suffix = ofs_slice_suffix(spec);

	if (expected)
		cr_expect_str_eq(suffix, expected);
	else
		cr_expect_null(suffix);
	free(suffix);
}

Test(cli_operand, slices_in_every_spelling)
{
	expect_suffix("10-20", ":10-20");
	expect_suffix(":10-20", ":10-20");
	expect_suffix("L10-L20", ":10-20");
	expect_suffix("#L10-L20", ":10-20");
	expect_suffix("@L10-20", ":10-20");
	expect_suffix("L120", ":120");
	expect_suffix("120-", ":120-");
	expect_suffix("-50", ":-50");
	expect_suffix("b0-4095", ":b0-4095");
	expect_suffix("LL", ":LL");
	expect_suffix("", NULL);
	expect_suffix(":", NULL);
	expect_suffix("1/2", NULL);
	cr_expect(ofs_slice_is_bytes("b0-1"));
	cr_expect(ofs_slice_is_bytes(":b0-1"));
	cr_expect_not(ofs_slice_is_bytes("10"));
}
