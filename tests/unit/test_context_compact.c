/* SPDX-License-Identifier: MIT */
/* Large results become pointers, which are brief if the chat must become still smaller. */
#include "test_context_fixture.h"

TestSuite(context_compact, .init = begin, .fini = finish);

/* ---- compacting */

Test(context_compact, large_results_become_pointers)
{
	OFS_FREE char *list = chat_of(3, 4000);
	OFS_FREE char *managed = NULL;
	struct ofs_chat before, after;

	expect_reversible(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT, &managed, NULL);
	must(ask(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT));
	cr_expect(ofs_span_is_string(ofs_span_member(root, "answer")));
	cr_expect_eq(*ofs_span_member(root, "success").p, 't');
	cr_expect_eq(told("offloaded"), 2); /* the last result stays */
	cr_expect_eq(count_pointers(managed), 2);
	cr_expect_lt(told("tokens_after"), told("tokens_before"));
	read_chat(list, &before);
	read_chat(managed, &after);
	cr_assert_eq(before.n, after.n);
	for (size_t i = 0; i < before.n; i++) {
		struct ofs_span a = before.messages[i].whole, b = after.messages[i].whole;

		cr_expect_eq(before.messages[i].role, after.messages[i].role);
		if (i == 3 || i == 5) {
			cr_expect_lt(b.len, a.len);
			continue;
		}
		cr_expect(a.len == b.len && memcmp(a.p, b.p, a.len) == 0, "message %zu was touched",
			  i);
	}
	ofs_chat_finish(&before);
	ofs_chat_finish(&after);
}

Test(context_compact, files_are_told)
{
	OFS_FREE char *list = chat_of(2, 4000);
	struct ofs_span files, name, file;
	struct ofs_span_cursor c;
	long long n;

	must(ask(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT));
	files = ofs_span_member(ofs_span_member(root, "metadata"), "write_file_dict");
	c = ofs_span_enter(files);
	cr_assert(ofs_span_next_member(&c, &name, &file));
	{
		OFS_FREE char *path = ofs_span_text(name);
		OFS_FREE char *ref = ofs_span_text(ofs_span_member(file, "ref"));
		OFS_FREE char *tool = ofs_span_text(ofs_span_member(file, "tool"));

		cr_expect_eq(strncmp(path, "refs/", 5), 0);
		cr_expect_str_eq(path + 5, ref);
		cr_expect_str_eq(tool, "shell");
	}
	cr_expect(ofs_span_integer(ofs_span_member(file, "message"), &n) && n == 3);
	cr_expect(ofs_span_integer(ofs_span_member(file, "bytes"), &n) && n > 3000);
	cr_expect_not(ofs_span_next_member(&c, &name, &file));
}

Test(context_compact, nothing_to_do_stores_nothing)
{
	OFS_FREE char *list = chat_of(3, 100);
	static const char empty[] = "[ \n ]";

	for (enum ofs_manage_mode mode = OFS_MANAGE_COMPACT; mode <= OFS_MANAGE_AUTO; mode++) {
		OFS_FREE char *managed = NULL;

		if (mode != OFS_MANAGE_COMPRESS) {
			must(ask(mode, list, NULL, ""));
			managed = answered("messages");
			expect_str(managed, list, "the list");
			cr_expect_eq(told("tokens_saved"), 0);
		}
		must(ask(mode, empty, "\"Be good.\"", ""));
		free(managed);
		managed = answered("messages");
		expect_str(managed, empty, "the list");
	}
	cr_expect_neq(access(store, F_OK), 0, "there is a store");
}

Test(context_compact, the_same_input_gives_the_same_output)
{
	OFS_FREE char *list = chat_of(8, 4000);

	for (enum ofs_manage_mode mode = OFS_MANAGE_COMPACT; mode <= OFS_MANAGE_AUTO; mode++) {
		OFS_FREE char *first = NULL;

		must(ask(mode, list, NULL, SMALL_LIMIT));
		first = strndup((char *)answer.data, answer.len);
		reopen();
		must(ask(mode, list, NULL, SMALL_LIMIT));
		cr_expect_eq(answer.len, strlen(first));
		cr_expect_eq(memcmp(answer.data, first, answer.len), 0);
	}
}

