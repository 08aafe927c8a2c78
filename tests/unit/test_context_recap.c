/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/util.h"
#include "context/steps/recap.h"

static struct ofs_settings settings;
static struct ofs_step_list steps;
static struct ofs_recap_info info;
static struct ofs_buf text; /* the last recap, NUL-terminated */
static struct ofs_error err;

static void begin(void)
{
	ofs_settings_init(&settings);
	settings.steps = 0;
	settings.budget = 100000;
}

static void finish(void)
{
	ofs_settings_finish(&settings);
	ofs_step_list_finish(&steps);
	ofs_buf_finish(&text);
}

TestSuite(context_recap, .init = begin, .fini = finish);

static void add(const char *fmt, ...)
{
	char json[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(json, sizeof(json), fmt, ap);
	va_end(ap);
	cr_assert_eq(ofs_step_list_parse(&steps, json, strlen(json), &err), 0, "%s: %s", json,
		     err.text);
}

static void add_read(const char *path, int bytes, const char *ref)
{
	add("{\"id\": \"s%zu\", \"tool_name\": \"fs:read_file\", \"minimal_args\": {\"path\": "
	    "\"%s\"}, \"observation\": \"Read %s\", \"outcome_ref\": %s%s%s, \"metadata\": "
	    "{\"bytes\": %d}}",
	    steps.n, path, path, ref ? "\"" : "", ref ? ref : "null", ref ? "\"" : "", bytes);
}

static void add_run(const char *command, int exit, const char *ref)
{
	add("{\"id\": \"s%zu\", \"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"%s\"}, "
	    "\"observation\": \"%s: exit %d\", \"outcome_ref\": %s%s%s, \"success\": %s, "
	    "\"error\": %s, \"metadata\": {\"exit_code\": %d}}",
	    steps.n, command, command, exit, ref ? "\"" : "", ref ? ref : "null", ref ? "\"" : "",
	    exit ? "false" : "true", exit ? "\"it broke\"" : "null", exit);
}

static void add_other(const char *tool, const char *observation)
{
	add("{\"id\": \"s%zu\", \"tool_name\": \"%s\", \"observation\": \"%s\"}", steps.n, tool,
	    observation);
}

static const char *write_recap(void)
{
	text.len = 0;
	ofs_recap_write(&steps, &settings, &text, &info);
	ofs_buf_append(&text, "", 1);
	return (const char *)text.data;
}

static void expect_has(const char *line)
{
	const char *got = write_recap();

	cr_expect(strstr(got, line), "'%s' is not in:\n%s", line, got);
}

static void expect_lacks(const char *line)
{
	const char *got = write_recap();

	cr_expect_not(strstr(got, line), "'%s' is in:\n%s", line, got);
}

/* ---- reading */

static void expect_parsed(const char *json, size_t n)
{
	ofs_step_list_finish(&steps);
	cr_expect_eq(ofs_step_list_parse(&steps, json, strlen(json), &err), 0, "%s: %s", json,
		     err.text);
	cr_expect_eq(steps.n, n, "%s: %zu", json, steps.n);
}

Test(context_recap, forms_of_input)
{
#define ONE "{\"tool_name\": \"a\", \"observation\": \"b\"}"
	expect_parsed(ONE, 1);
	expect_parsed(ONE "\n" ONE "\r\n\n  " ONE "\n\n", 3);
	expect_parsed(ONE ONE, 2);
	expect_parsed("[" ONE ", " ONE "]", 2);
	expect_parsed("\n{\"task\": {}, \"steps\": [" ONE ", " ONE ", " ONE "]}\n", 3);
	expect_parsed("[" ONE "]\n" ONE "\n{\"steps\": [" ONE "]}", 3);
	/* A step may itself have a member "steps". */
	expect_parsed("{\"tool_name\": \"a\", \"observation\": \"b\", \"steps\": 3}", 1);
}

Test(context_recap, input_that_is_refused)
{
	static const struct {
		const char *json, *words;
	} cases[] = {
		{ "", "there are no steps" },
		{ " \n\t\r\n", "there are no steps" },
		{ "[]", "there are no steps" },
		{ "{\"steps\": []}", "there are no steps" },
		{ "{\"steps\": [3]}", "step 1: a step is a JSON object" },
		{ "{}", "line 1: step 1: a step has neither" },
		{ "null", "step 1: a step is a JSON object" },
		{ "\"x\"", "step 1:" },
		{ "[" ONE ", []]", "step 2: a step is a JSON object" },
		{ ONE "\n" ONE "\n{\"tool_name\": 3}", "line 3: step 3:" },
		{ ONE "\n" ONE "\n\n{\"tool_name\"", "at line 4, column 13" },
		{ ONE " trailing", "not valid JSON" },
		{ "tool_name: a", "not valid JSON" },
		{ "{\"tool_name\": \"\xff\"}", "not UTF-8 at line 1, column 16" },
		{ "{\"tool_name\": \"a\", \"x\": 1e999}", "too large" },
		{ "\x7f"
		  "ELF\x01",
		  "not valid JSON" },
	};

	add(ONE);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *json = cases[i].json;

		cr_expect_eq(ofs_step_list_parse(&steps, json, strlen(json), &err), -EINVAL,
			     "accepted: %s", json);
		cr_expect(strstr(err.text, cases[i].words), "%s: '%s'", json, err.text);
		cr_expect_eq(steps.n, 1, "nothing is added");
	}
	cr_expect_eq(ofs_step_list_parse(&steps, "\0\0\0", 3, &err), -EINVAL);
	cr_expect_eq(ofs_step_list_parse(&steps, "[", 1, NULL), -EINVAL);
}

