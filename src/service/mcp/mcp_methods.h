/* SPDX-License-Identifier: MIT */
/* The methods of the server. Each returns a new result, or NULL with q->err set. */
#pragma once

#include "service/mcp/mcp_message.h"
#include "service/service.h"

struct ofs_mcp_request {
	struct ofs_service *service;
	struct ofs_caller by;
	const struct ofs_mcp_message *message;
	struct ofs_mcp_error *err;
};

json_t *ofs_mcp_tools_list(struct ofs_mcp_request *q);
json_t *ofs_mcp_tools_call(struct ofs_mcp_request *q);

/* Returns the result of a failed call of a tool, with a sentence for the model. */
json_t *ofs_mcp_tool_failure(const char *text);

json_t *ofs_mcp_resources_list(struct ofs_mcp_request *q);
json_t *ofs_mcp_resources_templates(struct ofs_mcp_request *q);
json_t *ofs_mcp_resources_read(struct ofs_mcp_request *q);

/* Starts the URI of a file, which its ref follows. */
#define OFS_MCP_URI "offload://"
