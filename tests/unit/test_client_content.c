/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/content.h"

static struct ofs_spool spool;
static struct ofs_content content;

static void scan(const void *data, size_t len)
{
	ofs_spool_finish(&spool);
	cr_assert_eq(ofs_spool_append(&spool, data, len), 0);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
}

static void finish(void)
{
	ofs_spool_finish(&spool);
}

static void begin(void)
{
	spool = (struct ofs_spool)OFS_SPOOL_INIT;
}

TestSuite(client_content, .init = begin, .fini = finish);

static void expect_ext(const char *data, const char *ext)
{
	scan(data, strlen(data));
	cr_expect_str_eq(content.ext, ext, "%s: %s", data, content.ext);
}

Test(client_content, kinds)
{
	expect_ext("", "txt");
	expect_ext("hello\n", "txt");
	expect_ext("{\"a\": [1, 2]}\n", "json");
	expect_ext("\n [1, 2]\n\n", "json");
	expect_ext("[1/3] compiling\n[done]\n", "txt");
	expect_ext("{\"a\": 1}\n{\"b\": 2}\n", "txt");
	expect_ext("{\"a\": 1", "txt");
	expect_ext("<!DOCTYPE html>\n<p>", "html");
	expect_ext("  <html lang=en>", "html");
	expect_ext("<xml>", "txt");
	expect_ext("diff --git a/x b/x\n", "diff");
	expect_ext("--- a/x\n+++ b/x\n@@ -1 +1 @@\n", "diff");
	expect_ext("--- x\n", "txt");
	expect_ext("--- ", "txt");
}

Test(client_content, large_json_is_known_by_its_ends)
{
	size_t len = 3 << 20;
	char *data = malloc(len);

	memset(data, ' ', len);
	memcpy(data, "{\n\"a\": \"", 8);
	memcpy(data + len - 3, "\"}\n", 3);
	scan(data, len);
	cr_expect_str_eq(content.ext, "json");
	data[2] = 'x';
	scan(data, len);
	cr_expect_str_eq(content.ext, "txt");
	free(data);
}

Test(client_content, binary)
{
	scan("a\0b", 3);
	cr_expect(content.binary);
	cr_expect_str_eq(content.ext, "bin");
	scan("\x1f\x8b\x08\x01\x93\xfe\x81\xa0", 8);
	cr_expect(content.binary);
	scan("caf\xe9 au lait\n", 13); /* Latin-1 */
	cr_expect_not(content.binary);
	scan("\x1b[31mred\x1b[0m\n", 13);
	cr_expect_not(content.binary);
}

Test(client_content, hash_and_size)
{
	scan("test", 4);
	cr_expect_str_eq(content.sha256,
			 "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08");
	cr_expect_eq(content.size, 4);
}

Test(client_content, lines_as_sed_counts_them)
{
	scan("", 0);
	cr_expect_eq(content.lines, 0);
	scan("a", 1);
	cr_expect_eq(content.lines, 1);
	scan("a\n", 2);
	cr_expect_eq(content.lines, 1);
	scan("a\n\nb", 4);
	cr_expect_eq(content.lines, 3);
	cr_expect_eq(ofs_spool_lines(&spool), 3);
	scan("\n", 1);
	cr_expect_eq(content.lines, 1);
}

/* More than is kept in memory, with lines that cross the edges of chunks. */
Test(client_content, spooled_to_a_file)
{
	const size_t count = 300000;
	char line[32];

	for (size_t i = 0; i < count; i++) {
		int len = snprintf(line, sizeof(line), "line %zu\n", i + 1);

		cr_assert_eq(ofs_spool_append(&spool, line, (size_t)len), 0);
	}
	cr_assert_geq(spool.fd, 0);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
	cr_expect_eq(content.lines, count);
	cr_expect_eq(content.size, spool.size);
}
