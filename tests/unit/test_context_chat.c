/* SPDX-License-Identifier: MIT */
/* Reading lists of messages in each form, and malformed ones. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "context/chat/chat.h"

static struct ofs_chat chat;

static void finish(void)
{
	ofs_chat_finish(&chat);
}

TestSuite(context_chat, .fini = finish);

static struct ofs_span parsed(const char *text)
{
	struct ofs_error err = { "" };
	struct ofs_span s = { 0 };

	if (text)
		cr_assert_eq(ofs_span_parse(text, strlen(text), &err, &s), 0, "%s: %s", text,
			     err.text);
	return s;
}

static void read_with(const char *list, const char *system)
{
	struct ofs_error err = { "" };

	ofs_chat_finish(&chat);
	cr_assert_eq(ofs_chat_read(parsed(list), parsed(system), &err, &chat), 0, "%s", err.text);
}

static void read_list(const char *list)
{
	read_with(list, NULL);
}

static void expect_text(struct ofs_span s, const char *expected)
{
	OFS_FREE char *text = ofs_span_text(s);

	cr_expect(text && strcmp(text, expected) == 0, "\"%s\" is not \"%s\"", text, expected);
}

/*
 * Result `i` must say `text`, be in `message` and answer a call of `tool` (NULL: an unknown call).
 */
static void expect_result(size_t i, const char *text, size_t message, const char *tool)
{
	const struct ofs_chat_result *r = &chat.results[i];

	cr_assert_lt(i, chat.n_results);
	expect_text(r->text, text);
	cr_expect_eq(r->message, message);
	if (!tool) {
		cr_expect_eq(r->call, SIZE_MAX);
		return;
	}
	cr_assert_neq(r->call, SIZE_MAX, "the call of \"%s\" is not known", text);
	expect_text(chat.calls[r->call].name, tool);
	cr_expect_lt(chat.calls[r->call].message, message);
}

static void expect_roles(const char *letters)
{
	static const char of[] = { 'S', 'U', 'A', 'T', '-' };

	cr_assert_eq(chat.n, strlen(letters));
	for (size_t i = 0; i < chat.n; i++)
		cr_expect_eq(of[chat.messages[i].role], letters[i], "message %zu", i);
}

