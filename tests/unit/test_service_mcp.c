/* SPDX-License-Identifier: MIT */
/* The Model Context Protocol over HTTP: headers, versions and status codes. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/mcp/mcp.h"

#define CAPABLE "\"io.modelcontextprotocol/clientCapabilities\":{}"
#define META "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\"," CAPABLE "}"
#define REQUEST(method, params) \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":{" params "}}"

/* Returns the error code of the answer, or 0 for a result. The message must not need a tree. */
static int ask(const char *text, const struct ofs_mcp_headers *headers, int *ret_status)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message m;
	OFS_CLEANUP(ofs_mcp_answer_finish) struct ofs_mcp_answer answer;
	json_t *json;
	int code;

	if (ofs_mcp_read(text, strlen(text), headers, &m, &answer)) {
		cr_assert(!ofs_mcp_asks_tree(&m), "%s", text);
		ofs_mcp_answer(NULL, NULL, &m, &answer);
	}
	*ret_status = answer.status;
	if (!answer.text)
		return 0;
	json = json_loads(answer.text, 0, NULL);
	cr_assert_not_null(json, "%s", answer.text);
	code = (int)json_integer_value(json_object_get(json_object_get(json, "error"), "code"));
	json_decref(json);
	return code;
}

static void expect(const char *text, struct ofs_mcp_headers headers, int code, int status)
{
	int got_status, got = ask(text, &headers, &got_status);

	cr_expect_eq(got, code, "%s: %d, expected %d", text, got, code);
	cr_expect_eq(got_status, status, "%s: %d, expected %d", text, got_status, status);
}

Test(service_mcp, headers_repeat_the_body)
{
	const char *list = REQUEST("tools/list", META);

	expect(list, (struct ofs_mcp_headers){ "2026-07-28", "tools/list", NULL }, 0, 200);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", "=?base64?dG9vbHMvbGlzdA==?=", NULL },
	       0, 200);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", " \ttools/list \t", NULL }, 0, 200);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", "  ", NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", NULL, NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", "prompts/list", NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ "2026-07-28", "TOOLS/LIST", NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ NULL, "tools/list", NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ "2025-11-25", "tools/list", NULL }, -32020, 400);
	expect(list, (struct ofs_mcp_headers){ "1999-01-01", "tools/list", NULL }, -32020, 400);
}

Test(service_mcp, the_name_of_a_call_is_repeated)
{
	const char *call = REQUEST("tools/call", "\"name\":\"n\xc3\xa4me\"," META);
	static const char *const right[] = { "=?base64?bsOkbWU=?=", "n\xc3\xa4me" };
	static const char *const wrong[] = { "name",
					     "=?base64?bsOkbWU?=",
					     "=?base64?bsOkb!U=?=",
					     "=?base64?bsOkbWV4?=",
					     "=?base64?"
					     "?=",
					     "=?BASE64?bsOkbWU=?=" };
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message m;
	OFS_CLEANUP(ofs_mcp_answer_finish) struct ofs_mcp_answer answer;

	for (size_t i = 0; i < OFS_ARRAY_SIZE(right); i++) {
		cr_expect(ofs_mcp_read(call, strlen(call),
				       &(struct ofs_mcp_headers){ "2026-07-28", "tools/call",
								  right[i] },
				       &m, &answer));
		cr_expect(ofs_mcp_asks_tree(&m));
		ofs_mcp_message_finish(&m);
	}
	for (size_t i = 0; i < OFS_ARRAY_SIZE(wrong); i++)
		expect(call, (struct ofs_mcp_headers){ "2026-07-28", "tools/call", wrong[i] },
		       -32020, 400);
	expect(call, (struct ofs_mcp_headers){ "2026-07-28", "tools/call", NULL }, -32020, 400);
	cr_assert(!ofs_mcp_read(call, strlen(call),
				&(struct ofs_mcp_headers){ "2026-07-28", "tools/call", "x" }, &m,
				&answer));
}

Test(service_mcp, versions)
{
	const struct ofs_mcp_headers modern = { "2026-07-28", "tools/list", NULL };

	expect(REQUEST("tools/list", ""), modern, -32602, 400);
	expect(REQUEST("tools/list", "\"_meta\":{" CAPABLE "}"), modern, -32602, 400);
	expect(REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
				     "\"2026-07-28\"}"),
	       modern, -32602, 400);
	expect(REQUEST("tools/list", "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
				     "\"v9\"," CAPABLE "}"),
	       (struct ofs_mcp_headers){ "v9", "tools/list", NULL }, -32022, 400);
	expect(REQUEST("tools/list", ""), (struct ofs_mcp_headers){ "v\xff", NULL, NULL }, -32022,
	       400);
	expect(REQUEST("tools/list", ""), (struct ofs_mcp_headers){ "2025-06-18", NULL, NULL }, 0,
	       200);
	expect(REQUEST("tools/list", ""), (struct ofs_mcp_headers){ NULL, NULL, NULL }, 0, 200);
	expect(REQUEST("ping", ""), (struct ofs_mcp_headers){ "2025-11-25", NULL, NULL }, 0, 200);
	/* JavaScript writes this where it cut a text within a character. */
	expect(REQUEST("ping", "\"x\":\"a\\ud83d\""),
	       (struct ofs_mcp_headers){ "2025-11-25", NULL, NULL }, 0, 200);
}

Test(service_mcp, what_there_is_not)
{
	static const char *const removed[] = { "initialize", "ping", "logging/setLevel",
					       "resources/subscribe", "subscriptions/listen" };

	for (size_t i = 0; i < OFS_ARRAY_SIZE(removed); i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"%s\",\"params\":{" META
			 "}}",
			 removed[i]);
		expect(text, (struct ofs_mcp_headers){ "2026-07-28", removed[i], NULL }, -32601,
		       404);
	}
	expect(REQUEST("prompts/list", ""), (struct ofs_mcp_headers){ "2025-11-25", NULL, NULL },
	       -32601, 200);
}

Test(service_mcp, messages_without_an_answer)
{
	const struct ofs_mcp_headers none = { NULL, NULL, NULL };

	expect("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}", none, 0, 202);
	expect("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", none, 0, 202);
	expect("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}", none, 0, 400);
	expect("{", none, -32700, 400);
	expect("", none, -32700, 400);
	expect("[]", none, -32600, 400);
}

Test(service_mcp, declined)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message m;
	OFS_CLEANUP(ofs_mcp_answer_finish) struct ofs_mcp_answer answer;
	const char *call = REQUEST("tools/call", "\"name\":\"memory_list\"");

	cr_assert(ofs_mcp_read(call, strlen(call), NULL, &m, &answer));
	ofs_mcp_decline(&m, OFS_MCP_LATE, &answer);
	cr_expect_not_null(strstr(answer.text, "\"isError\":true"), "%s", answer.text);
	cr_expect_eq(answer.status, 200);
	ofs_mcp_answer_finish(&answer);
	ofs_mcp_refuse_length(7, &answer);
	cr_expect_not_null(strstr(answer.text, "-32600"), "%s", answer.text);
}
