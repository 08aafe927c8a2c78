/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "remote/s3_xml.h"

static struct ofs_s3_refusal refusal;
static struct ofs_s3_page page;
static struct ofs_buf text;

static void finish(void)
{
	ofs_buf_finish(&page.token);
	ofs_buf_finish(&text);
}

TestSuite(remote_s3_xml, .fini = finish);

static int read_refusal(const char *xml)
{
	return ofs_s3_xml_refusal(xml, strlen(xml), &refusal);
}

static int append(void *arg, const char *key, uint64_t size)
{
	ofs_buf_printf(&text, "%s=%llu ", key, (unsigned long long)size);
	return strcmp(key, "stop") == 0 ? 7 : 0;
}

static int read_list(const char *xml)
{
	text.len = 0;
	return ofs_s3_xml_list(xml, strlen(xml), append, NULL, &page);
}

static int read_deleted(const char *xml)
{
	return ofs_s3_xml_deleted(xml, strlen(xml), &text, &refusal);
}

Test(remote_s3_xml, refusals)
{
	cr_expect_eq(read_refusal(
			     "\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- x --><Error a='>' b=\"c\">"
			     "<Code>No&#83;uch&#x4b;ey</Code><Message>&lt;&amp;&gt;&quot;"
			     "&apos;&#xe9;&#x20ac;&#x1F600;</Message><Deep><Code>x</Code>"
			     "</Deep><Empty/></Error >\n"),
		     0);
	cr_expect_str_eq(refusal.code, "NoSuchKey");
	cr_expect_str_eq(refusal.message, "<&>\"'\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
}

Test(remote_s3_xml, what_is_none)
{
	static const char *const cases[] = {
		"",
		"x",
		"<",
		"<Error",
		"<Error>",
		"<Error><Code>x</Error>",
		"<Error></Error><Error/>",
		"<Error/>x",
		"<html><Error/></html>",
		"<Error a></Error>",
		"<Error a=\"></Error>",
		"<Error>&x;</Error>",
		"<Error>&</Error>",
		"<Error>&#0;</Error>",
		"<Error>&#xd800;</Error>",
		"<Error>&#x110000;</Error>",
		"<Error>&#99999999;</Error>",
		"<Error>&#;</Error>",
		"<Error><!DOCTYPE x></Error>",
		"<!DOCTYPE x [<!ENTITY a \"b\">]><Error/>",
		"<Error><![CDATA[x]]></Error>",
		"<Error><!-- </Error>",
		"</Error>",
		"<a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a><a>",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++)
		cr_expect_eq(read_refusal(cases[i]), -EBADMSG, "%s", cases[i]);
	cr_expect_eq(ofs_s3_xml_refusal("<Error>\0</Error>", 16, &refusal), -EBADMSG);
	cr_expect_eq(ofs_s3_xml_refusal(NULL, 0, &refusal), -EBADMSG);
}

#define LIST(members) "<ListBucketResult xmlns=\"http://x/\">" members "</ListBucketResult>"
#define ITEM(key, size) "<Contents><Key>" key "</Key><Size>" size "</Size></Contents>"

Test(remote_s3_xml, lists)
{
	cr_expect_eq(read_list(LIST("<IsTruncated>true</IsTruncated>" ITEM("a&amp;b", "1") ITEM(
			     "c", "20") "<NextContinuationToken>t=</NextContinuationToken>")),
		     0);
	cr_expect_str_eq(ofs_buf_str(&text), "a&b=1 c=20 ");
	cr_expect(page.truncated);
	cr_expect_str_eq(ofs_buf_str(&page.token), "t=");
	cr_expect_eq(read_list(LIST("<IsTruncated>false</IsTruncated>")), 0);
	cr_expect_not(page.truncated);
	cr_expect_eq(page.token.len, 0);
	cr_expect_eq(read_list(LIST(ITEM("stop", "0") ITEM("b", "0"))), 7);
}

Test(remote_s3_xml, lists_that_are_none)
{
	static const char *const cases[] = {
		LIST(""),
		LIST("<IsTruncated>true</IsTruncated>"),
		LIST("<IsTruncated>maybe</IsTruncated>"),
		LIST("<IsTruncated>false</IsTruncated>" ITEM("a", "-1")),
		LIST("<IsTruncated>false</IsTruncated>" ITEM("a", "")),
		LIST("<IsTruncated>false</IsTruncated>" ITEM("a", "99999999999999999999")),
		LIST("<IsTruncated>false</IsTruncated><Contents><Key>a</Key></Contents>"),
		LIST("<IsTruncated>false</IsTruncated><Contents><Size>1</Size></Contents>"),
		"<Error/>",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++)
		cr_expect_eq(read_list(cases[i]), -EBADMSG, "%s", cases[i]);
}

Test(remote_s3_xml, deletions)
{
	cr_expect_eq(read_deleted("<DeleteResult/>"), 0);
	cr_expect_eq(read_deleted(
			     "<DeleteResult><Deleted><Key>a</Key></Deleted>"
			     "<Error><Key>b</Key><Code>NoSuchKey</Code></Error></DeleteResult>"),
		     0);
	cr_expect_eq(read_deleted("<DeleteResult><Error><Code>Oops</Code><Message>m</Message>"
				  "<Key>b</Key></Error><Error><Key>c</Key></Error></DeleteResult>"),
		     1);
	cr_expect_str_eq(ofs_buf_str(&text), "b");
	cr_expect_str_eq(refusal.code, "Oops");
	cr_expect_str_eq(refusal.message, "m");
	cr_expect_eq(read_deleted("<html/>"), -EBADMSG);
}
