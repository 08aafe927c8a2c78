/* SPDX-License-Identifier: MIT */
/* Large results become pointers, and pointers become shorter. */
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
	cr_expect_eq(told("offloaded"), 2); /* the last stays */
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
	options.keep = 2; /* goes before the request */
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
		"{\\\"path\\\": \\\".offload\\\\/refs\\\\/k3f9x2\\\"}", /* PHP's */
		"{\\\"command\\\": \\\"offload show k3f9x2\\\"}",
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
	/* As it stands in the list, without its quotes. */
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

/* ---- the governor */

Test(context_compact, older_pointers_shrink_first)
{
	OFS_FREE char *list = chat_of(40, 3000);
	OFS_FREE char *managed = NULL;
	struct ofs_chat chat;
	size_t longest = 0;

	expect_reversible(OFS_MANAGE_COMPACT, list, NULL,
			  SMALL_LIMIT ", \"max_total_tokens\": 6000", &managed, NULL);
	must(ask(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT ", \"max_total_tokens\": 6000"));
	cr_expect_gt(told("shortened"), 0);
	cr_expect_eq(count_pointers(managed), 39);
	read_chat(managed, &chat);
	/* None is more detailed than one that is newer, but for the batch in which it stops. */
	for (size_t i = 0; i + 1 < chat.n_results; i++) {
		cr_expect_geq(chat.results[i].text.len + 60, longest, "pointer %zu", i);
		longest = OFS_MAX(longest, chat.results[i].text.len);
	}
	ofs_chat_finish(&chat);
}

Test(context_compact, far_too_large_has_bare_pointers_and_one_instruction)
{
	OFS_FREE char *list = chat_of(40, 3000);
	OFS_FREE char *managed = NULL;
	static const char more[] = SMALL_LIMIT ", \"max_total_tokens\": 5000";

	settings.bare_tokens = 5000;
	expect_reversible(OFS_MANAGE_COMPACT, list, NULL, more, &managed, NULL);
	cr_expect_eq(count_pointers(managed), 39);
	cr_expect_eq(count_of(managed, "Results named like this"), 1);
	cr_expect_eq(count_of(managed, "--- lines"), 0, "there are previews");
	for (int round = 0; round < 3; round++) {
		OFS_FREE char *again = NULL;

		must(ask(OFS_MANAGE_COMPACT, managed, NULL, more));
		cr_expect_leq(told("tokens_after"), told("tokens_before"));
		again = answered("messages");
		expect_str(again, managed, "round");
	}
}

Test(context_compact, an_instruction_does_not_make_it_larger)
{
	OFS_FREE char *list = chat_of(12, 3000);
	OFS_FREE char *managed = NULL;
	OFS_FREE char *longer = NULL;
	OFS_FREE char *text = lines(20000, 77);

	/*
	 * Bare pointers, then a long message of the user: over the second limit with nothing to
	 * gain.
	 */
	settings.bare_tokens = 1000000;
	must(ask(OFS_MANAGE_COMPACT, list, NULL,
		 SMALL_LIMIT ", \"max_total_tokens\": 100, \"keep_recent_count\": 0"));
	managed = answered("messages");
	managed[strlen(managed) - 1] = '\0';
	cr_assert_gt(asprintf(&longer, "%s, {\"role\": \"user\", \"content\": \"%s\"}]", managed,
			      text),
		     0);
	settings.bare_tokens = 100;
	must(ask(OFS_MANAGE_COMPACT, longer, NULL, SMALL_LIMIT ", \"max_total_tokens\": 100"));
	cr_expect_leq(told("tokens_after"), told("tokens_before"));
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
