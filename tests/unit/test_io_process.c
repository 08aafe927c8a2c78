/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "io/probe.h"
#include "io/process.h"

static struct ofs_buf output;
static struct ofs_process_end end;

static void finish(void)
{
	ofs_buf_finish(&output);
}

TestSuite(io_process, .fini = finish);

static int take(void *arg, int fd, const void *data, size_t len)
{
	cr_assert_eq(arg, &output);
	cr_assert_eq(fd, STDOUT_FILENO);
	ofs_buf_append(&output, data, len);
	return 0;
}

static int run_program(const char *const argv[])
{
	const struct ofs_process process = {
		.kind = OFS_PROCESS_FOREGROUND,
		.argv = argv,
		.take = take,
		.arg = &output,
	};

	return ofs_process_run(&process, &end);
}

static void run(const char *script)
{
	const char *const argv[] = { "sh", "-c", script, NULL };

	cr_assert_eq(run_program(argv), 0);
}

static void expect_output(const char *expected)
{
	cr_expect_eq(output.len, strlen(expected));
	cr_expect_eq(memcmp(output.data, expected, output.len), 0);
}

Test(io_process, both_streams_in_their_order)
{
	run("echo a; echo b >&2; echo c; echo d >&2; exit 3");
	expect_output("a\nb\nc\nd\n");
	cr_expect_eq(end.exit_code, 3);
	cr_expect_eq(end.signal, 0);
}

Test(io_process, signals_as_a_shell_tells_them)
{
	run("kill -9 $$");
	cr_expect_eq(end.exit_code, 128 + SIGKILL);
	cr_expect_eq(end.signal, SIGKILL);
}

Test(io_process, what_cannot_be_run)
{
	const char *missing[] = { "/nonexistent/program", NULL };
	const char *folder[] = { "/", NULL };

	cr_expect_eq(run_program(missing), -ENOENT);
	cr_expect_eq(run_program(folder), -EACCES);
	cr_expect_eq(output.len, 0);
}

Test(io_process, dispositions_are_those_of_a_shell)
{
	sigset_t set;

	/* In a background job these are ignored from the start. */
	for (int number = SIGHUP; number <= SIGQUIT; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	run("grep -E 'Sig(Blk|Ign)' /proc/self/status | tr -d '\\t'");
	expect_output("SigBlk:0000000000000000\nSigIgn:0000000000000000\n");
}

Test(io_process, what_was_ignored_of_the_terminal_stays_ignored)
{
	signal(SIGHUP, SIG_IGN);
	run("kill -HUP $$; echo alive");
	expect_output("alive\n");
}

Test(io_process, processes_left_behind_are_not_waited_for)
{
	int64_t start = ofs_clock_monotonic(), took;

	run("sleep 20 & echo out");
	took = ofs_clock_monotonic() - start;
	expect_output("out\n");
	cr_expect_lt(took, 5 * OFS_NS_PER_S);
}

Test(io_process, nor_when_they_never_fall_silent)
{
	int64_t start = ofs_clock_monotonic(), took;

	run("(for i in 1 2 3 4 5 6 7 8 9 10; do echo $i; sleep 0.1; done; exec sleep 20) & "
	    "(while echo x; do sleep 0.1; done) 2>/dev/null & echo $!");
	took = ofs_clock_monotonic() - start;
	cr_expect_gt(took, OFS_NS_PER_S);
	cr_expect_lt(took, 10 * OFS_NS_PER_S);
}

Test(io_process, what_was_written_before_the_end_is_all_there)
{
	run("(sleep 0.1; echo late) & echo early");
	expect_output("early\nlate\n");
	ofs_buf_finish(&output);
	run("head -c 1000000 /dev/zero");
	cr_expect_eq(output.len, 1000000);
}

Test(io_process, termination_is_passed_on)
{
	pid_t self = getpid();
	char script[128];

	snprintf(script, sizeof(script),
		 "trap 'echo terminated; exit 5' TERM; kill -TERM %d; sleep 10 & wait", (int)self);
	run(script);
	expect_output("terminated\n");
	cr_expect_eq(end.exit_code, 5);
}

Test(io_process, a_script_without_an_interpreter_is_one_of_the_shell)
{
	char path[] = "/tmp/offloadfs-process-XXXXXX";
	const char *const argv[] = { path, "word", NULL };
	int fd = mkstemp(path);

	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, "echo \"$1\"\n", 10), 10);
	cr_assert_eq(fchmod(fd, 0700), 0);
	close(fd);
	cr_expect_eq(run_program(argv), 0);
	unlink(path);
	expect_output("word\n");
}

