/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "client/operand.h"

Test(client_operand, refs_by_their_form)
{
	cr_expect(ofs_operand_is_ref("k3f9x2"));
	cr_expect(ofs_operand_is_ref("12345678"));
	cr_expect_not(ofs_operand_is_ref(""));
	cr_expect_not(ofs_operand_is_ref("123456789"));
	cr_expect_not(ofs_operand_is_ref("K3f9x2"));
	cr_expect_not(ofs_operand_is_ref("a/b"));
	cr_expect_not(ofs_operand_is_ref("a.txt"));
}

static void expect_suffix(const char *spec, const char *expected)
{
	char *suffix = ofs_slice_suffix(spec);

	if (expected)
		cr_expect_str_eq(suffix, expected);
	else
		cr_expect_null(suffix);
	free(suffix);
}

Test(client_operand, slices_in_every_spelling)
{
	expect_suffix("10-20", ":10-20");
	expect_suffix(":10-20", ":10-20");
	expect_suffix("L10-L20", ":10-20");
	expect_suffix("#L10-L20", ":10-20");
	expect_suffix("@L10-20", ":10-20");
	expect_suffix("L120", ":120");
	expect_suffix("120-", ":120-");
	expect_suffix("-50", ":-50");
	expect_suffix("b0-4095", ":b0-4095");
	expect_suffix("LL", ":LL");
	expect_suffix("", NULL);
	expect_suffix(":", NULL);
	expect_suffix("1/2", NULL);
}

static const char *content; /* of refs/k3f9x2:info; NULL: there is no such file */

static int fake_open(struct ofs_backend *b, const char *path, ofs_handle *ret)
{
	(void)b;
	*ret = 1;
	return content && strcmp(path, "refs/k3f9x2:info") == 0 ? 0 : -EKEYEXPIRED;
}

static ssize_t fake_read(struct ofs_backend *b, ofs_handle h, void *buf, size_t size, uint64_t off)
{
	size_t len = strlen(content) - OFS_MIN(off, strlen(content));

	(void)b;
	(void)h;
	len = OFS_MIN(len, OFS_MIN(size, (size_t)7)); /* a short read is not the end */
	memcpy(buf, content + off, len);
	return (ssize_t)len;
}

static void fake_close(struct ofs_backend *b, ofs_handle h)
{
	(void)b;
	(void)h;
}

static const struct ofs_backend_ops fake_ops = { .open = fake_open,
						 .read = fake_read,
						 .close = fake_close };
static struct ofs_backend fake = { .ops = &fake_ops };

static void expect_sentence(const char *json, const char *expected)
{
	OFS_FREE char *sentence = NULL;
	json_t *gone;

	content = json;
	cr_assert_eq(ofs_gone_load(&fake, "refs/k3f9x2", &gone), 0);
	sentence = ofs_gone_sentence(gone);
	cr_expect_str_eq(sentence, expected);
	json_decref(gone);
}

Test(client_operand, sentences_about_files_that_are_gone)
{
	expect_sentence("{\"ref\":\"k3f9x2\",\"path\":\"cache/shell/x\",\"size\":4200,\"lines\":1,"
			"\"removed\":\"2026-11-22T12:00:00Z\",\"reason\":\"expired\","
			"\"why\":\"unused for 41m, its time was 30m\"}",
			"k3f9x2 was cache/shell/x, 4,200 bytes, 1 line; it was removed at "
			"2026-11-22T12:00:00Z (expired): unused for 41m, its time was 30m");
	expect_sentence("{\"ref\":\"k3f9x2\",\"path\":null,\"size\":null,\"lines\":null,"
			"\"removed\":null,\"reason\":null,\"why\":null}",
			"k3f9x2 was a file; it was removed");
	expect_sentence("{}", "it was a file; it was removed");
	expect_sentence("{\"ref\":\"k3f9x2\",\"path\":\"a\\nb\\u001b[2J\"}",
			"k3f9x2 was a^Jb; it was removed");
}

Test(client_operand, gone_files_by_any_name_of_their_ref)
{
	json_t *gone;

	content = "{\"ref\":\"k3f9x2\"}";
	cr_assert_eq(ofs_gone_load(&fake, "refs/k3f9x2:10-20", &gone), 0);
	cr_expect_str_eq(json_string_value(json_object_get(gone, "ref")), "k3f9x2");
	json_decref(gone);
	cr_expect_eq(ofs_gone_load(&fake, "refs/k3f9x3", &gone), -EKEYEXPIRED);
	cr_expect_eq(ofs_gone_load(&fake, "cache/shell/x", &gone), -ENOENT);
	content = "no object";
	cr_expect_eq(ofs_gone_load(&fake, "refs/k3f9x2", &gone), -EPROTO);
}
