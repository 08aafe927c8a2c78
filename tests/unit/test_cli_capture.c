/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "cli/capture.h"

static struct ofs_buf output;
static struct ofs_capture end;

static void finish(void)
{
	ofs_buf_finish(&output);
}

TestSuite(cli_capture, .fini = finish);

static void take(void *arg, const void *data, size_t len)
{
	cr_assert_eq(arg, &output);
	ofs_buf_append(&output, data, len);
}

static void run(const char *script)
{
	const char *argv[] = { "sh", "-c", script, NULL };

	cr_assert_eq(ofs_capture_run(argv, take, &output, &end), 0);
}

static void expect_output(const char *expected)
{
	cr_expect_eq(output.len, strlen(expected));
	cr_expect_eq(memcmp(output.data, expected, output.len), 0);
}

Test(cli_capture, both_streams_in_their_order)
{
	run("echo a; echo b >&2; echo c; echo d >&2; exit 3");
	expect_output("a\nb\nc\nd\n");
	cr_expect_eq(end.exit_code, 3);
	cr_expect_eq(end.signal, 0);
	cr_expect_eq(end.error, 0);
}

Test(cli_capture, signals_as_a_shell_tells_them)
{
	run("kill -9 $$");
	cr_expect_eq(end.exit_code, 128 + SIGKILL);
	cr_expect_eq(end.signal, SIGKILL);
}

Test(cli_capture, what_cannot_be_run)
{
	const char *missing[] = { "/nonexistent/program", NULL };
	const char *folder[] = { "/", NULL };

	cr_assert_eq(ofs_capture_run(missing, take, &output, &end), 0);
	cr_expect_eq(end.exit_code, 127);
	cr_expect_eq(end.error, ENOENT);
	cr_assert_eq(ofs_capture_run(folder, take, &output, &end), 0);
	cr_expect_eq(end.exit_code, 126);
	cr_expect_eq(output.len, 0);
}

Test(cli_capture, dispositions_are_those_of_a_shell)
{
	sigset_t set;

	/* A job in the background has these ignored from the start. */
	for (int number = SIGHUP; number <= SIGQUIT; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run("grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'");
	expect_output("SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
}

Test(cli_capture, what_was_ignored_of_the_terminal_stays_ignored)
{
	signal(SIGHUP, SIG_IGN);
	run("kill -HUP $$; echo alive");
	expect_output("alive\n");
}

Test(cli_capture, processes_left_behind_are_not_waited_for)
{
	int64_t start = ofs_clock_monotonic(), took;

	run("sleep 20 & echo out");
	took = ofs_clock_monotonic() - start;
	expect_output("out\n");
	cr_expect_lt(took, 5 * OFS_NS_PER_S);
}

Test(cli_capture, nor_when_they_never_fall_silent)
{
	int64_t start = ofs_clock_monotonic(), took;

	run("(for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done; exec sleep 20) & "
	    "(while echo x; do sleep 0.1; done) 2>/dev/null & echo $!");
	took = ofs_clock_monotonic() - start;
	cr_expect_gt(took, OFS_NS_PER_S);
	cr_expect_lt(took, 10 * OFS_NS_PER_S);
}

Test(cli_capture, what_was_written_before_the_end_is_all_there)
{
	run("(sleep 0.1; echo late) & echo early");
	expect_output("early\nlate\n");
	ofs_buf_finish(&output);
	run("head -c 1000000 /dev/zero");
	cr_expect_eq(output.len, 1000000);
}

Test(cli_capture, termination_is_passed_on)
{
	pid_t self = getpid();
	char script[128];

	snprintf(script, sizeof(script),
		 "trap 'echo terminated; exit 5' TERM; kill -TERM %d; sleep 10 & wait", (int)self);
	run(script);
	expect_output("terminated\n");
	cr_expect_eq(end.exit_code, 5);
}