Test(context_recap, nesting)
{
	char *deep = ofs_alloc(200001);

	memset(deep, '[', 200000);
	cr_expect_eq(ofs_step_list_parse(&steps, deep, 200000, &err), -EINVAL);
	cr_expect(strstr(err.text, "512 levels"), "%s", err.text);
	memset(deep, 0, 200001);
	strcpy(deep, "{\"tool_name\": \"a\", \"minimal_args\": {\"x\": ");
	memset(deep + strlen(deep), '[', 500);
	deep[strlen(deep)] = '1';
	memset(deep + strcspn(deep, "1") + 1, ']', 500);
	strcpy(deep + strcspn(deep, "1") + 501, "}}");
	cr_expect_eq(ofs_step_list_parse(&steps, deep, strlen(deep), &err), 0, "%s", err.text);
	expect_has("[[[[");
	free(deep);
}

Test(context_recap, files_that_are_no_steps_are_named)
{
	struct ofs_task_step file = { .name = "step_001.json", .text = ONE, .len = strlen(ONE) };
	char *made = NULL;
	size_t len = 0;

	ofs_step_list_add_file(&steps, &file);
	cr_expect_eq(steps.n, 1);
	file = (struct ofs_task_step){ .name = "step_2.json", .text = "" };
	ofs_step_list_add_file(&steps, &file);
	file = (struct ofs_task_step){ .name = "step_003.json", .error = -EACCES };
	ofs_step_list_add_file(&steps, &file);
	expect_has("Left out, as they are no steps: step_2.json (the input is empty), "
		   "step_003.json (Permission denied)\n");
	for (int i = 0; i < 9; i++)
		ofs_step_list_add_file(&steps, &file);
	expect_has(" and 6 more\n");
	cr_expect_eq(steps.n, 1);
	cr_expect_eq(steps.n_skipped, 11);
	/* Files left out are reported even if no step is left. */
	{
		struct ofs_tree_recap recap = ofs_recap_for_tree(&settings);

		cr_assert_eq(recap.write(recap.arg, &file, 1, &made, &len), 0);
		cr_expect_eq(strncmp(made, "Left out", 8), 0);
		cr_expect_eq(made[len - 1], '\n');
		free(made);
	}
}

/* ---- when steps are compacted */

Test(context_recap, nothing_is_nothing)
{
	cr_expect_str_eq(write_recap(), "");
	cr_expect_eq(info.tokens_before, 0);
	cr_expect_not(info.compacted);
}

