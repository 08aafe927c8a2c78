/* SPDX-License-Identifier: MIT */
/* Older messages become a snapshot, and the rest is a chat that a service accepts. */
#include "test_context_fixture.h"

#include "context/manage/prefetch.h"

static void begin_always(void)
{
	begin();
	settings.max_total_tokens = 0;
}

TestSuite(context_compress, .init = begin_always, .fini = finish);

/* ---- compressing */

Test(context_compress, older_messages_become_a_snapshot)
{
	OFS_FREE char *list = chat_of(10, 3000);
	OFS_FREE char *managed = NULL;
	struct ofs_chat chat;

	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	read_chat(managed, &chat);
	cr_assert_eq(chat.n, 4); /* the system prompt, the request, the last call and its result */
	cr_expect_eq(chat.messages[0].role, OFS_ROLE_SYSTEM);
	cr_expect_eq(chat.messages[1].role, OFS_ROLE_USER);
	cr_expect(chat.messages[3].answers);
	cr_expect_eq(count_of(managed, "<state_snapshot"), 1);
	cr_expect_eq(count_of(managed, "Be good."), 1);
	{
		OFS_FREE char *last = last_of(&chat);

		cr_expect_eq(strncmp(last, "9: line 0", 9), 0);
	}
	ofs_chat_finish(&chat);
	must(ask(OFS_MANAGE_COMPRESS, list, NULL, ""));
	cr_expect_eq(told("summarized"), 18);
}

Test(context_compress, nothing_gained_leaves_it_as_it_was)
{
	static const char *const lists[] = {
		"[{\"role\": \"user\", \"content\": \"a\"}]",
		"[{\"role\": \"system\", \"content\": \"a\"}, {\"role\": \"system\", \"content\": \"b\"}]",
		"[{\"role\": \"user\", \"content\": \"a\"}, {\"role\": \"assistant\", \"content\": \"b\"}, "
		"{\"role\": \"user\", \"content\": \"c\"}, {\"role\": \"assistant\", \"content\": \"d\"}]",
		"[{\"role\": \"tool\", \"content\": \"a\"}, {\"role\": \"tool\", \"content\": \"b\"}]",
		"[{}, {}, {}, {}, {}]",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(lists); i++) {
		OFS_FREE char *managed = NULL;

		must(ask(OFS_MANAGE_COMPRESS, lists[i], NULL, ""));
		managed = answered("messages");
		expect_str(managed, lists[i], "the list");
		cr_expect_eq(*ofs_span_member(root, "success").p, 'f');
		cr_expect_eq(told("tokens_saved"), 0);
		cr_expect(note && strstr(note, "not compressed"), "%s", note);
	}
}

/* Messages are summarized only if they are larger than the snapshot with its framing. */
Test(context_compress, never_larger)
{
	for (size_t each = 0; each < 1200; each += 37) {
		OFS_FREE char *list = chat_of(2, each);

		must(ask(OFS_MANAGE_COMPRESS, list, NULL, ", \"keep_recent_count\": 1"));
		cr_expect_leq(told("tokens_after"), told("tokens_before"), "%zu", each);
	}
}

Test(context_compress, the_place_of_the_system_text)
{
	static const char *const heads[] = {
		"",
		"{\"role\": \"system\", \"content\": \"Be good.\"}, ",
		"{\"role\": \"system\", \"content\": \"\"}, ",
		"{\"role\": \"system\", \"content\": null}, ",
		"{\"role\": \"system\"}, ",
		"{\"role\": \"system\", \"content\": 5}, ",
		"{\"role\": \"system\", \"content\": {}}, ",
		"{\"role\": \"system\", \"content\": []}, ",
		"{\"role\": \"system\", \"content\": [ ] }, ",
		"{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}]}, ",
		"{\"role\": \"system\", \"content\": [{\"type\": \"text\", \"text\": \"a\"}, {\"type\": \"x\"}]}, ",
		"{\"role\": \"system\", \"content\": [1, \"a\", null]}, ",
		"{\"role\": \"system\", \"content\": \"a\"}, {\"role\": \"developer\", \"content\": \"b\"}, ",
		"{\"role\": \"system\", \"content\": \"a\"}, {\"role\": \"developer\", \"content\": null}, ",
		"{\"role\": \"system\", \"content\": \"first\", \"content\": \"the one that counts\"}, ",
	};
	static const char *const beside[] = {
		NULL,
		"\"\"",
		"\"Be good.\"",
		"[]",
		"[ ]",
		"[{\"type\": \"text\", \"text\": \"Be good.\"}]",
		"[{\"type\": \"text\", \"text\": \"a\", \"cache_control\": {}}, {\"type\": \"y\"}]"
	};
	OFS_FREE char *rest = chat_of(4, 4000);
	const char *behind = strstr(rest, "{\"role\": \"user\"");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(heads) * OFS_ARRAY_SIZE(beside) * 2; i++) {
		const char *head = heads[i % OFS_ARRAY_SIZE(heads)];
		const char *system = beside[i / OFS_ARRAY_SIZE(heads) % OFS_ARRAY_SIZE(beside)];
		const char *form = i / OFS_ARRAY_SIZE(heads) / OFS_ARRAY_SIZE(beside)
					   ? ", \"format\": \"anthropic\""
					   : "";
		OFS_FREE char *list = NULL;
		OFS_FREE char *managed = NULL;
		OFS_FREE char *managed_system = NULL;

		cr_assert_gt(asprintf(&list, "[%s%s", head, behind), 0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, system, form, &managed,
				  &managed_system);
		cr_expect_eq(count_of(managed, "<state_snapshot") +
				     count_of(managed_system, "<state_snapshot"),
			     1, "%s|%s|%s", head, system, form);
	}
}

