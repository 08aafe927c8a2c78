/* SPDX-License-Identifier: MIT */
/* The methods of the server. Each gives its result, owned by the caller, or NULL and an error. */
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

/* The result of a call of a tool that failed: the model is told the sentence. */
json_t *ofs_mcp_tool_failure(const char *text);

json_t *ofs_mcp_resources_list(struct ofs_mcp_request *q);
json_t *ofs_mcp_resources_templates(struct ofs_mcp_request *q);
json_t *ofs_mcp_resources_read(struct ofs_mcp_request *q);

/* Where the content of a file is found, by its ref. */
#define OFS_MCP_URI "offload://"