Test(context_recap, few_steps_stay_as_they_are)
{
	settings.steps = 5;
	for (int i = 0; i < 5; i++)
		add_read("a.c", 100, NULL);
	expect_has("## All steps, in full\n");
	cr_expect_not(info.compacted);
	cr_expect_eq(info.tokens_before, info.tokens_after);
	settings.budget = 0;
	expect_has("## All steps, in full\n");
	add_read("a.c", 100, NULL);
	settings.budget = 1000;
	expect_has("## From step 4 on, in full\n");
	cr_expect(info.compacted);
}

Test(context_recap, many_tokens_are_a_reason_too)
{
	settings.steps = 100;
	for (int i = 0; i < 6; i++)
		add_read("a_path_that_is_rather_long/with/directories/in/it.c", 100, NULL);
	expect_has("## All steps");
	settings.tokens = info.tokens_before;
	expect_has("## All steps");
	settings.tokens--;
	expect_has("## From step 4 on");
	cr_expect_lt(info.tokens_after, info.tokens_before);
}

Test(context_recap, how_many_stay_in_full)
{
	static const struct {
		uint64_t keep;
		const char *heading;
	} cases[] = {
		{ 0, "## 4 steps so far\n" },
		{ 1, "## From step 4 on, in full\n" },
		{ 2, "## From step 3 on, in full\n" },
		{ 4, "## All steps, in full\n" },
		{ UINT64_MAX, "## All steps, in full\n" },
	};

	for (int i = 0; i < 4; i++)
		add_read("a.c", 100, NULL);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		settings.keep = cases[i].keep;
		expect_has(cases[i].heading);
	}
	ofs_step_list_finish(&steps);
	add_read("a.c", 100, NULL);
	expect_has("## All steps, in full\n");
	settings.keep = 0;
	expect_has("## 1 step so far\n");
}

Test(context_recap, a_step_in_full)
{
	add("{\"id\": \"step_7\", \"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"make\", "
	    "\"n\": [1, {\"a\": null}]}, \"observation\": \"make: exit 2\", \"outcome_ref\": "
	    "\"k3f9x2\", \"success\": false, \"error\": \"no rule\", \"metadata\": {\"output\": "
	    "\"one\\n  two\\n\\nthree\"}}");
	expect_has("- step_7 Bash {\"n\":[1,{\"a\":null}]}: make: exit 2 "
		   "[ref k3f9x2]\n"
		   "  failed: no rule\n"
		   "  | one\n"
		   "  |   two\n"
		   "  | \n"
		   "  | three\n");
	ofs_step_list_finish(&steps);
	add("{\"tool_name\": \"x\", \"success\": false}");
	expect_has("- x: \n  failed\n");
}

Test(context_recap, nothing_is_said_twice)
{
	char path[200];

	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	add("{\"id\": \"s1\", \"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"pwd\"}, "
	    "\"observation\": \"pwd: 1 line output: /w\", \"metadata\": {\"output\": \"/w\\n\"}}");
	expect_has("- s1 Bash: pwd: 1 line output: /w\n");
	expect_lacks("| /w");
	/* A command that the observation truncates is whole among the arguments. */
	add("{\"id\": \"s2\", \"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"%s\"}, "
	    "\"observation\": \"%.97s...: exit 0, no output\"}",
	    path, path);
	expect_has("pp\"}: exit 0, no output\n");
	expect_lacks("pp...");
	add("{\"id\": \"s3\", \"tool_name\": \"Read\", \"minimal_args\": {\"path\": \"a.c\"}, "
	    "\"observation\": \"Read a.c: failed: gone\", \"success\": false, \"error\": \"gone\"}");
	expect_has("- s3 Read: Read a.c: failed: gone\n");
	expect_lacks("  failed");
}

Test(context_recap, short_answers_stay)
{
	settings.keep = 0;
	add("{\"tool_name\": \"Bash\", \"minimal_args\": {\"command\": \"pwd\"}, \"metadata\": "
	    "{\"exit_code\": 0, \"output\": \"/home/ann\\n\"}}");
	add("{\"tool_name\": \"Write\", \"minimal_args\": {\"path\": \"a.c\"}, \"metadata\": "
	    "{\"whole\": true}}");
	expect_has("- Ran `pwd` (exit 0): /home/ann\n- Wrote a.c\n");
}

