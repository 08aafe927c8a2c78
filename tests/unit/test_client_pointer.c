/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/redact.h"
#include "client/pointer.h"

static struct ofs_spool spool;
static struct ofs_content content;
static struct ofs_pointer pointer;
static char *text;

static void begin(void)
{
	spool = (struct ofs_spool)OFS_SPOOL_INIT;
	text = NULL;
	pointer = (struct ofs_pointer){
		.what = "make test",
		.content = &content,
		.path = "cache/shell/shell_1795291548_9f86d081884c7d65.txt",
		.ref = "k3f9x2",
		.mount = ".offload",
		.hint = "",
	};
}

static void finish(void)
{
	ofs_spool_finish(&spool);
	free(text);
}

TestSuite(client_pointer, .init = begin, .fini = finish);

static void add(const char *data)
{
	cr_assert_eq(ofs_spool_append(&spool, data, strlen(data)), 0);
}

static void add_lines(int count)
{
	char line[32];

	for (int i = 1; i <= count; i++) {
		snprintf(line, sizeof(line), "line %d\n", i);
		add(line);
	}
}

static void print(void)
{
	size_t size = 0;
	FILE *out;

	free(text);
	cr_assert_eq(ofs_content_scan(&spool, &content), 0);
	out = open_memstream(&text, &size);
	cr_assert_eq(ofs_pointer_print(&pointer, out), 0);
	fclose(out);
	cr_assert_eq(strlen(text), size);
}

static void expect_part(const char *part)
{
	cr_expect(strstr(text, part), "no '%s' in:\n%s", part, text);
}

static void expect_no_part(const char *part)
{
	cr_expect_not(strstr(text, part), "'%s' in:\n%s", part, text);
}

Test(client_pointer, whole_text)
{
	pointer.has_exit = true;
	pointer.exit_code = 2;
	add_lines(912);
	print();
	cr_expect_str_eq(
		text,
		"[offloaded] make test: exit 2, 8,100 bytes, 912 lines -> "
		".offload/cache/shell/shell_1795291548_9f86d081884c7d65.txt (ref k3f9x2)\n"
		"This preview is partial. Read lines: cat .offload/refs/k3f9x2:11-70 "
		"or offload slice k3f9x2 11-70   Search: grep -n PATTERN .offload/refs/k3f9x2\n"
		"Keep it for good: mv "
		".offload/cache/shell/shell_1795291548_9f86d081884c7d65.txt .offload/persistent/\n"
		"--- lines 1-10 of 912 ---\n"
		"line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\nline 8\nline 9\nline 10\n"
		"--- lines 903-912 of 912 ---\n"
		"line 903\nline 904\nline 905\nline 906\nline 907\nline 908\nline 909\nline 910\n"
		"line 911\nline 912\n");
}

Test(client_pointer, same_bytes_same_text)
{
	char *first;

	add_lines(500);
	print();
	first = strdup(text);
	print();
	cr_expect_str_eq(text, first);
	free(first);
}

Test(client_pointer, short_content_is_shown_whole)
{
	add("one\ntwo\nthree");
	print();
	expect_part("13 bytes, 3 lines");
	expect_part("All of it is shown. Read it again: cat .offload/refs/k3f9x2\n");
	expect_part("--- lines 1-3 of 3 ---\none\ntwo\nthree\n");
	expect_no_part("partial");
	expect_no_part("exit");
}

Test(client_pointer, head_and_tail_meet_without_overlap)
{
	add_lines(15);
	print();
	expect_part("--- lines 1-15 of 15 ---\nline 1\n");
	expect_part("line 10\nline 11\n");
	expect_no_part("partial");
	ofs_spool_finish(&spool);
	add_lines(20);
	print();
	expect_part("--- lines 1-20 of 20 ---\n");
	expect_no_part("partial");
	ofs_spool_finish(&spool);
	add_lines(21);
	print();
	expect_part(":11-21 ");
	expect_part("--- lines 1-10 of 21 ---\n");
	expect_part("--- lines 12-21 of 21 ---\n");
	expect_no_part("line 11\n");
}

Test(client_pointer, empty_and_one_line)
{
	print();
	expect_part("0 bytes, 0 lines");
	expect_part("It is empty.\n");
	expect_no_part("---");
	add("x\n");
	print();
	expect_part("2 bytes, 1 line ");
	expect_part("--- line 1 of 1 ---\nx\n");
}

Test(client_pointer, long_lines_are_cut_and_read_by_bytes)
{
	char *line = malloc(50001);

	memset(line, 'x', 50000);
	line[50000] = '\0';
	add(line);
	free(line);
	print();
	expect_part(
		"This preview is partial. Read bytes: cat .offload/refs/k3f9x2:b0-4095 or offload "
		"slice k3f9x2 b0-4095   Search: grep -o PATTERN .offload/refs/k3f9x2\n");
	expect_part("xxx...[+49800 bytes]\n");
	cr_expect_lt(strlen(text), 1000);
}

Test(client_pointer, the_first_line_that_was_cut_is_where_to_read_on)
{
	char line[302];

	memset(line, 'y', 300);
	strcpy(line + 300, "\n");
	add("a\nb\n");
	add(line);
	add("c\n");
	print();
	expect_part(":3-4 ");
	expect_part("--- lines 1-4 of 4 ---\na\nb\n");
	expect_part("y...[+100 bytes]\nc\n");
}

