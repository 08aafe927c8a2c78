/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "context/settings.h"

static char dir[] = "/tmp/offloadfs-test-XXXXXX";
static char path[64];
static struct ofs_settings settings;
static struct ofs_error err;

static void begin(void)
{
	setenv("XDG_CONFIG_HOME", "/nonexistent", 1);
	cr_assert(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/context.ini", dir);
	ofs_settings_init(&settings);
	err.text[0] = 0;
}

static void finish(void)
{
	char command[64];

	ofs_settings_finish(&settings);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(context_settings, .init = begin, .fini = finish);

static void write_bytes(const char *text, size_t len)
{
	FILE *out = fopen(path, "w");

	cr_assert(out);
	cr_assert_eq(fwrite(text, 1, len, out), len);
	cr_assert_eq(fclose(out), 0);
}

static void load(const char *text)
{
	write_bytes(text, strlen(text));
	cr_assert_eq(ofs_settings_load_file(&settings, AT_FDCWD, path, false, &err), 0, "%s",
		     err.text);
}

static void expect_defaults(void)
{
	cr_expect_eq(settings.snapshot_tokens, 1500);
	cr_expect_eq(settings.max_bytes, 2048);
	cr_expect_eq(settings.max_lines, 50);
	cr_expect_eq(settings.read_bytes, 1024);
	cr_expect_eq(settings.list_items, 10);
	cr_expect_eq(settings.search_results, 5);
	cr_expect_eq(settings.shell_chars, 500);
	cr_expect_eq(settings.keep, 3);
	cr_expect_eq(settings.steps, 5);
	cr_expect_eq(settings.tokens, 2000);
	cr_expect_eq(settings.budget, 500);
	cr_expect_eq(settings.max_total_tokens, 20000);
	cr_expect_eq(settings.max_tool_message_tokens, 0);
	cr_expect_eq(settings.group_token_threshold, 0);
	cr_expect_eq(settings.summarizer_timeout_s, 60);
	cr_expect_null(settings.summarizer);
	cr_expect_str_eq(settings.ttl, "30d");
	cr_expect_eq(settings.n_tools, 0);
}

/* The file must be refused for this line, with these words, and change nothing. */
static void expect_refused(const char *text, size_t len, unsigned int line, const char *words)
{
	char start[128];

	write_bytes(text, len);
	snprintf(start, sizeof(start), "%s:%u: ", path, line);
	cr_expect_eq(ofs_settings_load_file(&settings, AT_FDCWD, path, false, &err), -EINVAL,
		     "accepted: %s", text);
	cr_expect_eq(strncmp(err.text, start, strlen(start)), 0, "'%s' does not start with '%s'",
		     err.text, start);
	cr_expect(strstr(err.text, words), "'%s' lacks '%s'", err.text, words);
	cr_expect_not(strchr(err.text, '\n'));
	expect_defaults();
}

Test(context_settings, defaults)
{
	expect_defaults();
	load("");
	expect_defaults();
	load("# [reduce]\n; keep = 5\n\n[compact]\n[context]\n[reduce]\n");
	expect_defaults();
}

Test(context_settings, a_file_as_people_write_it)
{
	load("\xef\xbb\xbf# mine\r\n"
	     "[reduce]   ; limits\r\n"
	     "  max_bytes = 4K\r\n"
	     "\tmax_lines=0\r\n"
	     "read_bytes: 1M   ; a megabyte\r\n"
	     "list_items = 7\r\n"
	     "search_results = 0\r\n"
	     "shell_chars = 2k\r\n"
	     "\r\n"
	     "[compact]\r\n"
	     "keep = 4\r\n"
	     "steps = 8\r\n"
	     "tokens = 3K\r\n"
	     "budget = 600\r\n"
	     "[context]\r\n"
	     "max_total_tokens = 30k\r\n"
	     "max_tool_message_tokens = 1500\r\n"
	     "group_token_threshold = 100\r\n"
	     "summarizer = llm -m small 'sum it up'\r\n"
	     "summarizer_timeout = 2m\r\n"
	     "ttl = 7d\r\n"
	     "[tool fs:read_file]\r\n"
	     "offload = over 4K\r\n"
	     "[compact]\r\n"
	     "[tool   mcp__a_server_with_a_rather_long_name__fetch_the_page_by_its_address]\r\n"
	     "like = browser:navigate\r\n"
	     "category = web.pages\r\n"
	     "observation = Fetched {args.address} ({size})\r\n"
	     "summary = Fetched {args.address}\r\n"
	     "offload = always\r\n"
	     "[tool notes]\r\n"
	     "offload = never");
	cr_expect_eq(settings.max_bytes, 4096);
	cr_expect_eq(settings.max_lines, 0);
	cr_expect_eq(settings.read_bytes, 1 << 20);
	cr_expect_eq(settings.list_items, 7);
	cr_expect_eq(settings.search_results, 0);
	cr_expect_eq(settings.shell_chars, 2000);
	cr_expect_eq(settings.keep, 4);
	cr_expect_eq(settings.steps, 8);
	cr_expect_eq(settings.tokens, 3000);
	cr_expect_eq(settings.budget, 600);
	cr_expect_eq(settings.max_total_tokens, 30000);
	cr_expect_eq(settings.max_tool_message_tokens, 1500);
	cr_expect_eq(settings.group_token_threshold, 100);
	cr_expect_eq(settings.summarizer_timeout_s, 120);
	cr_expect_str_eq(settings.summarizer, "llm -m small 'sum it up'");
	cr_expect_str_eq(settings.ttl, "7d");
	cr_assert_eq(settings.n_tools, 3);
	cr_expect_str_eq(settings.tools[0].name, "fs:read_file");
	cr_expect_eq(settings.tools[0].when, OFS_OFFLOAD_OVER);
	cr_expect_eq(settings.tools[0].over, 4096);
	cr_expect_null(settings.tools[0].like);
	cr_expect_str_eq(settings.tools[1].name,
			 "mcp__a_server_with_a_rather_long_name__fetch_the_page_by_its_address");
	cr_expect_str_eq(settings.tools[1].like, "browser:navigate");
	cr_expect_str_eq(settings.tools[1].category, "web.pages");
	cr_expect_str_eq(settings.tools[1].observation, "Fetched {args.address} ({size})");
	cr_expect_str_eq(settings.tools[1].summary, "Fetched {args.address}");
	cr_expect_eq(settings.tools[1].when, OFS_OFFLOAD_ALWAYS);
	cr_expect_eq(settings.tools[2].when, OFS_OFFLOAD_NEVER);
}

Test(context_settings, times_take_the_form_that_attributes_have)
{
	static const char *const cases[][2] = {
		{ "90", "90s" }, { "0030m", "30m" },   { "6H", "6h" },
		{ "2d", "2d" },	 { "never", "never" }, { "0", "never" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		snprintf(text, sizeof(text), "[context]\nttl = %s\n", cases[i][0]);
		load(text);
		cr_expect_str_eq(settings.ttl, cases[i][1]);
	}
}

Test(context_settings, files_add_up)
{
	load("[compact]\nkeep = 4\n[context]\nsummarizer = a b\n[tool one]\noffload = always\n");
	load("[compact]\nsteps = 9\n[tool two]\noffload = never\n");
	cr_expect_eq(settings.keep, 4);
	cr_expect_eq(settings.steps, 9);
	cr_expect_str_eq(settings.summarizer, "a b");
	cr_assert_eq(settings.n_tools, 2);
	cr_expect_str_eq(settings.tools[0].name, "one");
	cr_expect_str_eq(settings.tools[1].name, "two");
	load("[context]\nsummarizer =\n");
	cr_expect_null(settings.summarizer, "nothing is no command");
}

Test(context_settings, files_that_are_refused)
{
	static const struct {
		const char *text;
		unsigned int line;
		const char *words;
	} cases[] = {
		{ "[compact]\nkepp = 5\n", 2, "unknown key 'kepp': did you mean 'keep'?" },
		{ "[compact]\nBudget = 5\n", 2, "did you mean 'budget'?" },
		{ "[compact]\nmax_bytes = 5\n", 2, "'max_bytes' belongs in [reduce]" },
		{ "[tool x]\nkeep = 5\n", 2, "'keep' belongs in [compact]" },
		{ "keep = 5\n", 1, "'keep' belongs in [compact]" },
		{ "colour = red\n", 1,
		  "unknown key 'colour' before any section: the sections are [reduce]" },
		{ "[compact]\ncolour = red\n", 2,
		  "unknown key 'colour': the keys of [compact] are keep, steps, tokens, budget" },
		{ "[tool x]\ncolour = red\n", 2,
		  "the keys of [tool] are like, category, observation, summary, offload" },
		{ "[compact]\n\nkeep = all\n", 3,
		  "keep = 'all': must be a number of steps from 0 to 1000000000" },
		{ "[compact]\nkeep = -1\n", 2, "must be a number" },
		{ "[compact]\nkeep = 3 steps\n", 2, "must be a number" },
		{ "[compact]\nkeep =\n", 2, "keep = '': must be a number" },
		{ "[compact]\ntokens = 2M\n", 2, "also with a unit (K)" },
		{ "[reduce]\nmax_bytes = 99999999999999999999\n", 2, "must be a number of bytes" },
		{ "[reduce]\nmax_bytes = 4KB\n", 2, "also with a unit (K, M, G)" },
		{ "[compact]\nkeep = 1\nsteps = 2\nkeep = 3\n", 4, "set twice, first in line 2" },
		{ "[compact]\nkeep = 1\n[reduce]\n[compact]\nkeep = 1\n", 5, "first in line 2" },
		{ "[context]\nttl = soon\n", 2, "(s, m, h, d), or never" },
		{ "[context]\nttl = -1d\n", 2, "must be a number of seconds" },
		{ "[context]\nttl =\n", 2, "ttl = '': must be" },
		{ "[context]\nsummarizer_timeout = 0\n", 2, "from 1 to 3600" },
		{ "[context]\nsummarizer = \xff\n", 2, "must be UTF-8" },
		{ "[tool x]\nlike = y\n", 2, "like = 'y': must be a tool that has a rule: fs:" },
		{ "[tool x]\nlike =\n", 2, "must be a tool that has a rule" },
		{ "[tool x]\ncategory = a/b\n", 2, "category = 'a/b': must be a name of 1 to 64" },
		{ "[tool x]\noffload = sometimes\n", 2,
		  "must be always, never, or a size in bytes as in 'over 1000'" },
		{ "[tool x]\noffload = over\n", 2, "must be always, never" },
		{ "[tool x]\noffload = over much\n", 2, "must be always, never" },
		{ "[tool x]\noffload = over -1\n", 2, "must be always, never" },
		{ "[tool x]\noffload = never\noffload = always\n", 3, "first in line 2" },
		{ "[tool x]\n[reduce]\n[tool x]\n", 3, "[tool x] appears twice, first in line 1" },
		{ "[tool]\n", 1, "[tool] lacks a name: write it as [tool NAME]" },
		{ "[tool ]\n", 1, "[tool] lacks a name" },
		{ "[tools x]\n", 1, "unknown section [tools x]: did you mean [tool NAME]?" },
		{ "[tol]\n", 1, "did you mean [tool NAME]?" },
		{ "[compct]\n", 1, "unknown section [compct]: did you mean [compact]?" },
		{ "[Reduce]\n", 1, "did you mean [reduce]?" },
		{ "[]\n", 1, "unknown section []: the sections are" },
		{ "[reduce\n", 1, "not a line of the form [SECTION]" },
		{ "[reduce] max_lines = 5\n", 1, "not a line of the form [SECTION]" },
		{ "[\033[2J]\n", 1, "unknown section [?[2J]" },
		{ "[\033x]\n", 1, "unknown section [?x]" },
		{ "[compact]\nkeep = 5\nsteps\n", 3, "not a line of the form KEY = VALUE" },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		expect_refused(cases[i].text, strlen(cases[i].text), cases[i].line, cases[i].words);
	expect_refused("[reduce]\0\n", 10, 1, "a NUL byte");
}

Test(context_settings, a_command_of_any_length)
{
	char longest[300];

	snprintf(longest, sizeof(longest), "[context]\nsummarizer = %0250d\n", 5);
	load(longest);
	cr_expect_eq(strlen(settings.summarizer), 250);
}

Test(context_settings, an_error_leaves_what_was_loaded_before)
{
	static const char bad[] = "[compact]\nkeep = 9\n[context]\nsummarizer = z\nttl = 5d\n"
				  "[tool two]\nsummary = z\n[compact]\nbudget = x\n";

	load("[compact]\nkeep = 4\n[context]\nsummarizer = a\n[tool one]\nsummary = s\n");
	write_bytes(bad, strlen(bad));
	cr_assert_eq(ofs_settings_load_file(&settings, AT_FDCWD, path, false, &err), -EINVAL);
	cr_expect_eq(settings.keep, 4);
	cr_expect_str_eq(settings.summarizer, "a");
	cr_expect_str_eq(settings.ttl, "30d");
	cr_assert_eq(settings.n_tools, 1);
	cr_expect_str_eq(settings.tools[0].summary, "s");
	cr_expect_eq(ofs_settings_load_file(&settings, AT_FDCWD, path, false, NULL), -EINVAL,
		     "without words, too");
}

Test(context_settings, the_file_of_a_store)
{
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), 0, "it may be missing");
	cr_expect_eq(ofs_settings_load(&settings, path, &err), 0, "and so may the store");
	cr_expect_eq(ofs_settings_load_file(&settings, AT_FDCWD, path, false, &err), -ENOENT);
	cr_expect(strstr(err.text, path), "%s", err.text);
	write_bytes("[compact]\nkeep = 1\n", 19);
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), 0, "%s", err.text);
	cr_expect_eq(settings.keep, 1);
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), -EINVAL, "and did not wait");
	cr_expect(strstr(err.text, "is not a regular file"), "%s", err.text);
}