Test(context_chat, openai)
{
	read_list(
		"[{\"role\": \"developer\", \"content\": \"be good\"},"
		"{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"look\"},"
		" {\"type\": \"image_url\", \"image_url\": {\"url\": \"data:...\"}}]},"
		"{\"role\": \"assistant\", \"content\": null, \"tool_calls\": ["
		" {\"id\": \"c1\", \"type\": \"function\", \"function\": {\"name\": \"ls\", \"arguments\": \"{}\"}},"
		" {\"id\": \"c2\", \"type\": \"function\", \"function\": {\"name\": \"cat\", \"arguments\": \"{\\\"a\\\":1}\"}}]},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c2\", \"content\": \"two\"},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": [{\"type\": \"text\", \"text\": \"one\"},"
		" {\"type\": \"text\", \"text\": \"more\"}]},"
		"{\"role\": \"assistant\", \"content\": \"done\"}]");
	expect_roles("SUATTA");
	cr_expect_not(chat.anthropic);
	cr_expect_eq(chat.n_calls, 2);
	cr_expect_eq(chat.n_results, 3);
	expect_result(0, "two", 3, "cat");
	expect_result(1, "one", 4, "ls");
	expect_result(2, "more", 4, "ls");
	cr_expect(chat.messages[3].answers && !chat.messages[3].speaks);
	cr_expect(!chat.messages[1].answers && chat.messages[1].speaks);
}

Test(context_chat, openai_of_old)
{
	read_list(
		"[{\"role\": \"user\", \"content\": \"go\"},"
		"{\"role\": \"assistant\", \"content\": \"\", \"function_call\": {\"name\": \"ls\", \"arguments\": \"{}\"}},"
		"{\"role\": \"function\", \"name\": \"ls\", \"content\": \"files\"}]");
	expect_roles("UAT");
	expect_result(0, "files", 2, "ls");
	expect_text(chat.results[0].name, "ls");
}

Test(context_chat, responses)
{
	read_list(
		"[{\"type\": \"message\", \"role\": \"user\", \"content\": [{\"type\": \"input_text\", \"text\": \"go\"}]},"
		"{\"type\": \"reasoning\", \"id\": \"rs_1\", \"summary\": []},"
		"{\"type\": \"function_call\", \"call_id\": \"c1\", \"name\": \"ls\", \"arguments\": \"{}\"},"
		"{\"type\": \"function_call_output\", \"call_id\": \"c1\", \"output\": \"files\"},"
		"{\"type\": \"function_call\", \"call_id\": \"c2\", \"name\": \"see\", \"arguments\": \"{}\"},"
		"{\"type\": \"function_call_output\", \"call_id\": \"c2\", \"output\": ["
		" {\"type\": \"input_text\", \"text\": \"a\"}, {\"type\": \"input_image\", \"image_url\": \"data:\"}]},"
		"{\"type\": \"message\", \"role\": \"assistant\", \"content\": [{\"type\": \"output_text\", \"text\": \"ok\"}]}]");
	expect_roles("UAATATA");
	cr_expect_eq(chat.n_results, 2);
	expect_result(0, "files", 3, "ls");
	expect_result(1, "a", 5, "see");
}

/* Tools that are not functions have item types of their own, which are paired in the same way. */
Test(context_chat, responses_of_other_tools)
{
	read_list(
		"[{\"role\": \"user\", \"content\": \"go\"},"
		"{\"type\": \"custom_tool_call\", \"call_id\": \"c1\", \"name\": \"py\", \"input\": \"print(1)\"},"
		"{\"type\": \"custom_tool_call_output\", \"call_id\": \"c1\", \"output\": \"1\"},"
		"{\"type\": \"local_shell_call\", \"call_id\": \"c2\", \"action\": {\"command\": [\"ls\"]}},"
		"{\"type\": \"local_shell_call_output\", \"call_id\": \"c2\", \"output\": \"files\"},"
		"{\"type\": \"computer_call\", \"call_id\": \"c3\", \"action\": {\"type\": \"screenshot\"}},"
		"{\"type\": \"computer_call_output\", \"call_id\": \"c3\", \"output\": {\"type\": \"computer_screenshot\"}},"
		"{\"type\": \"web_search_call\", \"id\": \"ws_1\", \"status\": \"completed\"}]");
	expect_roles("UATATATA");
	expect_result(0, "1", 2, "py");
	expect_text(chat.calls[0].args, "print(1)");
	cr_assert_eq(chat.n_results, 2);
	cr_expect_eq(chat.results[1].call, 1);
	cr_expect(chat.messages[6].answers);
}

Test(context_chat, anthropic)
{
	read_with(
		"[{\"role\": \"user\", \"content\": \"go\"},"
		"{\"role\": \"assistant\", \"content\": [{\"type\": \"thinking\", \"thinking\": \"hm\", \"signature\": \"x\"},"
		" {\"type\": \"text\", \"text\": \"I look\"},"
		" {\"type\": \"tool_use\", \"id\": \"t1\", \"name\": \"ls\", \"input\": {\"path\": \"/\"}},"
		" {\"type\": \"tool_use\", \"id\": \"t2\", \"name\": \"cat\", \"input\": {}}]},"
		"{\"role\": \"user\", \"content\": ["
		" {\"type\": \"tool_result\", \"tool_use_id\": \"t1\", \"content\": \"files\"},"
		" {\"type\": \"tool_result\", \"tool_use_id\": \"t2\", \"is_error\": true, \"content\": ["
		"  {\"type\": \"text\", \"text\": \"bad\"}, {\"type\": \"image\", \"source\": {}}]},"
		" {\"type\": \"text\", \"text\": \"and now?\"}]}]",
		"[{\"type\": \"text\", \"text\": \"be good\"}]");
	expect_roles("UAU");
	cr_expect(chat.anthropic);
	cr_expect_gt(chat.system_tokens, 0);
	cr_expect_eq(chat.n_results, 2);
	expect_result(0, "files", 2, "ls");
	expect_result(1, "bad", 2, "cat");
	cr_expect(chat.messages[2].answers && chat.messages[2].speaks);
	cr_expect(chat.messages[1].speaks && !chat.messages[1].answers);
}

Test(context_chat, ids)
{
	/*
	 * Without an id, a result answers the last call, or the next of several made at once; with
	 * a repeated id, the last call before it that has the id. With an unknown id, or that of a
	 * later call, it answers none.
	 */
	read_list(
		"[{\"role\": \"tool\", \"content\": \"too early\"},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"too early\"},"
		"{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"c1\", \"function\": {\"name\": \"a\", \"arguments\": \"\"}}]},"
		"{\"role\": \"tool\", \"content\": \"no id\"},"
		"{\"role\": \"tool\", \"tool_call_id\": null, \"content\": \"null\"},"
		"{\"role\": \"tool\", \"tool_call_id\": \"\", \"content\": \"empty\"},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c9\", \"content\": \"unknown\"},"
		"{\"role\": \"assistant\", \"tool_calls\": [{\"id\": \"c1\", \"function\": {\"name\": \"b\", \"arguments\": \"\"}}]},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"again\"},"
		"{\"role\": \"tool\", \"tool_call_id\": \"c1\", \"content\": \"twice\"}]");
	expect_result(0, "too early", 0, NULL);
	expect_result(1, "too early", 1, NULL);
	expect_result(2, "no id", 3, "a");
	expect_result(3, "null", 4, "a");
	expect_result(4, "empty", 5, NULL);
	expect_result(5, "unknown", 6, NULL);
	expect_result(6, "again", 8, "b");
	expect_result(7, "twice", 9, "b");
	read_list("[{\"role\": \"assistant\", \"tool_calls\": ["
		  " {\"function\": {\"name\": \"a\", \"arguments\": {}}},"
		  " {\"function\": {\"name\": \"b\", \"arguments\": {}}}]},"
		  "{\"role\": \"tool\", \"content\": \"first\"},"
		  "{\"role\": \"tool\", \"content\": \"second\"},"
		  "{\"role\": \"tool\", \"content\": \"third\"}]");
	expect_result(0, "first", 1, "a");
	expect_result(1, "second", 2, "b");
	expect_result(2, "third", 3, "b");
}

Test(context_chat, what_is_no_list_of_messages)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{ "{}", "not an array" },
		{ "\"messages\"", "not an array" },
		{ "null", "not an array" },
		{ "[1]", "message 1 is not an object" },
		{ "[{}, null]", "message 2 is not an object" },
		{ "[{}, {}, []]", "message 3 is not an object" },
		{ "[{\"role\": \"user\"}, \"text\"]", "message 2 is not an object" },
	};

	for (size_t i = 0; i < OFS_ARRAY_SIZE(bad); i++) {
		struct ofs_error err = { "" };

		cr_expect_eq(ofs_chat_read(parsed(bad[i].text), parsed(NULL), &err, &chat),
			     -EINVAL);
		cr_expect(strstr(err.text, bad[i].why), "%s", err.text);
		cr_expect_eq(ofs_chat_read(parsed(bad[i].text), parsed(NULL), NULL, &chat),
			     -EINVAL);
	}
	read_list("[]");
	expect_roles("");
	cr_expect_eq(ofs_chat_tokens(&chat), 0);
}

