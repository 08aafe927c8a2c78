/* SPDX-License-Identifier: MIT */
/* Summaries of messages by rule. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/tokens.h"
#include "base/util.h"
#include "base/text.h"
#include "context/snapshot/snapshot.h"

#define PLENTY 100000

static struct ofs_buf out;

static void finish(void)
{
	ofs_buf_finish(&out);
}

TestSuite(context_snapshot, .fini = finish);

/* Returns a snapshot of all messages but the last `keep`. */
static const char *snapshot(const char *json, size_t keep, const char *earlier, uint64_t max_tokens)
{
	OFS_CLEANUP(ofs_chat_finish) struct ofs_chat chat = { 0 };
	OFS_FREE bool *gone = NULL;
	struct ofs_error err;
	struct ofs_span list;

	cr_assert_eq(ofs_span_parse(json, strlen(json), &err, &list), 0, "%s", err.text);
	cr_assert_eq(ofs_chat_read(list, (struct ofs_span){ 0 }, &err, &chat), 0, "%s", err.text);
	gone = calloc(chat.n + 1, sizeof(*gone));
	for (size_t i = 0; i + keep < chat.n; i++)
		gone[i] = true;
	out.len = 0;
	ofs_snapshot_write(&chat, gone, earlier, earlier ? strlen(earlier) : 0, max_tokens, &out);
	ofs_buf_append(&out, "", 1);
	out.len--;
	return (const char *)out.data;
}

/* Every line must be a title or an item, not too long, and plain text. */
static void check_form(void)
{
	static const char *const titles[] = {
		"Goal",	     "Decisions", "Commits",	   "Tests, last state",
		"Done",	     "Looked up", "Files touched", "Errors",
		"Open ends", "Names",	  "References"
	};
	const char *p = (const char *)out.data, *end = p + out.len;
	size_t next = 0;
	bool empty = false;

	for (size_t i = 0; i < out.len;) {
		int n = ofs_text_utf8(out.data + i, out.len - i);

		cr_assert_gt(n, 0);
		cr_assert(out.data[i] >= 0x20 || out.data[i] == '\n');
		i += (size_t)n;
	}
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));

		cr_assert(eol);
		if (strncmp(p, "- ", 2) == 0) {
			cr_assert_gt(next, 0);
			cr_expect_leq(eol - p, 1000);
			empty = false;
		} else {
			cr_assert_not(empty);
			while (next < OFS_ARRAY_SIZE(titles) &&
			       strncmp(p, titles[next], strlen(titles[next])) != 0)
				next++;
			cr_assert_lt(next, OFS_ARRAY_SIZE(titles), "%.*s", (int)(eol - p), p);
			next++;
			empty = true;
		}
		p = eol + 1;
	}
	cr_assert_not(empty);
}

static void expect(const char *what)
{
	cr_expect(strstr((const char *)out.data, what), "no '%s' in:\n%s", what, out.data);
}

static void expect_not(const char *what)
{
	cr_expect_not(strstr((const char *)out.data, what), "'%s' in:\n%s", what, out.data);
}

static const char openai[] =
	"[{\"role\":\"user\",\"content\":\"Please fix the crash in the parser. It dies on empty input.\"},"
	"{\"role\":\"assistant\",\"content\":\"I'll look at the parser first.\",\"tool_calls\":[{\"id\":\"c1\","
	"\"type\":\"function\",\"function\":{\"name\":\"read_file\",\"arguments\":\"{\\\"path\\\":\\\"src/parser.py\\\"}\"}}]},"
	"{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"def parse(text):\\n    raise ValueError('error: x')\\n\"},"
	"{\"role\":\"assistant\",\"content\":\"The cause is a missing check for the empty text. Let me run it.\",\"tool_calls\":["
	"{\"id\":\"c2\",\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"python3 run.py > out.log\\\"}\"}}]},"
	"{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"Traceback (most recent call last):\\n  File \\\"run.py\\\", line 1\\n"
	"    parse('')\\nIndexError: string index out of range\\n\"},"
	"{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"c3\",\"type\":\"function\",\"function\":{\"name\":\"edit_file\","
	"\"arguments\":\"{\\\"path\\\":\\\"src/parser.py\\\",\\\"ticket_id\\\":\\\"PX-77\\\"}\"}},"
	"{\"id\":\"c4\",\"type\":\"function\",\"function\":{\"name\":\"create_file\",\"arguments\":\"{\\\"path\\\":\\\"tests/new.py\\\"}\"}}]},"
	"{\"role\":\"tool\",\"tool_call_id\":\"c3\",\"content\":\"ok\"},"
	"{\"role\":\"user\",\"content\":\"Also add a test for tabs.\"},"
	"{\"role\":\"assistant\",\"content\":\"Should I keep the old test?\"}]";

