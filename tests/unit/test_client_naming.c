/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "client/naming.h"

#define HASH "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"

Test(client_naming, categories_and_tasks)
{
	const char *good[] = { "shell", "web-search", "a", "A.b_c-1", "0" };
	const char *bad[] = { "", ".", "..", ".hidden", "a/b", "a b", "a\n", "\xc3\xa9", "a:1" };
	char longest[OFS_NAMING_MAX + 2];
	struct ofs_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		cr_expect_eq(ofs_naming_check("category", good[i], NULL), 0, "%s", good[i]);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		err.text[0] = '\0';
		cr_expect_eq(ofs_naming_check("task", bad[i], &err), -EINVAL, "%s", bad[i]);
		cr_expect(strstr(err.text, "task"));
	}
	memset(longest, 'a', sizeof(longest));
	longest[OFS_NAMING_MAX + 1] = '\0';
	cr_expect_eq(ofs_naming_check("task", longest, &err), -EINVAL);
	longest[OFS_NAMING_MAX] = '\0';
	cr_expect_eq(ofs_naming_check("task", longest, &err), 0);
}

Test(client_naming, names_of_files)
{
	char name[257];

	cr_expect_eq(ofs_naming_check_file("notes.md", NULL), 0);
	cr_expect_eq(ofs_naming_check_file(".hidden and \xff", NULL), 0);
	cr_expect_eq(ofs_naming_check_file("", NULL), -EINVAL);
	cr_expect_eq(ofs_naming_check_file(".", NULL), -EINVAL);
	cr_expect_eq(ofs_naming_check_file("..", NULL), -EINVAL);
	cr_expect_eq(ofs_naming_check_file("a/b", NULL), -EINVAL);
	memset(name, 'a', sizeof(name));
	name[256] = '\0';
	cr_expect_eq(ofs_naming_check_file(name, NULL), -EINVAL);
	name[255] = '\0';
	cr_expect_eq(ofs_naming_check_file(name, NULL), 0);
}

Test(client_naming, automatic_names_are_found_again)
{
	char *name = ofs_naming_auto("shell", 1795291548, HASH, "txt");
	int64_t seconds = 0;

	cr_expect_str_eq(name, "shell_1795291548_9f86d081884c7d65.txt");
	cr_expect(ofs_naming_is_auto(name, "shell", HASH, "txt", &seconds));
	cr_expect_eq(seconds, 1795291548);
	cr_expect_not(ofs_naming_is_auto(name, "shell", HASH, "json", &seconds));
	cr_expect_not(ofs_naming_is_auto(name, "web", HASH, "txt", &seconds));
	cr_expect_not(
		ofs_naming_is_auto("shell_1_9f86d081884c7d66.txt", "shell", HASH, "txt", &seconds));
	cr_expect_not(ofs_naming_is_auto("shell_01_9f86d081884c7d65.txt", "shell", HASH, "txt",
					 &seconds));
	cr_expect_not(
		ofs_naming_is_auto("shell__9f86d081884c7d65.txt", "shell", HASH, "txt", &seconds));
	cr_expect_not(ofs_naming_is_auto("shell_99999999999999999999_9f86d081884c7d65.txt", "shell",
					 HASH, "txt", &seconds));
	free(name);
}

Test(client_naming, agents)
{
	static const struct {
		const char *name, *directory;
	} good[] = { { "a", "agents/a" },
		     { "a/b", "agents/a/agents/b" },
		     { "w 1/agents/x", "agents/w 1/agents/agents/agents/x" } };
	static const char *const bad[] = { "", ".", "..", "a/", "/a", "a//b", "a/..", "a\nb" };
	struct ofs_error err;

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		char *directory, *name;

		cr_assert_eq(ofs_naming_agent("it", good[i].name, &err, &directory), 0);
		name = ofs_naming_agent_name(directory);
		cr_expect_str_eq(directory, good[i].directory);
		cr_expect_str_eq(name, good[i].name);
		free(directory);
		free(name);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		char *directory;

		cr_expect_eq(ofs_naming_agent("--agent", bad[i], &err, &directory), -EINVAL);
		cr_expect(strstr(err.text, "--agent"));
	}
}

Test(client_naming, the_agent_of_a_path)
{
	static const struct {
		const char *path, *agent, *rest;
	} cases[] = { { "agents/a/cache/x", "agents/a", "cache/x" },
		      { "agents/a/agents/b/refs/k3", "agents/a/agents/b", "refs/k3" },
		      { "agents/a/agents", "agents/a", "agents" },
		      { "agents/a/agents/b", "agents/a", "agents/b" } };
	static const char *const none[] = { "", "cache/agents/a/x", "agents", "agents/a",
					    "agents/a/" };
	const char *rest;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char *agent = ofs_naming_agent_of(cases[i].path, &rest);

		cr_assert_not_null(agent, "%s", cases[i].path);
		cr_expect_str_eq(agent, cases[i].agent);
		cr_expect_str_eq(rest, cases[i].rest);
		free(agent);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++)
		cr_expect_null(ofs_naming_agent_of(none[i], &rest), "%s", none[i]);
}
