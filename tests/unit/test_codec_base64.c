/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include <string.h>

#include "codec/base64.h"

static void check(const char *text, const char *bytes, size_t len)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf to = OFS_BUF_INIT;

	cr_assert(ofs_base64_decode(text, strlen(text), &to), "'%s'", text);
	cr_assert_eq(to.len, len, "'%s'", text);
	cr_assert(len == 0 || memcmp(to.data, bytes, len) == 0, "'%s'", text);
}

Test(codec_base64, decodes)
{
	check("", "", 0);
	check("Zg==", "f", 1);
	check("Zm8=", "fo", 2);
	check("Zm9v", "foo", 3);
	check("Zm9vYg==", "foob", 4);
	check("/+8A", "\xff\xef\0", 3);
}

Test(codec_base64, refuses_what_is_none)
{
	static const char *const wrong[] = { "Z",     "Zg",	  "Zg=",     "====",
					     "Z===",  "Zg==Zg==", "Zm9v\n",  "Zm-_",
					     "Zm9vZ", "Z=g=",	  "Zm9v----" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf to = OFS_BUF_INIT;

		cr_assert_not(ofs_base64_decode(wrong[i], strlen(wrong[i]), &to), "'%s'", wrong[i]);
	}
}