/* Writes the user's own context.ini, in the folder `config`. */
static void write_own(const char *text)
{
	static char config[64], own[128];
	FILE *f;

	snprintf(config, sizeof(config), "%s/config", dir);
	snprintf(own, sizeof(own), "%s/offloadfs", config);
	setenv("XDG_CONFIG_HOME", config, 1);
	mkdir(config, 0700);
	mkdir(own, 0700);
	strcat(own, "/context.ini");
	f = fopen(own, "w");
	cr_assert(f);
	fputs(text, f);
	fclose(f);
	chmod(own, 0600);
}

Test(context_settings, a_command_comes_from_the_users_own_file_alone)
{
	write_own("[context]\nsummarizer = mine\n[compact]\nkeep = 7\nsteps = 8\n");
	write_bytes("[compact]\nkeep = 1\n", 19);
	cr_assert_eq(ofs_settings_load(&settings, dir, &err), 0, "%s", err.text);
	cr_expect_str_eq(settings.summarizer, "mine");
	cr_expect_eq(settings.keep, 1, "the store's own settings are nearer");
	cr_expect_eq(settings.steps, 8);
	write_bytes("[context]\nsummarizer = theirs\n", strlen("[context]\nsummarizer = theirs\n"));
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), -EINVAL);
	cr_expect(strstr(err.text,
			 "context.ini:2: 'summarizer' is not taken from a store: it belongs "
			 "in '"),
		  "%s", err.text);
	cr_expect_str_eq(settings.summarizer, "mine");
}

Test(context_settings, an_own_file_that_others_may_write_is_not_used)
{
	char own[128];

	write_own("[context]\nsummarizer = theirs\n");
	snprintf(own, sizeof(own), "%s/config/offloadfs/context.ini", dir);
	cr_assert_eq(chmod(own, 0620), 0);
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), -EPERM);
	cr_expect(strstr(err.text, "others may write"), "%s", err.text);
	cr_expect_null(settings.summarizer);
}

Test(context_settings, those_of_a_store_that_others_may_write_are_not_used)
{
	write_bytes("[compact]\nkeep = 1\n", 19);
	cr_assert_eq(chmod(dir, 0722), 0);
	cr_expect_eq(ofs_settings_load(&settings, dir, &err), 0, "%s", err.text);
	cr_expect_eq(settings.keep, 3);
}