Test(io_process, a_helper_has_no_input_and_speaks_plainly)
{
	const char *const argv[] = { "sh", "-c", "cat; echo $LC_ALL; pwd; echo no >&2; exit 7",
				     NULL };

	setenv("LC_ALL", "C.UTF-8", 1);
	cr_expect_eq(
		ofs_process_run_helper(argv, "/", OFS_PROCESS_OUT | OFS_PROCESS_QUIET, &output), 7);
	expect_output("C\n/\n");
	cr_expect_eq(ofs_process_run_helper(argv, "/nonexistent", 0, NULL), -ENOENT);
}

static void ignore(int number)
{
}

Test(io_process, a_signal_takes_nothing_from_the_output_of_a_helper)
{
	const char *const argv[] = { "sh", "-c", "(sleep 2; echo late) & echo early", NULL };
	const struct itimerval often = { { 0, 100000 }, { 0, 100000 } };

	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = ignore }, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	cr_expect_eq(ofs_process_run_helper(argv, NULL, OFS_PROCESS_OUT, &output), 0);
	expect_output("early\nlate\n");
}

Test(io_process, no_descriptor_is_left)
{
	const char *const argv[] = { "true", NULL };
	struct rlimit usual, none;

	getrlimit(RLIMIT_NOFILE, &usual);
	none = (struct rlimit){ STDERR_FILENO + 1, usual.rlim_max };
	setrlimit(RLIMIT_NOFILE, &none);
	cr_expect_eq(ofs_process_run_helper(argv, NULL, 0, NULL), -EMFILE);
	setrlimit(RLIMIT_NOFILE, &usual);
}

static int answer_or_die(const void *arg)
{
	return arg ? 7 : raise(SIGKILL);
}

/* Calls that return and then one that never does, unless `arg` is NULL. */
static int call_and_hang(const void *arg)
{
	for (int i = 0; i < 3; i++) {
		ofs_probe_enter();
		ofs_probe_leave();
	}
	if (!arg)
		return 7;
	ofs_probe_enter();
	pause();
	return 0;
}

/* Succeeds if the process has inherited the caller's descriptor. */
static int write_to(const void *fd)
{
	return write(*(const int *)fd, "x", 1) == 1 ? 0 : 1;
}

Test(io_process, work_is_given_up_for_a_call_that_does_not_return)
{
	int ours[2], inherited[2];

	cr_expect_eq(ofs_process_watch(call_and_hang, "", INT64_MAX, OFS_NS_PER_S / 10, -1, -1),
		     -ETIMEDOUT);
	cr_expect_eq(ofs_process_watch(call_and_hang, NULL, INT64_MAX, 0, -1, -1), 7);
	cr_expect_eq(ofs_process_watch(call_and_hang, "", 0, INT64_MAX / 2, -1, -1), -ETIMEDOUT);
	cr_assert_eq(pipe2(ours, O_CLOEXEC), 0);
	cr_assert_eq(pipe(inherited), 0);
	cr_expect_eq(ofs_process_watch(write_to, &ours[1], INT64_MAX, OFS_NS_PER_S * 60, -1, -1),
		     0);
	cr_expect_eq(ofs_process_watch(write_to, &inherited[1], INT64_MAX, OFS_NS_PER_S * 60, -1,
				       -1),
		     1);
}

Test(io_process, a_probe_answers_whoever_collects_it)
{
	cr_expect_eq(ofs_process_probe(answer_or_die, "", OFS_NS_PER_S * 60, -1, -1), 7);
	cr_expect_eq(ofs_process_probe(answer_or_die, NULL, OFS_NS_PER_S * 60, -1, -1),
		     128 + SIGKILL);
	signal(SIGCHLD, SIG_IGN);
	cr_expect_eq(ofs_process_probe(answer_or_die, "", OFS_NS_PER_S * 60, -1, -1), 7);
	cr_expect_eq(ofs_process_probe(answer_or_die, NULL, OFS_NS_PER_S * 60, -1, -1), -ECHILD);
}
