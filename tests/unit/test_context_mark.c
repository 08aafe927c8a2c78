/* SPDX-License-Identifier: MIT */
/* Restorable pointers: recognised, told from what only looks like one, and shortened. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/chat/mark.h"

#define TITLE "[offloaded] make test: 48,213 bytes, 912 lines (ref k3f9x2, ja-9f86d081-k2m4x9)"
#define READING "This preview is partial. Read lines: cat m/refs/k3f9x2:11-70"
#define CLOSING "(detailed result is stored in m/refs/k3f9x2)"

static const char pointer[] = TITLE "\n" READING
				    "\n--- lines 1-3 of 912 ---\none\ntwo\nthree\n" CLOSING;

static bool find(const char *text, struct ofs_mark *ret)
{
	char *exact = malloc(strlen(text) + 1);
	bool found;

	memcpy(exact, text, strlen(text));
	exact = realloc(exact, strlen(text) ? strlen(text) : 1);
	found = ofs_mark_read(exact, strlen(text), ret);
	free(exact);
	return found;
}

Test(context_mark, says_what_it_stands_for)
{
	struct ofs_mark mark;
	char code[OFS_MARK_CODE_MAX];

	cr_assert(find(pointer, &mark));
	cr_expect_str_eq(mark.ref, "k3f9x2");
	cr_expect_str_eq(mark.hash, "9f86d081");
	cr_expect(mark.style.ascii && !mark.style.upper && !mark.raw);
	ofs_mark_code(&mark, code);
	cr_expect_str_eq(code, "ja-9f86d081-k2m4x9");
	cr_assert(find(
		"[offloaded] x (ref k3f9x2aa, raw-00000000-k2m4x9) (detailed result is stored in /r/k3f9x2aa)",
		&mark));
	cr_expect_str_eq(mark.ref, "k3f9x2aa");
	cr_expect(mark.raw);
	ofs_mark_code(&mark, code);
	cr_expect_str_eq(code, "raw-00000000-k2m4x9");
}

Test(context_mark, codes_are_read_again)
{
	for (int bits = 0; bits < 256; bits++) {
		struct ofs_mark mark = { "k3f9x2",
					 "01234567",
					 "k2m4x9",
					 { bits & 1, bits & 2, bits & 4, bits & 8, bits & 16,
					   bits & 32, bits & 64 },
					 bits & 128 };
		struct ofs_mark got;
		char code[OFS_MARK_CODE_MAX], again[OFS_MARK_CODE_MAX], title[256];
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

		ofs_mark_code(&mark, code);
		snprintf(title, sizeof(title),
			 "[offloaded] ls: 1 byte, 1 line (ref k3f9x2, %s)\nx\n", code);
		ofs_mark_write(title, "refs/k3f9x2", &text);
		cr_assert(ofs_mark_read(text.data, text.len, &got), "%s", code);
		ofs_mark_code(&got, again);
		cr_expect_str_eq(again, code);
	}
}

Test(context_mark, what_a_command_was_may_look_like_anything)
{
	struct ofs_mark mark;

	cr_assert(find(
		"[offloaded] echo (ref aaaaaa, j-00000000-k2m4x9): 1 byte (ref k3f9x2, j-9f86d081-k2m4x9)\n"
		"(detailed result is stored in refs/aaaaaa)\n" CLOSING,
		&mark));
	cr_expect_str_eq(mark.ref, "k3f9x2");
	cr_assert(find(
		"[offloaded] a (detailed result is stored in b: 1 byte (ref k3f9x2, j-9f86d081-k2m4x9)\n" CLOSING,
		&mark));
	cr_assert(find("[offloaded] : 1 byte (ref k3f9x2, j-9f86d081-k2m4x9)\n"
		       "(detailed result is stored in /a dir) (with/refs/k3f9x2)",
		       &mark));
}

Test(context_mark, what_is_none)
{
	static const char *const none[] = {
		"",
		"[offloaded] ",
		"[offloaded]",
		TITLE,
		CLOSING,
		TITLE "\n" CLOSING "\n", /* a file that quotes a pointer ends with a newline */
		TITLE "\n" CLOSING " ",
		" " TITLE "\n" CLOSING,
		"see " TITLE "\n" CLOSING,
		TITLE "\n(detailed result is stored in m/refs/k3f9x3)",
		TITLE "\n(detailed result is stored in m/refs/xk3f9x2)",
		TITLE "\n(detailed result is stored in k3f9x2)",
		TITLE "\n(detailed result is stored in /k3f9x2",
		TITLE "\n(detailed result is stored in )",
		TITLE "\n(detailed result is stored in ",
		TITLE "\n(detailed result is stored in m\n/refs/k3f9x2)",
		TITLE " \n" CLOSING,
		"[offloaded] x (ref k3f9x2)\n" CLOSING,
		"[offloaded] x -> a/b (ref k3f9x2)\n" CLOSING, /* by put: not restorable */
		"[offloaded] x (ref k3f9x2, ja-9f86d08-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9f86d0811-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9F86D081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, jx-9f86d081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, -9f86d081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, 9f86d081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, jaaaaaaaaaaaaaaaaaaaaaaaaaaaa-9f86d081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref k3f9x2,ja-9f86d081-k2m4x9)\n" CLOSING,
		"[offloaded] x (ref K3F9X2, ja-9f86d081-k2m4x9)\n(detailed result is stored in m/K3F9X2)",
		"[offloaded] x (ref k3f9x, ja-9f86d081-k2m4x9)\n(detailed result is stored in m/k3f9x)",
		"[offloaded] x (ref k3f9x2222, ja-9f86d081-k2m4x9)\n(detailed result is stored in m/k3f9x2222)",
		"[offloaded] x (ref , ja-9f86d081-k2m4x9)\n(detailed result is stored in m/)",
		"[offloaded] x (ref \n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9f86d081)\n" CLOSING, /* without a tag */
		"[offloaded] x (ref k3f9x2, ja-9f86d081-)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9f86d081-k2m4x)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9f86d081-k2m4x99)\n" CLOSING,
		"[offloaded] x (ref k3f9x2, ja-9f86d081-K2m4x9)\n" CLOSING,
		"[offloaded] x\n(ref k3f9x2, ja-9f86d081-k2m4x9)\n" CLOSING,
	};
	struct ofs_mark mark;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(none); i++)
		cr_expect_not(find(none[i], &mark), "%s", none[i]);
	for (size_t len = 0; len < strlen(pointer); len++)
		cr_expect_not(ofs_mark_read(pointer, len, &mark), "its first %zu bytes", len);
	cr_expect_not(ofs_mark_read(
		"[offloaded] x (ref k3f9x2\0, ja-9f86d081-k2m4x9)\n" CLOSING,
		sizeof("[offloaded] x (ref k3f9x2\0, ja-9f86d081-k2m4x9)\n" CLOSING) - 1, &mark));
}

