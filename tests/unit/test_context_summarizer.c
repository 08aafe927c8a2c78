/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "context/summarizer/summarizer.h"

#define BIG ((size_t)100 << 20)

static struct ofs_buf summary;
static struct ofs_error err;

static void finish(void)
{
	ofs_buf_finish(&summary);
}

TestSuite(context_summarizer, .fini = finish);

static int run_with(const char *command, uint64_t timeout_s, const void *messages, size_t len)
{
	const struct ofs_summarizer s = { .command = command, .timeout_s = timeout_s };

	memset(&err, 0, sizeof(err));
	return ofs_summarizer_run(&s, messages, len, &err, &summary);
}

static int run(const char *command)
{
	static const char messages[] = "[{\"role\":\"user\",\"content\":\"hello\"}]\n";

	return run_with(command, 60, messages, strlen(messages));
}

static void expect_summary(const char *expected)
{
	cr_expect_eq(summary.len, strlen(expected), "%.*s", (int)summary.len,
		     (const char *)summary.data);
	if (summary.len == strlen(expected))
		cr_expect_eq(memcmp(summary.data, expected, summary.len), 0);
}

/* Expects this error, on one line, and no summary. */
static void expect_failure(int r, int code, const char *words)
{
	cr_expect_eq(r, -code, "%d: %s", r, err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_null(summary.data);
}

/* ---- input and output */

Test(context_summarizer, messages_go_in_and_a_summary_comes_out)
{
	cr_assert_eq(run("tr a-z A-Z"), 0);
	expect_summary("[{\"ROLE\":\"USER\",\"CONTENT\":\"HELLO\"}]");
}

Test(context_summarizer, white_space_around_a_summary_is_no_part_of_it)
{
	cr_assert_eq(run("printf ' \\r\\n\\t\\v a\\n b \\n\\n'"), 0);
	expect_summary("a\n b");
}

Test(context_summarizer, a_command_is_what_the_shell_takes_it_for)
{
	cr_assert_eq(setenv("SEEN", "yes", 1), 0);
	cr_assert_eq(run("cd /; set -- \"$SEEN\"; echo \"$1 $(pwd)\" | cat; exit 0"), 0);
	expect_summary("yes /");
}

Test(context_summarizer, even_if_it_begins_like_an_option)
{
	expect_failure(run("-c"), EIO, "ended with exit code 127: ");
}

Test(context_summarizer, it_is_told_what_is_asked_for)
{
	const struct ofs_summarizer s = { .command = "printenv OFFLOAD_SUMMARIZER_INSTRUCTION",
					  .max_tokens = 321 };
	static const char *const sections[] = { "\nGoal: ",   "\nDecisions: ", "\nFiles touched: ",
						"\nErrors: ", "\nOpen ends: ", "\nReferences: " };
	const char *at;

	cr_assert_eq(setenv("OFFLOAD_SUMMARIZER_INSTRUCTION", "of a program outside", 1), 0);
	cr_assert_eq(ofs_summarizer_run(&s, "[]", 2, &err, &summary), 0, "%s", err.text);
	ofs_buf_append(&summary, "", 1);
	at = (const char *)summary.data;
	cr_expect_not_null(strstr(at, "at most 321 tokens"));
	cr_expect_null(strstr(at, "outside"));
	for (size_t i = 0; i < sizeof(sections) / sizeof(*sections); i++) {
		at = strstr(at, sections[i]);
		cr_assert_not_null(at, "%s", sections[i]);
	}
}

Test(context_summarizer, big_input_goes_in_while_output_comes_out)
{
	char *messages = malloc(BIG);

	memset(messages, 'a', BIG);
	/* The command fills both of its outputs before and while it reads. */
	cr_assert_eq(
		run_with("head -c 300000 /dev/zero >&2; head -c 300000 /dev/zero | tr '\\0' x; "
			 "tee /dev/stderr | wc -c",
			 60, messages, BIG),
		0, "%s", err.text);
	cr_assert_gt(summary.len, 300000);
	cr_expect_eq(memcmp(summary.data + 300000, "104857600", 9), 0);
	free(messages);
}

Test(context_summarizer, a_command_need_not_read)
{
	char *messages = malloc(BIG);
	sigset_t pending;

	memset(messages, 'a', BIG);
	signal(SIGPIPE, SIG_DFL);
	cr_assert_eq(run_with("head -c 3", 60, messages, BIG), 0, "%s", err.text);
	expect_summary("aaa");
	ofs_buf_finish(&summary);
	cr_assert_eq(run_with("exec <&-; sleep 0.1; echo x", 60, messages, BIG), 0, "%s", err.text);
	expect_summary("x");
	sigpending(&pending);
	cr_expect_not(sigismember(&pending, SIGPIPE));
	free(messages);
}

Test(context_summarizer, a_signal_of_others_stays_pending)
{
	char *messages = malloc(BIG);
	sigset_t set;
	int number;

	memset(messages, 'a', BIG);
	sigemptyset(&set);
	sigaddset(&set, SIGPIPE);
	sigprocmask(SIG_BLOCK, &set, NULL);
	cr_assert_eq(raise(SIGPIPE), 0);
	cr_assert_eq(run_with("echo x", 60, messages, BIG), 0);
	cr_assert_eq(sigwait(&set, &number), 0);
	cr_expect_eq(number, SIGPIPE);
	free(messages);
}

Test(context_summarizer, nothing_goes_in)
{
	cr_assert_eq(run_with("wc -c", 60, NULL, 0), 0);
	expect_summary("0");
}

/* ---- failures */

Test(context_summarizer, none_is_named)
{
	const struct ofs_summarizer s = { .timeout_s = 60 };

	expect_failure(ofs_summarizer_run(&s, "[]", 2, &err, &summary), EINVAL, "no summarizer");
}

Test(context_summarizer, exit_codes_come_with_the_last_line_of_the_error_output)
{
	expect_failure(
		run("echo summary; echo first >&2; printf 'last\\033[31m one\\n\\n' >&2; exit 3"),
		EIO, "ended with exit code 3: last one");
	cr_expect_eq(strncmp(err.text, "the summarizer 'echo summary;", 29), 0);
	expect_failure(run("exit 3"), EIO, "the summarizer 'exit 3' ended with exit code 3");
	expect_failure(run("/nonexistent/command"), EIO, "exit code 127: ");
	expect_failure(run("printf '\\200\\0x' >&2; exit 1"), EIO, "exit code 1: \\x80^@x");
	/* The error output is longer than the part that is kept. */
	expect_failure(
		run("head -c 100000 /dev/zero | tr '\\0' y >&2; echo >&2; echo end >&2; exit 1"),
		EIO, "exit code 1: end");
	expect_failure(run("head -c 100000 /dev/zero | tr '\\0' y >&2; exit 1"), EIO,
		       "exit code 1: yyyy");
}

Test(context_summarizer, long_commands_are_shown_in_part)
{
	char command[2000] = "exit 4 # ";

	memset(command + strlen(command), 'x', sizeof(command) - strlen(command) - 1);
	expect_failure(run(command), EIO, "xxx...' ended with exit code 4");
	cr_expect_lt(strlen(err.text), 150);
}

Test(context_summarizer, signals)
{
	expect_failure(run("echo summary; kill -9 $$"), EIO, "ended by signal 9 (Killed)");
	expect_failure(run("echo why >&2; kill -SEGV $$"), EIO, "ended by signal 11");
}

Test(context_summarizer, texts_that_are_none)
{
	expect_failure(run("true"), EBADMSG, "the summarizer 'true' returned no text");
	expect_failure(run("printf ' \\n\\t'"), EBADMSG, "returned no text");
	expect_failure(run("printf 'a\\0b'"), EBADMSG, "a NUL");
	expect_failure(run("printf 'a\\377b'"), EBADMSG, "not UTF-8");
	expect_failure(run("printf 'a\\303'"), EBADMSG, "not UTF-8");
	expect_failure(run("printf '\\355\\240\\200'"), EBADMSG, "not UTF-8");
}

Test(context_summarizer, a_mebibyte_is_the_most)
{
	cr_assert_eq(run("head -c 1048576 /dev/zero | tr '\\0' x"), 0, "%s", err.text);
	cr_expect_eq(summary.len, 1048576);
	ofs_buf_finish(&summary);
	expect_failure(run("head -c 1048577 /dev/zero | tr '\\0' x"), EFBIG, "more than 1 MiB");
	expect_failure(run("yes"), EFBIG, "more than 1 MiB");
}

/* ---- timeouts */

/* Reads a process ID from a file, and removes the file. */
static pid_t number_in(const char *path)
{
	FILE *in = fopen(path, "r");
	int number = 0;

	cr_assert_not_null(in);
	cr_assert_eq(fscanf(in, "%d", &number), 1);
	fclose(in);
	unlink(path);
	return number;
}

/* Runs a command that starts a process and writes its ID to the file "pid". Returns the ID. */
static pid_t run_and_find(const char *command, uint64_t timeout_s, int code, const char *words)
{
	char folder[] = "/tmp/ofs-summarizer-XXXXXX";
	pid_t pid;

	/* Orphaned processes become our children, so that we can wait for them. */
	cr_assert_eq(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	cr_assert_not_null(mkdtemp(folder));
	cr_assert_eq(chdir(folder), 0);
	if (code)
		expect_failure(run_with(command, timeout_s, "[]", 2), code, words);
	else
		cr_expect_eq(run_with(command, timeout_s, "[]", 2), 0, "%s", err.text);
	pid = number_in("pid");
	cr_assert_eq(chdir("/"), 0);
	cr_assert_eq(rmdir(folder), 0);
	return pid;
}

static int signal_that_ended(pid_t pid)
{
	int status = 0;

	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		continue;
}

static void expect_no_child(void)
{
	cr_expect_eq(waitpid(-1, NULL, WNOHANG), -1);
	cr_expect_eq(errno, ECHILD);
}

Test(context_summarizer, a_command_that_hangs_is_ended)
{
	pid_t pid = run_and_find("echo $$ >pid; echo part; echo waiting >&2; exec sleep 1000", 1,
				 ETIMEDOUT, "took longer than 1 s: waiting");

	cr_expect_eq(kill(pid, 0), -1);
	cr_expect_eq(errno, ESRCH);
	expect_no_child();
}

Test(context_summarizer, with_all_that_it_has_started)
{
	pid_t pid =
		run_and_find("sleep 1000 & echo $! >pid; wait", 1, ETIMEDOUT, "longer than 1 s");

	cr_expect_eq(signal_that_ended(pid), SIGTERM);
	expect_no_child();
}

Test(context_summarizer, whether_they_want_or_not)
{
	pid_t pid = run_and_find("trap '' TERM; sleep 1000 & echo $! >pid; wait", 1, ETIMEDOUT,
				 "longer than 1 s");

	cr_expect_eq(signal_that_ended(pid), SIGKILL);
	expect_no_child();
}

Test(context_summarizer, one_that_is_stopped_is_ended)
{
	pid_t pid = run_and_find("echo $$ >pid; kill -STOP $$", 1, ETIMEDOUT, "longer than 1 s");

	cr_expect_eq(kill(pid, 0), -1);
	expect_no_child();
}

Test(context_summarizer, one_that_never_falls_silent_is_ended)
{
	pid_t pid = run_and_find("echo $$ >pid; yes >&2", 1, ETIMEDOUT, "took longer than 1 s: y");

	cr_expect_eq(kill(pid, 0), -1);
	reap_all();
}

Test(context_summarizer, one_that_writes_too_much_is_ended)
{
	pid_t pid = run_and_find("echo $$ >pid; trap '' PIPE; yes; sleep 1000", 0, EFBIG, "1 MiB");

	cr_expect_eq(kill(pid, 0), -1);
	reap_all();
}

Test(context_summarizer, what_is_left_of_one_that_is_done_is_ended)
{
	pid_t pid = run_and_find("yes >&2 & echo $! >pid; exit 3", 60, EIO, "exit code 3");

	cr_expect_eq(signal_that_ended(pid), SIGTERM);
	expect_no_child();
}

Test(context_summarizer, and_is_not_waited_for)
{
	pid_t pid = run_and_find("sleep 1000 & echo $! >pid; echo done", 60, 0, "");

	expect_summary("done");
	cr_expect_eq(signal_that_ended(pid), SIGTERM);
	expect_no_child();
}

/* ---- signals and descriptors */

static volatile sig_atomic_t got;

static void take(int number)
{
	got = number;
}

Test(context_summarizer, a_signal_that_ends_programs_ends_the_command_first)
{
	pid_t pid;

	signal(SIGINT, take);
	pid = run_and_find("echo $$ >pid; kill -INT $PPID; sleep 1000", 60, EINTR,
			   "was interrupted");
	cr_expect_eq(got, SIGINT);
	cr_expect_eq(kill(pid, 0), -1);
	reap_all();
}

Test(context_summarizer, one_that_is_ignored_does_not)
{
	signal(SIGHUP, SIG_IGN);
	cr_assert_eq(run("kill -HUP $PPID; sleep 0.1; echo alive"), 0, "%s", err.text);
	expect_summary("alive");
}

Test(context_summarizer, signals_are_as_a_shell_has_them)
{
	/* Two signals that the C library reserves. */
	const unsigned long long internal = 3ULL << (32 - 1);
	unsigned long long blocked = 1, ignored = 1;
	sigset_t set, after;

	for (int number = SIGHUP; number <= SIGQUIT; number++)
		signal(number, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_SETMASK, &set, NULL);
	cr_assert_eq(run("grep -E 'Sig(Blk|Ign)' /proc/self/status"), 0);
	ofs_buf_append(&summary, "", 1);
	cr_assert_eq(sscanf((char *)summary.data, "SigBlk: %llx SigIgn: %llx", &blocked, &ignored),
		     2);
	cr_expect_eq(blocked, 0);
	cr_expect_eq(ignored & ~internal, 0);
	sigprocmask(SIG_SETMASK, NULL, &after);
	cr_expect(sigismember(&after, SIGUSR1));
	cr_expect_not(sigismember(&after, SIGPIPE));
	cr_expect_not(sigismember(&after, SIGINT));
}

Test(context_summarizer, who_ignores_its_children_is_told_so)
{
	signal(SIGCHLD, SIG_IGN);
	expect_failure(run("echo x"), ECHILD, "SIGCHLD is ignored");
}

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t n = 0;

	while (readdir(folder))
		n++;
	closedir(folder);
	return n;
}

Test(context_summarizer, descriptors_are_neither_leaked_nor_passed_on)
{
	size_t before = count_descriptors();
	int fd = dup(STDERR_FILENO); /* not close-on-exec */

	cr_assert_eq(run("exec ls /proc/self/fd"), 0);
	expect_summary("0\n1\n2\n3"); /* 3 is the directory that ls reads */
	close(fd);
	cr_expect_eq(count_descriptors(), before);
}

Test(context_summarizer, closed_standard_descriptors_do_no_harm)
{
	int error = dup(STDERR_FILENO), in = dup(STDIN_FILENO), out = dup(STDOUT_FILENO), r;

	for (int i = 0; i <= STDERR_FILENO; i++)
		close(i);
	r = run("cat; echo b; echo c >&2");
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(error, STDERR_FILENO);
	cr_assert_eq(r, 0, "%s", err.text);
	expect_summary("[{\"role\":\"user\",\"content\":\"hello\"}]\nb");
}

static void *run_in_thread(void *arg)
{
	const struct ofs_summarizer s = { .command = arg, .timeout_s = 60 };
	char *messages = calloc(1, 1000000);
	struct ofs_buf text = OFS_BUF_INIT;
	struct ofs_error why;
	long r = 0;

	for (int i = 0; r == 0 && i < 20; i++) {
		r = ofs_summarizer_run(&s, messages, 1000000, &why, &text);
		if (r == 0 && text.len != 1)
			r = -1;
		ofs_buf_finish(&text);
	}
	free(messages);
	return (void *)r;
}

Test(context_summarizer, threads_do_it_at_the_same_time)
{
	static char commands[][40] = { "echo 1", "cat >/dev/null; echo 2",
				       "head -c 1 >/dev/null; echo 3", "echo 4 | cat" };
	pthread_t threads[4];
	void *r;

	for (int i = 0; i < 4; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, run_in_thread, commands[i]), 0);
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(pthread_join(threads[i], &r), 0);
		cr_expect_eq(r, NULL, "%s", commands[i]);
	}
	expect_no_child();
}

