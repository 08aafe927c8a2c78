/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "context/snapshot/progress.h"

static void expect_tests(const char *text, const char *line)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf found = OFS_BUF_INIT;
	bool some = ofs_progress_tests(text, strlen(text), &found);

	cr_expect_eq(some, line != NULL, "%s", text);
	if (some && line)
		cr_expect_str_eq(ofs_buf_str(&found), line);
}

Test(context_progress, tests_are_counted_by_their_runners)
{
	expect_tests("...\nFinished in 0.2s\n14 doctests, 297 tests, 0 failures\n\nRandomized\n",
		     "14 doctests, 297 tests, 0 failures");
	expect_tests("E  assert\n===== 3 failed, 12 passed in 0.51s =====\n",
		     "3 failed, 12 passed in 0.51s");
	expect_tests("Tests: 2 failed, 8 passed, 10 total\nTime: 3 s\n",
		     "Tests: 2 failed, 8 passed, 10 total");
	expect_tests("Ran 12 tests in 0.004s\n\nOK\n", "Ran 12 tests in 0.004s");
	expect_tests("test result: ok. 7 passed; 0 failed; 0 ignored\r\n",
		     "test result: ok. 7 passed; 0 failed; 0 ignored");
	expect_tests("the newest counts: 1 failed\nthen 2 passed", "then 2 passed");
	expect_tests("make: nothing to be done\n", NULL);
	expect_tests("failed to open 12\n", NULL);
	expect_tests("12 testify\n", NULL);
	expect_tests("", NULL);
}

Test(context_progress, commits_are_told_by_git)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf line = OFS_BUF_INIT;
	const char *text = "[main (root-commit) 1a2b3c4] Begin\n 1 file changed\n"
			   "[not a hash] nothing\n[] x\n[\n"
			   "[fix/x 0123456789abcdef] Fix the parser\r\n";
	const char *p = text, *end = text + strlen(text);

	cr_assert(ofs_progress_commit(&p, end, &line));
	cr_expect_str_eq(ofs_buf_str(&line), "1a2b3c4 Begin");
	line.len = 0;
	cr_assert(ofs_progress_commit(&p, end, &line));
	cr_expect_str_eq(ofs_buf_str(&line), "0123456789abcdef Fix the parser");
	cr_expect_not(ofs_progress_commit(&p, end, &line));
}

static size_t announces(const char *line)
{
	return ofs_progress_announces(line, strlen(line));
}

Test(context_progress, announcements_are_told_from_findings)
{
	cr_expect_eq(announces("Let me look"), 7);
	cr_expect_eq(announces("Good, now let me look"), 17);
	cr_expect_eq(announces("I'll now run the tests"), 9);
	cr_expect_eq(announces("The tests fail because of a race"), 0);
	cr_expect_eq(announces("Let"), 0);
	cr_expect_eq(announces(""), 0);
}

Test(context_progress, what_was_found_stays_before_an_announcement)
{
	const char *line = "All 15 tests pass. Now let me write the rest:";

	cr_expect_eq(ofs_progress_said(line, strlen(line)), strlen("All 15 tests pass."));
	cr_expect_eq(ofs_progress_said("v1.2 is out", 11), 11);
}