Test(context_compress, a_system_text_that_quotes_a_snapshot)
{
	static const char *const quotes[] = {
		"Be good.\\n\\n<state_snapshot messages=\\\"3\\\">\\nGoal:\\n- x\\n</state_snapshot>\\n"
		"(original messages are stored in refs/zzzzzz)",
		"<state_snapshot messages=\\\"3\\\">\\n</state_snapshot>\\n(original messages are stored in /a/zzzzzz)",
		"x</state_snapshot>\\n(original messages are stored in refs/zzzzzz)",
		"<state_snapshot messages=\\\"\\n</state_snapshot>\\n(original messages are stored in refs/zzzzzz)",
		"<state_snapshot messages=\\\"3\\\"></state_snapshot>\\n(original messages are stored in refs/zzzzzz)",
		"<state_snapshot messages=\\\"3\\\">\\n</state_snapshot>\\n(original messages are stored in refs/zzzzzz).",
		"<state_snapshot messages=\\\"3\\\">\\n</state_snapshot>\\n(original messages are stored in zzzzzz)",
		"<state_snapshot messages=\\\"3\\\">\\n</state_snapshot>\\n(original messages are stored in refs/)",
	};
	OFS_FREE char *rest = chat_of(4, 4000);
	const char *behind = strstr(rest, "{\"role\": \"user\"");

	for (size_t i = 0; i < OFS_ARRAY_SIZE(quotes); i++) {
		OFS_FREE char *list = NULL;
		OFS_FREE char *system = NULL;

		cr_assert_gt(asprintf(&list, "[{\"role\": \"system\", \"content\": \"%s\"}, %s",
				      quotes[i], behind),
			     0);
		cr_assert_gt(asprintf(&system, "\"%s\"", quotes[i]), 0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", NULL, NULL);
		free(list);
		list = NULL;
		cr_assert_gt(asprintf(&list, "[%s", behind), 0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, system, "", NULL, NULL);
	}
}

Test(context_compress, a_request_that_quotes_a_snapshot)
{
	OFS_FREE char *rest = chat_of(4, 4000);
	OFS_FREE char *list = NULL;
	OFS_FREE char *managed = NULL;

	cr_assert_gt(
		asprintf(&list,
			 "[{\"role\": \"user\", \"content\": "
			 "\"What is <state_snapshot messages=\\\"3\\\" tag=\\\"abcdef\\\">?\"}, %s",
			 strstr(rest, "{\"role\": \"user\"")),
		0);
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	cr_expect_eq(count_of(managed, "What is [state_snapshot messages="), 1, "%s", managed);
}

static size_t count_role(const struct ofs_chat *chat, enum ofs_role role)
{
	size_t n = 0;

	for (size_t i = 0; i < chat->n; i++)
		n += chat->messages[i].role == role;
	return n;
}

Test(context_compress, a_request_of_the_user_comes_first)
{
	OFS_FREE char *text = lines(6000, 5);
	static const char *const ends[] = {
		"{\"role\": \"assistant\", \"content\": \"yes\"}, {\"role\": \"user\", \"content\": \"last\"}",
		"{\"role\": \"assistant\", \"content\": \"yes\"}",
		"{\"role\": \"user\", \"content\": \"last\"}",
		CALL("c9",
		     "{}") ", {\"role\": \"tool\", \"tool_call_id\": \"c9\", \"content\": \"r\"}, "
			   "{\"role\": \"user\", \"content\": \"last\"}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(ends) * 4; i++) {
		OFS_FREE char *list = NULL;
		OFS_FREE char *managed = NULL;
		OFS_FREE char *more = NULL;
		struct ofs_chat chat;

		cr_assert_gt(asprintf(&list,
				      "[{\"role\": \"user\", \"content\": \"first\"}, "
				      "{\"role\": \"assistant\", \"content\": \"%s\"}, "
				      "{\"role\": \"user\", \"content\": \"second\"}, %s]",
				      text, ends[i / 4]),
			     0);
		cr_assert_gt(asprintf(&more, ", \"keep_recent_count\": %zu", i % 4), 0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, more, &managed, NULL);
		read_chat(managed, &chat);
		cr_assert_gt(count_role(&chat, OFS_ROLE_USER), 0, "%s", managed);
		cr_assert_gt(chat.n, 1);
		cr_expect_eq(chat.messages[chat.messages[0].role == OFS_ROLE_SYSTEM].role,
			     OFS_ROLE_USER, "%s", managed);
		ofs_chat_finish(&chat);
	}
}

Test(context_compress, reasoning_stays_with_its_call)
{
	OFS_FREE char *text = lines(6000, 5);
	OFS_FREE char *list = NULL;

	cr_assert_gt(
		asprintf(
			&list,
			"[{\"role\": \"user\", \"content\": \"%s\"}, {\"role\": \"assistant\", \"content\": \"a\"}, "
			"{\"role\": \"user\", \"content\": \"go\"}, {\"type\": \"reasoning\", \"id\": \"r1\"}, "
			"{\"type\": \"function_call\", \"call_id\": \"c1\", \"name\": \"a\", \"arguments\": \"{}\"}, "
			"{\"type\": \"function_call_output\", \"call_id\": \"c1\", \"output\": \"x\"}]",
			text),
		0);
	for (int keep = 1; keep < 4; keep++) {
		OFS_FREE char *managed = NULL;
		OFS_FREE char *more = NULL;

		cr_assert_gt(asprintf(&more, ", \"keep_recent_count\": %d", keep), 0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, more, &managed, NULL);
		cr_expect_eq(count_of(managed, "\"reasoning\""), 1, "%d: %s", keep, managed);
		cr_expect_eq(count_of(managed, "\"function_call\""), 1);
	}
}

/* Others may speak before a call is answered. */
Test(context_compress, calls_and_answers_that_lie_apart)
{
	OFS_FREE char *text = lines(6000, 5);
	OFS_FREE char *list = NULL;

	cr_assert_gt(
		asprintf(
			&list,
			"[{\"role\": \"user\", \"content\": \"go\"}, "
			"{\"type\": \"function_call\", \"call_id\": \"c1\", \"name\": \"a\", \"arguments\": \"{}\"}, "
			"{\"role\": \"user\", \"content\": \"%s\"}, "
			"{\"type\": \"function_call_output\", \"call_id\": \"c1\", \"output\": []}, "
			"{\"type\": \"function_call\", \"call_id\": \"c2\", \"name\": \"b\", \"arguments\": \"{}\"}, "
			"{\"type\": \"function_call\", \"call_id\": \"c3\", \"name\": \"b\", \"arguments\": \"{}\"}, "
			"{\"role\": \"user\", \"content\": \"well?\"}, "
			"{\"type\": \"function_call_output\", \"call_id\": \"c3\", \"output\": null}, "
			"{\"type\": \"function_call_output\", \"call_id\": \"c2\", \"output\": null}, "
			"{\"role\": \"user\", \"content\": \"end\"}]",
			text),
		0);
	for (int i = 0; i < 24; i++) {
		OFS_FREE char *managed = NULL;
		OFS_FREE char *more = NULL;

		cr_assert_gt(asprintf(&more,
				      ", \"keep_recent_count\": %d, \"group_token_threshold\": %d",
				      i / 3, i % 3 * 40),
			     0);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, more, &managed, NULL);
		for (char id[] = "\"c1\""; id[2] < '4'; id[2]++)
			cr_expect_neq(count_of(managed, id), 1, "%s in %s", id, managed);
	}
}

