/* SPDX-License-Identifier: MIT */
/*
 * A server of the Model Context Protocol: a message in, a message out. It has no state between
 * messages, so they may come from any connection and be answered in any order.
 */
#pragma once

#include "base/clock.h"
#include "service/mcp/mcp_message.h"
#include "service/service.h"

struct ofs_mcp_answer {
	char *text; /* allocated; one line without its newline; NULL: no answer is due */
	int status; /* of HTTP */
};

void ofs_mcp_answer_finish(struct ofs_mcp_answer *a);

/*
 * Reads a message; `headers` is NULL if it did not come over HTTP. Returns true for a request,
 * which ofs_mcp_answer() answers. Returns false for other messages, whose answer, if any, is
 * *ret_answer. `ret` must be finished in either case, and may move to another thread.
 */
bool ofs_mcp_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
		  struct ofs_mcp_message *ret, struct ofs_mcp_answer *ret_answer);

/* True if the answer may have to wait for the tree. */
bool ofs_mcp_asks_tree(const struct ofs_mcp_message *m);

/* Answers a request in the tree of `agent` (NULL: none). May be called on any thread. */
void ofs_mcp_answer(struct ofs_service *service, const char *agent, const struct ofs_mcp_message *m,
		    struct ofs_mcp_answer *ret);

/* Answers a request that cannot be served now. `reason` is a sentence. */
void ofs_mcp_decline(const struct ofs_mcp_message *m, const char *reason,
		     struct ofs_mcp_answer *ret);

/* Returns the nanoseconds after which a request is declined with OFS_MCP_LATE. */
int64_t ofs_mcp_patience(void);

#define OFS_MCP_LATE "the tree does not answer; offload doctor says what to do"

/* Answers a message that exceeds the `max` bytes of a transport. */
void ofs_mcp_refuse_length(size_t max, struct ofs_mcp_answer *ret);