Test(context_recap, output_in_full_does_not_deceive)
{
	add("{\"tool_name\": \"x\", \"outcome_ref\": \"k\\u202e\", \"metadata\": {\"output\": "
	    "\"E\\u001b]0;pwn\\u0007\\r\\na\\rb\\u202e\\u009b\\u007f\\tc\"}}");
	expect_has("[ref k<U+202E>]\n"
		   "  | E\n"
		   "  | a^Mb<U+202E>\\xc2\\x9b^?\tc\n");
}

Test(context_recap, long_output_is_cut_between_characters)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;

	ofs_buf_append_str(&json, "{\"tool_name\": \"x\", \"metadata\": {\"output\": \"a");
	for (int i = 0; i < 5000; i++)
		ofs_buf_append_str(&json, "\xc3\xa9");
	ofs_buf_append_str(&json, "\"}}");
	cr_assert_eq(ofs_step_list_parse(&steps, (char *)json.data, json.len, &err), 0, "%s",
		     err.text);
	expect_has("\xc3\xa9\n  ...\n");
}

Test(context_recap, text_from_outside_makes_no_lines)
{
	add("{\"id\": \"a\\nb\", \"tool_name\": \"c\\n## d\", \"minimal_args\": {\"e\\n\": \"f\\n\"}, "
	    "\"observation\": \"g\\n# h\\u001b[2J\\u2028i\", \"outcome_ref\": \"j\\nk\", \"error\": "
	    "\"l\\r\\nm\"}");
	for (settings.keep = 0; settings.keep < 2; settings.keep++) {
		const char *got = write_recap();
		size_t lines = 0;

		for (const char *p = got; *p; p++)
			lines += *p == '\n';
		cr_expect_eq(lines, settings.keep ? 4 : 3, "%s", got);
		cr_expect_not(strchr(got, '\033'));
	}
}

Test(context_recap, a_huge_step_does_not_fill_the_prompt)
{
	char *json = ofs_alloc(3 << 20);

	strcpy(json, "{\"tool_name\": \"x\", \"observation\": \"");
	memset(json + strlen(json), 'y', 1 << 20);
	strcat(json, "\", \"metadata\": {\"output\": \"");
	memset(json + strlen(json), 'z', 1 << 20);
	strcat(json, "\"}}");
	cr_assert_eq(ofs_step_list_parse(&steps, json, strlen(json), &err), 0, "%s", err.text);
	write_recap();
	cr_expect_lt(text.len, 16384);
	free(json);
}

/* ---- lines and groups */

Test(context_recap, what_is_alike_and_adjacent_is_one_line)
{
	settings.keep = 0;
	add_read("a.c", 1200, "k1");
	add_read("b.c", 3000, NULL);
	add_read("c.c", 10, "k2");
	expect_has(
		"- Read 3 files: a.c (1.2 KB) [ref k1], b.c (3.0 KB), c.c (10 bytes) [ref k2]\n");
	add_run("make", 0, NULL);
	expect_has("[ref k2]\n- Ran `make` (exit 0)\n");
	add_run("make", 0, "k3");
	add_run("make", 0, "k4");
	expect_has("- Ran `make` (exit 0) 3 times [refs k3, k4]\n");
	add_run("ls", 0, NULL);
	expect_has("- Ran 2 commands: `make` (exit 0) 3 times [refs k3, k4], `ls` (exit 0)\n");
	add_read("d.c", 10, NULL);
	expect_has("- Read d.c (10 bytes)\n");
	add_other("ask", "yes");
	add_other("ask", "yes");
	add_other("ask", "no");
	expect_has("yes 2 times\n");
	expect_has("no\n");
}

Test(context_recap, a_ref_is_whole_whatever_it_looks_like)
{
	char ref[300];

	memset(ref, 'r', sizeof(ref) - 1);
	ref[sizeof(ref) - 1] = 0;
	settings.keep = 1;
	for (int i = 0; i < 3; i++)
		add_read("a.c", i, ref);
	add_read("b.c", 1, NULL);
	expect_has(ref);
	settings.budget = 0;
	expect_has(ref);
	settings.keep = 4;
	expect_has(ref);
}