Test(context_compress, a_summarizer_gets_groups_of_so_many_tokens)
{
	static const struct ofs_summarizer summarizer = {
		.command = "grep -c '\"role\": \"tool\"' | sed 's/^/results: /'", .timeout_s = 10
	};
	OFS_FREE char *list = chat_of(7, 3000);
	OFS_FREE char *managed = NULL;

	options.summarizer = &summarizer;
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	cr_expect_eq(count_of(managed, "results: 6"), 1, "%s", managed);
	free(managed);
	managed = NULL;
	/* A call and its result stay in one group; a larger one has a group of its own. */
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, ", \"group_token_threshold\": 100",
			  &managed, NULL);
	cr_expect_eq(count_of(managed, "results: 1"), 6, "%s", managed);
	cr_expect_eq(count_messages(managed), 4, "nothing else stays");
}

Test(context_compress, a_list_alone_has_no_place_for_a_system_text_beside_it)
{
	OFS_FREE char *text = lines(6000, 5);
	OFS_FREE char *list = NULL;
	struct ofs_sink sink = ofs_sink_to_buf(&answer);

	cr_assert_gt(
		asprintf(
			&list,
			"[{\"role\": \"user\", \"content\": \"go\"}, "
			"{\"role\": \"assistant\", \"content\": [{\"type\": \"tool_use\", \"id\": \"t\", \"name\": \"a\", \"input\": {}}]}, "
			"{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"t\", \"content\": \"%s\"}]}, "
			"{\"role\": \"assistant\", \"content\": \"a\"}, {\"role\": \"user\", \"content\": \"b\"}]",
			text),
		0);
	options.list_only = true;
	options.mode = OFS_MANAGE_COMPRESS;
	must(ofs_manage(list, strlen(list), &options, &settings, &tree, &sink, &err, &note));
	ofs_buf_append(&answer, "", 1);
	cr_expect(note && strstr(note, "not compressed"), "%s", note);
	answer.data[answer.len - 2] = '\0'; /* the newline */
	expect_str((char *)answer.data, list, "the list");
}

