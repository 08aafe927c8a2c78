/* SPDX-License-Identifier: MIT */
/* The user's own rules for secrets: reading their file, and what they find. */
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/redact.h"
#include "base/util.h"
#include "io/redact_file.h"
#include "scratch.h"

static char dir[SCRATCH_SIZE];
static char path[96];
static struct ofs_error err;

static void begin(void)
{
	char folder[64];

	scratch_dir(dir);
	snprintf(folder, sizeof(folder), "%s/offloadfs", dir);
	cr_assert_eq(mkdir(folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/redact.toml", folder);
	setenv("XDG_CONFIG_HOME", dir, 1);
}

static void finish(void)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", dir);
	cr_expect_eq(system(command), 0);
}

TestSuite(io_redact_file, .init = begin, .fini = finish);

static int load(const char *text)
{
	FILE *out = fopen(path, "w");

	cr_assert(out);
	fputs(text, out);
	cr_assert_eq(fclose(out), 0);
	cr_assert_eq(chmod(path, 0600), 0);
	return ofs_redact_file_load(&err);
}

static void expect(const char *text, const char *wanted)
{
	OFS_FREE char *got = ofs_redact_string(text), *again = ofs_redact_string(got);

	cr_expect_str_eq(got, wanted);
	cr_expect_str_eq(again, wanted);
}

static void expect_error(const char *text, const char *wanted)
{
	cr_assert_eq(load(text), -EINVAL, "taken: %s", text);
	cr_expect(strstr(err.text, wanted), "'%s' is not in '%s'", wanted, err.text);
	cr_expect(strstr(err.text, path));
	cr_expect_not(strchr(err.text, '\n'));
}

#define RULE "[[rules]]\nid = 'x'\n"

Test(io_redact_file, no_file_no_rules)
{
	cr_assert_eq(ofs_redact_file_load(&err), 0);
	expect("acme_0123456789abcdef", "acme_0123456789abcdef");
}

Test(io_redact_file, a_rule_as_gitleaks_writes_it)
{
	cr_assert_eq(load("title = \"ours\" # a comment\n"
			  "[extend]\nuseDefault = true\n"
			  "[[rules]]\n"
			  "id = \"acme token\"\n"
			  "description = \"\"\"of\nseveral \\\n  lines\"\"\"\n"
			  "regex = '''(?i)\\b(acme_[0-9a-f]{16})(?:['\"\\s]|$)'''\n"
			  "entropy = 3.0\n"
			  "keywords = [\n  \"acme_\", # one\n]\n"
			  "tags = ['a', 1, true, [1.5, 2]]\n"),
		     0, "%s", err.text);
	expect("key ACME_0123456789abcdef, acme_0123456789abcdef end",
	       "key ACME_0123456789abcdef, [redacted: acme-token] end");
	expect("acme_0000000000000000", "acme_0000000000000000");
}

Test(io_redact_file, groups_keywords_and_allowlists)
{
	cr_assert_eq(load(RULE "regex = 'employee=(\\d+);pin=(\\d{4})'\nsecretGroup = 2\n"
			       "[rules.allowlist]\nregexes = ['^0000$']\nstopwords = ['99']\n"
			       "[[rules]]\nid = 'y'\nregex = 'zq-[a-z]+'\n"
			       "[[rules.allowlists]]\ncondition = 'AND'\npaths = ['x']\n"
			       "regexes = ['zq-a']\n"
			       "[[rules.allowlists]]\nregexTarget = 'line'\nregexes = ['zq']\n"
			       "[[rules]]\nid = 'path'\npath = '\\.env$'\n"
			       "[allowlist]\nstopwords = ['demo']\n"),
		     0, "%s", err.text);
	expect("employee=12;pin=1234", "employee=12;pin=[redacted: x]");
	expect("employee=12;pin=0000 employee=12;pin=1299",
	       "employee=12;pin=0000 employee=12;pin=1299");
	expect("zq-abc zq-Demo zq-demoed", "[redacted: y] zq-Demo zq-demoed");
}

Test(io_redact_file, allowlists_of_all_rules)
{
	cr_assert_eq(load(RULE "regex = 'zq-[a-z]+'\n"
			       "[[allowlists]]\ncondition = 'AND'\npaths = ['x']\n"
			       "regexes = ['zq-a']\n"
			       "[[allowlists]]\nregexTarget = 'line'\nregexes = ['zq-b']\n"
			       "[[allowlists]]\nregexes = ['zq-c']\n"),
		     0, "%s", err.text);
	expect("zq-a zq-b zq-c", "[redacted: x] [redacted: x] zq-c");
}

Test(io_redact_file, a_string_over_several_lines)
{
	cr_assert_eq(load(RULE "regex = \"\"\"zq-\\ \t\n  \n  #[a-z]+\"\"\"\n"), 0, "%s", err.text);
	expect("zq-#abc", "[redacted: x]");
}

Test(io_redact_file, own_rules_and_those_there_are)
{
	cr_assert_eq(load(RULE "regex = 'password=\\S+'\n"), 0);
	expect("a password=hV8zL2pQ9rT4xW7k b", "a [redacted: x] b");
	expect("\033[1mpass\033[0mword=abc", "\033[1m[redacted: x]");
	expect("[redacted: x] password=[redacted: y]", "[redacted: x] password=[redacted: y]");
}

Test(io_redact_file, a_regex_without_end_finds_nothing)
{
	char text[4001] = "";

	cr_assert_eq(load(RULE "regex = '(a+)+$'\n"), 0);
	memset(text, 'a', sizeof(text) - 2);
	text[sizeof(text) - 2] = '!';
	expect(text, text);
}

Test(io_redact_file, what_is_wrong_is_said)
{
	expect_error("[[rules]]\nregex = 'x'\n", "line 1: the rule has no id");
	expect_error(RULE "regex = '(x'\n", "rule 'x': the regex is wrong at character 3");
	expect_error(RULE "regex = 'x'\nsecretGroup = 1\n", "has no group 1");
	expect_error(RULE "regex = 'x'\nentropy = 'high'\n", "line 4: entropy: must be a number");
	expect_error(RULE "regex = ['x']\nid\n", "line 4: a '=' is expected here");
	expect_error("x = \"\\q\"\n", "line 1: an invalid escape");
	expect_error("x = \"\\u+041\"\n", "line 1: an invalid escape");
	expect_error("x = \"\\ud800\"\n", "line 1: an invalid escape");
	expect_error("x = \"\\U00110000\"\n", "line 1: an invalid escape");
	expect_error("\nx = 'y\n", "line 2: an unterminated string");
	expect_error("x = [1\n\n2]\n", "line 3: a ',' or ']'");
	expect_error("x = {}\n", "line 1: a string, number, boolean or array");
	expect_error("x = 1 y\n", "line 1: the end of the line");
	expect_error("[x\n", "line 1: a ']'");
	expect_error("= 1\n", "line 1: a name");
}

Test(io_redact_file, a_file_of_others_is_refused)
{
	cr_assert_eq(load(RULE "regex = 'zq'\n"), 0);
	cr_assert_eq(chmod(path, 0602), 0);
	cr_assert_eq(ofs_redact_file_load(&err), -EPERM);
	cr_expect(strstr(err.text, "others may write to"));
}