Test(context_recap, searches_are_told_by_what_they_looked_for)
{
	settings.keep = 0;
	for (int i = 0; i < 3; i++)
		add("{\"tool_name\": \"web:search\", \"minimal_args\": {\"query\": \"q%d\"}, "
		    "\"metadata\": {\"results\": %d}}",
		    i, i);
	expect_has("- Searched 3 times: 'q0' -> 0 results, 'q1' -> 1 results, 'q2' -> 2 results\n");
}

Test(context_recap, a_failure_has_a_line_of_its_own)
{
	settings.keep = 0;
	add_run("make", 0, NULL);
	add_run("make", 2, "k1");
	add_run("make", 2, "k2");
	add_run("make", 0, NULL);
	expect_has("- Ran `make` (exit 0)\n"
		   "- Ran `make` (exit 2): failed: it broke 2 times [refs k1, k2]\n"
		   "- Ran `make` (exit 0)\n");
}

Test(context_recap, groups_end)
{
	char path[16];

	settings.keep = 0;
	for (int i = 0; i < 20; i++) {
		snprintf(path, sizeof(path), "%d.c", i);
		add_read(path, 10, NULL);
	}
	expect_has("- Read 8 files: 0.c (10 bytes), ");
	expect_has("- Read 8 files: 8.c (10 bytes), ");
	expect_has("- Read 4 files: 16.c (10 bytes), ");
	for (int i = 0; i < 50; i++)
		add_run("make", 0, NULL);
	expect_has("\n- Ran `make` (exit 0) 50 times\n");
}

Test(context_recap, lines_by_setting_are_kept)
{
	settings.keep = 0;
	settings.tools = ofs_alloc(sizeof(*settings.tools));
	settings.tools[0] = (struct ofs_tool_setting){ .name = ofs_strdup("ticket"),
						       .like = ofs_strdup("fs:read_file"),
						       .summary = ofs_strdup("Ticket {args.id}") };
	settings.n_tools = 1;
	for (int i = 0; i < 2; i++)
		add("{\"tool_name\": \"ticket\", \"minimal_args\": {\"id\": %d}, \"outcome_ref\": "
		    "\"r%d\"}",
		    i, i);
	expect_has("- Ticket 0 [ref r0]\n- Ticket 1 [ref r1]\n");
	settings.budget = 0;
	expect_has("Earlier, 2 steps: 2 reads\n- refs: r0 (Ticket 0), r1 (Ticket 1)\n");
}

/* ---- the budget */

static void add_mixed(int n)
{
	char name[32], ref[16];

	for (int i = 0; i < n; i++) {
		snprintf(ref, sizeof(ref), "ref%d", i);
		snprintf(name, sizeof(name), "dir/f%d.c", i);
		if (i % 5 == 4)
			add_run(name, i % 10 == 9 ? 1 : 0, ref);
		else if (i % 7 == 6)
			add_other("ask", name);
		else
			add_read(name, i, i % 2 ? ref : NULL);
	}
}

/* Tells whether the text has this ref, and not just a longer one that begins with it. */
static bool names(const char *got, const char *ref)
{
	size_t len = strlen(ref);

	for (const char *p = got; (p = strstr(p, ref)); p += len)
		if (!strchr("0123456789", p[len]))
			return true;
	return false;
}

static void expect_all_refs(void)
{
	const char *got = write_recap();

	for (size_t i = 0; i < steps.n; i++) {
		const struct ofs_step *step = &steps.steps[i];

		if (step->outcome_ref)
			cr_expect(names(got, step->outcome_ref), "%s is not in:\n%s",
				  step->outcome_ref, got);
		if (!step->success)
			cr_expect(names(got, json_string_value(json_object_get(step->minimal_args,
									       "command"))),
				  "the failure of %s is not in:\n%s", step->id, got);
	}
}

