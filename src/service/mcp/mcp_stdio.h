/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/util.h"
#include "service/service.h"

/* The longest message that is read. */
#define OFS_MCP_LINE_MAX ((size_t)64 << 20)

/*
 * Serves one client: messages come on `in`, one a line, and answers go to `out`. Requests are
 * answered in any order, each within ofs_mcp_patience(). Ends when `in` does, after the last answer;
 * at once when nobody reads any more or when `signals` can be read. Signals must interrupt calls of
 * this thread, and SIGPIPE be ignored. 0 or -errno.
 */
int ofs_mcp_serve(struct ofs_service *service, int in, int out, int signals);
