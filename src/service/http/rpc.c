/* SPDX-License-Identifier: MIT */
#include "service/http/rpc.h"

#include "service/mcp/mcp.h"

static bool read_message(struct ofs_http_exchange *x, struct ofs_mcp_message *message,
			 struct ofs_mcp_answer *answer)
{
	const struct ofs_mcp_headers headers = {
		.version = ofs_http_request_field(x->request, "MCP-Protocol-Version"),
		.method = ofs_http_request_field(x->request, "Mcp-Method"),
		.name = ofs_http_request_field(x->request, "Mcp-Name"),
	};

	return ofs_mcp_read(x->body ? x->body : "", x->body_len, &headers, message, answer);
}

/* Makes the reply, and finishes the answer. */
static void reply(struct ofs_mcp_answer *answer, struct ofs_http_reply *ret)
{
	ret->status = (unsigned int)answer->status;
	if (answer->text) {
		ret->type = "application/json";
		ofs_buf_append_str(&ret->body, answer->text);
	}
	ofs_mcp_answer_finish(answer);
}

void ofs_rpc_post(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message message = { 0 };
	struct ofs_mcp_answer answer = { 0 };

	if (!ofs_http_is_json(x)) {
		ofs_http_reply_error(ret, 415,
				     "a message must be JSON: send Content-Type: "
				     "application/json");
		return;
	}
	if (read_message(x, &message, &answer))
		ofs_mcp_answer(x->site->service, ofs_http_agent(x), &message, &answer);
	reply(&answer, ret);
}

void ofs_rpc_late(struct ofs_http_exchange *x, struct ofs_http_reply *ret)
{
	OFS_CLEANUP(ofs_mcp_message_finish) struct ofs_mcp_message message = { 0 };
	struct ofs_mcp_answer answer = { 0 };

	if (read_message(x, &message, &answer))
		ofs_mcp_decline(&message, OFS_MCP_LATE, &answer);
	reply(&answer, ret);
}