Test(context_snapshot, openai_form)
{
	snapshot(openai, 0, NULL, PLENTY);
	check_form();
	expect("Goal:\n- Please fix the crash in the parser. It dies on empty input.\n- Also add a test for tabs.\n");
	expect("- The cause is a missing check for the empty text.\n");
	expect_not("I'll look");
	expect("- src/parser.py (written, read)\n");
	expect("- tests/new.py (written)\n");
	expect("Errors:\n- `python3 run.py > out.log`: IndexError: string index out of range\n");
	expect("- Not answered yet: Should I keep the old test?\n");
	expect("- Called, no result yet: create_file tests/new.py\n");
	expect_not("error: x");
}

Test(context_snapshot, what_is_kept_answers_what_is_gone)
{
	static const char json[] =
		"[{\"role\":\"user\",\"content\":\"Book the flight HAT1.\"},"
		"{\"role\":\"assistant\",\"content\":\"Which class would you like?\"},"
		"{\"role\":\"user\",\"content\":\"Economy\"}]";

	snapshot(json, 1, NULL, PLENTY);
	expect_not("Open ends:");
	snapshot(json, 0, NULL, PLENTY);
	expect("Decisions:\n- Which class would you like? -> Economy\n");
}

Test(context_snapshot, the_system_speaks_among_the_messages)
{
	snapshot("[{\"role\":\"user\",\"content\":\"Write the report.\"},"
		 "{\"role\":\"assistant\",\"content\":\"Shall I begin?\"},"
		 "{\"role\":\"system\",\"content\":\"From now on answer in German.\"},"
		 "{\"role\":\"user\",\"content\":\"yes\"}]",
		 0, NULL, PLENTY);
	check_form();
	expect("Goal:\n- Write the report.\n- From now on answer in German.\n- yes\n");
}

Test(context_snapshot, what_is_not_gone_is_not_told)
{
	snapshot(openai, 9, NULL, PLENTY);
	cr_expect_eq(out.len, 0u, "%s", out.data);
	snapshot("[]", 0, NULL, PLENTY);
	cr_expect_eq(out.len, 0u);
}

Test(context_snapshot, anthropic_form)
{
	snapshot(
		"[{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Rename the module.\"},"
		"{\"type\":\"text\",\"text\":\"<system-reminder>\\nBe brief.\\n</system-reminder>\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"I decided to move it by git.\"},"
		"{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Edit\",\"input\":{\"file_path\":\"/w/a.go\",\"old_string\":\"x\"}},"
		"{\"type\":\"tool_use\",\"id\":\"t2\",\"name\":\"Bash\",\"input\":{\"command\":\"cd /w && go test ./... && git commit -qm x\"}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"is_error\":true,"
		"\"content\":\"String to replace not found in file.\"},"
		"{\"type\":\"tool_result\",\"tool_use_id\":\"t2\",\"content\":[{\"type\":\"text\",\"text\":\"[main 1a2b3c4] Rename it\\n 1 file\"}]}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t3\",\"name\":\"TodoWrite\",\"input\":{\"todos\":["
		"{\"content\":\"Rename\",\"status\":\"completed\"},{\"content\":\"Update docs\",\"status\":\"in_progress\"},"
		"{\"content\":\"Tag it\",\"status\":\"pending\"}]}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t3\",\"content\":\"ok\"}]}]",
		0, NULL, PLENTY);
	check_form();
	expect("Goal:\n- Rename the module.\n");
	expect_not("Be brief");
	expect("- I decided to move it by git.\n");
	expect("- /w/a.go (written)\n");
	expect("- Edit /w/a.go, old_string=x: String to replace not found in file.\n");
	expect("Open ends:\n- In progress: Update docs\n- To do: Tag it\n");
	expect_not("Rename\n- ");
}