Test(client_pointer, the_preview_is_bounded)
{
	char line[202];
	const char *preview;

	memset(line, 'z', 190);
	strcpy(line + 190, "\n");
	for (int i = 0; i < 100; i++)
		add(line);
	print();
	preview = strstr(text, "--- lines 1-5 of 100 ---\n");
	cr_assert_not_null(preview);
	expect_part("--- lines 96-100 of 100 ---\n");
	cr_expect_leq(strlen(preview), OFS_PREVIEW_MAX + 60);
}

Test(client_pointer, cuts_between_characters)
{
	struct ofs_preview plan;

	for (int i = 0; i < 150; i++)
		add("\xe2\x82\xac");
	print();
	expect_part("\xe2\x82\xac...[+252 bytes]\n"); /* 66 characters of 3 bytes fit into 200 */
	cr_assert_eq(ofs_preview_plan(&content, &plan), 0);
	cr_expect_eq(plan.first_missing, 1);
	ofs_preview_finish(&plan);
}

Test(client_pointer, harmless_to_a_terminal)
{
	add("\x1b[31mred\x1b[0m\r\nbell\a\n");
	add("late NUL ");
	cr_assert_eq(ofs_spool_append(&spool, "\xff\n", 2), 0);
	print();
	expect_part("red\nbell^G\nlate NUL \\xff\n");
	cr_expect_not(strchr(text, '\x1b'));
	expect_no_part("partial");
}

Test(client_pointer, binary_has_no_preview)
{
	cr_assert_eq(ofs_spool_append(&spool,
				      "\x7f"
				      "ELF\0\0\n\n",
				      8),
		     0);
	print();
	expect_part("8 bytes, binary -> ");
	expect_part("Binary, so no preview. Read bytes: cat .offload/refs/k3f9x2:b0-255 | od -c\n");
	expect_no_part("---");
}

Test(client_pointer, signals_and_titles)
{
	pointer.has_exit = true;
	pointer.exit_code = 137;
	pointer.signal = 9;
	pointer.what = "sh -c 'a\nb'\x1b[2J";
	add("x\n");
	print();
	expect_part("[offloaded] sh -c 'a b': exit 137 (signal 9), 2 bytes");
	cr_expect_not(strchr(text, '\x1b'));
}

Test(client_pointer, long_commands_are_cut)
{
	char what[301];

	memset(what, 'w', 300);
	what[300] = '\0';
	pointer.what = what;
	add("x\n");
	print();
	expect_part("www...: 2 bytes");
	cr_expect_lt(strchr(text, '\n') - text, 300);
}

Test(client_pointer, mounts_that_a_shell_must_have_quoted)
{
	pointer.mount = "/home/a b/.offload";
	add_lines(100);
	print();
	expect_part("cat '/home/a b/.offload/refs/k3f9x2':11-70 ");
	expect_part("grep -n PATTERN '/home/a b/.offload/refs/k3f9x2'\n");
	expect_part(".txt' '/home/a b/.offload/persistent/'\n");
}

Test(client_pointer, not_mounted)
{
	pointer.mount = NULL;
	add_lines(100);
	print();
	expect_part("-> cache/shell/shell_1795291548_9f86d081884c7d65.txt (ref k3f9x2)\n");
	expect_part(
		"Read lines: offload slice k3f9x2 11-70   To use cat and grep on it: offload up\n");
	expect_part("\nKeep it for good: offload promote k3f9x2\n");
	expect_no_part(".offload");
	pointer.hint = " --store /s";
	print();
	expect_part("offload slice --store /s k3f9x2 11-70 ");
	expect_part("offload up --store /s\n");
	expect_part("\nKeep it for good: offload promote --store /s k3f9x2\n");
}

Test(client_pointer, those_that_can_be_undone_are_shorter)
{
	add_lines(912);
	pointer.mark = "j-9f86d081";
	print();
	expect_part("[offloaded] make test: 8,100 bytes, 912 lines (ref k3f9x2, j-9f86d081)\n");
	expect_part("cat .offload/refs/k3f9x2:");
	expect_part("\nline 912\n");
	expect_no_part("Keep it");
	expect_no_part("cache/");
}

Test(client_pointer, secrets_are_not_shown)
{
	add("key = ghp_"
	    "A1b2C3d4E5f6G7h8I9j0"
	    "K1l2M3n4O5p6Q7r8\n");
	add_lines(3);
	add("-----BEGIN RSA PRIVATE"
	    " KEY-----\n");
	for (int i = 0; i < 30; i++)
		add("MIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0buA7JmQo1lBMGd9sZVnm4uJZ8Hk2L\n");
	add("-----END RSA PRIVATE"
	    " KEY-----\n");
	pointer.what = "curl -H 'Authorization: Bearer "
		       "aB3dE5fG7hI9jK1lM3nO5pQ7'";
	print();
	expect_no_part("A1b2C3");
	expect_no_part("MIIEpAIBAAK");
	expect_no_part("aB3dE5fG");
	expect_part("line 2\n");
	expect_part("[redacted: ");
	ofs_redact_set_enabled(false);
	print();
	ofs_redact_set_enabled(true);
	expect_part("A1b2C3");
	expect_part("aB3dE5fG");
}
