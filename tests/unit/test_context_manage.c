/* SPDX-License-Identifier: MIT */
/* What managing a chat changes in any form of it, and what it leaves alone. */
#include "test_context_fixture.h"

TestSuite(context_manage, .init = begin, .fini = finish);

/* ---- compacting and compressing */

Test(context_manage, auto_sums_up_what_is_too_much_after_offloading)
{
	OFS_FREE char *large = chat_of(8, 9000);
	OFS_FREE char *small = chat_of(200, 600);
	OFS_FREE char *managed = NULL;

	expect_reversible(OFS_MANAGE_AUTO, large, NULL, ", \"max_total_tokens\": 9000", &managed,
			  NULL);
	cr_expect_eq(count_of(managed, "<state_snapshot"), 0);
	free(managed);
	managed = NULL;
	/* The prompt is too large, but each result is too small to be offloaded. */
	expect_reversible(OFS_MANAGE_AUTO, small, NULL, ", \"max_total_tokens\": 9000", &managed,
			  NULL);
	cr_expect_eq(count_of(managed, "<state_snapshot"), 1);
	cr_expect_eq(count_messages(managed), 8, "system, request, six that stay");
}

Test(context_manage, more_may_stay_than_there_is)
{
	OFS_FREE char *chat = chat_of(200, 600);
	OFS_FREE char *managed = NULL;

	expect_reversible(OFS_MANAGE_AUTO, chat, NULL,
			  ", \"max_total_tokens\": 9000, \"keep_recent_count\": 1000000000000",
			  &managed, NULL);
	cr_expect_eq(count_of(managed, "<state_snapshot"), 1);
}

/* ---- stored files */

struct finding {
	const char *start; /* of the file's name */
	char name[300];
};

static int take_name(void *arg, const char *name)
{
	struct finding *f = arg;

	if (name[0] != '.' && strncmp(name, f->start, strlen(f->start)) == 0)
		strcpy(f->name, name);
	return 0;
}

/* Sets `path` to a stored file of the chats whose name begins with `start`. */
static void find_file(const char *start, char *path)
{
	struct finding f = { .start = start };

	must(ofs_access_open(&tree, false, &err));
	cr_assert_eq(tree.backend->ops->list(tree.backend, "cache/context", take_name, &f), 0);
	cr_assert(*f.name);
	sprintf(path, "cache/context/%s", f.name);
}

Test(context_manage, results_that_are_summed_up_at_once_have_brief_pointers)
{
	OFS_FREE char *chat = chat_of(300, 5000);
	OFS_FREE char *managed = NULL, *messages = NULL;
	char path[400];

	expect_reversible(OFS_MANAGE_AUTO, chat, NULL, ", \"max_total_tokens\": 4000", &managed,
			  NULL);
	cr_expect_eq(count_of(managed, "Read lines: "), 3, "of the results that stay");
	find_file("messages", path);
	must(ofs_backend_read_text(tree.backend, path, &messages));
	cr_expect_eq(count_of(messages, "[offloaded] "), 256, "the newest");
	cr_expect_eq(count_of(messages, "Read lines: "), 0);
}

static void damage_file(void)
{
	char path[400];
	ofs_handle h;

	find_file("", path);
	cr_assert_eq(tree.backend->ops->open(tree.backend, path, &h), 0);
	cr_assert_eq(tree.backend->ops->write(tree.backend, h, "#", 1, 3), 0);
	tree.backend->ops->close(tree.backend, h);
}

Test(context_manage, a_result_that_was_changed)
{
	OFS_FREE char *list = chat_of(2, 4000);
	OFS_FREE char *managed = NULL;
	char path[400];

	expect_reversible(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT, &managed, NULL);
	damage_file();
	cr_expect_eq(ask(OFS_MANAGE_RESTORE, managed, NULL, ""), -EILSEQ);
	cr_expect(strstr(err.text, "has changed since it was offloaded"), "%s", err.text);
	/* The original chat can still be managed. */
	free(managed);
	managed = NULL;
	expect_reversible(OFS_MANAGE_COMPACT, list, NULL, SMALL_LIMIT, &managed, NULL);
	cr_expect_eq(count_pointers(managed), 1);
	find_file("", path);
	cr_assert_eq(tree.backend->ops->unlink(tree.backend, path), 0);
	find_file("", path);
	cr_assert_eq(tree.backend->ops->unlink(tree.backend, path), 0);
	cr_expect_eq(ask(OFS_MANAGE_RESTORE, managed, NULL, ""), -ENOENT);
	cr_expect(strstr(err.text, "cannot read ref "), "%s", err.text);
}