/* ---- choosing a summarizer */

static struct ofs_summarizer chosen;

static void clear_environment(void)
{
	static const char *const names[] = { "OFFLOAD_SUMMARIZER_URL",	 "OFFLOAD_SUMMARIZER_KEY",
					     "OFFLOAD_SUMMARIZER_MODEL", "OPENAI_BASE_URL",
					     "OPENAI_API_KEY",		 "OPENAI_MODEL" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unsetenv(names[i]);
	chosen = (struct ofs_summarizer){ .timeout_s = 7, .max_tokens = 8 };
}

TestSuite(context_summarizer_choice, .init = clear_environment);

Test(context_summarizer_choice, a_command_is_one_whatever_the_environment_says)
{
	setenv("OFFLOAD_SUMMARIZER_URL", "https://u", 1);
	setenv("OPENAI_API_KEY", "k", 1);
	cr_assert_eq(ofs_summarizer_choose(&chosen, "./endpoint", &err), 0);
	cr_expect_str_eq(chosen.command, "./endpoint");
	cr_expect_null(chosen.url);
	cr_expect_null(chosen.key);
	cr_expect_eq(chosen.timeout_s, 7);
	cr_expect_eq(chosen.max_tokens, 8);
}

Test(context_summarizer_choice, an_endpoint_needs_url_and_model)
{
	setenv("OPENAI_API_KEY", "k", 1);
	setenv("OPENAI_BASE_URL", "", 1);
	cr_expect_eq(ofs_summarizer_choose(&chosen, "endpoint", &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "set OFFLOAD_SUMMARIZER_URL"));
	setenv("OPENAI_BASE_URL", "https://u", 1);
	cr_expect_eq(ofs_summarizer_choose(&chosen, "endpoint", &err), -EINVAL);
	cr_expect_not_null(strstr(err.text, "set OFFLOAD_SUMMARIZER_MODEL"));
	setenv("OPENAI_MODEL", "m", 1);
	cr_assert_eq(ofs_summarizer_choose(&chosen, "endpoint", &err), 0);
	cr_expect_null(chosen.command);
	cr_expect_str_eq(chosen.url, "https://u");
	cr_expect_str_eq(chosen.key, "k");
	cr_expect_str_eq(chosen.model, "m");
}

Test(context_summarizer_choice, a_key_goes_to_no_other_host)
{
	setenv("OPENAI_BASE_URL", "https://other", 1);
	setenv("OPENAI_API_KEY", "other", 1);
	setenv("OPENAI_MODEL", "m", 1);
	setenv("OFFLOAD_SUMMARIZER_URL", "https://ours", 1);
	cr_assert_eq(ofs_summarizer_choose(&chosen, "endpoint", &err), 0);
	cr_expect_str_eq(chosen.url, "https://ours");
	cr_expect_null(chosen.key);
	setenv("OFFLOAD_SUMMARIZER_KEY", "ours", 1);
	setenv("OFFLOAD_SUMMARIZER_MODEL", "n", 1);
	cr_assert_eq(ofs_summarizer_choose(&chosen, "endpoint", &err), 0);
	cr_expect_str_eq(chosen.key, "ours");
	cr_expect_str_eq(chosen.model, "n");
}