/* Values of any type are skipped, or used as far as possible. */
Test(context_chat, shapes_of_nobody)
{
	static const char *const values[] = {
		"null",
		"true",
		"0",
		"-1.5e3",
		"\"\"",
		"\"x\"",
		"[]",
		"{}",
		"[null]",
		"[1, \"x\", [], {}]",
		"[{\"type\": 1}]",
		"{\"type\": \"text\"}",
		"[{\"text\": null}]",
		"[{\"type\": \"text\", \"text\": []}]",
		"[{\"type\": \"tool_use\"}]",
		"[{\"type\": \"tool_result\"}]",
		"[{\"type\": \"tool_result\", \"content\": {\"text\": \"x\"}}]",
		"[{\"type\": \"tool_use\", \"id\": 5, \"name\": {}, \"input\": []}]",
		"[{\"id\": {}, \"function\": []}]",
		"[{\"function\": {\"name\": 1}}]"
	};
	static const char *const names[] = { "role",	   "type",	    "content",
					     "tool_calls", "function_call", "tool_call_id",
					     "call_id",	   "output",	    "arguments",
					     "name" };
	static const char *const forms[] = { "\"role\": \"tool\"",
					     "\"role\": \"assistant\"",
					     "\"role\": \"user\"",
					     "\"type\": \"function_call\"",
					     "\"type\": \"function_call_output\"",
					     "\"x\": 1" };

	for (size_t i = 0;
	     i < OFS_ARRAY_SIZE(values) * OFS_ARRAY_SIZE(names) * OFS_ARRAY_SIZE(forms); i++) {
		OFS_FREE char *text = NULL;
		size_t v = i % OFS_ARRAY_SIZE(values),
		       n = i / OFS_ARRAY_SIZE(values) % OFS_ARRAY_SIZE(names);

		cr_assert_gt(
			asprintf(&text,
				 "[{%s, \"%s\": %s}, {\"role\": \"user\", \"content\": \"u\"}]",
				 forms[i / OFS_ARRAY_SIZE(values) / OFS_ARRAY_SIZE(names)],
				 names[n], values[v]),
			0);
		read_with(text, values[v]);
		cr_assert_eq(chat.n, 2);
		for (size_t j = 0; j < chat.n_results; j++)
			cr_assert(ofs_span_is_string(chat.results[j].text), "%s", text);
		ofs_content_last_text(ofs_span_member(chat.messages[0].whole, "content"));
	}
}