Test(context_compact, keep_recent_count)
{
	OFS_FREE char *list = chat_of(5, 4000);
	static const struct {
		const char *more;
		size_t pointers;
	} cases[] = {
		{ SMALL_LIMIT ", \"keep_recent_count\": 0", 5 },
		{ SMALL_LIMIT ", \"keep_recent_count\": null", 4 },
		{ SMALL_LIMIT ", \"keep_recent_count\": 3", 2 },
		{ SMALL_LIMIT ", \"keep_recent_count\": 5", 0 },
		{ SMALL_LIMIT ", \"keep_recent_count\": 9223372036854775807", 0 },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		OFS_FREE char *managed = NULL;

		expect_reversible(OFS_MANAGE_COMPACT, list, NULL, cases[i].more, &managed, NULL);
		cr_expect_eq(count_pointers(managed), cases[i].pointers, "%s: %zu", cases[i].more,
			     count_pointers(managed));
	}
	options.keep = 2; /* overrides the request */
	must(ask(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT ", \"keep_recent_count\": 0"));
	cr_expect_eq(told("offloaded"), 3);
}

Test(context_compact, a_managed_list_stays_as_it_is)
{
	OFS_FREE char *list = chat_of(5, 4000);
	OFS_FREE char *managed = NULL;
	OFS_FREE char *again = NULL;

	expect_reversible(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT ", \"keep_recent_count\": 0",
			  &managed, NULL);
	must(ask(OFS_MANAGE_COMPACT, managed, NULL,
		 ", \"max_tool_message_tokens\": 0, \"keep_recent_count\": 0"));
	again = answered("messages");
	expect_str(again, managed, "the list");
	cr_expect_eq(told("offloaded"), 0);
}

Test(context_compact, what_was_read_back_is_not_offloaded)
{
	static const char *const args[] = {
		"{\\\"command\\\": \\\"offload slice k3f9x2 1-60\\\"}",
		"{\\\"command\\\": \\\"cat .offload/refs/k3f9x2:1-60\\\"}",
		"{\\\"path\\\": \\\"/a/b/.offload/refs/k3f9x2\\\"}",
		"{\\\"path\\\": \\\".offload\\\\/refs\\\\/k3f9x2\\\"}", /* as PHP escapes it */
		"{\\\"command\\\": \\\"offload show k3f9x2\\\"}",
		"{\\\"memory_id\\\": \\\"k3f9x2\\\", \\\"line_start\\\": 1}",
	};
	OFS_FREE char *text = lines(4000, 1);

	for (size_t i = 0; i < OFS_ARRAY_SIZE(args); i++) {
		OFS_FREE char *list = NULL;

		cr_assert_gt(
			asprintf(
				&list,
				"[{\"role\": \"user\", \"content\": \"go\"}, {\"role\": \"assistant\", "
				"\"tool_calls\": [{\"id\": \"c1\", \"function\": {\"name\": \"shell\", "
				"\"arguments\": \"%s\"}}]}, "
				"{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"%s\"}]",
				args[i], text),
			0);
		must(ask(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT ", \"keep_recent_count\": 0"));
		cr_expect_eq(told("offloaded"), 0, "%s", args[i]);
	}
}