Test(context_snapshot, responses_form)
{
	snapshot(
		"[{\"type\":\"message\",\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":\"Make the build green.\"}]},"
		"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":[\\\"bash\\\",\\\"-lc\\\",\\\"make all\\\"]}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c1\",\"output\":\"{\\\"output\\\":\\\"cc a.c\\\\na.c:3:1: error: no ';'\\\\n\\\",\\\"metadata\\\":{\\\"exit_code\\\":2}}\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c2\",\"name\":\"shell\",\"arguments\":\"{\\\"command\\\":[\\\"bash\\\",\\\"-lc\\\",\\\"make all\\\"]}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c2\",\"output\":\"{\\\"output\\\":\\\"done\\\",\\\"metadata\\\":{\\\"exit_code\\\":0}}\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c3\",\"name\":\"apply_patch\",\"arguments\":\"{\\\"input\\\":\\\"*** Begin Patch\\\\n*** Update File: a.c\\\\n+;\\\\n*** Add File: b.c\\\\n\\\"}\"},"
		"{\"type\":\"function_call_output\",\"call_id\":\"c3\",\"output\":\"ok\"}]",
		0, NULL, PLENTY);
	check_form();
	expect("- Make the build green.\n");
	expect("- `make all`: a.c:3:1: error: no ';' (went well later)\n");
	/* The service runs these itself, so no result follows them. */
	snapshot(
		"[{\"role\":\"user\",\"content\":\"Find it.\"},"
		"{\"type\":\"web_search_call\",\"id\":\"ws_1\",\"status\":\"completed\",\"action\":{\"query\":\"it\"}},"
		"{\"type\":\"mcp_call\",\"id\":\"m_1\",\"name\":\"roll\",\"arguments\":\"{}\",\"output\":\"4\"},"
		"{\"type\":\"function_call\",\"call_id\":\"c1\",\"name\":\"look\",\"arguments\":\"{}\"}]",
		0, NULL, PLENTY);
	check_form();
	expect("Open ends:\n- Called, no result yet: look\n");
	expect_not("roll");
}

Test(context_snapshot, confirmations)
{
	snapshot(
		"[{\"role\":\"user\",\"content\":\"Cancel my trip.\"},"
		"{\"role\":\"assistant\",\"content\":\"It costs $20. Shall I cancel reservation ABC?\"},"
		"{\"role\":\"user\",\"content\":\"yes\"},"
		"{\"role\":\"assistant\",\"content\":\"It has been cancelled. Refund to the card?\"},"
		"{\"role\":\"user\",\"content\":\"Yes, but to the card ending in 9725.\"},"
		"{\"role\":\"assistant\",\"content\":\"Done.\"},{\"role\":\"user\",\"content\":\"Thanks!\"}]",
		0, NULL, PLENTY);
	check_form();
	expect("- Shall I cancel reservation ABC? -> yes\n");
	expect("- It has been cancelled. Refund to the card?\n");
	expect("- Refund to the card? -> Yes, but to the card ending in 9725.\n");
	expect_not("Open ends");
}

/*
 * Returns a snapshot of one call of a tool, with these arguments (JSON) and this output (the inside
 * of a JSON string).
 */
static const char *one_call(const char *tool, const char *args, const char *output)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;

	ofs_buf_printf(&json,
		       "[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\","
		       "\"id\":\"1\",\"name\":\"%s\",\"input\":%s}]},{\"role\":\"user\","
		       "\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\","
		       "\"content\":\"%s\"}]}]",
		       tool, args, output);
	ofs_buf_append(&json, "", 1);
	return snapshot((const char *)json.data, 0, NULL, PLENTY);
}

Test(context_snapshot, commands_that_were_run)
{
	one_call("Bash", "{\"command\":\"make install\"}", "ok");
	expect("Done:\n- `make install`\n");
	one_call("shell", "{\"command\":[\"bash\",\"-lc\",\"git log --oneline\"]}", "1a2b3c4 One");
	expect("Looked up:\n- `git log --oneline`");
	one_call("shell", "{\"command\":\"grep -n x a.c 2>/dev/null | head\"}", "1:x\\n2:x");
	expect("Looked up:\n");
	one_call("shell", "{\"command\":\"cat a.c > b.c\"}", "1\\n2");
	expect("Done:\n");
	one_call("execute", "{\"cmd\":\"./configure\\nmake\"}", "a\\nb");
	expect("Done:\n- `./configure`\n");
}

