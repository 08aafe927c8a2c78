/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "remote/credentials.h"
#include "scratch.h"

#define SECRET "hidden/secret+1234567890"
#define TOKEN "hidden-token=="

static struct ofs_credentials c;
static struct ofs_error err;
static char dir[SCRATCH_SIZE], path[64];

static void init(void)
{
	static const char *const names[] = { "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
					     "AWS_SESSION_TOKEN", "AWS_PROFILE" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	scratch_dir(dir);
	snprintf(path, sizeof(path), "%s/credentials", dir);
	setenv("AWS_SHARED_CREDENTIALS_FILE", path, 1);
}

static void finish(void)
{
	ofs_credentials_finish(&c);
	unlink(path);
	rmdir(dir);
}

TestSuite(remote_credentials, .init = init, .fini = finish);

static void write_file(const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	cr_assert_not_null(f);
	fputs(text, f);
	fclose(f);
	cr_assert_eq(chmod(path, mode), 0);
}

static void expect(const char *command, const char *key, const char *secret, const char *token)
{
	ofs_credentials_finish(&c);
	cr_assert_eq(ofs_credentials_load(command, &err, &c), 0, "%s", err.text);
	cr_expect_str_eq(c.access_key, key);
	cr_expect_str_eq(c.secret, secret);
	cr_expect_eq(!c.token, !token);
	if (c.token && token)
		cr_expect_str_eq(c.token, token);
}

static void expect_refusal(const char *command, const char *words)
{
	struct ofs_credentials none = { 0 };

	cr_expect_eq(ofs_credentials_load(command, &err, &none), -EACCES, "%s", err.text);
	cr_expect_not_null(strstr(err.text, words), "'%s' is not in '%s'", words, err.text);
	cr_expect_null(strstr(err.text, "hidden"), "%s", err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_null(none.access_key);
}

Test(remote_credentials, of_the_environment)
{
	setenv("AWS_ACCESS_KEY_ID", "AKIA1", 1);
	expect_refusal(NULL, "the environment provides no secret access key");
	setenv("AWS_SECRET_ACCESS_KEY", SECRET, 1);
	expect("exit 1", "AKIA1", SECRET, NULL);
	cr_expect_eq(c.expires, INT64_MAX);
	cr_expect_not(ofs_credentials_are_stale(&c, INT64_MAX - 1));
	setenv("AWS_SESSION_TOKEN", TOKEN, 1);
	expect(NULL, "AKIA1", SECRET, TOKEN);
	setenv("AWS_SECRET_ACCESS_KEY", "hidden\r\nx: y", 1);
	expect_refusal(NULL, "a blank or another invalid character");
}

#define PRINT(members) "echo '{\"Version\":1,\"AccessKeyId\":\"AKIA2\"," members "}'"

Test(remote_credentials, of_a_command)
{
	write_file("[default]\naws_access_key_id=X\naws_secret_access_key=Y\n", 0600);
	expect(PRINT("\"SecretAccessKey\":\"" SECRET "\""), "AKIA2", SECRET, NULL);
	cr_expect_eq(c.expires, INT64_MAX);
	expect(PRINT("\"SecretAccessKey\":\"" SECRET "\",\"SessionToken\":\"" TOKEN
		     "\",\"Expiration\":\"2100-01-01T00:00:00.5+01:00\""),
	       "AKIA2", SECRET, TOKEN);
	cr_expect_eq(c.expires, (4102444800 - 3600) * OFS_NS_PER_S);
	cr_expect(ofs_credentials_are_stale(&c, c.expires - 299 * OFS_NS_PER_S));
	cr_expect_not(ofs_credentials_are_stale(&c, c.expires - 301 * OFS_NS_PER_S));
}

Test(remote_credentials, commands_that_fail)
{
	expect_refusal("echo hidden >&2; exit 3", "exit code 3");
	expect_refusal("echo hidden", "does not print JSON");
	expect_refusal("true", "does not print JSON");
	expect_refusal("echo '[\"hidden\"]'", "does not print JSON");
	expect_refusal("echo '{\"Version\":2}'", "\"Version\": 1");
	expect_refusal(PRINT("\"x\":\"hidden\""), "no secret access key");
	expect_refusal(PRINT("\"SecretAccessKey\":\"hid den\""), "a blank");
	expect_refusal(PRINT("\"SecretAccessKey\":\"hidden\",\"Expiration\":\"soon\""),
		       "\"Expiration\"");
	expect_refusal(PRINT("\"SecretAccessKey\":\"hidden\",\"Expiration\":"
			     "\"2001-01-01T00:00:00Z\""),
		       "have expired");
	expect_refusal("head -c 100000 /dev/zero", "cannot be run");
}

Test(remote_credentials, of_the_file)
{
	expect_refusal(NULL, "there are no credentials");
	write_file("# a comment\n[other]\naws_access_key_id = AKIA4\n"
		   "aws_secret_access_key = " SECRET "\naws_session_token = " TOKEN "\n"
		   "[ default ]\r\naws_access_key_id=AKIA3\r\nregion = x\n"
		   "  aws_secret_access_key = " SECRET "  \n[empty]\n[half]\n"
		   "aws_access_key_id = AKIA5",
		   0600);
	expect(NULL, "AKIA3", SECRET, NULL);
	setenv("AWS_PROFILE", "other", 1);
	expect("", "AKIA4", SECRET, TOKEN);
	setenv("AWS_PROFILE", "none", 1);
	expect_refusal(NULL, "there is no profile 'none'");
	setenv("AWS_PROFILE", "empty", 1);
	expect_refusal(NULL, "no access key ID");
	setenv("AWS_PROFILE", "half", 1);
	expect_refusal(NULL, "no secret access key");
}

Test(remote_credentials, a_file_that_others_may_read)
{
	static const mode_t modes[] = { 0640, 0604, 0620, 0602 };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(modes); i++) {
		write_file("[default]\naws_access_key_id=A\naws_secret_access_key=hidden\n",
			   modes[i]);
		expect_refusal(NULL, "chmod 600");
	}
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
	expect_refusal(NULL, "not a regular file");
	rmdir(path);
}