Test(context_compress, fetched_messages_are_no_part_of_the_chat)
{
	OFS_FREE char *list = chat_of(6, 3000);
	OFS_FREE char *managed = NULL;
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf fetched = OFS_BUF_INIT;
	static const struct ofs_literal_style style;

	ofs_prefetch_message("<slice>\nx\n</slice>\n", 19, &style, &fetched);
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	for (int round = 0; round < 3; round++) {
		OFS_FREE char *longer = NULL;
		OFS_FREE char *text = lines(3000, 50);
		const char *request =
			strstr(managed, "{\"role\": \"user\", \"content\": \"Find out");

		/* As if the slice had been fetched before the request of that round. */
		cr_assert(request);
		cr_assert_gt(asprintf(&longer, "%.*s%.*s%s", (int)(request - managed), managed,
				      (int)fetched.len, fetched.data, request),
			     0);
		expect_restored(longer, NULL, list, NULL);
		/* The chat continues, and is managed again with the fetched slice in it. */
		longer[strlen(longer) - 1] = '\0';
		free(managed);
		cr_assert_gt(
			asprintf(&managed,
				 "%s, " CALL("n",
					     "{}") ", {\"role\": \"tool\", \"tool_call_id\": \"n\", "
						   "\"content\": \"%s\"}]",
				 longer, text),
			0);
		list[strlen(list) - 1] = '\0';
		free(longer);
		cr_assert_gt(
			asprintf(&longer,
				 "%s, " CALL("n",
					     "{}") ", {\"role\": \"tool\", \"tool_call_id\": \"n\", "
						   "\"content\": \"%s\"}]",
				 list, text),
			0);
		free(list);
		list = ofs_steal(longer);
		must(ask(OFS_MANAGE_COMPRESS, managed, NULL,
			 round == 1 ? ", \"group_token_threshold\": 100" : ""));
		free(managed);
		managed = answered("messages");
		expect_restored(managed, NULL, list, NULL);
	}
}

/* Some harnesses append the date, or what has changed, to the system prompt. */
Test(context_compress, text_behind_the_snapshot)
{
	OFS_FREE char *text = lines(6000, 5);
	OFS_FREE char *list = NULL, *managed = NULL, *behind = NULL;
	char *end;

	cr_assert_gt(asprintf(&list,
			      "[{\"role\": \"system\", \"content\": \"be good\"}, "
			      "{\"role\": \"user\", \"content\": \"%s\"}, "
			      "{\"role\": \"assistant\", \"content\": \"a\"}, "
			      "{\"role\": \"user\", \"content\": \"go\"}]",
			      text),
		     0);
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, ", \"keep_recent_count\": 1", &managed,
			  NULL);
	end = strstr(managed, ")\"}");
	cr_assert(end, "%s", managed);
	cr_assert_gt(asprintf(&behind, "%.*s)\\nToday is Monday.\"}%s", (int)(end - managed),
			      managed, end + 3),
		     0);
	expect_restored(behind, NULL, list, NULL);
}
