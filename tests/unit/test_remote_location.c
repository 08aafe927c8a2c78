/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "remote/location.h"

static struct ofs_location l;
static struct ofs_error err;

static void init(void)
{
	static const char *const names[] = { "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL",
					     "AWS_REGION", "AWS_DEFAULT_REGION" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
}

static void finish(void)
{
	ofs_location_finish(&l);
}

TestSuite(remote_location, .init = init, .fini = finish);

static void parse(const char *text)
{
	ofs_location_finish(&l);
	cr_assert_eq(ofs_location_parse(text, &err, &l), 0, "%s: %s", text, err.text);
}

/* Expects this origin and root, and that `text` is shown as `shown`, which means the same. */
static void expect(const char *text, const char *origin, const char *root, const char *shown)
{
	OFS_FREE char *first = NULL, *second = NULL;

	parse(text);
	cr_expect_str_eq(l.origin, origin);
	cr_expect_str_eq(l.root, root);
	first = ofs_location_text(&l);
	cr_expect_str_eq(first, shown);
	parse(first);
	cr_expect_str_eq(l.origin, origin);
	second = ofs_location_text(&l);
	cr_expect_str_eq(second, first);
}

static void expect_refusal(const char *text, const char *words)
{
	struct ofs_location none = { 0 };

	cr_expect_eq(ofs_location_parse(text, &err, &none), -EINVAL, "%s", text);
	cr_expect_not_null(strstr(err.text, words), "%s: '%s' is not in '%s'", text, words,
			   err.text);
	cr_expect_null(strchr(err.text, '\n'));
	cr_expect_null(none.bucket);
}

Test(remote_location, of_amazon)
{
	expect("s3://b", "https://b.s3.us-east-1.amazonaws.com", "",
	       "s3://b?endpoint=https://s3.us-east-1.amazonaws.com&region=us-east-1&style=virtual");
	cr_expect_str_eq(l.host, "b.s3.us-east-1.amazonaws.com");
	cr_expect_str_eq(l.prefix, "");
	expect("s3://b.c/p?region=eu-west-3", "https://s3.eu-west-3.amazonaws.com", "/b.c",
	       "s3://b.c/p?endpoint=https://s3.eu-west-3.amazonaws.com&region=eu-west-3"
	       "&style=path");
	expect("s3://b?region=cn-north-1", "https://s3.cn-north-1.amazonaws.com.cn", "/b",
	       "s3://b?endpoint=https://s3.cn-north-1.amazonaws.com.cn&region=cn-north-1"
	       "&style=path");
	expect("s3://b?style=path", "https://s3.us-east-1.amazonaws.com", "/b",
	       "s3://b?endpoint=https://s3.us-east-1.amazonaws.com&region=us-east-1&style=path");
}

Test(remote_location, of_others)
{
	expect("s3://b/a/c_.-?endpoint=http://127.0.0.1:9000", "http://127.0.0.1:9000", "/b",
	       "s3://b/a/c_.-?endpoint=http://127.0.0.1:9000&region=us-east-1&style=path");
	cr_expect_str_eq(l.host, "127.0.0.1:9000");
	cr_expect_str_eq(l.prefix, "a/c_.-");
	expect("s3://b?endpoint=https%3A%2F%2FS3.Example.com:443/x/&style=virtual",
	       "https://b.s3.example.com", "/x",
	       "s3://b?endpoint=https://s3.example.com/x&region=us-east-1&style=virtual");
	expect("s3://b?endpoint=http://[::1]:80", "http://[::1]", "/b",
	       "s3://b?endpoint=http://[::1]&region=us-east-1&style=path");
	expect("s3://b?insecure=1&endpoint=http://minio:9000", "http://minio:9000", "/b",
	       "s3://b?endpoint=http://minio:9000&region=us-east-1&style=path&insecure=1");
}

Test(remote_location, the_environment)
{
	setenv("AWS_ENDPOINT_URL", "https://one.example", 1);
	setenv("AWS_DEFAULT_REGION", "r-1", 1);
	parse("s3://b");
	cr_expect_str_eq(l.endpoint, "https://one.example");
	cr_expect_str_eq(l.region, "r-1");
	setenv("AWS_ENDPOINT_URL_S3", "https://two.example", 1);
	setenv("AWS_REGION", "r-2", 1);
	parse("s3://b");
	cr_expect_str_eq(l.endpoint, "https://two.example");
	cr_expect_str_eq(l.region, "r-2");
	parse("s3://b?region=r-3&endpoint=https://three.example");
	cr_expect_str_eq(l.endpoint, "https://three.example");
	cr_expect_str_eq(l.region, "r-3");
	setenv("AWS_ENDPOINT_URL_S3", "two.example", 1);
	expect_refusal("s3://b", "AWS_ENDPOINT_URL_S3 in the environment is not an endpoint");
}

Test(remote_location, refusals)
{
	static const struct {
		const char *text, *words;
	} cases[] = {
		{ "", "must be like s3://BUCKET" },
		{ "S3:/b", "must be like s3://BUCKET" },
		{ "s3://", "the bucket" },
		{ "s3:///p", "the bucket" },
		{ "s3://..", "the bucket" },
		{ "s3://b c", "the bucket" },
		{ "s3://key:secret@b", "no user and no password" },
		{ "s3://b/", "the prefix" },
		{ "s3://b//p", "the prefix" },
		{ "s3://b/p/", "the prefix" },
		{ "s3://b/p//q", "the prefix" },
		{ "s3://b/./q", "the prefix" },
		{ "s3://b/p/..", "the prefix" },
		{ "s3://b/p%41", "the prefix" },
		{ "s3://b?x=1", "are allowed" },
		{ "s3://b?region=a&region=b", "region= twice" },
		{ "s3://b?region=", "region" },
		{ "s3://b?region=a%2", "'%'" },
		{ "s3://b?region=a%0ab", "region=" },
		{ "s3://b?region=A", "lower-case letters" },
		{ "s3://b?style=dns", "path or virtual" },
		{ "s3://b?insecure=yes", "must be 1" },
		{ "s3://b_c?style=virtual", "use style=path" },
		{ "s3://b?style=virtual&endpoint=http://127.0.0.1", "use style=path" },
		{ "s3://b?style=virtual&endpoint=http://localhost", "not on this machine" },
		{ "s3://b?endpoint=http://minio", "use https://" },
		{ "s3://b?endpoint=ftp://h", "not an endpoint" },
		{ "s3://b?endpoint=h", "not an endpoint" },
		{ "s3://b?endpoint=https://", "not an endpoint" },
		{ "s3://b?endpoint=https://u:p%40h", "not an endpoint" },
		{ "s3://b?endpoint=https://h:0", "not an endpoint" },
		{ "s3://b?endpoint=https://h:", "not an endpoint" },
		{ "s3://b?endpoint=https://h:65536", "not an endpoint" },
		{ "s3://b?endpoint=https://[::1", "not an endpoint" },
		{ "s3://b?endpoint=https://[::1]x", "not an endpoint" },
		{ "s3://b?endpoint=https://h%23x", "not an endpoint" },
		{ "s3://b?endpoint=https://h/..", "not an endpoint" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++)
		expect_refusal(cases[i].text, cases[i].words);
}

Test(remote_location, a_secret_in_the_wrong_place_is_not_told)
{
	expect_refusal("s3://AKIA:hidden@b", "no user");
	cr_expect_null(strstr(err.text, "hidden"));
	expect_refusal("s3://b?secret=hidden", "are allowed");
	cr_expect_null(strstr(err.text, "hidden"));
	expect_refusal("s3://b?endpoint=https://u:hidden@h", "not an endpoint");
	cr_expect_null(strstr(err.text, "hidden"));
}
