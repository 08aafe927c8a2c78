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
		.ref = "k3f9x2",
		.mount = "/w/.offload",
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
	add_lines(911);
	add("make: *** [all] Error 2\n");
	print();
	cr_expect_str_eq(
		text,
		"[offloaded] make test: exit 2, 8,115 bytes, 912 lines (ref k3f9x2)\n"
		"Read lines: cat /w/.offload/refs/k3f9x2:1-60 (grep and others without :1-60); "
		"keep it: offload promote k3f9x2\n"
		"--- 3 of 912 lines ---\n"
		"910: line 910\n911: line 911\n"
		"912: make: *** [all] Error 2\n");
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

Test(client_pointer, brief_ones_are_one_line)
{
	pointer.brief = true;
	add("one\ntwo\nthree");
	print();
	cr_expect_str_eq(text, "[offloaded] make test: 13 bytes, 3 lines (ref k3f9x2) "
			       "Read it: cat /w/.offload/refs/k3f9x2\n");
	pointer.mount = NULL;
	print();
	expect_part("Read it: offload slice k3f9x2 1-\n");
	pointer.mark = "j-9f86d081"; /* the path follows the pointer */
	print();
	cr_expect_str_eq(text, "[offloaded] make test: 13 bytes, 3 lines (ref k3f9x2, j-9f86d081)");
}

Test(client_pointer, lines_to_read_are_there)
{
	add_lines(3);
	print();
	expect_part(":1-3 ");
	add_lines(57);
	print();
	expect_part(":1-60 ");
}

Test(client_pointer, long_lines_are_read_by_bytes)
{
	char *line = malloc(50001);

	memset(line, 'x', 50000);
	line[50000] = '\0';
	add(line);
	free(line);
	print();
	expect_part("Read bytes: cat /w/.offload/refs/k3f9x2:b0-4095 (");
	cr_expect_lt(strlen(text), 1000);
}

Test(client_pointer, binary_has_no_outline)
{
	cr_assert_eq(ofs_spool_append(&spool,
				      "\x7f"
				      "ELF\0\0\n\n",
				      8),
		     0);
	print();
	expect_part("8 bytes, binary (ref ");
	expect_part("Read bytes: cat /w/.offload/refs/k3f9x2:b0-4095 | od -c; keep it");
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

Test(client_pointer, of_a_long_title_the_end_stays)
{
	pointer.what = "Read /home/somebody/projects/that-lie-deep/in-many-folders/of-a-monorepo/"
		       "packages/web/src/components/conversation/MessageList.test.tsx";
	add("x\n");
	print();
	expect_part("[offloaded] Read /home/somebody/");
	expect_part("...");
	expect_part("components/conversation/MessageList.test.tsx: 2 bytes");
	cr_expect_lt(strchr(text, '\n') - text, 200);
}

Test(client_pointer, mounts_that_a_shell_must_have_quoted)
{
	pointer.mount = "/home/a b/.offload";
	add_lines(100);
	print();
	expect_part("cat '/home/a b/.offload/refs/k3f9x2':1-60 ");
}

Test(client_pointer, not_mounted)
{
	pointer.mount = NULL;
	add_lines(100);
	print();
	expect_part("\nRead lines: offload slice k3f9x2 1-60 (for cat and grep: offload up); "
		    "keep it: offload promote k3f9x2\n");
	expect_no_part(".offload");
	pointer.hint = " --store /s";
	print();
	expect_part("offload slice --store /s k3f9x2 1-60 (for cat and grep: offload up --store "
		    "/s); keep it: offload promote --store /s k3f9x2\n");
}

Test(client_pointer, for_who_has_calls)
{
	pointer.by_call = true;
	add_lines(100);
	print();
	expect_part("\nRead lines: memory_fetch k3f9x2:1-60; keep it: memory_promote k3f9x2\n");
	expect_no_part(".offload");
}

Test(client_pointer, those_that_can_be_undone_have_their_code)
{
	add_lines(912);
	pointer.mark = "j-9f86d081";
	print();
	expect_part("[offloaded] make test: 8,100 bytes, 912 lines (ref k3f9x2, j-9f86d081)\n");
	/* A line with the path is added later. */
	expect_part("\nRead lines: cat the path below with :1-60 added; grep without\n");
	expect_part("\n912: line 912\n");
	expect_no_part("keep it");
}

Test(client_pointer, secrets_are_not_shown)
{
	pointer.what = "curl -H 'Authorization: Bearer "
		       "aB3dE5fG7hI9jK1lM3nO5pQ7'";
	add("x\n");
	print();
	expect_no_part("aB3dE5fG");
	expect_part("[redacted: ");
	ofs_redact_set_enabled(false);
	print();
	ofs_redact_set_enabled(true);
	expect_part("aB3dE5fG");
}

Test(client_pointer, pays_where_it_saves_half_and_500_tokens)
{
	cr_expect(ofs_pointer_pays(1000, 500));
	cr_expect_not(ofs_pointer_pays(999, 500));
	cr_expect_not(ofs_pointer_pays(600, 101));
	cr_expect(ofs_pointer_pays(600, 100));
	cr_expect_not(ofs_pointer_pays(0, 0));
	cr_expect_not(ofs_pointer_certainly_pays(OFS_OFFLOAD_READ_BYTES));
}