Test(context_recap, the_oldest_are_folded_and_only_as_far_as_needed)
{
	settings.keep = 2;
	add_mixed(40);
	expect_lacks("Earlier");
	cr_expect_eq(info.folded, 0);
	settings.budget = info.tokens_after;
	expect_lacks("Earlier");
	settings.budget--;
	expect_has("Earlier, 16 steps: 11 reads, 3 commands (1 failed), 2 ask\n");
	expect_has("- refs: ref1 (Read dir/f1.c), ref3 (Read dir/f3.c), ref4 (Ran `dir/f4.c`), ");
	cr_expect_leq(info.tokens_after, settings.budget);
	for (uint64_t last = 0; settings.budget > 100; settings.budget -= 50) {
		expect_all_refs();
		cr_expect_geq(info.folded, last, "a smaller budget folds more");
		cr_expect(info.tokens_after <= settings.budget || info.folded == 36);
		last = info.folded;
	}
}

Test(context_recap, failures_and_refs_stay_whatever_the_budget)
{
	add_mixed(200);
	settings.budget = 0;
	expect_all_refs();
	cr_expect_eq(info.folded, 196);
	expect_has("Earlier, 196 steps: ");
	expect_has(" commands (19 failed), ");
	expect_has(" ask\n");
	expect_has("- Ran `dir/f9.c` (exit 1): failed: it broke [ref ref9]\n");
	expect_has("- refs: ref1 (Read dir/f1.c), ref3 (Read dir/f3.c), ref4 (Ran `dir/f4.c`), ");
	cr_expect_lt(info.tokens_after, info.tokens_before / 2);
}

Test(context_recap, counts_name_what_has_no_rule)
{
	char tool[16];

	settings.keep = 0;
	settings.budget = 0;
	for (int i = 0; i < 12; i++) {
		snprintf(tool, sizeof(tool), "tool_%d", i);
		add_other(tool, "x");
	}
	add_other("tool_0", "x");
	add_read("a.c", 1, NULL);
	expect_has("Earlier, 14 steps: 1 read, 2 tool_0, 1 tool_1, ");
	expect_has(", 1 tool_7, 4 other calls\n");
}

/* ---- guarantees */

Test(context_recap, the_same_steps_give_the_same_bytes)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf first = OFS_BUF_INIT;

	add_mixed(60);
	for (settings.budget = 0; settings.budget < 2000; settings.budget += 150) {
		first.len = 0;
		ofs_recap_write(&steps, &settings, &first, NULL);
		write_recap();
		cr_expect_eq(first.len, text.len - 1);
		cr_expect_eq(memcmp(first.data, text.data, first.len), 0);
	}
}

/* Even when steps are folded, the start of the text stays the same over many steps. */
Test(context_recap, folding_comes_seldom)
{
	OFS_FREE char *before = NULL;
	size_t changes = 0;

	settings.budget = 1000;
	for (int i = 0; i < 100; i++) {
		const char *end;
		char name[32];

		snprintf(name, sizeof(name), "a_long_folder/file_%d.c", i);
		add_run(name, 0, NULL);
		write_recap();
		end = before ? strstr(before, "\n- ") : NULL;
		changes += end && strncmp((char *)text.data, before, (size_t)(end - before)) != 0;
		free(before);
		before = ofs_strdup((char *)text.data);
	}
	cr_expect_leq(changes, 100 / OFS_RECAP_FOLD, "%zu", changes);
	cr_expect_gt(changes, 0);
}

/* Another step changes nothing before the last line of the older steps. */
Test(context_recap, a_step_more_keeps_the_beginning)
{
	OFS_FREE char *before = NULL;

	for (int i = 0; i < 60; i++) {
		char *end;

		add_mixed(1);
		add_run("make", i % 3 ? 0 : 1, NULL);
		write_recap();
		if (before)
			cr_expect_eq(strncmp((char *)text.data, before, strlen(before)), 0,
				     "%s\nis not the start of\n%s", before, (char *)text.data);
		free(before);
		before = ofs_strdup((char *)text.data);
		end = strstr(before, "\n## ");
		cr_assert(end);
		for (int lines = 0; lines < 2 && end > before; lines += *end == '\n')
			end--;
		*end = 0;
	}
}

Test(context_recap, ten_thousand_steps)
{
	settings.budget = 500;
	add_mixed(10000);
	expect_all_refs();
	cr_expect_eq(info.folded, 9996);
}