Test(context_snapshot, names_from_results)
{
	snapshot(
		"[{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"1\",\"function\":{\"name\":\"find\",\"arguments\":\"{}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"ordinary words, src/lost_file.c and user_name_17, getUserId.\"},"
		"{\"role\":\"assistant\",\"content\":\"I read src/lost_file.c and other_thing.\"}]",
		0, NULL, PLENTY);
	check_form();
	/* Names used after the result count as newer. Names that no result has are left out. */
	expect("Names:\n- user_name_17, getUserId, src/lost_file.c\n");
	expect_not("- other_thing");
}

Test(context_snapshot, calls_that_were_made)
{
	static const struct {
		const char *tool, *args, *output, *line; /* line: NULL if there must be none */
	} cases[] = {
		{ "cancel_order", "{\"order_id\":\"W7\",\"reason\":\"late\",\"note\":null}", "{}",
		  "Done:\n- cancel_order order_id=W7, reason=late\n" },
		{ "mcp__mail__send_mail",
		  "{\"to\":[\"a\",\"b\"],\"urgent\":true,\"opts\":{\"x\":1}}", "Sent as message 12",
		  "Done:\n- mcp__mail__send_mail to=[2], urgent=true, opts={...} "
		  "-> Sent as message 12\n" },
		{ "restart", "{}", "ok", "Done:\n- restart\n" },
		{ "mcp__shop__getOrder", "{\"id\":\"W7\"}", "{\\\"a\\\":1}",
		  "Looked up:\n- mcp__shop__getOrder id=W7\n" },
		{ "calculate", "{\"expression\":\"2 * 3\"}", "6.0",
		  "Looked up:\n- calculate expression=2 * 3 -> 6.0\n" },
		{ "WebSearch", "{\"query\":\"fuse uring\"}", "1. a\\n2. b",
		  "Looked up:\n- WebSearch query=fuse uring\n" },
		{ "Grep", "{\"pattern\":\"login\",\"path\":\"src\"}", "a.c:1: login",
		  "Looked up:\n- Grep pattern=login, src -> a.c:1: login\n" },
		{ "TodoWrite", "{\"todos\":[]}", "ok", NULL },
		{ "Read", "{\"file_path\":\"/w/a.c\"}", "int x;", NULL },
		{ "Edit", "{\"file_path\":\"/w/a.c\",\"old_string\":\"a\"}", "ok", NULL },
		{ "cancel_order", "{\"order_id\":\"W7\"}", "Error: no such order", NULL },
		{ "cancel_order", "{\"order_id\":\"W7\"}",
		  "[offloaded] cancel_order: 9,000 bytes, 90 lines (ref k3f9x2)\\n--- lines 1-10 of 90 ---",
		  NULL },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		one_call(cases[i].tool, cases[i].args, cases[i].output);
		check_form();
		if (cases[i].line) {
			expect(cases[i].line);
		} else {
			expect_not("Done:");
			expect_not("Looked up:");
		}
	}
}

Test(context_snapshot, a_result_of_several_parts_is_one)
{
	snapshot(
		"[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"pay\",\"input\":{\"sum\":3}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":["
		"{\"type\":\"text\",\"text\":\"ok\"},{\"type\":\"text\",\"text\":\"ok\"}]}]}]",
		0, NULL, PLENTY);
	check_form();
	expect("Done:\n- pay sum=3\n");
}

Test(context_snapshot, what_was_done_stays_when_room_is_scarce)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	OFS_FREE char *earlier = NULL;

	ofs_buf_append_str(&json, "[");
	for (int i = 0; i < 40; i++)
		ofs_buf_printf(
			&json,
			"%s{\"role\":\"assistant\",\"tool_calls\":[{\"id\":\"c%d\",\"function\":"
			"{\"name\":\"%s\",\"arguments\":\"{\\\"n\\\":%d}\"}}]},"
			"{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"ok\"}",
			i ? "," : "", i, i % 4 ? "get_seat" : "book_seat", i % 4 ? i : 7, i);
	ofs_buf_append(&json, "]", 2);
	snapshot((const char *)json.data, 0, NULL, PLENTY);
	check_form();
	expect("Done:\n- book_seat n=7 x10\n");
	/* The last of the lookups stay. */
	expect("Looked up:\n- get_seat n=14\n");
	expect("- get_seat n=39\n");
	earlier = strdup((const char *)out.data);
	snapshot("[]", 0, earlier, PLENTY);
	cr_expect_str_eq((const char *)out.data, earlier);
	snapshot((const char *)json.data, 0, earlier, 20);
	check_form();
	expect("Done:\n- book_seat n=7 x20\n");
	expect_not("Looked up:");
}

