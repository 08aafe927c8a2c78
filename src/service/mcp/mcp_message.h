/* SPDX-License-Identifier: MIT */
/*
 * Messages of the Model Context Protocol: JSON-RPC 2.0, one object each. Both eras of the protocol
 * are read by the same rules, since each message says which it belongs to: modern ones (2026-07-28)
 * carry their version and the client's capabilities in _meta, legacy ones do not.
 */
#pragma once

#include <jansson.h>

#include "base/util.h"

enum {
	OFS_MCP_PARSE_ERROR = -32700,
	OFS_MCP_INVALID_REQUEST = -32600,
	OFS_MCP_METHOD_NOT_FOUND = -32601,
	OFS_MCP_INVALID_PARAMS = -32602,
	OFS_MCP_INTERNAL_ERROR = -32603,
	OFS_MCP_RESOURCE_NOT_FOUND = -32002, /* legacy only; modern: OFS_MCP_INVALID_PARAMS */
	OFS_MCP_HEADER_MISMATCH = -32020,
	OFS_MCP_UNSUPPORTED_VERSION = -32022,
};

struct ofs_mcp_version {
	const char *name; /* "2026-07-28" */
	bool modern;
};

/* The versions that are spoken, the newest first, up to one without a name. */
extern const struct ofs_mcp_version ofs_mcp_versions[];

/* Allocated: their names. */
json_t *ofs_mcp_version_names(void);

/* Headers of HTTP that repeat what the body says; borrowed; NULL: the request has none. */
struct ofs_mcp_headers {
	const char *version; /* MCP-Protocol-Version */
	const char *method; /* Mcp-Method */
	const char *name; /* Mcp-Name */
};

/* Why a message gets an error for an answer. */
struct ofs_mcp_error {
	int code; /* 0: no error */
	int status; /* of HTTP */
	char *text; /* allocated; one sentence */
	json_t *data; /* NULL: none */
};

void ofs_mcp_error_finish(struct ofs_mcp_error *e);

/* Returns -1. */
int ofs_mcp_error_set(struct ofs_mcp_error *e, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* For a cursor that was not given out. */
void ofs_mcp_error_cursor(struct ofs_mcp_error *e);

struct ofs_mcp_message {
	json_t *json; /* all of it, of which the next ones are borrowed */
	const json_t *id; /* a string or an integer; NULL: no answer is wanted, or possible */
	const char *method; /* NULL: it is an answer, which a server has no use for */
	const json_t *params; /* an object; NULL: none */
	const struct ofs_mcp_version *version; /* NULL: legacy, which of them is not said */
	bool modern;
};

void ofs_mcp_message_finish(struct ofs_mcp_message *m);

/*
 * Reads a message that came with these headers (NULL: not over HTTP). 0, or -1 with the reason in
 * `err`, and in `ret` the id as far as it could be read. `ret` is to be finished either way.
 */
int ofs_mcp_message_read(const char *text, size_t len, const struct ofs_mcp_headers *headers,
			 struct ofs_mcp_error *err, struct ofs_mcp_message *ret);

/* A string among the parameters; NULL: it is not there, or something else. */
const char *ofs_mcp_message_param(const struct ofs_mcp_message *m, const char *name);

/* The id of the request that a notification cancels; NULL: it is another message. */
const json_t *ofs_mcp_message_cancels(const struct ofs_mcp_message *m);