Test(context_compact, results_that_quote)
{
	OFS_FREE char *first = chat_of(2, 4000);
	OFS_FREE char *managed = NULL;
	OFS_FREE char *pointer = NULL;
	struct ofs_chat chat;
	static const char *const forms[] = {
		"%s\\n%s",
		"before\\n%s\\n%s",
		" %s%s",
		"[offloaded] of\\n%s\\n%s\\n",
		"<state_snapshot messages=\\\"2\\\">\\n%s%s\\n</state_snapshot>\\n"
		"(original messages are stored in refs/k3f9x2)",
	};

	expect_reversible(OFS_MANAGE_COMPACT, first, NULL, SMALL_LIMIT, &managed, NULL);
	read_chat(managed, &chat);
	/* As written in the list, without its quotes. */
	pointer = strndup(chat.results[0].text.p + 1, chat.results[0].text.len - 2);
	ofs_chat_finish(&chat);
	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms); i++) {
		OFS_FREE char *text = lines(4000, (unsigned int)i);
		OFS_FREE char *content = NULL;
		OFS_FREE char *list = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		cr_assert_gt(asprintf(&content, forms[i], pointer, text), 0);
#pragma GCC diagnostic pop
		cr_assert_gt(
			asprintf(&list,
				 "[{\"role\": \"user\", \"content\": \"%s\"}, " CALL(
					 "c",
					 "{}") ", "
					       "{\"role\": \"tool\", \"tool_call_id\": \"c\", \"content\": \"%s\"}, "
					       "{\"role\": \"user\", \"content\": \"next\"}]",
				 content, content),
			0);
		expect_reversible(OFS_MANAGE_COMPACT, list, NULL,
				  SMALL_LIMIT ", \"keep_recent_count\": 0", NULL, NULL);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, SMALL_LIMIT, NULL, NULL);
	}
}

Test(context_compact, within_the_limit_nothing_is_done)
{
	OFS_FREE char *list = chat_of(3, 9000);

	for (enum ofs_manage_mode mode = OFS_MANAGE_COMPACT; mode <= OFS_MANAGE_COMPRESS; mode++) {
		OFS_FREE char *managed = NULL;

		must(ask(mode, list, NULL,
			 ", \"max_total_tokens\": 20000, \"max_tool_message_tokens\": 10"));
		managed = answered("messages");
		expect_str(managed, list, "the list");
	}
	must(ask(OFS_MANAGE_AUTO, list, NULL, ", \"max_total_tokens\": 20000"));
	cr_expect_eq(told("offloaded"), 3, "results go when they come");
}

Test(context_compact, a_pointer_has_to_pay)
{
	OFS_FREE char *list = chat_of(3, 900);

	must(ask(OFS_MANAGE_AUTO, list, NULL, ", \"max_total_tokens\": 20000"));
	cr_expect_eq(told("offloaded"), 0);
	must(ask(OFS_MANAGE_AUTO, list, NULL,
		 ", \"max_total_tokens\": 20000, \"max_tool_message_tokens\": 10"));
	cr_expect_eq(told("offloaded"), 0);
}

/* ---- over many turns */

/* Joins two JSON lists. */
static char *joined(const char *list, const char *more)
{
	char *text;

	cr_assert_gt(asprintf(&text, "%.*s, %s", (int)strlen(list) - 1, list, more + 1), 0);
	return text;
}

/*
 * Every answer keeps within the limit. What was sent before is repeated as it was, except where
 * older messages are summarized. The original list can be restored.
 */
Test(context_compact, many_turns)
{
	static const size_t sizes[] = { 100, 3000, 500, 9000, 40, 1500, 60000, 200 };
	OFS_FREE char *have = chat_of(0, 0);
	OFS_FREE char *plain = ofs_strdup(have);
	size_t breaks = 0, compressions = 0;

	for (size_t turn = 0; turn < 120; turn++) {
		OFS_FREE char *text = lines(sizes[turn % OFS_ARRAY_SIZE(sizes)], (unsigned)turn);
		OFS_FREE char *came = NULL;
		OFS_FREE char *asked = NULL;
		OFS_FREE char *grown = NULL;

		cr_assert_gt(
			asprintf(
				&came,
				"[" CALL("c",
					 "{\\\"command\\\": \\\"make\\\"}") ", "
									    "{\"role\": \"tool\", \"tool_call_id\": \"c\", "
									    "\"content\": \"%s\"}]",
				text),
			0);
		asked = joined(have, came);
		grown = joined(plain, came);
		must(ask(OFS_MANAGE_AUTO, asked, NULL, ", \"max_total_tokens\": 8000"));
		cr_expect_leq(told("tokens_after"), 8000, "turn %zu", turn);
		compressions += told("summarized") > 0;
		free(have);
		have = answered("messages");
		breaks += strncmp(have, asked, strlen(asked) - strlen(came)) != 0;
		free(plain);
		plain = ofs_steal(grown);
	}
	cr_expect_gt(compressions, 0);
	cr_expect_lt(compressions, 12);
	cr_expect_leq(breaks, compressions);
	expect_restored(have, NULL, plain, NULL);
}