Test(context_mark, starts_as_pointers_do)
{
	cr_expect(ofs_mark_may_be(pointer, strlen(pointer)));
	cr_expect(ofs_mark_may_be("[offloaded] anything", 20));
	cr_expect_not(ofs_mark_may_be("[offloaded]", 11));
	cr_expect_not(ofs_mark_may_be("", 0));
	cr_expect_not(ofs_mark_may_be(" [offloaded] x", 14));
	cr_expect_not(ofs_mark_may_be("[Offloaded] x", 13));
}

/* The tag depends on the key and on every byte but its own. */
Test(context_mark, is_signed)
{
	char tag[OFS_MARK_TAG + 1], other[OFS_MARK_TAG + 1], text[sizeof(pointer)];
	size_t at, at_other, len = strlen(pointer);
	struct ofs_mark mark;

	cr_assert(ofs_mark_tag(pointer, len, "key", tag, &at));
	cr_expect_eq(strspn(tag, "0123456789abcdefghijklmnopqrstuvwxyz"), OFS_MARK_TAG);
	cr_expect_arr_eq(pointer + at, "k2m4x9", OFS_MARK_TAG);
	cr_assert(ofs_mark_tag(pointer, len, "kez", other, &at));
	cr_expect_str_neq(tag, other);
	for (size_t i = 0; i < len; i++) {
		bool same = i >= at && i < at + OFS_MARK_TAG;

		memcpy(text, pointer, sizeof(text));
		text[i] = text[i] == '7' ? '8' : '7';
		if (!ofs_mark_read(text, len, &mark)) {
			cr_expect_not(ofs_mark_tag(text, len, "key", other, &at_other));
			continue;
		}
		cr_assert(ofs_mark_tag(text, len, "key", other, &at_other));
		cr_expect_eq(strcmp(tag, other) == 0, same, "byte %zu", i);
	}
}

static void expect_shrunk(const char *text, const char *expected)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf once = OFS_BUF_INIT, twice = OFS_BUF_INIT;

	ofs_mark_shrink(text, strlen(text), &once);
	ofs_mark_shrink(once.data, once.len, &twice);
	cr_expect_str_eq(ofs_buf_str(&once), expected);
	cr_expect_str_eq(ofs_buf_str(&twice), expected, "not the same when done twice");
}

Test(context_mark, shorter)
{
	struct ofs_mark mark;

	expect_shrunk(pointer, TITLE " " CLOSING);
	cr_expect(find(TITLE " " CLOSING, &mark));
	cr_expect_str_eq(mark.ref, "k3f9x2");
	expect_shrunk(TITLE "\n\n" CLOSING, TITLE " " CLOSING);
	expect_shrunk("no pointer", "no pointer");
	expect_shrunk("[offloaded] of another kind", "[offloaded] of another kind");
	expect_shrunk("", "");
}