Test(context_chat, of_several_members_the_last_counts)
{
	read_list(
		"[{\"role\": \"user\", \"content\": \"first\", \"r\\u006fle\": \"tool\", \"content\": \"second\"}]");
	expect_roles("T");
	cr_expect_eq(chat.n_results, 1);
	expect_result(0, "second", 0, NULL);
}

static int join(void *arg, struct ofs_span string)
{
	ofs_span_decode(string, arg);
	ofs_buf_append_str(arg, "|");
	return 0;
}

static int stop(void *arg, struct ofs_span string)
{
	++*(int *)arg;
	return 7;
}

Test(context_chat, texts_that_are_to_be_read)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf said = OFS_BUF_INIT;
	int calls = 0;

	read_list(
		"[{\"role\": \"user\", \"content\": \"one\"},"
		"{\"role\": \"user\", \"content\": [{\"type\": \"tool_result\", \"tool_use_id\": \"x\", \"text\": \"no\", \"content\": \"no\"},"
		" {\"type\": \"text\", \"text\": \"two\"}, {\"type\": \"image\"}, {\"type\": \"text\", \"text\": \"three\"}]},"
		"{\"role\": \"tool\", \"content\": \"no\"},"
		"{\"role\": \"assistant\", \"content\": null},"
		"{\"role\": \"assistant\"}]");
	for (size_t i = 0; i < chat.n; i++)
		cr_assert_eq(ofs_message_texts(&chat.messages[i], join, &said), 0);
	cr_expect_eq(said.len, strlen("one|two|three|"));
	cr_expect_eq(memcmp(said.data, "one|two|three|", said.len), 0);
	cr_expect_eq(ofs_message_texts(&chat.messages[1], stop, &calls), 7);
	cr_expect_eq(calls, 1);
}