Test(context_manage, messages_that_were_changed)
{
	OFS_FREE char *list = chat_of(4, 4000);
	OFS_FREE char *managed = NULL;

	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	damage_file();
	cr_expect_eq(ask(OFS_MANAGE_RESTORE, managed, NULL, ""), -EILSEQ);
	cr_expect(strstr(err.text, "does not contain the messages"), "%s", err.text);
	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", NULL, NULL);
}

Test(context_manage, a_list_that_lost_its_beginning)
{
	OFS_FREE char *list = chat_of(4, 4000);
	OFS_FREE char *managed = NULL;
	const char *comma;

	expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, "", &managed, NULL);
	comma = strstr(managed, "}, {");
	cr_assert(comma);
	strcpy((char *)(uintptr_t)comma, "}]");
	cr_expect_eq(ask(OFS_MANAGE_RESTORE, managed, NULL, ""), -EILSEQ);
}

/* Agents can write to the store, so a snapshot's file may name itself. */
Test(context_manage, a_file_that_leads_to_itself)
{
	OFS_FREE char *list = chat_of(4, 4000);
	OFS_FREE char *managed = NULL;
	OFS_FREE char *file = NULL;
	char path[400];
	struct stat st;
	ofs_handle h;

	must(ask(OFS_MANAGE_COMPRESS, list, NULL, ""));
	managed = answered("messages");
	find_file("", path);
	cr_assert_eq(tree.backend->ops->stat(tree.backend, path, &st), 0);
	cr_assert_gt(
		asprintf(
			&file,
			"{\"kept\": 0, \"earlier\": true, \"separators\": \",\", \"system\": null, \"messages\": %.*s]}",
			(int)(strstr(managed, "}, {") + 1 - managed), managed),
		0);
	cr_assert_eq(tree.backend->ops->open(tree.backend, path, &h), 0);
	for (off_t i = 0; i < st.st_size; i++)
		cr_assert_eq(tree.backend->ops->write(tree.backend, h,
						      i < (off_t)strlen(file) ? &file[i] : " ", 1,
						      (uint64_t)i),
			     0);
	tree.backend->ops->close(tree.backend, h);
	cr_expect_eq(ask(OFS_MANAGE_RESTORE, managed, NULL, ""), -EILSEQ);
}

/* ---- any formatting */

Test(context_manage, any_formatting_comes_back)
{
	OFS_FREE char *text = lines(3000, 3);
	static const char *const forms[] = {
		"[%s]",
		"[\n\n  %s\t\r\n]",
		"[%s,\n{\"role\": \"assistant\"},{}  ,\t{ }\n,{\"role\":\"tool\"} ]",
		"[{\"role\": \"user\", \"content\": \"\"}, {\"role\": \"user\", \"content\": null}, {\"role\": \"user\", \"content\": []},%s]",
		"[{\"n\": -0.0e-99999, \"m\": 12345678901234567890123456789012345678901234567890, \"n\": {\"\": [[]]}},%s]",
		"[{\"role\": \"user\", \"content\": \"\\ud800 \\udc00\\u0000 \\u00E4\xc3\xa4 \\/\"},%s,{\"role\": \"user\"}]",
	};
	static const char *const results[] = {
		"{\"role\": \"tool\", \"content\": \"%s\"}",
		"{\"role\": \"tool\", \"content\": \"first\", \"content\": \"%s\"}",
		"{\"content\":\"%s\",\"r\\u006fle\":\"tool\"}",
		"{\"role\": \"tool\", \"content\": \"x\", \"output\": \"%s\"}",
		"{\"role\": \"tool\", \"content\": \"\\u00e4 \xc3\xa4 \\/ / \\ud800 \\u0000 %s\\\\\"}",
		"{\"role\": \"tool\", \"content\": [ {\"text\" : \"%s\"} ,\n{\"text\":\"%s\", \"type\": \"text\"}, null ]}",
		"{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"content\": \"%s\"}, {\"type\": \"image\"}]}",
		"{\"type\": \"function_call_output\", \"output\": \"%s\"}",
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(forms) * OFS_ARRAY_SIZE(results); i++) {
		OFS_FREE char *result = NULL;
		OFS_FREE char *list = NULL;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-extra-args"
		cr_assert_gt(asprintf(&result, results[i % OFS_ARRAY_SIZE(results)], text, text),
			     0);
		cr_assert_gt(asprintf(&list, forms[i / OFS_ARRAY_SIZE(results)], result), 0);
#pragma GCC diagnostic pop
		expect_reversible(OFS_MANAGE_COMPACT, list, NULL,
				  SMALL_LIMIT ", \"keep_recent_count\": 0", NULL, NULL);
		expect_reversible(OFS_MANAGE_COMPRESS, list, NULL, SMALL_LIMIT, NULL, NULL);
		expect_reversible(OFS_MANAGE_AUTO, list, "\"a\"", SMALL_LIMIT, NULL, NULL);
	}
}