Test(context_snapshot, outputs_that_failed)
{
	static const struct {
		const char *output;
		const char *line; /* NULL: not a failure */
	} cases[] = {
		{ "ok\\n", NULL },
		{ "", NULL },
		{ "0 errors, 0 failed\\n", NULL },
		{ "EISDIR: illegal operation on a directory, read",
		  "EISDIR: illegal operation on a directory, read" },
		{ "The user doesn't want to proceed with this tool use.\\nx",
		  "The user doesn't want to proceed with this tool use." },
		{ "{\\\"error\\\":\\\"no such user\\\"}", "no such user" },
		{ "{\\\"error\\\":null,\\\"n\\\":1}", NULL },
		{ "{\\\"success\\\":false,\\\"message\\\":\\\"bad date\\\"}", "bad date" },
		{ "{\\\"error\\\":{\\\"code\\\":4,\\\"message\\\":\\\"quota\\\"}}", "quota" },
		{ "x\\nFAILED tests/a.py::b - AssertionError\\n",
		  "FAILED tests/a.py::b - AssertionError" },
		{ "== 2 failed, 3 passed in 1s ==\\n", "== 2 failed, 3 passed in 1s ==" },
		{ "something went badly\\nExit code: 3\\n", "something went badly" },
		{ "all well\\nexit code: 0\\n", NULL },
		{ "bash: foo: command not found\\n", "bash: foo: command not found" },
		{ "a\\u001b[31mb\\nerror: \\u001b[1mred\\u001b[0m\\u0007 line\\n",
		  "error: red line" },
		{ "x.c:1:2: error: bad\\nx.c:2:2: error: worse\\n", "x.c:1:2: error: bad" },
		{ "    error: within a listing\\n", NULL },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		char json[1024], line[256];

		snprintf(
			json, sizeof(json),
			"[{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"function\":"
			"{\"name\":\"run_job\",\"arguments\":\"{}\"}}]},"
			"{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"%s\"}]",
			cases[i].output);
		snapshot(json, 0, NULL, PLENTY);
		check_form();
		if (!cases[i].line) {
			expect_not("Errors:");
			expect("Done:\n- run_job");
			continue;
		}
		snprintf(line, sizeof(line), "Errors:\n- run_job: %s\n", cases[i].line);
		expect(line);
	}
}

/* A chat with a lot to summarize: `n` calls, `refs` of which have pointers as results. */
static void make_chat(struct ofs_buf *json, unsigned n, unsigned refs)
{
	ofs_buf_printf(
		json,
		"[{\"role\":\"user\",\"content\":\"Do the long task with all of its parts.\"}");
	for (unsigned i = 0; i < n; i++) {
		ofs_buf_printf(
			json,
			",{\"role\":\"assistant\",\"content\":\"The cause of part %u is due to file %u.\",\"tool_calls\":["
			"{\"id\":\"c%u\",\"function\":{\"name\":\"write_file\",\"arguments\":"
			"\"{\\\"path\\\":\\\"src/file%u.c\\\",\\\"user_id\\\":\\\"user%u\\\"}\"}}]}",
			i, i, i, i, i);
		if (i < refs)
			ofs_buf_printf(
				json,
				",{\"role\":\"tool\",\"tool_call_id\":\"c%u\",\"content\":\"[offloaded] make part%u: exit 0, "
				"9,000 bytes, 90 lines (ref ab%04u, j-9f86d081)\\n(detailed result is stored in "
				".offload/refs/ab%04u)\"}",
				i, i, i, i);
		else
			ofs_buf_printf(
				json,
				",{\"role\":\"tool\",\"tool_call_id\":\"c%u\",\"content\":\"Error: number %u\"}",
				i, i);
	}
	ofs_buf_append(json, "]", 2);
}

