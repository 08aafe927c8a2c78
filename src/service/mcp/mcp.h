/* SPDX-License-Identifier: MIT */
/*
 * A server of the Model Context Protocol: a message in, a message out. It keeps nothing between
 * messages, so each may come from any connection and be answered in any order.
 */
#pragma once

#include "base/clock.h"
#include "service/mcp/mcp_message.h"
#include "service/service.h"

struct ofs_mcp_answer {
	char *text; /* allocated, on one line without its end; NULL: there is nothing to answer */
	int status; /* of HTTP */
};

void ofs_mcp_answer_finish(struct ofs_mcp_answer *a);

/*
 * Reads a message; `headers` is NULL where there are none. True: a request, to be answered by
 * ofs_mcp_answer(). False: `ret_answer` is all there is to say, if anything. `ret` is to be finished
 * either way, and may move to another thread.
 */
bool ofs_mcp_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
		  struct ofs_mcp_message *ret, struct ofs_mcp_answer *ret_answer);

/* Whether answering it may have to wait for the tree. */
bool ofs_mcp_asks_tree(const struct ofs_mcp_message *m);

/* Answers a request, in the tree of the agent `agent` (NULL: none). From any thread. */
void ofs_mcp_answer(struct ofs_service *service, const char *agent, const struct ofs_mcp_message *m,
		    struct ofs_mcp_answer *ret);

/* Answers a request that nobody can work on now, for this reason: a sentence. */
void ofs_mcp_decline(const struct ofs_mcp_message *m, const char *reason,
		     struct ofs_mcp_answer *ret);

/* How long a request may take: then it is declined with OFS_MCP_LATE. */
int64_t ofs_mcp_patience(void);

#define OFS_MCP_LATE "the tree does not answer; offload doctor tells what to do"

/* The answer to a message that is longer than a transport takes. */
void ofs_mcp_refuse_length(size_t max, struct ofs_mcp_answer *ret);