/* ---- requests */

Test(context_manage, what_is_wrong_with_a_request)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "", "empty" },
		{ "5", "neither an object with \"messages\"" },
		{ "\"x\"", "neither an object with \"messages\"" },
		{ "{}", "no \"messages\"" },
		{ "{\"messages\": {}}", "\"messages\" is not an array" },
		{ "{\"messages\": null}", "\"messages\"" },
		{ "{\"messages\": [5]}", "message 1 is not an object" },
		{ "[[]]", "message 1 is not an object" },
		{ "{\"messages\": []} x", "more text after the value" },
		{ "{\"messages\": [], \"context_manage_mode\": \"shrink\"}",
		  "compact, compress, auto or restore" },
		{ "{\"messages\": [], \"context_manage_mode\": 5}",
		  "\"context_manage_mode\" must be" },
		{ "{\"messages\": [], \"mode\": \"\"}", "\"mode\" must be" },
		{ "{\"messages\": [], \"max_total_tokens\": -1}",
		  "\"max_total_tokens\" must be a number" },
		{ "{\"messages\": [], \"max_total_tokens\": \"5\"}",
		  "\"max_total_tokens\" must be a number" },
		{ "{\"messages\": [], \"max_tool_message_tokens\": 1.5}",
		  "\"max_tool_message_tokens\" must" },
		{ "{\"messages\": [], \"max_tool_message_tokens\": 99999999999999999999}",
		  "must be a number" },
		{ "{\"messages\": [], \"group_token_threshold\": []}",
		  "\"group_token_threshold\" must" },
		{ "{\"messages\": [], \"keep_recent_count\": true}",
		  "\"keep_recent_count\" must be a number" },
		{ "{\"messages\": [], \"store_dir\": 5}", "\"store_dir\" must be a text" },
		{ "{\"messages\": [], \"store_dir\": \"../out\"}", "leads out of the tree" },
		{ "{\"messages\": [], \"store_dir\": \"/tmp\"}", "not in the tree" },
		{ "{\"messages\": [], \"chat_id\": \"\"}", "\"chat_id\" must be a text" },
		{ "{\"messages\": [], \"chat_id\": \"a/b\"}", "chat_id" },
		{ "{\"messages\": [], \"chat_id\": \"..\"}", "chat_id" },
		{ "{\"messages\": [], \"chat_id\": \"a\\u0000b\\n\"}", "chat_id" },
		{ "{\"messages\": [], \"format\": \"x\"}", "openai or anthropic" },
		{ "{\"messages\": [], \"prefetch\": 1}", "true or false" },
		{ "{\"messages\": [], \"system\": 5}", "\"system\" must be" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++) {
		cr_expect_eq(ask_bytes(OFS_MANAGE_UNSET, bad[i].text, strlen(bad[i].text)), -EINVAL,
			     "%s", bad[i].text);
		cr_expect(strstr(err.text, bad[i].why), "%s: %s", bad[i].text, err.text);
	}
	cr_expect_neq(access(store, F_OK), 0, "there is a store");
}

Test(context_manage, members_that_are_null_are_not_said)
{
	must(ask(
		OFS_MANAGE_UNSET, "[]", "null",
		", \"context_manage_mode\": null, \"max_total_tokens\": null, \"keep_recent_count\": null, "
		"\"store_dir\": null, \"chat_id\": null, \"format\": null, \"prefetch\": null, \"model\": {\"a\": 1}"));
	cr_expect_null(ofs_span_member(root, "system").p);
}

Test(context_manage, where_it_is_put)
{
	OFS_FREE char *list = chat_of(2, 4000);
	struct stat st;
	static const struct {
		const char *more, *folder;
	} cases[] = {
		{ SMALL_LIMIT, "cache/context" },
		{ SMALL_LIMIT ", \"chat_id\": \"run-7\"", "tasks/run-7/context" },
		{ SMALL_LIMIT ", \"store_dir\": \"persistent//chats/./a\"", "persistent/chats/a" },
		{ SMALL_LIMIT ", \"store_dir\": \"notes\", \"chat_id\": \"run-8\"", "notes" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(cases); i++) {
		expect_reversible(OFS_MANAGE_COMPACT, list, NULL, cases[i].more, NULL, NULL);
		must(ofs_access_open(&tree, false, &err));
		cr_expect_eq(tree.backend->ops->stat(tree.backend, cases[i].folder, &st), 0, "%s",
			     cases[i].folder);
	}
}