Test(context_snapshot, pointers_are_referred_to)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;

	make_chat(&json, 3, 2);
	snapshot((const char *)json.data, 0, NULL, PLENTY);
	check_form();
	expect("- .offload/refs/ab0001: make part1: exit 0, 9,000 bytes, 90 lines\n");
	snapshot(
		"[{\"role\":\"user\",\"content\":\"See this: \\n[offloaded] make: exit 2, 900 bytes, 9 lines (ref k3f9x2)"
		"\\nRead lines: cat /m/refs/k3f9x2:1-9 (grep)\"},"
		"{\"role\":\"tool\",\"content\":\"[offloaded] make x: exit 2, 900 bytes, 9 lines (ref k3f9x3)\\nx\\nfoo.c:1: error: z\\n\"}]",
		0, NULL, PLENTY);
	expect("- /m/refs/k3f9x2: make: exit 2, 900 bytes, 9 lines\n");
	expect("- refs/k3f9x3: make x: exit 2, 900 bytes, 9 lines\n");
	expect("Errors:\n- foo.c:1: error: z\n");
}

/* The newest pointer to a result counts; an older one may have a longer path. */
Test(context_snapshot, a_result_that_is_referred_to_twice)
{
	static const char json[] =
		"[{\"role\":\"tool\",\"content\":\"[offloaded] make: exit 2 (ref k3f9x2)\\n"
		"(detailed result is stored in /home/ann/project/long/.offload/refs/k3f9x2)\"},"
		"{\"role\":\"user\",\"content\":\"[offloaded] ls, 5 KB (ref k3f9x2)\"}]";

	snapshot(json, 0, NULL, PLENTY);
	expect("References:\n- refs/k3f9x2: ls, 5 KB\n");
	snapshot(json, 0, NULL, 0);
	check_form();
	expect("References:\n- also stored in refs/: k3f9x2\n");
}

Test(context_snapshot, commits_and_the_last_state_of_the_tests)
{
	snapshot(
		"[{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"1\",\"name\":\"Bash\",\"input\":{\"command\":\"make check\"}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"1\",\"content\":\"2 failed, 3 passed\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"2\",\"name\":\"Bash\",\"input\":{\"command\":\"make check\"}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"2\",\"content\":\"5 passed in 2 s\"}]},"
		"{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"3\",\"name\":\"Bash\",\"input\":{\"command\":\"git commit -qam x\"}}]},"
		"{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"3\",\"content\":\"[main 1a2b3c4] Fix it\\n 1 file changed\"}]}]",
		0, NULL, PLENTY);
	check_form();
	expect("Commits:\n- 1a2b3c4 Fix it\n");
	expect("Tests, last state:\n- `make check`: 5 passed in 2 s\n");
	{
		OFS_FREE char *first = strdup((const char *)out.data);

		cr_expect_str_eq(snapshot("[]", 0, first, PLENTY), first);
	}
}

Test(context_snapshot, what_comes_next_is_an_open_end)
{
	snapshot("[{\"role\":\"assistant\",\"content\":\"Let me look at it.\"},"
		 "{\"role\":\"assistant\",\"content\":\"The parser is wrong.\"},"
		 "{\"role\":\"assistant\",\"content\":\"Now let me mend the parser.\"}]",
		 0, NULL, PLENTY);
	check_form();
	expect("Decisions:\n- The parser is wrong.\n");
	expect("Open ends:\n- Next: mend the parser.\n");
	expect_not("look at it");
}

Test(context_snapshot, a_folder_is_named_once)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	static const char *const paths[] = { "/home/a/project/src/a.c", "/home/a/project/src/b.c",
					     "/home/a/project/README.md", "/tmp/x.c" };

	ofs_buf_append_str(&json, "[");
	for (size_t i = 0; i < OFS_ARRAY_SIZE(paths); i++)
		ofs_buf_printf(
			&json,
			"%s{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"%zu\","
			"\"name\":\"Read\",\"input\":{\"file_path\":\"%s\"}}]}",
			i ? "," : "", i, paths[i]);
	ofs_buf_append(&json, "]", 2);
	snapshot((const char *)json.data, 0, NULL, PLENTY);
	expect("Files touched in /home/a/project/:\n- src/a.c (read)\n- src/b.c (read)\n"
	       "- README.md (read)\n- /tmp/x.c (read)\n");
	{
		OFS_FREE char *first = strdup((const char *)out.data);

		cr_expect_str_eq(snapshot("[]", 0, first, PLENTY), first);
	}
}

/* `**` in a pattern is not Markdown emphasis. */
Test(context_snapshot, arguments_are_not_edited)
{
	one_call("Glob", "{\"pattern\":\"assets/**/*.css\"}", "a\\nb");
	expect("Glob pattern=assets/**/*.css\n");
	one_call("Grep", "{\"pattern\":\"# x](http://a)\"}", "a\\nb");
	expect("Grep pattern=# x](http://a)\n");
}