Test(context_chat, the_last_text_of_a_content)
{
	expect_text(ofs_content_last_text(parsed("\"a\"")), "a");
	expect_text(ofs_content_last_text(
			    parsed("[{\"text\": \"a\"}, {\"type\": \"text\", \"text\": \"b\"}]")),
		    "b");
	cr_expect_null(
		ofs_content_last_text(parsed("[{\"text\": \"a\"}, {\"type\": \"image\"}]")).p);
	cr_expect_null(ofs_content_last_text(parsed("[]")).p);
	cr_expect_null(ofs_content_last_text(parsed("null")).p);
	cr_expect_null(ofs_content_last_text((struct ofs_span){ 0 }).p);
}

/*
 * A text counts the same however it is escaped, and counts more the longer it is. Image data does
 * not count.
 */
Test(context_chat, tokens)
{
	uint64_t plain, escaped;
	static const char *const data[] = {
		"\"type\":\"image\",\"data\":\"",
		"\"type\":\"input_audio\",\"input_audio\":{\"format\":\"wav\"},\"data\":\"",
		"\"type\":\"document\",\"source\":{\"type\":\"base64\"},\"data\":\"",
	};

	cr_expect_eq(ofs_span_tokens(parsed("null")), 0);
	cr_expect_eq(ofs_span_tokens((struct ofs_span){ 0 }), 0);
	cr_expect_eq(ofs_span_tokens(parsed("\"\"")), 0);
	read_list("[{\"role\": \"tool\", \"content\": \"a/\xc3\xa4 and a long line of text\"}]");
	plain = ofs_chat_tokens(&chat);
	read_list(
		"[{\"role\": \"tool\", \"content\": \"a\\/\\u00e4 and a long line of \\u0074ext\"}]");
	escaped = ofs_chat_tokens(&chat);
	cr_expect_eq(plain, escaped);
	read_list("[{\"role\": \"tool\", \"content\": \"a\"}]");
	cr_expect_lt(ofs_chat_tokens(&chat), plain);
	for (size_t k = 0; k < 2 * OFS_ARRAY_SIZE(data); k++) {
		OFS_CLEANUP(ofs_buf_finish) struct ofs_buf big = OFS_BUF_INIT;

		ofs_buf_printf(&big, "[{\"role\":\"user\",\"content\":[{%s", data[k / 2]);
		for (int i = 0; i < (k % 2 ? 10000 : 1000); i++)
			ofs_buf_append_str(&big, "iVBORw0KGgoAAAANSUhEUgAA");
		ofs_buf_append(&big, "\"}]}]", 6);
		read_list((const char *)big.data);
		cr_expect_lt(ofs_chat_tokens(&chat), 5000, "%s", data[k / 2]);
	}
	read_list("[{\"role\":\"user\",\"content\":[{\"type\":\"document\",\"source\":"
		  "{\"type\":\"text\",\"data\":\"a\"}}]}]");
	cr_expect_lt(ofs_chat_tokens(&chat), 100); /* it is counted as text */
}

/* Ids must be looked up, not searched for linearly. */
Test(context_chat, many_calls)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf text = OFS_BUF_INIT;

	ofs_buf_append_str(&text, "[{}");
	for (int i = 0; i < 20000; i++)
		ofs_buf_printf(&text,
			       ",{\"type\":\"function_call\",\"call_id\":\"c%d\",\"name\":\"n%d\"}",
			       i, i);
	for (int i = 0; i < 20000; i++)
		ofs_buf_printf(&text,
			       ",{\"role\":\"tool\",\"tool_call_id\":\"c%d\",\"content\":\"%d\"}",
			       i, i);
	ofs_buf_append(&text, "]", 2);
	read_list((const char *)text.data);
	cr_assert_eq(chat.n_results, 20000);
	for (size_t i = 0; i < 20000; i++)
		cr_assert_eq(chat.results[i].call, i);
}