/* ---- single results that exceed the limit */

Test(context_compact, large_results_that_stay_become_brief)
{
	OFS_FREE char *list = chat_of(2, 60000);
	OFS_FREE char *managed = NULL;

	expect_reversible(OFS_MANAGE_AUTO, list, NULL,
			  ", \"max_total_tokens\": 400, \"keep_recent_count\": 9", &managed, NULL);
	cr_expect_eq(count_pointers(managed), 1);
	cr_expect_eq(count_of(managed, "---"), 0, "there are outlines");
}

Test(context_compact, parallel_results_are_squeezed)
{
	struct ofs_buf list = OFS_BUF_INIT;
	OFS_FREE char *managed = NULL;

	ofs_buf_append_str(&list, "[{\"role\": \"user\", \"content\": \"go\"}, {\"role\": "
				  "\"assistant\", \"tool_calls\": [");
	for (int i = 0; i < 10; i++)
		ofs_buf_printf(&list,
			       "%s{\"id\": \"c%d\", \"function\": {\"name\": \"shell\", "
			       "\"arguments\": \"{}\"}}",
			       i ? ", " : "", i);
	ofs_buf_append_str(&list, "]}");
	for (int i = 0; i < 10; i++) {
		OFS_FREE char *text = lines(9000, (unsigned)i);

		ofs_buf_printf(&list,
			       ", {\"role\": \"tool\", \"tool_call_id\": \"c%d\", \"content\": "
			       "\"%s\"}",
			       i, text);
	}
	ofs_buf_append(&list, "]", 2);
	must(ask(OFS_MANAGE_AUTO, (char *)list.data, NULL, ", \"max_total_tokens\": 2500"));
	managed = answered("messages");
	cr_expect_leq(told("tokens_after"), 2500);
	cr_expect_eq(count_pointers(managed), 10);
	expect_restored(managed, NULL, (char *)list.data, NULL);
	ofs_buf_finish(&list);
}

Test(context_compact, what_cannot_be_smaller_is_told)
{
	OFS_FREE char *text = lines(20000, 1);
	OFS_FREE char *list = NULL;
	OFS_FREE char *why = NULL;

	cr_assert_gt(asprintf(&list, "[{\"role\": \"user\", \"content\": \"%s\"}]", text), 0);
	must(ask(OFS_MANAGE_AUTO, list, NULL, ""));
	why = ofs_span_text(ofs_span_member(ofs_span_member(root, "metadata"), "note"));
	cr_assert(why);
}

Test(context_compact, a_result_that_fills_the_prompt_is_not_kept)
{
	OFS_FREE char *list = chat_of(1, 30000);

	must(ask(OFS_MANAGE_COMPACT, list, NULL, ", \"max_total_tokens\": 5000"));
	cr_expect_eq(told("offloaded"), 1);
	must(ask(OFS_MANAGE_COMPACT, list, NULL, ", \"max_total_tokens\": 500000"));
	cr_expect_eq(told("offloaded"), 0);
}

Test(context_compact, limits_of_nothing)
{
	OFS_FREE char *list = chat_of(6, 2000);

	for (enum ofs_manage_mode mode = OFS_MANAGE_COMPACT; mode <= OFS_MANAGE_AUTO; mode++) {
		expect_reversible(mode, list, NULL,
				  ", \"max_tool_message_tokens\": 0, \"max_total_tokens\": 0, "
				  "\"keep_recent_count\": 0, \"group_token_threshold\": 0",
				  NULL, NULL);
		expect_reversible(mode, list, NULL,
				  ", \"max_tool_message_tokens\": 9223372036854775807, "
				  "\"max_total_tokens\": 9223372036854775807, "
				  "\"group_token_threshold\": 9223372036854775807",
				  NULL, NULL);
	}
}