Test(context_snapshot, within_its_budget_and_with_all_refs)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	static const uint64_t budgets[] = { 0, 1, 20, 60, 100, 200, 300, 500, 1000, 2000, 5000 };
	uint64_t last = 0;

	make_chat(&json, 60, 0);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(budgets); i++) {
		uint64_t tokens;

		snapshot((const char *)json.data, 0, NULL, budgets[i]);
		check_form();
		tokens = ofs_tokens_count(out.data, out.len);
		cr_expect_leq(tokens, budgets[i] + budgets[i] / 10, "%zu of %zu", (size_t)tokens,
			      (size_t)budgets[i]);
		cr_expect_geq(tokens + 40, last);
		last = tokens;
		if (budgets[i] >= 60)
			expect("Goal:\n- Do the long task with all of its parts.\n");
		if (budgets[i] >= 200)
			expect("number 59");
	}
	json.len = 0;
	make_chat(&json, 60, 30);
	snapshot((const char *)json.data, 0, NULL, 20);
	check_form();
	for (unsigned i = 0; i < 30; i++) {
		char ref[16];

		snprintf(ref, sizeof(ref), "ab%04u", i);
		expect(ref);
	}
	expect("- also stored in .offload/refs/: ab0000, ab0001, ");
	cr_expect_leq(ofs_tokens_count(out.data, out.len), 30 * 4 + 40u);
}

Test(context_snapshot, goes_into_the_next_one)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
	OFS_FREE char *first = NULL, *small = NULL;

	make_chat(&json, 10, 4);
	first = strdup(snapshot((const char *)json.data, 0, NULL, PLENTY));
	cr_expect_str_eq(snapshot("[]", 0, first, PLENTY), first);
	small = strdup(snapshot((const char *)json.data, 0, NULL, 100));
	snapshot("[]", 0, small, PLENTY);
	expect("ab0003");
	/* Repeated items are merged, new ones added, and the goal is kept. */
	snapshot(
		"[{\"role\":\"user\",\"content\":\"Now update the docs too.\"},"
		"{\"role\":\"assistant\",\"content\":\"The cause of part 1 is due to file 1.\",\"tool_calls\":[{\"id\":\"x\",\"function\":"
		"{\"name\":\"write_file\",\"arguments\":\"{\\\"path\\\":\\\"src/file1.c\\\"}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"x\",\"content\":\"Error: number 5\"}]",
		0, first, PLENTY);
	check_form();
	expect("Goal:\n- Do the long task with all of its parts.\n- Now update the docs too.\n");
	expect("- src/file1.c (written)\n");
	expect("- write_file src/file1.c: Error: number 5\n");
	expect_not("Names:");
	expect("- .offload/refs/ab0003: make part3");
	cr_expect_null(strstr(strstr((const char *)out.data, "cause of part 1 is") + 1,
			      "cause of part 1 is"));
}

/* Only calls and errors are counted: elsewhere " x2" is part of the text. */
Test(context_snapshot, what_ends_like_a_count_stays)
{
	static const char first[] = "Goal:\n- Enlarge the icons x2\n"
				    "Decisions:\n- Which size? -> x2\n"
				    "Done:\n- resize x1\n- resize x0\n- draw x3\n";

	cr_expect_str_eq(snapshot("[]", 0, first, PLENTY), first);
}

Test(context_snapshot, an_earlier_one_may_be_anything)
{
	static const char *const earlier[] = {
		"",
		"\n\n",
		"Goal:",
		"- x",
		"Goal:\n- \n-\n- a",
		"Files touched:\n- a\n- ()\n- a ()\n- a (read x)\n- b (read x999999999999)",
		"References:\n- also stored in \n- also stored in x: \n- refs/\n- refs/k3f9x2\n- : ",
		"Errors:\n- x3\n-  x3\n- (went well later)\n",
		"\xff\xfe\nGoal:\n- a\nUnknown:\n- b\n",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(earlier); i++)
		snapshot("[{\"role\":\"user\",\"content\":\"Go to the moon.\"}]", 0, earlier[i],
			 PLENTY);
	expect_not("- b\n");
}

