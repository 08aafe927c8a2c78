/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/label.h"
#include "cli/operand.h"
#include "cli/slice.h"

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

Test(cli_label, categories_and_tasks)
{
	const char *good[] = { "shell", "web-search", "a", "A.b_c-1", "0" };
	const char *bad[] = { "", ".", "..", ".hidden", "a/b", "a b", "a\n", "\xc3\xa9", "a:1" };
	char longest[OFS_LABEL_MAX + 2];
	struct ofs_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_expect_eq(ofs_label_check("category", good[i], NULL), 0, "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		cr_expect_eq(ofs_label_check("task", bad[i], &err), -EINVAL, "%s", bad[i]);
		cr_expect(strstr(err.text, "task"));
	}
	memset(longest, 'a', sizeof(longest));
	longest[OFS_LABEL_MAX + 1] = '\0';
	cr_expect_eq(ofs_label_check("task", longest, &err), -EINVAL);
	longest[OFS_LABEL_MAX] = '\0';
	cr_expect_eq(ofs_label_check("task", longest, &err), 0);
}

Test(cli_label, names_of_files)
{
	char name[257];

	cr_expect_eq(ofs_label_check_name("notes.md", NULL), 0);
	cr_expect_eq(ofs_label_check_name(".hidden and \xff", NULL), 0);
	cr_expect_eq(ofs_label_check_name("", NULL), -EINVAL);
	cr_expect_eq(ofs_label_check_name(".", NULL), -EINVAL);
	cr_expect_eq(ofs_label_check_name("..", NULL), -EINVAL);
	cr_expect_eq(ofs_label_check_name("a/b", NULL), -EINVAL);
	memset(name, 'a', sizeof(name));
	name[256] = '\0';
	cr_expect_eq(ofs_label_check_name(name, NULL), -EINVAL);
	name[255] = '\0';
	cr_expect_eq(ofs_label_check_name(name, NULL), 0);
}

Test(cli_label, automatic_names_are_found_again)
{
	char *name = ofs_label_auto("shell", 1795291548, HASH, "txt");
	int64_t seconds = 0;

	cr_expect_str_eq(name, "shell_1795291548_9f86d081884c7d65.txt");
	cr_expect(ofs_label_is_auto(name, "shell", HASH, "txt", &seconds));
	cr_expect_eq(seconds, 1795291548);
	cr_expect_not(ofs_label_is_auto(name, "shell", HASH, "json", &seconds));
	cr_expect_not(ofs_label_is_auto(name, "web", HASH, "txt", &seconds));
	cr_expect_not(
		ofs_label_is_auto("shell_1_9f86d081884c7d66.txt", "shell", HASH, "txt", &seconds));
	cr_expect_not(
		ofs_label_is_auto("shell_01_9f86d081884c7d65.txt", "shell", HASH, "txt", &seconds));
	cr_expect_not(
		ofs_label_is_auto("shell__9f86d081884c7d65.txt", "shell", HASH, "txt", &seconds));
	cr_expect_not(ofs_label_is_auto("shell_99999999999999999999_9f86d081884c7d65.txt", "shell",
					HASH, "txt", &seconds));
	free(name);
}

Test(cli_label, refs_by_their_form)
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

Test(cli_label, slices_in_every_spelling)
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
