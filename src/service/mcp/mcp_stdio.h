/* SPDX-License-Identifier: MIT */
#pragma once

#include "base/util.h"
#include "service/service.h"

/* Maximum length of a message in bytes. */
#define OFS_MCP_LINE_MAX ((size_t)64 << 20)

/*
 * Serves one client, with messages on `in`, one a line, and answers on `out`. Requests are answered
 * in any order, each within ofs_mcp_patience(). Returns after the last answer when `in` ends, and
 * at once when `out` has no reader or `signals` is readable. Signals must interrupt system calls of
 * this thread, and SIGPIPE must be ignored. 0 or -errno.
 */
int ofs_mcp_serve(struct ofs_service *service, int in, int out, int signals);
