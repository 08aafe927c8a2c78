/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/util.h"
#include "context/summarizer/completion.h"

static struct ofs_buf text;

static void finish(void)
{
	ofs_buf_finish(&text);
}

TestSuite(context_completion, .fini = finish);

static void expect_text(const char *expected)
{
	ofs_buf_append(&text, "", 1);
	cr_expect_str_eq((const char *)text.data, expected);
}

static struct ofs_completion asked(const char *said)
{
	return (struct ofs_completion){
		.model = "m",
		.instruction = "i",
		.text = said,
		.len = strlen(said),
	};
}

static int read_answer(const char *body, struct ofs_error *err)
{
	struct ofs_buf answer = { .data = (uint8_t *)(uintptr_t)body, .len = strlen(body) };

	return ofs_completion_read(&answer, err, &text);
}

static bool adapt(struct ofs_completion *c, const char *body)
{
	struct ofs_buf refusal = { .data = (uint8_t *)(uintptr_t)body, .len = strlen(body) };

	return ofs_completion_adapt(c, &refusal);
}

static void expect_refusal(const char *body, const char *expected)
{
	char *said = ofs_endpoint_refusal(body, strlen(body));

	if (expected)
		cr_expect_str_eq(said, expected);
	else
		cr_expect_null(said);
	free(said);
}

Test(context_completion, a_request_is_json_with_its_texts_quoted)
{
	struct ofs_completion c = asked("a \"b\"\n\\ \xc3\xa9");

	c.max_tokens = 7;
	ofs_completion_write(&c, &text);
	expect_text("{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"i\"},"
		    "{\"role\":\"user\",\"content\":\"a \\\"b\\\"\\n\\\\ \xc3\xa9\"}],"
		    "\"temperature\":0,\"max_tokens\":7}");
}

Test(context_completion, a_model_that_takes_another_form_gets_it)
{
	static const char max[] = "{\"error\":{\"message\":\"no\",\"param\":\"max_tokens\"}}";
	static const char temperature[] = "{\"error\":{\"param\":\"temperature\"}}";
	struct ofs_completion c = asked("t");

	cr_expect_not(adapt(&c, max), "none was said");
	c.max_tokens = 7;
	cr_expect(adapt(&c, max));
	cr_expect_not(adapt(&c, max), "once is enough");
	cr_expect(adapt(&c, temperature));
	cr_expect_not(adapt(&c, temperature));
	ofs_completion_write(&c, &text);
	expect_text("{\"model\":\"m\",\"messages\":[{\"role\":\"system\",\"content\":\"i\"},"
		    "{\"role\":\"user\",\"content\":\"t\"}],\"max_completion_tokens\":7}");
}

Test(context_completion, nothing_else_is_adapted)
{
	static const char *const bodies[] = { "",
					      "{",
					      "[]",
					      "{\"error\":\"max_tokens\"}",
					      "{\"error\":{\"param\":7}}",
					      "{\"error\":{\"param\":\"model\"}}" };
	struct ofs_completion c = asked("t");

	c.max_tokens = 7;
	for (size_t i = 0; i < sizeof(bodies) / sizeof(*bodies); i++)
		cr_expect_not(adapt(&c, bodies[i]), "%s", bodies[i]);
}

Test(context_completion, an_answer_is_a_text)
{
	cr_assert_eq(read_answer("{\"choices\":[{\"message\":{\"content\":\"a\\nb\"},"
				 "\"finish_reason\":\"stop\"}]}",
				 NULL),
		     0);
	expect_text("a\nb");
}

Test(context_completion, or_parts_of_which_some_are_texts)
{
	cr_assert_eq(read_answer("{\"choices\":[{\"message\":{\"content\":["
				 "{\"type\":\"text\",\"text\":\"a\"},{\"type\":\"image\"},7,null,"
				 "{\"type\":\"text\",\"text\":\"b\"}]}}]}",
				 NULL),
		     0);
	expect_text("ab");
}

Test(context_completion, what_is_no_answer)
{
	static const struct {
		const char *body;
		const char *why;
	} cases[] = {
		{ "", "JSON" },
		{ "<html>", "JSON" },
		{ "{\"choices\":[{\"message\":{\"content\":\"cut", "JSON" },
		{ "{\"choices\":[{\"message\":{\"content\":\"\xff\"}}]}", "JSON" },
		{ "7", "JSON" },
		{ "{}", "completion" },
		{ "[]", "completion" },
		{ "{\"choices\":{}}", "completion" },
		{ "{\"choices\":[]}", "completion" },
		{ "{\"choices\":[7]}", "completion" },
		{ "{\"choices\":[{\"message\":\"a\"}]}", "completion" },
		{ "{\"choices\":[{\"message\":{}}]}", "without a text" },
		{ "{\"choices\":[{\"message\":{\"content\":null,\"refusal\":\"no\"}}]}",
		  "without a text" },
		{ "{\"choices\":[{\"message\":{\"content\":\"a\"},\"finish_reason\":\"length\"}]}",
		  "cut off" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct ofs_error err = { "" };

		cr_expect_eq(read_answer(cases[i].body, &err), -EBADMSG, "%s", cases[i].body);
		cr_expect_not_null(strstr(err.text, cases[i].why), "%s: %s", cases[i].body,
				   err.text);
		cr_expect_eq(text.len, 0);
	}
}

Test(context_completion, an_answer_that_is_nested_deeply_is_refused)
{
	OFS_CLEANUP(ofs_buf_finish) struct ofs_buf body = OFS_BUF_INIT;
	struct ofs_error err;

	for (int i = 0; i < 200000; i++)
		ofs_buf_append(&body, "[", 1);
	cr_expect_eq(ofs_completion_read(&body, &err, &text), -EBADMSG);
}

Test(context_completion, a_nul_in_a_text_is_kept_for_who_checks_it)
{
	cr_assert_eq(read_answer("{\"choices\":[{\"message\":{\"content\":\"a\\u0000b\"}}]}", NULL),
		     0);
	cr_expect_eq(text.len, 3);
}

Test(context_completion, what_a_refusal_says)
{
	expect_refusal("{\"error\":{\"message\":\"bad key\",\"code\":1}}", "bad key");
	expect_refusal("{\"error\":\"no such model\"}", "no such model");
	expect_refusal("{\"message\":\"slow down\"}", "slow down");
	expect_refusal("{\"detail\":\"Not Found\"}", "Not Found");
	expect_refusal("\n \n<h1>Bad Gateway</h1>\n<p>x</p>", "<h1>Bad Gateway</h1>");
	expect_refusal("{\"error\":{\"message\":\"\"}}", "{\"error\":{\"message\":\"\"}}");
	expect_refusal("", NULL);
	expect_refusal(" \r\n\t", NULL);
	cr_expect_null(ofs_endpoint_refusal(NULL, 0));
	cr_expect_null(ofs_endpoint_refusal("\0\0", 2));
}