Test(context_snapshot, texts_are_made_harmless)
{
	snapshot(
		"[{\"role\":\"user\",\"content\":\"Fix \\u001b[31mred\\u001b[0m \\ud800 \\u202eparts\\u0000 of\\tit.\\u0085\"},"
		"{\"role\":\"assistant\",\"content\":\"\\u4e2d\\u6587\\u3002 I decided on \\u00e9t\\u00e9.\"}]",
		0, NULL, PLENTY);
	check_form();
	expect("- Fix red parts of it.\n");
	expect("- \xe4\xb8\xad\xe6\x96\x87\xe3\x80\x82 I decided on \xc3\xa9t\xc3\xa9.\n");
}

Test(context_snapshot, long_texts_are_cut)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;

	ofs_buf_printf(&json, "[{\"role\":\"user\",\"content\":\"");
	for (unsigned i = 0; i < 2000; i++)
		ofs_buf_append_str(&json, "word\\u00e9\xe4\xb8\xad ");
	ofs_buf_printf(
		&json,
		"\"},{\"role\":\"assistant\",\"content\":null,\"tool_calls\":[{\"id\":\"1\",\"function\":"
		"{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"make all\\\"}\"}}]},"
		"{\"role\":\"tool\",\"tool_call_id\":\"1\",\"content\":\"start\\n");
	for (unsigned i = 0; i < 200000; i++)
		ofs_buf_append_str(&json, i % 7 ? "\\u00e9\\\\\\\"x" : "\\n");
	ofs_buf_append(&json, "\\nerror: at the end\\n\"}]", sizeof("\\nerror: at the end\\n\"}]"));
	snapshot((const char *)json.data, 0, NULL, PLENTY);
	check_form();
	expect("word\xc3\xa9\xe4\xb8\xad...\n");
	expect("- `make all`: error: at the end\n");
}

/* JSON with random pieces of what the rules look for. */
Test(context_snapshot, any_texts)
{
	static const char *const parts[] = {
		"```",
		"\\n",
		"<command>",
		"</command>",
		"- ",
		"1. ",
		"error: ",
		"Traceback (most recent call last):\\n",
		"[offloaded] ",
		" (ref ",
		"k3f9x2",
		"(detailed result is stored in ",
		")",
		" -> ",
		"refs/",
		"Exit code: 1",
		"let's ",
		"?",
		". ",
		"\\ud83d",
		"\\u0000",
		"\\u001b]",
		"\\u001b[",
		"cat > a.txt << EOF\\n",
		"EOF",
		"'",
		"\\\"",
		"(Open file: ",
		"a/b.c",
		"{",
		"}",
		"https://",
		"\\\\",
		"$(",
		";",
		"\xe4\xb8\xad",
		"*** Add File: ",
		"ISSUE:\\n",
		"\\nINSTRUCTIONS:",
		"plan:\\n",
		"bash-$",
		"edit ",
		"](http",
		"**",
	};
	unsigned seed = 7;

	for (unsigned round = 0; round < 4000; round++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf json = OFS_BUF_INIT;
		static const char *const forms[] = {
			"{\"role\":\"user\",\"content\":\"%s\"}",
			"{\"role\":\"assistant\",\"content\":\"%s\"}",
			"{\"role\":\"tool\",\"content\":\"%s\"}",
			"{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"bash\",\"arguments\":{\"command\":\"%s\"}}}]}",
			"{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"patch\",\"arguments\":{\"input\":\"%s\"}}}]}",
			"{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"edit\",\"arguments\":\"%s\"}}]}",
		};

		ofs_buf_append_str(&json, "[");
		for (unsigned i = 0; i < 6; i++) {
			OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;
			const char *form, *at;

			for (unsigned k = 0; k < 1 + round % 13; k++) {
				seed = seed * 1103515245 + 12345;
				ofs_buf_append_str(&text,
						   parts[(seed >> 16) % OFS_ARRAY_SIZE(parts)]);
			}
			seed = seed * 1103515245 + 12345;
			form = forms[(seed >> 16) % OFS_ARRAY_SIZE(forms)];
			at = strstr(form, "%s");
			ofs_buf_append_str(&json, i ? "," : "");
			ofs_buf_append(&json, form, (size_t)(at - form));
			ofs_buf_append(&json, text.data, text.len);
			ofs_buf_append_str(&json, at + 2);
		}
		ofs_buf_append(&json, "]", 2);
		snapshot((const char *)json.data, 0, NULL, round % 2 ? PLENTY : 50);
		check_form();
	}
}
